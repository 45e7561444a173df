/*
 * The oracles on values worked out by hand, so that they are right before kernels are held against
 * them.
 */
#include "oracle/attention.h"
#include "oracle/elementwise.h"
#include "oracle/experts.h"
#include "oracle/gemm.h"
#include "oracle/mla.h"
#include "oracle/peers.h"
#include "oracle/rounding.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double actual, double expected) {
    double slack = 1e-9 * fmax(1.0, fabs(expected));
    if (!(fabs(actual - expected) <= slack)) {
        print_error("%.12g, expected %.12g\n", actual, expected);
    }
    assert_true(fabs(actual - expected) <= slack);
}

/* ---- Rounding ---- */

static void rounding_to_bf16(void **state) {
    (void)state;
    assert_true(kref_round_bf16(0.0) == 0.0);
    assert_true(kref_round_bf16(1.0) == 1.0);
    assert_true(kref_round_bf16(1.0 + 0x1p-8) == 1.0);             /* a tie, to even */
    assert_true(kref_round_bf16(1.0 + 0x1.8p-7) == 1.0 + 0x1p-6);  /* a tie, to even */
    assert_true(kref_round_bf16(1.0 + 0x1.01p-8) == 1.0 + 0x1p-7); /* above the tie */
    assert_true(kref_round_bf16(-3.14159265) == -3.140625);
    assert_true(kref_round_bf16(0x1.ffp0) == 2.0);        /* carries into the exponent */
    assert_true(kref_round_bf16(0x1.8p-133) == 0x1p-132); /* subnormal: units of 2^-133 */
    assert_true(kref_round_bf16(0x1p-134) == 0.0);
}

/* ---- Attention ---- */

/* Three candidates with weights of 50, 40 and 10 %: scores are logarithms of the weights. */
static void weights_mix_the_values(void **state) {
    (void)state;
    const double query[1] = {2.0};
    const double key_a[1] = {log(0.5)};
    const double key_b[1] = {log(0.4)};
    const double key_c[1] = {log(0.1)};
    const double value_a[1] = {10.0};
    const double value_b[1] = {-20.0};
    const double value_c[1] = {300.0};
    const double *keys[] = {key_a, key_b, key_c};
    const double *values[] = {value_a, value_b, value_c};
    kref_visible visible = {keys, values, 3};
    double output[1];
    double tolerance[1];
    kref_attention_row(query, &visible, 1, 0.5, output, tolerance);
    assert_near(output[0], 0.5 * 10 - 0.4 * 20 + 0.1 * 300);
    /* A = 5 + 8 + 30; the greatest |q k| scale is ln 10. */
    double share = 0x1p-8 + 4 * (1 + 8) * 0x1p-24 * log(10.0) + (4 * 3 + 16) * 0x1p-24;
    assert_near(tolerance[0], 43.0 * share);
}

/* q k = 1 and 3 in two dimensions, scale 1/2: weights 1 / (1 + e) and e / (1 + e). */
static void scores_are_scaled(void **state) {
    (void)state;
    const double query[2] = {1.0, 2.0};
    const double keys_of[2][2] = {{1.0, 0.0}, {1.0, 1.0}};
    const double values_of[2][2] = {{1.0, 0.0}, {0.0, 1.0}};
    const double *keys[] = {keys_of[0], keys_of[1]};
    const double *values[] = {values_of[0], values_of[1]};
    kref_visible visible = {keys, values, 2};
    double outputs[2];
    double tolerances[2];
    kref_attention_row(query, &visible, 2, 0.5, outputs, tolerances);
    assert_near(outputs[0], 0.2689414213699951);
    assert_near(outputs[1], 0.7310585786300049);
    visible.count = 0;
    kref_attention_row(query, &visible, 2, 0.5, outputs, tolerances);
    assert_true(outputs[0] == 0.0 && outputs[1] == 0.0);
    assert_true(tolerances[0] == 0.0);
}

/*
 * Queries of 0 weigh all that they see alike, so outputs are means. Sequence 0: two queries over a
 * past of two, values 1 2 4 8 in head 0 and ten times that in head 1; sequence 1 is empty; sequence
 * 2 is one query, value 7.
 */
static void prefill_sees_past_and_itself(void **state) {
    (void)state;
    const double queries[3 * 2] = {0};
    const double keys[5 * 2] = {0};
    const double values[5 * 2] = {1, 10, 2, 20, 4, 40, 8, 80, 7, 70};
    const int32_t query_starts[] = {0, 2, 2, 3};
    const int32_t key_starts[] = {0, 4, 4, 5};
    double outputs[6];
    double tolerances[6];
    kref_expected expected = {outputs, tolerances};
    kref_heads heads = {2, 2, 1, 0, 1.0};
    kref_prefill_attention(&heads, 3, query_starts, key_starts, queries, keys, values, &expected);
    const double means[6] = {7.0 / 3, 70.0 / 3, 15.0 / 4, 150.0 / 4, 7, 70};
    for (int i = 0; i < 6; i++) {
        assert_near(outputs[i], means[i]);
    }
    /* A window of two tokens: (2 + 4) / 2 and (4 + 8) / 2. */
    heads.window_tokens = 2;
    kref_prefill_attention(&heads, 3, query_starts, key_starts, queries, keys, values, &expected);
    assert_near(outputs[0], 3);
    assert_near(outputs[2], 6);
    assert_near(outputs[4], 7);
}

/* Four query heads on two key-value heads: the first two read the first. */
static void query_heads_share_keys(void **state) {
    (void)state;
    const double queries[4] = {0};
    const double keys[2] = {0};
    const double values[2] = {5, 6};
    const int32_t starts[] = {0, 1};
    double outputs[4];
    double tolerances[4];
    kref_expected expected = {outputs, tolerances};
    kref_heads heads = {4, 2, 1, 0, 1.0};
    kref_prefill_attention(&heads, 1, starts, starts, queries, keys, values, &expected);
    assert_true(outputs[0] == 5 && outputs[1] == 5 && outputs[2] == 6 && outputs[3] == 6);
}

/* Pages of two tokens; sequence 0 has three tokens in blocks 2 and 0, sequence 1 none. */
static void decode_follows_the_table(void **state) {
    (void)state;
    const double queries[2] = {0};
    const double keys[6] = {0};
    const double values[6] = {100, -1, -1, -1, 1, 10}; /* of blocks 0, 1, 2 */
    const int32_t table[] = {2, 0, 9, 9};
    const int32_t lengths[] = {3, 0};
    double outputs[2];
    double tolerances[2];
    kref_expected expected = {outputs, tolerances};
    kref_heads heads = {1, 1, 1, 0, 1.0};
    kref_paging paging = {table, lengths, 2, 2};
    kref_decode_attention(&heads, 2, &paging, queries, keys, values, &expected);
    assert_near(outputs[0], 37); /* (1 + 10 + 100) / 3 */
    assert_true(outputs[1] == 0.0);
    heads.window_tokens = 2;
    kref_decode_attention(&heads, 2, &paging, queries, keys, values, &expected);
    assert_near(outputs[0], 55);
}

/* ---- Latent attention ---- */

/* Latents 10, -20 and 300 whose shared keys are logarithms of 50, 40 and 10 %, in pages of two: the
 * first head asks for the shared key alone, the second for nothing. */
static void mla_decode_by_hand(void **state) {
    (void)state;
    const double queries[4] = {0, 1, 0, 0};
    const double cache[8] = {300, log(0.1), 0, 0, 10, log(0.5), -20, log(0.4)};
    const int32_t table[2] = {1, 0};
    const int32_t lengths[1] = {3};
    double outputs[2];
    double tolerances[2];
    kref_expected expected = {outputs, tolerances};
    kref_mla mla = {.heads = 2, .latent = 1, .rope = 1, .scale = 1.0};
    kref_paging paging = {table, lengths, 2, 2};
    kref_mla_decode(&mla, 1, &paging, queries, cache, &expected);
    assert_near(outputs[0], 0.5 * 10 - 0.4 * 20 + 0.1 * 300);
    assert_near(outputs[1], 290.0 / 3);
    /* The latent is part of the key: weights of 1 / (1 + e) and e / (1 + e). */
    const double asking[4] = {1, 0, 1, 0};
    const double two[4] = {3, 9, 4, 9};
    const int32_t first[1] = {0};
    const int32_t both[1] = {2};
    paging = (kref_paging){first, both, 1, 2};
    kref_mla_decode(&mla, 1, &paging, asking, two, &expected);
    assert_near(outputs[0], 3.7310585786300049);
}

/* Scores of 0 and ln 3: a quarter and three quarters. The first query sees the first token alone.
 */
static void mla_prefill_by_hand(void **state) {
    (void)state;
    const double queries[4] = {5, 5, 2, 1};              /* own part, shared part */
    const double expanded[4] = {0, 8, log(3.0), 16};     /* key, value */
    const double rows[4] = {99, log(9.0), 99, log(3.0)}; /* latent, shared key */
    const int32_t starts[2] = {0, 2};
    double outputs[2];
    double tolerances[2];
    kref_expected expected = {outputs, tolerances};
    kref_mla mla = {1, 1, 1, 1, 1, 1.0};
    kref_mla_prefill(&mla, 1, starts, starts, queries, expanded, rows, &expected);
    assert_near(outputs[0], 8);
    /* 2 x 0 + ln 9 against 2 ln 3 + ln 3. */
    assert_near(outputs[1], 0.25 * 8 + 0.75 * 16);
}

enum { HEADS = 2, LATENT = 4, ROPE = 2, NOPE = 3, VALUE = 2, TOKENS = 5 };

static void fill(double *values, int count, int seed) {
    for (int i = 0; i < count; i++) {
        values[i] = sin(1.7 * i + seed);
    }
}

/* y = matrix x, of `rows` rows; or its transpose, of `rows` columns. */
static void multiply(const double *matrix, int rows, int columns, const double *x, double *y) {
    for (int i = 0; i < rows; i++) {
        y[i] = 0.0;
        for (int j = 0; j < columns; j++) {
            y[i] += matrix[i * columns + j] * x[j];
        }
    }
}

static void multiply_transposed(const double *matrix, int rows, int columns, const double *x,
                                double *y) {
    for (int j = 0; j < columns; j++) {
        y[j] = 0.0;
        for (int i = 0; i < rows; i++) {
            y[j] += matrix[i * columns + j] * x[i];
        }
    }
}

/* q (W c) = (W^T q) c, and the sum of a (W c) is W times the sum of a c: so a query that has taken
 * in the up-projection of keys, and an output that goes through that of values afterwards, give
 * what expanded keys and values give (DeepSeek-V2, section 2.1). */
static void absorbed_is_expanded(void **state) {
    (void)state;
    double up[HEADS][NOPE + VALUE][LATENT]; /* of keys, then of values */
    double rows[TOKENS][LATENT + ROPE];
    double query[HEADS][NOPE + ROPE];
    fill(&up[0][0][0], HEADS * (NOPE + VALUE) * LATENT, 1);
    fill(&rows[0][0], TOKENS * (LATENT + ROPE), 2);
    fill(&query[0][0], HEADS * (NOPE + ROPE), 3);

    double expanded[TOKENS][HEADS][NOPE + VALUE];
    double absorbed[HEADS][LATENT + ROPE];
    for (int head = 0; head < HEADS; head++) {
        for (int i = 0; i < TOKENS; i++) {
            multiply(&up[head][0][0], NOPE + VALUE, LATENT, rows[i], expanded[i][head]);
        }
        multiply_transposed(&up[head][0][0], NOPE, LATENT, query[head], absorbed[head]);
        for (int i = 0; i < ROPE; i++) {
            absorbed[head][LATENT + i] = query[head][NOPE + i];
        }
    }

    const int32_t query_starts[2] = {0, 1};
    const int32_t key_starts[2] = {0, TOKENS};
    const int32_t table[1] = {0};
    kref_mla mla = {HEADS, LATENT, ROPE, NOPE, VALUE, 0.7};
    kref_paging paging = {table, key_starts + 1, 1, TOKENS};
    double tolerances[HEADS * LATENT];
    double outputs[HEADS][VALUE];
    double latents[HEADS][LATENT];
    kref_expected of_expanded = {&outputs[0][0], tolerances};
    kref_expected of_absorbed = {&latents[0][0], tolerances};
    kref_mla_prefill(&mla, 1, query_starts, key_starts, &query[0][0], &expanded[0][0][0],
                     &rows[0][0], &of_expanded);
    kref_mla_decode(&mla, 1, &paging, &absorbed[0][0], &rows[0][0], &of_absorbed);
    for (int head = 0; head < HEADS; head++) {
        double projected[VALUE];
        multiply(&up[head][NOPE][0], VALUE, LATENT, latents[head], projected);
        for (int i = 0; i < VALUE; i++) {
            assert_near(projected[i], outputs[head][i]);
        }
    }
}

/* ---- Matrix products ---- */

/* (1 2; 3 4) by the columns (1 1), (0 -1) and (2 1/2), halved. */
static void gemm_by_hand(void **state) {
    (void)state;
    const double left[4] = {1, 2, 3, 4};
    const double right[6] = {1, 1, 0, -1, 2, 0.5};
    const double products[6] = {1.5, -1, 1.5, 3.5, -2, 4};
    double outputs[6];
    double tolerances[6];
    kref_expected expected = {outputs, tolerances};
    kref_gemm gemm = {2, 3, 2, 0.5, KREF_F32_UNIT};
    kref_gemm_product(&gemm, left, right, &expected);
    for (int i = 0; i < 6; i++) {
        assert_true(outputs[i] == products[i]);
    }
    assert_near(tolerances[2] / 0x1p-24, (2 * 2 + 2) * 0.5 * (2 + 1));
    assert_near(tolerances[4] / 0x1p-24, (2 * 2 + 2) * 0.5 * 4);
}

/* ---- Experts ---- */

/* Scores that are logarithms of 1, 4, 1 and 2 eighths. */
static void routing_by_hand(void **state) {
    (void)state;
    const double scores[4] = {log(0.125), log(0.5), log(0.125), log(0.25)};
    int32_t chosen[3];
    double shares[3];
    double tolerances[3];
    kref_expected weights = {shares, tolerances};
    kref_route(scores, 4, 3, false, chosen, &weights);
    assert_true(chosen[0] == 1 && chosen[1] == 3 && chosen[2] == 0);
    assert_near(shares[0], 0.5);
    assert_near(shares[1], 0.25);
    assert_near(shares[2], 0.125);
    /* They spread over ln 4. */
    assert_near(tolerances[1] / 0x1p-24, 0.25 * (8 * log(4.0) + 4 + 16));
    kref_route(scores, 4, 2, true, chosen, &weights);
    assert_near(shares[0], 2.0 / 3);
    assert_near(shares[1], 1.0 / 3);
}

/* Three tokens with two choices each; expert 1 gets nothing. */
static void experts_by_hand(void **state) {
    (void)state;
    const int32_t chosen[6] = {2, 0, 2, 3, 0, 2};
    int32_t starts[5];
    int32_t order[6];
    int32_t places[6];
    kref_expert_order(chosen, 6, 4, starts, order, places);
    const int32_t its_starts[5] = {0, 2, 2, 5, 6};
    const int32_t its_order[6] = {1, 4, 0, 2, 5, 3};
    const int32_t its_places[6] = {2, 0, 3, 5, 1, 4};
    assert_memory_equal(starts, its_starts, sizeof starts);
    assert_memory_equal(order, its_order, sizeof order);
    assert_memory_equal(places, its_places, sizeof places);

    /* Tokens of one element, 10, 20 and 30; expert e multiplies by e + 1. */
    const double tokens[3] = {10, 20, 30};
    const double factors[4] = {1, 2, 3, 4};
    double products[6];
    double tolerances[6];
    kref_expected expected = {products, tolerances};
    kref_experts experts = {starts, order, 4, 2, 1, 1};
    kref_expert_gemm(&experts, tokens, factors, &expected);
    const double by_place[6] = {10, 30, 30, 60, 90, 80};
    for (int i = 0; i < 6; i++) {
        assert_true(products[i] == by_place[i]);
    }
    /* Token 1: half of expert 2's 60, and a quarter of expert 3's 80, taken off. */
    const double weights[2] = {0.5, -0.25};
    double sum;
    double tolerance;
    kref_expected of_token = {&sum, &tolerance};
    kref_expert_sum(products, places + 2, weights, 2, 1, &of_token);
    assert_true(sum == 10.0);
    assert_near(tolerance / 0x1p-24, 3 * (30 + 20));
    /* Rows that lie at their places. */
    experts.top_k = 0;
    kref_expert_gemm(&experts, by_place, factors, &expected);
    assert_true(products[1] == 30 && products[2] == 90 && products[5] == 320);
}

/* ---- The others ---- */

/* Mean square of 3 and 4 is 12.5. */
static void rms_norm_by_hand(void **state) {
    (void)state;
    double stream[2] = {2.0, 4.0};
    const double update[2] = {1.0, 0x1p-10}; /* the second is rounded away */
    const double weight[2] = {1.0, 2.0};
    double normed[2];
    double tolerances[2];
    kref_rms_norm_row(stream, update, weight, 2, 0.0, normed, tolerances);
    assert_true(stream[0] == 3.0 && stream[1] == 4.0);
    assert_near(normed[0], 0.8485281374238570);
    assert_near(normed[1], 2.2627416997969521);
    assert_near(tolerances[1], normed[1] * (0x1p-8 + 18 * 0x1p-24));
    /* epsilon joins the mean square: sqrt(12.5 + 3.5) = 4 */
    kref_rms_norm_row(stream, NULL, weight, 2, 3.5, normed, tolerances);
    assert_near(normed[0], 0.75);
    assert_near(normed[1], 2.0);
}

static void rope_by_hand(void **state) {
    (void)state;
    const double head[4] = {1.0, 2.0, 0.0, 3.0};
    double turned[4];
    double tolerances[4];
    kref_rope_head(head, 4, 0, 100.0, turned, tolerances);
    for (int i = 0; i < 4; i++) {
        assert_true(turned[i] == head[i]);
    }
    /* Pairs (1, 0) by 2 and (2, 3) by 2 / sqrt(100) = 0.2. */
    kref_rope_head(head, 4, 2, 100.0, turned, tolerances);
    assert_near(turned[0], -0.4161468365471424);
    assert_near(turned[2], 0.9092974268256817);
    assert_near(turned[1], 2 * 0.9800665778412416 - 3 * 0.1986693307950612);
    assert_near(turned[3], 3 * 0.9800665778412416 + 2 * 0.1986693307950612);
    assert_near(tolerances[1], 0x1p-8 * fabs(turned[1]) + 8 * 0x1p-24 * 5);
}

static void activations_by_hand(void **state) {
    (void)state;
    double tolerance;
    assert_true(kref_activate(KREF_SILU, 0.0, 5.0, &tolerance) == 0.0);
    assert_near(kref_activate(KREF_SILU, 1.0, 1.0, &tolerance), 0.7310585786300049);
    assert_near(kref_activate(KREF_SILU, -2.0, 3.0, &tolerance), -6.0 * 0.1192029220221176);
    assert_near(tolerance, 0x1p-8 * 6.0 * 0.1192029220221176 + 16 * 0x1p-24 * 6.0);
    assert_near(kref_activate(KREF_GELU_TANH, 1.0, 1.0, &tolerance), 0.8411919906082768);
    assert_near(kref_activate(KREF_GELU_TANH, -1.0, 2.0, &tolerance), 2 * -0.1588080093917232);
    assert_near(kref_activate(KREF_GELU_TANH, 20.0, 1.0, &tolerance), 20.0);
}

/* 1 + 2 - 4 = -1, of magnitude 7: two additions. */
static void peers_by_hand(void **state) {
    (void)state;
    const double first[2] = {1.0, 0.5};
    const double second[2] = {2.0, 0.0};
    const double third[2] = {-4.0, 0.25};
    const double *inputs[3] = {first, second, third};
    double sums[2];
    double tolerances[2];
    kref_expected expected = {sums, tolerances};
    kref_peer_sum(inputs, 3, 2, &expected);
    assert_true(sums[0] == -1.0 && sums[1] == 0.75);
    assert_true(tolerances[0] == 14 * 0x1p-24);
    kref_peer_sum(inputs, 1, 2, &expected);
    assert_true(sums[0] == 1.0 && tolerances[0] == 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_to_bf16),       cmocka_unit_test(weights_mix_the_values),
        cmocka_unit_test(scores_are_scaled),      cmocka_unit_test(prefill_sees_past_and_itself),
        cmocka_unit_test(query_heads_share_keys), cmocka_unit_test(decode_follows_the_table),
        cmocka_unit_test(mla_decode_by_hand),     cmocka_unit_test(mla_prefill_by_hand),
        cmocka_unit_test(absorbed_is_expanded),   cmocka_unit_test(gemm_by_hand),
        cmocka_unit_test(routing_by_hand),        cmocka_unit_test(experts_by_hand),
        cmocka_unit_test(rms_norm_by_hand),       cmocka_unit_test(rope_by_hand),
        cmocka_unit_test(activations_by_hand),    cmocka_unit_test(peers_by_hand),
    };
    return cmocka_run_group_tests_name("oracles", tests, NULL, NULL);
}
