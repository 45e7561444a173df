/*
 * The oracles of what is kept between steps, on values worked out by hand: quantised rows,
 * recurrent states, the index of sparse attention.
 */
#include "oracle/delta.h"
#include "oracle/index.h"
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
    /* 1.375 units of an fp16 become 1 unit, so that the greatest are 11 steps from 0. */
    group[0] = -8.0 * 0x1.6p-24;
    group[1] = 8.0 * 0x1.6p-24;
    group[2] = group[3] = 0.0;
    assert_true(kref_quantize_q4(group, &to) == -0x1p-24);
    assert_int_equal(codes[0], 15);
    assert_int_equal(codes[1], 0);
    assert_int_equal(codes[2], 8);
}

/* ---- Recurrent states ---- */

/* One head of two channels, two values; the state lies row by row. */
static const kref_delta_rule small_rule = {
    .key_heads = 1, .heads = 1, .key_dim = 2, .value_dim = 2, .scale = 1.0, .unit = 0.0};

static void assert_same(const double *actual, const double *expected, int count) {
    for (int i = 0; i < count; i++) {
        if (!(fabs(actual[i] - expected[i]) <= 1e-12)) {
            print_error("element %d is %.15g, expected %.15g\n", i, actual[i], expected[i]);
        }
        assert_true(fabs(actual[i] - expected[i]) <= 1e-12);
    }
}

/*
 * Keys (1 0) and (0 1) with values (2 1) and (1 3) are different associations, so the rule only
 * adds: S = (2 1; 1 3), and the query (1 1) reads (3 4). Then the first key comes again with (0 2):
 * (2 1) was predicted, (-2 1) is missing, and the first row becomes (0 2); the second stays.
 */
static void delta_rule_by_hand(void **state) {
    (void)state;
    const double queries[6] = {1, 0, 1, 1, 1, 1};
    const double keys[6] = {1, 0, 0, 1, 1, 0};
    const double values[6] = {2, 1, 1, 3, 0, 2};
    const double decays[3] = {0, 0, 0};
    const double strengths[3] = {1, 1, 1};
    double matrix[4] = {0};
    double errors[4];
    double outputs[6];
    double tolerances[6];
    kref_expected expected = {outputs, tolerances};
    kref_delta_tokens(&small_rule, 2, queries, keys, values, decays, strengths, matrix, errors,
                      &expected);
    assert_same(matrix, (const double[]){2, 1, 1, 3}, 4);
    assert_same(outputs, (const double[]){2, 1, 3, 4}, 4);
    kref_delta_tokens(&small_rule, 1, queries + 4, keys + 4, values + 4, decays, strengths, matrix,
                      errors, &expected);
    assert_same(matrix, (const double[]){0, 2, 1, 3}, 4);
    assert_same(outputs, (const double[]){1, 5}, 2);
}

/* From (2 1; 1 3), halved to (1 1/2; 1/2 3/2), of which the key (1 0) predicts (1 1/2); of what is
 * missing to (0 2) a strength of 1/2 writes (-1/2 3/4). */
static void decay_comes_first(void **state) {
    (void)state;
    const double query[2] = {1, 2};
    const double key[2] = {1, 0};
    const double value[2] = {0, 2};
    const double half = log(0.5);
    const double strength = 0.5;
    double matrix[4] = {2, 1, 1, 3};
    double errors[4];
    double outputs[2];
    double tolerances[2];
    kref_expected expected = {outputs, tolerances};
    kref_delta_rule rule = small_rule;
    rule.scale = 0.5;
    rule.unit = 0x1p-8;
    kref_delta_tokens(&rule, 1, query, key, value, &half, &strength, matrix, errors, &expected);
    assert_same(matrix, (const double[]){0.5, 1.25, 0.5, 1.5}, 4);
    assert_same(outputs, (const double[]){0.75, 2.125}, 2);
    /* First column: length sqrt 5, halved; the correction is -1/2. */
    double magnitude = sqrt(5.0) / 2;
    double error = 2 * 0x1p-8 * (0.5 * magnitude + 0.5) + 0x1p-20 * magnitude;
    assert_same(errors, &error, 1);
    assert_true(fabs(tolerances[0] - 0.5 * sqrt(5.0) * (error + 4 * 0x1p-8 * (magnitude + 0.5))) <
                1e-12);

    /* Of the channels only the second is halved: (2 1; 1/2 3/2), of which (2 1) is predicted. */
    const double channels[2] = {0.0, half};
    double other[4] = {2, 1, 1, 3};
    rule.has_channel_decays = true;
    kref_delta_tokens(&rule, 1, query, key, value, channels, &strength, other, errors, &expected);
    assert_same(other, (const double[]){1, 1.5, 0.5, 1.5}, 4);
}

/* Two heads share a key: only the values differ. */
static void heads_share_keys(void **state) {
    (void)state;
    const double query[2] = {0, 1};
    const double key[2] = {0, 1};
    const double values[2] = {5, 7};
    const double decays[2] = {0, 0};
    const double strengths[2] = {1, 0.5};
    double matrix[4] = {0};
    double errors[4];
    double outputs[2];
    double tolerances[2];
    kref_expected expected = {outputs, tolerances};
    kref_delta_rule rule = {
        .key_heads = 1, .heads = 2, .key_dim = 2, .value_dim = 1, .scale = 1.0, .unit = 0.0};
    kref_delta_tokens(&rule, 1, query, key, values, decays, strengths, matrix, errors, &expected);
    assert_same(matrix, (const double[]){0, 5, 0, 3.5}, 4);
    assert_same(outputs, (const double[]){5, 3.5}, 2);
}

/* ---- The index ---- */

/* Products 2 and -1, of which the second counts nothing: 3 x 2. Its weight would be 100. */
static void scores_by_hand(void **state) {
    (void)state;
    const double queries[4] = {1, 2, 1, -1};
    const double weights[2] = {3, 100};
    const double key[2] = {0, 1};
    double tolerance;
    assert_true(kref_index_score(2, 2, queries, weights, key, &tolerance) == 6.0);
    assert_true(tolerance == 2.0 * (2 + 2 + 4) * 0x1p-24 * (3 * 2 + 100));
    assert_true(kref_index_score(1, 2, queries + 2, weights, key, &tolerance) == 0.0);
}

static void selection_by_hand(void **state) {
    (void)state;
    const double numbers[6] = {1, 5, -2, 5, 1, 0};
    int32_t chosen[8];
    kref_select_top(numbers, 6, 3, chosen); /* of the two 1 the first */
    const int32_t three[3] = {0, 1, 3};
    assert_memory_equal(chosen, three, sizeof three);
    kref_select_top(numbers, 2, 4, chosen);
    const int32_t two[4] = {0, 1, -1, -1};
    assert_memory_equal(chosen, two, sizeof two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp16_and_e4m3_by_hand),
        cmocka_unit_test(int8_by_hand),
        cmocka_unit_test(q4_by_hand),
        cmocka_unit_test(delta_rule_by_hand),
        cmocka_unit_test(decay_comes_first),
        cmocka_unit_test(heads_share_keys),
        cmocka_unit_test(scores_by_hand),
        cmocka_unit_test(selection_by_hand),
    };
    return cmocka_run_group_tests_name("state_oracles", tests, NULL, NULL);
}
