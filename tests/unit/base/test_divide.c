/* Rounding and common divisors against counting. */
#include "base/divide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void quotients_round_up(void **state) {
    (void)state;
    for (int64_t parts = 1; parts <= 12; parts++) {
        int64_t quotient = 0;
        for (int64_t amount = 0; amount <= 50; amount++) {
            quotient += quotient * parts < amount;
            assert_int_equal(sli_divide_up(amount, parts), quotient);
            assert_int_equal(sli_round_up(amount, parts), quotient * parts);
        }
    }
}

static void common_divisors_are_the_greatest(void **state) {
    (void)state;
    for (int64_t a = 0; a <= 40; a++) {
        for (int64_t b = a == 0; b <= 40; b++) {
            int64_t divisor = a > b ? a : b;
            while (a % divisor != 0 || b % divisor != 0) {
                divisor--;
            }
            assert_int_equal(sli_common_divisor(a, b), divisor);
        }
    }
    assert_int_equal(sli_common_divisor(0, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients_round_up),
        cmocka_unit_test(common_divisors_are_the_greatest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
