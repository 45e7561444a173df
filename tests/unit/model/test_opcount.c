/* What a plain layer has to compute and to move, on a model small enough to count by hand. */
#include "model/opcount.h"
#include "model/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A model small enough to count by hand: 2 layers, hidden 8, 4 query and 2 key-value heads of 4,
 * feed-forward 6, vocabulary 10. */
static sli_gqa heads;
static sli_dense inner;
static sli_layer_part parts[2];
static sli_layer_run runs[] = {{.count = 2, .mixer = &parts[0], .ffn = &parts[1]}};

static sli_architecture small_model(void) {
    heads = (sli_gqa){.q_heads = 4, .kv_heads = 2, .head_dim = 4, .has_qk_norm = true};
    inner = (sli_dense){.width = 6, .is_gated = true};
    parts[0] = (sli_layer_part){.name = "full", .kind = &sli_gqa_kind, .values = &heads};
    parts[1] = (sli_layer_part){.name = "dense", .kind = &sli_dense_kind, .values = &inner};
    for (int i = 0; i < 2; i++) {
        parts[i].kind->describe(parts[i].values, 8, &parts[i].facts);
    }
    return (sli_architecture){
        .id = "small",
        .hidden = 8,
        .vocab_tokens = 10,
        .layers = {.rows = runs, .count = 1},
    };
}

/* A chunk of 3 over 2 computed tokens, and decode rows that see 5 and 7 keys. */
static const sl_batch_shape mixed = {
    .tokens = 5,
    .sequences = 3,
    .emitting = 2,
    .decodes = 2,
    .decode_kv_tokens = 12,
    .decode_kv_max = 7,
    .prefills = 1,
    .prefill_tokens = 3,
    .prefill_kv_tokens = 5,
    .prefill_kv_max = 5,
    .prefill_pairs = 3 * 2 + 3 * 4 / 2,
    .prefill_tile_pairs_x2 = 128 * (2 * 2 + 3 + 128),
};

static void gemm_equals(sli_gemm gemm, double m, double n, double k) {
    assert_true(gemm.m == m);
    assert_true(gemm.n == n);
    assert_true(gemm.k == k);
}

static void matrices_have_the_sizes_of_the_layer(void **state) {
    (void)state;
    sli_architecture model = small_model();
    sli_layer_work work;
    sli_opcount_layer(&model, &runs[0], 1, &mixed, &work);
    gemm_equals(work.gemms[SLI_GEMM_QKV], 5, (4 + 2 * 2) * 4, 8);
    gemm_equals(work.gemms[SLI_GEMM_OUT], 5, 8, 16);
    gemm_equals(work.gemms[SLI_GEMM_GATE_UP], 5, 12, 8);
    gemm_equals(work.gemms[SLI_GEMM_DOWN], 5, 8, 6);
    gemm_equals(sli_opcount_head(&model, 1, &mixed), 2, 10, 8);

    sli_opcount_layer(&model, &runs[0], 2, &mixed, &work);
    gemm_equals(work.gemms[SLI_GEMM_QKV], 5, 16, 8);
    gemm_equals(work.gemms[SLI_GEMM_OUT], 5, 8, 8);
    gemm_equals(work.gemms[SLI_GEMM_GATE_UP], 5, 6, 8);
    gemm_equals(work.gemms[SLI_GEMM_DOWN], 5, 8, 3);
    gemm_equals(sli_opcount_head(&model, 2, &mixed), 2, 5, 8);
}

/* [2 x 3] = [2 x 4][4 x 3]: 24 multiply-adds; 8 + 12 + 6 elements. */
static void gemm_counts_flops_and_bytes(void **state) {
    (void)state;
    sli_gemm gemm = {.m = 2, .n = 3, .k = 4};
    assert_true(sli_gemm_flops(&gemm) == 48);
    assert_true(sli_gemm_bytes(&gemm) == 52);
}

static void attention_counts_tiles_and_cache(void **state) {
    (void)state;
    sli_architecture model = small_model();
    sli_layer_work work;
    sli_opcount_layer(&model, &runs[0], 1, &mixed, &work);
    /* 4 Hq d x 128 rows x (k + (c + 128) / 2) keys */
    assert_true(work.prefill.tile_flops == 4 * 4 * 4 * 128 * (2 + 131 / 2.0));
    assert_true(work.prefill.critical_flops == 4 * 128 * 4 * 5);
    /* keys and values of 5 tokens; queries and outputs of 3 */
    assert_true(work.prefill.bytes == 2 * (2 * 2 * 4 * 5 + 2 * 4 * 4 * 3));
    assert_true(work.decode.bytes == 2 * (2 * 2 * 4 * 12));
    assert_true(work.decode.longest_tokens == 7);
    assert_true(work.decode.row_heads == 2 * 2);
}

static void elementwise_counts_bytes(void **state) {
    (void)state;
    sli_architecture model = small_model();
    sli_layer_work work;
    sli_opcount_layer(&model, &runs[0], 2, &mixed, &work);
    assert_true(work.elementwise_bytes[SLI_ELEMENTWISE_NORM_IN] == 8 * 5 * 8);
    assert_true(work.elementwise_bytes[SLI_ELEMENTWISE_NORM_MID] == 8 * 5 * 8);
    assert_true(work.elementwise_bytes[SLI_ELEMENTWISE_ROPE] == 4 * 5 * (4 + 2 * 2) * 4 / 2.0);
    assert_true(work.elementwise_bytes[SLI_ELEMENTWISE_ACTIVATION] == 6 * 5 * 6 / 2.0);
    assert_true(work.elementwise_bytes[SLI_ELEMENTWISE_QK_NORM] == 4 * 5 * (4 + 2) * 4 / 2.0);
    assert_true(work.all_reduce_bytes == 2 * 5 * 8);

    heads.has_qk_norm = false;
    sli_opcount_layer(&model, &runs[0], 1, &mixed, &work);
    assert_true(work.elementwise_bytes[SLI_ELEMENTWISE_QK_NORM] == 0);
    assert_true(work.all_reduce_bytes == 0);
}

static void without_a_gate_there_is_one_projection_less(void **state) {
    (void)state;
    sli_architecture model = small_model();
    inner.is_gated = false;
    sli_layer_work work;
    sli_opcount_layer(&model, &runs[0], 1, &mixed, &work);
    gemm_equals(work.gemms[SLI_GEMM_GATE_UP], 5, 6, 8);
    gemm_equals(work.gemms[SLI_GEMM_DOWN], 5, 8, 6);
    assert_true(work.elementwise_bytes[SLI_ELEMENTWISE_ACTIVATION] == 4 * 5 * 6);
}

/* The work of the ranks adds up to the work of one, but for what every rank repeats. */
static void ranks_share_the_work(void **state) {
    (void)state;
    sli_architecture model = small_model();
    sli_layer_work whole;
    sli_layer_work half;
    sli_opcount_layer(&model, &runs[0], 1, &mixed, &whole);
    sli_opcount_layer(&model, &runs[0], 2, &mixed, &half);
    for (int i = 0; i < SLI_GEMM_COUNT; i++) {
        assert_true(2 * sli_gemm_flops(&half.gemms[i]) == sli_gemm_flops(&whole.gemms[i]));
    }
    assert_true(2 * half.prefill.tile_flops == whole.prefill.tile_flops);
    assert_true(2 * half.prefill.bytes == whole.prefill.bytes);
    assert_true(2 * half.decode.bytes == whole.decode.bytes);
    assert_true(half.prefill.critical_flops == whole.prefill.critical_flops);
}

/* Two FLOPs a parameter and token, and 4 Hq d a pair, layer and head. */
static void exact_flops_follow_parameters_and_pairs(void **state) {
    (void)state;
    sli_architecture model = small_model();
    double head_params = 10 * 8;
    double layer_params = (double)sli_params_matmul(&model) - head_params;
    double linear = 2 * (layer_params * 5 + head_params * 2);
    double attention = 2 * (4 * 4 * 4) * (12.0 + 12.0);
    assert_true(sli_opcount_flops(&model, &mixed) == linear + attention);
}

/* The two ways to count attention agree: by the batch, and by the sequence. */
static void cores_of_sequences_add_up_to_the_step(void **state) {
    (void)state;
    sli_architecture model = small_model();
    double head_params = 10 * 8;
    double layer_params = (double)sli_params_matmul(&model) - head_params;
    double linear = 2 * (layer_params * 5 + head_params * 2);
    double core = sli_opcount_prefill_core(&model, 2, 3) + sli_opcount_decode_core(&model, 5) +
                  sli_opcount_decode_core(&model, 7);
    assert_true(sli_opcount_flops(&model, &mixed) == linear + core);
}

/* As counted for the measured operators: of the mixer exactly, but for the norm of queries and
 * keys; of a gated feed-forward with one element in four too many inside. */
static void elementwise_agrees_with_the_plain_count(void **state) {
    (void)state;
    sli_architecture model = small_model();
    for (int64_t tp = 1; tp <= 2; tp++) {
        sli_layer_work work;
        sli_opcount_layer(&model, &runs[0], tp, &mixed, &work);
        sli_part_elementwise mixer = sli_opcount_part_elementwise(&parts[0].facts, 8, tp, 5);
        sli_part_elementwise ffn = sli_opcount_part_elementwise(&parts[1].facts, 8, tp, 5);
        assert_true(mixer.norm_bytes == work.elementwise_bytes[SLI_ELEMENTWISE_NORM_IN]);
        assert_true(mixer.inner_bytes == work.elementwise_bytes[SLI_ELEMENTWISE_ROPE]);
        assert_true(ffn.norm_bytes == work.elementwise_bytes[SLI_ELEMENTWISE_NORM_MID]);
        assert_true(ffn.inner_bytes * 3 == work.elementwise_bytes[SLI_ELEMENTWISE_ACTIVATION] * 4);
    }
    sli_part_facts nothing = {0};
    assert_true(sli_opcount_part_elementwise(&nothing, 8, 1, 5).norm_bytes == 0);
    assert_true(sli_opcount_part_elementwise(&nothing, 8, 1, 5).inner_bytes == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_have_the_sizes_of_the_layer),
        cmocka_unit_test(gemm_counts_flops_and_bytes),
        cmocka_unit_test(attention_counts_tiles_and_cache),
        cmocka_unit_test(elementwise_counts_bytes),
        cmocka_unit_test(without_a_gate_there_is_one_projection_less),
        cmocka_unit_test(ranks_share_the_work),
        cmocka_unit_test(exact_flops_follow_parameters_and_pairs),
        cmocka_unit_test(cores_of_sequences_add_up_to_the_step),
        cmocka_unit_test(elementwise_agrees_with_the_plain_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
