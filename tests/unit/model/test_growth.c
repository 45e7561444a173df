#include "model/growth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Each form, as its definition says it, one token at a time. */
enum { FORMS = 6 };

static sli_growth form(int which) {
    switch (which) {
    case 0:
        return sli_growth_constant(7);
    case 1:
        return sli_growth_linear();
    case 2:
        return sli_growth_capped(13);
    case 3:
        return sli_growth_steps(4);
    case 4:
        return sli_growth_capped_steps(4, 9);
    default:
        return sli_growth_sawtooth(5);
    }
}

/* Keeps the rows in its head: adds those of the next token to those of the one before. */
static int64_t next_rows(int which, int64_t tokens, int64_t rows) {
    switch (which) {
    case 0:
        return 7;
    case 1:
        return rows + 1;
    case 2:
        return rows < 13 ? rows + 1 : 13;
    case 3:
        return tokens % 4 == 0 ? rows + 1 : rows;
    case 4:
        return tokens % 4 == 0 && rows < 9 ? rows + 1 : rows;
    default:
        return rows == 5 ? 1 : rows + 1;
    }
}

static void rows_follow_the_tokens(void **state) {
    (void)state;
    for (int which = 0; which < FORMS; which++) {
        sli_growth growth = form(which);
        int64_t rows = which == 0 ? 7 : 0;
        assert_int_equal(sli_growth_at(&growth, 0), rows);
        for (int64_t tokens = 1; tokens <= 100; tokens++) {
            rows = next_rows(which, tokens, rows);
            assert_int_equal(sli_growth_at(&growth, tokens), rows);
        }
    }
}

static void pairs_are_the_sum_over_queries(void **state) {
    (void)state;
    for (int which = 0; which < FORMS; which++) {
        sli_growth growth = form(which);
        for (int64_t prefix = 0; prefix <= 50; prefix++) {
            int64_t sum = 0;
            for (int64_t added = 0; added <= 50; added++) {
                sum += added > 0 ? sli_growth_at(&growth, prefix + added) : 0;
                assert_int_equal(sli_growth_pairs(&growth, prefix, added), sum);
            }
        }
    }
}

/* N P + N (N + 1) / 2, at the longest sequence: 2^30 x 2^30 + 2^29 (2^30 + 1). */
static void long_sequences_do_not_overflow(void **state) {
    (void)state;
    sli_growth linear = sli_growth_linear();
    int64_t half = SLI_GROWTH_TOKENS_MAX / 2;
    assert_int_equal(sli_growth_pairs(&linear, half, half), half * half + half / 2 * (half + 1));
    sli_growth window = sli_growth_capped(INT64_MAX / 2);
    assert_int_equal(sli_growth_pairs(&window, half, half), half * half + half / 2 * (half + 1));
}

static void slope_is_the_growth_of_the_far_end(void **state) {
    (void)state;
    for (int which = 0; which < FORMS; which++) {
        sli_growth growth = form(which);
        int64_t near = 1000000;
        int64_t far = near + 400000; /* a multiple of all steps */
        double rows = (double)(sli_growth_at(&growth, far) - sli_growth_at(&growth, near));
        assert_true(sli_growth_slope(&growth) * 400000.0 == rows);
        assert_int_equal(sli_growth_is_constant(&growth), which == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_tokens),
        cmocka_unit_test(pairs_are_the_sum_over_queries),
        cmocka_unit_test(long_sequences_do_not_overflow),
        cmocka_unit_test(slope_is_the_growth_of_the_far_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
