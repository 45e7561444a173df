#include "model/rounding.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static void is_near(double found, double wanted) {
    assert_true(fabs(found - wanted) < 1e-12);
}

/* The guide, chapter 10: 0, 1/3, 2/3 and 1; 0.70 becomes 2/3, 0.033 off. */
static void seventy_hundredths_are_two_thirds_in_two_bits(void **state) {
    (void)state;
    sli_rounding found = sli_rounding_uniform(0.70, 0.0, 1.0, 2);
    assert_int_equal(found.levels, 4);
    assert_int_equal(found.level, 2);
    is_near(found.value, 2.0 / 3.0);
    is_near(found.error, 1.0 / 30.0);
}

/* 0.70 x 7 = 4.9 and 0.70 x 31 = 21.7; in one bit there are the bounds. */
static void the_nearest_level_is_taken_and_of_two_the_even_one(void **state) {
    (void)state;
    static const struct {
        int bits;
        int64_t level;
        double value;
    } rows[] = {{1, 1, 1.0}, {2, 2, 2.0 / 3.0}, {3, 5, 5.0 / 7.0}, {5, 22, 22.0 / 31.0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        sli_rounding found = sli_rounding_uniform(0.70, 0.0, 1.0, rows[i].bits);
        assert_int_equal(found.level, rows[i].level);
        is_near(found.value, rows[i].value);
    }
    /* Levels at 0, 1, 2 and 3: halves lie between two. */
    assert_int_equal(sli_rounding_uniform(0.5, 0.0, 3.0, 2).level, 0);
    assert_int_equal(sli_rounding_uniform(1.5, 0.0, 3.0, 2).level, 2);
    assert_int_equal(sli_rounding_uniform(2.5, 0.0, 3.0, 2).level, 2);
}

static void levels_are_stored_as_they_are(void **state) {
    (void)state;
    for (int bits = 1; bits <= 8; bits++) {
        int64_t last = (INT64_C(1) << bits) - 1;
        for (int64_t level = 0; level <= last; level++) {
            double number = -2.0 + 5.0 * (double)level / (double)last;
            sli_rounding found = sli_rounding_uniform(number, -2.0, 3.0, bits);
            assert_int_equal(found.level, level);
            assert_true(found.error < 1e-12);
        }
    }
}

static void between_the_bounds_nothing_is_off_by_more_than_half_a_step(void **state) {
    (void)state;
    for (int bits = 1; bits <= SLI_ROUNDING_BITS_MAX; bits++) {
        double largest = 0.0;
        for (int i = 0; i <= 1000; i++) {
            double number = -1.0 + 2.0 * (double)i / 1000.0;
            sli_rounding found = sli_rounding_uniform(number, -1.0, 1.0, bits);
            assert_true(found.error <= found.scale / 2.0 + 1e-12);
            is_near(found.value, -1.0 + (double)found.level * found.scale);
            largest = fmax(largest, found.error);
        }
        /* A thousand numbers come near it, too. */
        assert_true(bits > 8 || largest > 0.4 * 2.0 / (double)((INT64_C(1) << bits) - 1));
    }
}

static void what_lies_outside_becomes_the_bound(void **state) {
    (void)state;
    sli_rounding above = sli_rounding_uniform(1.75, 0.0, 1.0, 4);
    assert_int_equal(above.level, 15);
    is_near(above.value, 1.0);
    is_near(above.error, 0.75);
    sli_rounding below = sli_rounding_uniform(-3.0, -1.0, 1.0, 4);
    assert_int_equal(below.level, 0);
    is_near(below.value, -1.0);
    is_near(below.error, 2.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seventy_hundredths_are_two_thirds_in_two_bits),
        cmocka_unit_test(the_nearest_level_is_taken_and_of_two_the_even_one),
        cmocka_unit_test(levels_are_stored_as_they_are),
        cmocka_unit_test(between_the_bounds_nothing_is_off_by_more_than_half_a_step),
        cmocka_unit_test(what_lies_outside_becomes_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
