/* Rules for thrown out tokens against rows that are kept in a list. */
#include "model/kept.h"

#include "base/minmax.h"
#include "model/growth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { TOKENS = 90 };

static const sl_kept rules[] = {
    /* rolling, share, cap, drop, row: first ones and the latest */
    {true, 1000000, 1, 1, 0},
    {true, 1000000, 17, 1, 0},
    {true, 1000000, 200, 1, 0},
    {true, 1000000, 20, 6, 0},
    /* a share of the prompt */
    {false, 200000, INT64_MAX, 0, INT64_MAX},
    {false, 333333, 11, 0, INT64_MAX},
    /* dropping some at once */
    {false, 1000000, 16, 8, 0},
    {false, 1000000, 15, 15, 0},
    {false, 1000000, 30, 1, 0},
    /* once, and whatever follows */
    {false, 1000000, 24, 0, 1},
    {false, 1000000, 1, 0, 1},
    /* a share of everything */
    {true, 300000, INT64_MAX, 0, 2},
    {true, 700001, 33, 0, 3},
    {true, 1, INT64_MAX, 0, 1},
};

/* The rows of a request, of which the oldest go when some have to. */
typedef struct row_list {
    int64_t positions[TOKENS];
    int64_t count;
} row_list;

static void add(row_list *list, int64_t position) {
    list->positions[list->count++] = position;
}

static void throw_out(row_list *list, int64_t rows) {
    list->count -= rows;
    memmove(list->positions, list->positions + rows,
            (size_t)list->count * sizeof list->positions[0]);
}

/* The smallest number of rows that is at least the share, and no more than the cap. */
static int64_t share_of(const sl_kept *kept, int64_t tokens) {
    int64_t rows = 0;
    while (rows < kept->cap_rows && rows * 1000000 < tokens * kept->share_ppm) {
        rows++;
    }
    return rows;
}

/* A token comes. What stays of a prompt that is kept whole is cut when its last token is there, but
 * who drops counts from the first token on. */
static void come(const sl_kept *kept, int64_t prompt_tokens, int64_t position, row_list *list) {
    int64_t behind = position - prompt_tokens;
    if (kept->drop_rows > 0 && list->count == kept->cap_rows) {
        throw_out(list, kept->drop_rows);
    }
    add(list, position);
    if (kept->drop_rows > 0 || (behind < 0 && !kept->is_rolling)) {
        return;
    }
    if (behind <= 0) {
        throw_out(list, list->count - share_of(kept, position));
    } else if (behind % kept->row_tokens != 0) {
        throw_out(list, 1);
    }
}

static void assert_position(const sl_kept *kept, int64_t prompt_tokens, int64_t position,
                            const row_list *list, int64_t most) {
    bool is_whole = !kept->is_rolling && position <= prompt_tokens;
    assert_int_equal(sli_kept_seen(kept, prompt_tokens, position),
                     is_whole ? position : list->count);
    bool holds_all = !kept->is_rolling && position < prompt_tokens;
    assert_int_equal(sli_kept_slots(kept, prompt_tokens, position), holds_all ? position
                                                                    : kept->drop_rows > 0
                                                                        ? most
                                                                        : list->count);
}

static void rows_are_those_that_are_left_in_a_list(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        for (int64_t prompt_tokens = 1; prompt_tokens <= TOKENS; prompt_tokens++) {
            row_list list = {.count = 0};
            int64_t most = 0;
            assert_int_equal(sli_kept_slots(&rules[i], prompt_tokens, 0), 0);
            for (int64_t position = 1; position <= TOKENS; position++) {
                come(&rules[i], prompt_tokens, position, &list);
                most = sli_max_i64(most, list.count);
                assert_position(&rules[i], prompt_tokens, position, &list, most);
            }
        }
    }
}

/* A chunk of a prompt that is kept whole has all its tokens; nothing else needs more in a step than
 * behind it. */
static void steps_hold_the_prompt_whole_unless_it_rolls(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        const sl_kept *kept = &rules[i];
        for (int64_t begin = 0; begin <= TOKENS; begin++) {
            for (int64_t end = begin; end <= TOKENS; end++) {
                bool is_whole = begin < 40 && !kept->is_rolling;
                assert_int_equal(sli_kept_step_slots(kept, 40, begin, end),
                                 is_whole ? end : sli_kept_slots(kept, 40, end));
            }
        }
    }
}

static void the_most_is_that_of_all_lengths_and_of_the_whole_prompt(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        const sl_kept *kept = &rules[i];
        for (int64_t prompt_tokens = 1; prompt_tokens <= TOKENS; prompt_tokens++) {
            int64_t most = 0;
            for (int64_t tokens = 1; tokens <= TOKENS; tokens++) {
                bool is_whole = tokens <= prompt_tokens && !kept->is_rolling;
                most = sli_max_i64(most,
                                   is_whole ? tokens : sli_kept_slots(kept, prompt_tokens, tokens));
                assert_int_equal(sli_kept_most_slots(kept, prompt_tokens, tokens), most);
            }
        }
    }
}

/* Contexts shorter than cap, drop and row of some of the rules, as long, and longer. */
static void the_plainest_rule_does_the_same_within_a_context(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        for (int64_t longest = 1; longest <= TOKENS; longest++) {
            sl_kept plain = sli_kept_within(&rules[i], longest);
            assert_true(sli_kept_is_valid(&plain));
            assert_true(plain.cap_rows <= longest || plain.cap_rows == INT64_MAX);
            assert_true(plain.drop_rows <= longest);
            for (int64_t prompt = 1; prompt <= longest; prompt++) {
                for (int64_t tokens = 1; tokens <= longest; tokens++) {
                    assert_int_equal(sli_kept_seen(&plain, prompt, tokens),
                                     sli_kept_seen(&rules[i], prompt, tokens));
                    assert_int_equal(sli_kept_slots(&plain, prompt, tokens),
                                     sli_kept_slots(&rules[i], prompt, tokens));
                }
            }
        }
    }
    sl_kept rare = {.share_ppm = 1, .cap_rows = 9, .row_tokens = 1000};
    assert_int_equal(sli_kept_within(&rare, 999).row_tokens, INT64_MAX);
    assert_int_equal(sli_kept_within(&rare, 1000).row_tokens, 1000);
}

static void pairs_are_the_sum_over_queries(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        sli_growth growth = sli_growth_kept(&rules[i]);
        for (int64_t prompt_tokens = 1; prompt_tokens <= TOKENS; prompt_tokens += 7) {
            for (int64_t prefix = 0; prefix < TOKENS; prefix++) {
                int64_t sum = 0;
                for (int64_t added = 0; added <= TOKENS - prefix; added++) {
                    sum += added > 0 ? sli_kept_seen(&rules[i], prompt_tokens, prefix + added) : 0;
                    assert_int_equal(sli_kept_pairs(&rules[i], prompt_tokens, prefix, added), sum);
                    assert_int_equal(
                        sli_growth_request_pairs(&growth, prompt_tokens, prefix, added), sum);
                }
            }
        }
    }
}

/* Of 2^30 tokens half are S = n / 2 when n is even and one half more when it is odd: 2^29 / 2 odd
 * ones. N = 2^30: N (N + 1) / 4 + N / 4. */
static void long_prompts_do_not_overflow(void **state) {
    (void)state;
    const sl_kept half = {true, 500000, INT64_MAX, 0, 1};
    int64_t n = INT64_C(1) << 30;
    assert_int_equal(sli_kept_pairs(&half, n, 0, n), n / 4 * (n + 1) + n / 4);
    const sl_kept capped = {true, 1000000, 1024, 1, 0};
    assert_int_equal(sli_kept_pairs(&capped, n, 0, 2 * n), 1024 * 1025 / 2 + (2 * n - 1024) * 1024);
    const sl_kept whole = {false, 1000000, 4096, 0, 1};
    assert_int_equal(sli_kept_pairs(&whole, n, 0, n), n / 2 * (n + 1));
    assert_int_equal(sli_kept_slots(&whole, n, 2 * n), 4096 + n);
}

/* What else is asked of a growth; a request without kept rows does not depend on its prompt. */
static void a_growth_of_kept_rows_is_that_of_the_prompt(void **state) {
    (void)state;
    sli_growth rolling = sli_growth_kept(&rules[11]);
    sli_growth capped = sli_growth_kept(&rules[1]);
    sli_growth whole = sli_growth_kept(&rules[4]);
    sli_growth window = sli_growth_capped(13);
    assert_true(sli_growth_slope(&rolling) == 0.3);
    assert_true(sli_growth_slope(&capped) == 0.0);
    assert_true(sli_growth_slope(&whole) == 1.0);
    assert_false(sli_growth_is_constant(&whole));
    assert_int_equal(sli_growth_request_pairs(&window, 5, 20, 30),
                     sli_growth_pairs(&window, 20, 30));
}

static void numbers_out_of_range_make_no_rule(void **state) {
    (void)state;
    static const sl_kept broken[] = {
        {false, 0, 10, 0, 1},        {false, 1000001, 10, 0, 1},  {false, 1000000, 0, 0, 1},
        {false, 1000000, 10, -1, 1}, {false, 1000000, 10, 11, 0}, {false, 999999, 10, 5, 0},
        {false, 1000000, 10, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        assert_true(sli_kept_is_valid(&rules[i]));
    }
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        assert_false(sli_kept_is_valid(&broken[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_that_are_left_in_a_list),
        cmocka_unit_test(steps_hold_the_prompt_whole_unless_it_rolls),
        cmocka_unit_test(the_most_is_that_of_all_lengths_and_of_the_whole_prompt),
        cmocka_unit_test(the_plainest_rule_does_the_same_within_a_context),
        cmocka_unit_test(pairs_are_the_sum_over_queries),
        cmocka_unit_test(long_prompts_do_not_overflow),
        cmocka_unit_test(a_growth_of_kept_rows_is_that_of_the_prompt),
        cmocka_unit_test(numbers_out_of_range_make_no_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
