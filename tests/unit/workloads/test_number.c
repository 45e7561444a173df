#include "workloads/number.h"

#include "support.h"

#include <string.h>

static int64_t ns_of(const char *text, int exponent) {
    int64_t ns = -1;
    assert_true(sli_decimal_ns(text, exponent, &ns));
    return ns;
}

static void reads_decimals_exactly(void **state) {
    (void)state;
    assert_int_equal(ns_of("0", 6), 0);
    assert_int_equal(ns_of("27482", 6), 27482000000);
    assert_int_equal(ns_of("12.5", 6), 12500000);
    assert_int_equal(ns_of("0.000001", 6), 1);
    assert_int_equal(ns_of("46.6805900", 9), 46680590000);
    assert_int_equal(ns_of("1.5e3", 0), 1500);
    assert_int_equal(ns_of("1E-3", 6), 1000);
    assert_int_equal(ns_of("25e+2", 0), 2500);
    assert_int_equal(ns_of("0e999999999999", 6), 0);
    assert_int_equal(ns_of("-0.0", 6), 0);
    /* 2^53 + 1, the first whole number that a double cannot hold. */
    assert_int_equal(ns_of("9007199254740993", 0), 9007199254740993);
    assert_int_equal(ns_of("9007199254.740993", 6), 9007199254740993);
    assert_int_equal(ns_of("9223372036854775807", 0), INT64_MAX);
    assert_int_equal(ns_of("922337203685477580.7e1", 0), INT64_MAX);
}

static void rounds_half_to_even(void **state) {
    (void)state;
    assert_int_equal(ns_of("0.5", 0), 0);
    assert_int_equal(ns_of("1.5", 0), 2);
    assert_int_equal(ns_of("2.5", 0), 2);
    assert_int_equal(ns_of("2.50000000000000000000000000001", 0), 3);
    assert_int_equal(ns_of("2.49999999999999999999999999999", 0), 2);
    assert_int_equal(ns_of("0.05", 0), 0);
    assert_int_equal(ns_of("9e-10", 0), 0);
    assert_int_equal(ns_of("0.0000005", 6), 0);
    assert_int_equal(ns_of("0.0000015", 6), 2);
}

static void refuses_what_is_no_time(void **state) {
    (void)state;
    const char *const texts[] = {"",
                                 "-",
                                 ".5",
                                 "5.",
                                 "1e",
                                 "1e+",
                                 "NaN",
                                 "-NaN",
                                 "Infinity",
                                 "-1",
                                 "+1",
                                 "0x10",
                                 "1_000",
                                 " 1",
                                 "1 ",
                                 "1,5",
                                 "-1e-9",
                                 "null",
                                 "9223372036854775808",
                                 "1e19",
                                 "9223372036854775807.5"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ns = 42;
        if (sli_decimal_ns(texts[i], 0, &ns)) {
            fail_msg("'%s' was taken as %lld", texts[i], (long long)ns);
        }
        assert_int_equal(ns, 42);
    }
}

static void reads_unsigned_numbers_up_to_64_bits(void **state) {
    (void)state;
    uint64_t value = 42;
    const char *largest = "18446744073709551615";
    assert_false(sli_decimal_u64("18446744073709551616", 20, &value));
    assert_false(sli_decimal_u64("99999999999999999999", 20, &value));
    assert_false(sli_decimal_u64("", 0, &value));
    assert_false(sli_decimal_u64("-1", 2, &value));
    assert_false(sli_decimal_u64("1.0", 3, &value));
    assert_true(value == 42);
    assert_true(sli_decimal_u64(largest, strlen(largest), &value));
    assert_true(value == UINT64_MAX);
    assert_true(sli_decimal_u64("123", 2, &value));
    assert_true(value == 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_decimals_exactly),
        cmocka_unit_test(rounds_half_to_even),
        cmocka_unit_test(refuses_what_is_no_time),
        cmocka_unit_test(reads_unsigned_numbers_up_to_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
