/* Rounding to nanoseconds: nearest, ties to even, saturating, in every rounding mode. */
#include "kernel/time.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void rounds_to_nearest_and_ties_to_even(void **state) {
    (void)state;
    assert_int_equal(sli_time_round(0.4999), 0);
    assert_int_equal(sli_time_round(0.5), 0);
    assert_int_equal(sli_time_round(0.5001), 1);
    assert_int_equal(sli_time_round(1.0), 1);
    assert_int_equal(sli_time_round(1.5), 2);
    assert_int_equal(sli_time_round(2.5), 2);
    assert_int_equal(sli_time_round(3.5), 4);
    assert_int_equal(sli_time_round(0x1p51 + 0.5), INT64_C(1) << 51);
    assert_int_equal(sli_time_round(0x1p51 + 1.5), (INT64_C(1) << 51) + 2);
    /* The neighbours of a tie: adding 0.5 and truncating, a common way to round, fails here. */
    assert_int_equal(sli_time_round(nextafter(0.5, 0.0)), 0);
    assert_int_equal(sli_time_round(nextafter(2.5, 3.0)), 3);
    assert_int_equal(sli_time_round(0x1p52 + 1.0), (INT64_C(1) << 52) + 1);
}

static void saturates_at_both_ends(void **state) {
    (void)state;
    assert_int_equal(sli_time_round(-0.1), 0);
    assert_int_equal(sli_time_round(-INFINITY), 0);
    assert_int_equal(sli_time_round(NAN), 0);
    assert_int_equal(sli_time_round(INFINITY), SLI_NEVER);
    assert_int_equal(sli_time_round(0x1p63), SLI_NEVER);
    assert_int_equal(sli_time_round(nextafter(0x1p63, 0.0)), INT64_MAX - 1023);
}

static void no_rounding_mode_has_a_say(void **state) {
    (void)state;
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(fesetround(modes[i]), 0);
        volatile double tie = 2.5;
        volatile double above = 2.6;
        volatile double below = 2.4;
        int64_t rounded_tie = sli_time_round(tie);
        int64_t rounded_above = sli_time_round(above);
        int64_t rounded_below = sli_time_round(below);
        fesetround(FE_TONEAREST);
        assert_int_equal(rounded_tie, 2);
        assert_int_equal(rounded_above, 3);
        assert_int_equal(rounded_below, 2);
    }
}

static void sums_saturate(void **state) {
    (void)state;
    assert_int_equal(sli_time_add(2, 3), 5);
    assert_int_equal(sli_time_add(INT64_MAX - 3, 3), INT64_MAX);
    assert_int_equal(sli_time_add(INT64_MAX - 3, 4), SLI_NEVER);
    assert_int_equal(sli_time_add(SLI_NEVER, SLI_NEVER), SLI_NEVER);
    assert_int_equal(sli_time_add(0, SLI_NEVER), SLI_NEVER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_nearest_and_ties_to_even),
        cmocka_unit_test(saturates_at_both_ends),
        cmocka_unit_test(no_rounding_mode_has_a_say),
        cmocka_unit_test(sums_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
