/*
 * The oracles of what is kept between steps, on values worked out by hand: quantised rows,
 * recurrent states, the index of sparse attention.
 */
#include "oracle/quantize.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- Quantised rows ---- */

static void fp16_and_e4m3_by_hand(void **state) {
    (void)state;
    assert_true(kref_round_fp16(1.0) == 1.0);
    assert_true(kref_round_fp16(1.0 + 0x1p-11) == 1.0);            /* a tie, to even */
    assert_true(kref_round_fp16(1.0 + 0x1.8p-10) == 1.0 + 0x1p-9); /* a tie, to even */
    assert_true(kref_round_fp16(0x1p-25) == 0.0);
    assert_true(kref_round_fp16(0x1.8p-24) == 0x1p-23); /* subnormal: units of 2^-24 */
    assert_true(kref_round_fp16(-1000.3) == -1000.5);   /* units of 1/2 */
    assert_true(kref_e4m3_value(0x7e) == 448.0);
    assert_true(kref_e4m3_value(0x38) == 1.0);
    assert_true(kref_e4m3_value(0x81) == -0x1p-9);
    /* By a scale of 2: 1.0, then the tie between 1 and 1.125 to the even code, then saturation. */
    const double row[4] = {2.0, 2.125, -1e6, -0.0};
    uint8_t codes[4];
    bool is_close[4];
    kref_codes to = {codes, is_close};
    kref_quantize_fp8(row, 4, 2.0, &to);
    assert_int_equal(codes[0], 0x38);
    assert_int_equal(codes[1], 0x38);
    assert_int_equal(codes[2], 0xfe);
    assert_int_equal(codes[3], 0x80);
    assert_true(is_close[1] && !is_close[0] && !is_close[2]);
}

/* The greatest is 254, so the scale is 2: 3 / 2 is a tie and goes to 2. */
static void int8_by_hand(void **state) {
    (void)state;
    const double row[5] = {-254.0, 3.0, 2.9, 0.0, 100.0};
    uint8_t codes[5];
    bool is_close[5];
    kref_codes to = {codes, is_close};
    assert_true(kref_quantize_int8(row, 5, &to) == 2.0);
    const int expected[5] = {-127, 2, 1, 0, 50};
    for (int i = 0; i < 5; i++) {
        assert_int_equal((int8_t)codes[i], expected[i]);
        assert_true(is_close[i] == (i == 1));
    }
    const double zeros[2] = {0.0, 0.0};
    assert_true(kref_quantize_int8(zeros, 2, &to) == 0.0);
    assert_int_equal(codes[0], 0);
}

/* The greatest is -16, so d is 2 and -16 gets code 0. 16 would get 16 and is cut to 15; 1 / 2 + 8.5
 * is a tie. With 17 in its place d is -17/8. */
static void q4_by_hand(void **state) {
    (void)state;
    double group[KREF_Q4_GROUP] = {-16.0, 15.9, 1.0, -3.1, 0.0};
    uint8_t codes[KREF_Q4_GROUP];
    bool is_close[KREF_Q4_GROUP];
    kref_codes to = {codes, is_close};
    assert_true(kref_quantize_q4(group, &to) == 2.0);
    const int expected[5] = {0, 15, 9, 6, 8};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(codes[i], expected[i]);
        assert_true(is_close[i] == (i == 2));
    }
    group[1] = 17.0;
    assert_true(kref_quantize_q4(group, &to) == -2.125);
    assert_int_equal(codes[1], 0);
    assert_int_equal(codes[0], 15); /* 16 / 2.125 = 7.53, + 8.5 */
    group[1] = 16.0;
    assert_true(kref_quantize_q4(group, &to) == -2.0); /* of twins the positive */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp16_and_e4m3_by_hand),
        cmocka_unit_test(int8_by_hand),
        cmocka_unit_test(q4_by_hand),
    };
    return cmocka_run_group_tests_name("state_oracles", tests, NULL, NULL);
}
