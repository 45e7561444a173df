/*
 * The small numbers of the CPU backend: every code, and floats of all exponents that they have,
 * against their definitions in double precision.
 */
#include "bench/cpu/number.h"
#include "oracle/quantize.h"
#include "oracle/rounding.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void codes_of_e4m3_are_worth_what_they_are(void **state) {
    (void)state;
    for (int code = 0; code < 256; code++) {
        if ((code & 0x7f) != 0x7f) { /* that is no number */
            assert_true((double)kref_cpu_widen_e4m3((uint8_t)code) ==
                        kref_e4m3_value((uint8_t)code));
        }
    }
}

/* A sign, 5 bits of exponent with bias 15, 10 of mantissa. */
static void codes_of_fp16_are_worth_what_they_are(void **state) {
    (void)state;
    for (int code = 0; code < 65536; code++) {
        int exponent = code >> 10 & 31;
        int mantissa = code & 1023;
        double magnitude = exponent == 0 ? ldexp(mantissa, -24)
                                         : ldexp(1024 + mantissa, exponent - 25);
        double value = code >= 32768 ? -magnitude : magnitude;
        assert_true(exponent == 31 || (double)kref_cpu_widen_half((uint16_t)code) == value);
    }
}

static void check_rounding(float value) {
    assert_true((double)kref_cpu_widen(kref_cpu_narrow(value)) == kref_round_bf16((double)value));
    double half = fmin(fmax(kref_round_fp16((double)value), -65504.0), 65504.0);
    assert_true((double)kref_cpu_widen_half(kref_cpu_narrow_half(value)) == half);
    double wide = (double)value;
    uint8_t code;
    bool is_close;
    kref_quantize_fp8(&wide, 1, 1.0, &(kref_codes){&code, &is_close});
    assert_int_equal(kref_cpu_narrow_e4m3(value), code);
}

/* Floats with few bits are often in the middle of two codes. */
static void floats_go_to_the_nearest(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int exponent = -28; exponent <= 20; exponent++) {
        for (int bits = 1; bits <= 24; bits++) {
            for (int i = 0; i < 64; i++) {
                random = random * 6364136223846793005U + 1442695040888963407U; /* Knuth's MMIX */
                uint32_t mantissa = (uint32_t)(random >> 33) & ((1U << bits) - 1U);
                float value = ldexpf((float)mantissa, exponent - bits);
                check_rounding(i % 2 == 0 ? value : -value);
            }
        }
    }
}

/* Halfway between 1 and the next bf16, fp16 or code of e4m3: to the even one, which is 1. */
static void ties_go_to_the_even(void **state) {
    (void)state;
    assert_int_equal(kref_cpu_narrow(1.0F + 0x1p-8F), 0x3f80);
    assert_int_equal(kref_cpu_narrow(1.0F + 0x1.8p-7F), 0x3f82);
    assert_int_equal(kref_cpu_narrow_half(1.0F + 0x1p-11F), 0x3c00);
    assert_int_equal(kref_cpu_narrow_half(1.0F + 0x1.8p-10F), 0x3c02);
    assert_int_equal(kref_cpu_narrow_e4m3(1.0F + 0x1p-4F), 0x38);
    assert_int_equal(kref_cpu_narrow_e4m3(1.0F + 0x1.8p-3F), 0x3a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_of_e4m3_are_worth_what_they_are),
        cmocka_unit_test(codes_of_fp16_are_worth_what_they_are),
        cmocka_unit_test(floats_go_to_the_nearest),
        cmocka_unit_test(ties_go_to_the_even),
    };
    return cmocka_run_group_tests_name("cpu numbers", tests, NULL, NULL);
}
