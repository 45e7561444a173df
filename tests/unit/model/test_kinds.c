/*
 * What single kinds say of themselves, against published figures and counts by hand.
 */
#include "model/opcount.h"
#include "model/params.h"
#include "model/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

/* A model of one layer: hidden 7168, one token in the vocabulary, no feed-forward. */
static const sli_architecture *layer_of(const char *mixer) {
    const char *text = sli_arena_printf(&arena,
                                        "name: M\nsource: test\nhidden: 7168\nvocab: 1 tokens\n"
                                        "tie_embeddings: on\ncontext_native: unlimited\n"
                                        "attention: {x: %s}\nffn: {none: none}\n"
                                        "layers: [[1, x, none]]\n",
                                        mixer);
    sli_node *root = NULL;
    const sli_architecture *model = NULL;
    assert_non_null(text);
    if (sli_tree_read_text(&arena, "m.yaml", text, strlen(text), &diag, &root) != SL_OK ||
        sli_architecture_resolve(&arena, "m", root, &diag, &model) != SL_OK) {
        sli_diag_print(&diag, stderr);
        fail();
    }
    return model;
}

static const sli_architecture *layer_with(const char *mixer, const char *more) {
    const char *text = sli_arena_printf(&arena, "{%s%s}", mixer, more);
    assert_non_null(text);
    return layer_of(text);
}

static const sli_cache_format *bf16(void) {
    return sli_cache_format_find("bf16");
}

static const char v3[] = "type: mla, q_heads: 128, q_lora: 1536, kv_lora: 512, rope_dim: 64, "
                         "nope_dim: 128, value_dim: 128";

/* DeepSeek-V3: 278,528 FLOPs a pair absorbed and 81,920 expanded, which is 3.4 times less; what is
 * saved is paid with 33.6 million a token of the prefix. */
static void mla_computes_absorbed_or_expanded(void **state) {
    (void)state;
    const sli_architecture *automatic = layer_with(v3, "");
    const sli_architecture *absorbed = layer_with(v3, ", prefill: absorbed");
    assert_true(sli_opcount_decode_core(automatic, 1000) == 278528.0 * 1000);
    assert_true(sli_opcount_prefill_core(automatic, 0, 1000) == 81920.0 * 500500);
    assert_true(sli_opcount_prefill_core(automatic, 300, 100) ==
                81920.0 * (300 * 100 + 5050) + 33554432.0 * 300);
    assert_true(sli_opcount_prefill_core(absorbed, 300, 100) == 278528.0 * (300 * 100 + 5050));
}

/* V3.2: the index scores all keys, 16,384 FLOPs each, the core takes 2,048 of them, in prefill
 * too. */
static void sparse_mla_reads_its_choice_and_the_index(void **state) {
    (void)state;
    const sli_architecture *model = layer_with(
        v3, ", index: {keys: own, heads: 64, dim: 128, top: 2048 tokens}");
    assert_int_equal(sli_state_kept(model, bf16(), 10000).cached, 10000 * (1152 + 256));
    assert_int_equal(sli_state_read(model, bf16(), 10000), 2048 * 1152 + 10000 * 256);
    assert_true(sli_opcount_decode_core(model, 10000) == 16384.0 * 10000 + 278528.0 * 2048);
    assert_true(sli_opcount_prefill_core(model, 9999, 1) == sli_opcount_decode_core(model, 10000));
}

static const char small_gqa[] = "type: gqa, q_heads: 8, kv_heads: 2, head_dim: 64";

static void keys_and_values_may_differ_in_width(void **state) {
    (void)state;
    const sli_architecture *model = layer_with(small_gqa, ", value_dim: 32");
    assert_int_equal(sli_state_kept(model, bf16(), 10).cached, 10 * 2 * (64 + 32) * 2);
    assert_true(sli_opcount_decode_core(model, 10) == 2.0 * 8 * (64 + 32) * 10);
    assert_int_equal(sli_params_total(model) - 7168,
                     7168 * (8 * 64 + 2 * 64 + 2 * 32) + 8 * 32 * 7168);
}

/* One projection less, and with `cache` one tensor less. */
static void keys_that_are_values_are_kept_once_or_twice(void **state) {
    (void)state;
    const sli_architecture *off = layer_with(small_gqa, "");
    const sli_architecture *weights = layer_with(small_gqa, ", k_eq_v: weights");
    const sli_architecture *cache = layer_with(small_gqa, ", k_eq_v: cache");
    assert_int_equal(sli_params_total(off) - sli_params_total(weights), 7168 * 2 * 64);
    assert_int_equal(sli_params_total(weights), sli_params_total(cache));
    assert_int_equal(sli_state_kept(off, bf16(), 9).cached,
                     sli_state_kept(weights, bf16(), 9).cached);
    assert_int_equal(sli_state_kept(off, bf16(), 9).cached,
                     2 * sli_state_kept(cache, bf16(), 9).cached);
    assert_true(sli_opcount_decode_core(off, 9) == sli_opcount_decode_core(cache, 9));
}

static void windows_and_chunks_bound_the_cache(void **state) {
    (void)state;
    const sli_architecture *window = layer_with(small_gqa, ", window: 100 tokens");
    const sli_architecture *chunk = layer_with(small_gqa, ", chunk: 100 tokens");
    int64_t row_bytes = 2 * 2 * 64 * 2;
    assert_int_equal(sli_state_kept(window, bf16(), 250).cached, 100 * row_bytes);
    assert_int_equal(sli_state_kept(chunk, bf16(), 250).cached, 50 * row_bytes);
    assert_int_equal(sli_state_kept(chunk, bf16(), 300).cached, 100 * row_bytes);
    assert_int_equal(sli_state_kept(chunk, bf16(), 301).cached, row_bytes);
}

/* Gated DeltaNet of Qwen3.5 9B, one layer: a fp32 matrix of 128 x 128 for each of 32 heads, three
 * inputs of 8,192 convolution channels in bf16; 24 layers of it are the 51,511,296 bytes of the
 * model's published cache profile. */
static const char gdn[] = "type: recurrent, rule: gdn, heads: 32, key_heads: 16, key_dim: 128, "
                          "value_dim: 128, conv: 4, gate: full";

static void recurrent_state_does_not_grow(void **state) {
    (void)state;
    const sli_architecture *model = layer_with(gdn, "");
    assert_int_equal(sli_state_kept(model, bf16(), 1).cached, 0);
    assert_int_equal(24 * sli_state_kept(model, bf16(), 1).fixed, 51511296);
    assert_int_equal(sli_state_kept(model, bf16(), 1).fixed,
                     sli_state_kept(model, bf16(), 1000000).fixed);
    assert_int_equal(sli_state_read(model, bf16(), 5), 2 * sli_state_kept(model, bf16(), 5).fixed);
    assert_int_equal(2 * sli_state_rank(model, bf16(), 1, 2).fixed,
                     sli_state_kept(model, bf16(), 1).fixed);
}

/* vLLM 0.19.1 serves it with a bf16 matrix: a page of 1,097,728 bytes. */
static void state_type_is_the_model_file_s(void **state) {
    (void)state;
    const sli_architecture *model = layer_with(gdn, ", state: bf16");
    assert_int_equal(sli_state_kept(model, bf16(), 1).fixed, 1097728);
    assert_int_equal(sli_state_kept(model, sli_cache_format_find("q4_0"), 1).fixed, 1097728);
}

/* A sum of keys beside the matrix: d_k more numbers a head. */
static void normaliser_is_kept_and_computed(void **state) {
    (void)state;
    static const char linear[] =
        "type: recurrent, rule: linear, heads: 4, key_dim: 32, value_dim: 64";
    const sli_architecture *without = layer_with(linear, "");
    const sli_architecture *with = layer_with(linear, ", normaliser: on");
    assert_int_equal(sli_state_kept(without, bf16(), 1).fixed, 4 * 32 * 64 * 4);
    assert_int_equal(sli_state_kept(with, bf16(), 1).fixed, 4 * 32 * (64 + 1) * 4);
    assert_true(sli_opcount_decode_core(without, 1) == 4.0 * 4 * 32 * 64);
    assert_true(sli_opcount_decode_core(with, 1) == 4.0 * (4 * 32 * 64 + 3 * 32));
}

/* Kimi Linear, equation 13: 6 d^2 + 3 C d + C^2 a token and head, so 126,976 with d 128, C 64. */
static void delta_rules_prefill_in_chunks(void **state) {
    (void)state;
    const sli_architecture *model = layer_with(gdn, "");
    assert_true(sli_opcount_prefill_core(model, 0, 100) == 100.0 * 32 * 126976);
    assert_true(sli_opcount_prefill_core(model, 5000, 100) == 100.0 * 32 * 126976);
}

/* Figures of a Monte-Carlo simulation that agrees within 0.4 %. */
static void experts_are_met_as_expected(void **state) {
    static const struct {
        int64_t experts;
        int64_t top_k;
        int64_t tokens;
        double distinct;
    } cases[] = {
        {256, 8, 1, 8.0},      {256, 8, 8, 57.4},   {256, 8, 32, 163.3},  {256, 8, 128, 251.6},
        {384, 6, 8, 45.5},     {384, 6, 32, 152.0}, {384, 6, 128, 332.8}, {896, 16, 32, 392.6},
        {896, 16, 128, 806.7}, {8, 8, 1, 8.0},      {8, 2, 0, 0.0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double found = sli_moe_distinct(cases[i].experts, cases[i].top_k, cases[i].tokens);
        assert_true(fabs(found - cases[i].distinct) <= 0.05 + 1e-9);
    }
}

static void formats_weigh_rows_with_their_scales(void **state) {
    static const struct {
        const char *format;
        sli_row_sort sort;
        int64_t elements;
        int64_t bytes;
    } cases[] = {
        {"bf16", SLI_ROW_KEY, 128, 256},
        {"fp8", SLI_ROW_VALUE, 128, 128},
        {"q8_0", SLI_ROW_KEY, 128, 136},
        {"q4_0", SLI_ROW_KEY, 128, 72},
        {"q4_0", SLI_ROW_KEY, 129, 90},
        {"nvfp4", SLI_ROW_KEY, 128, 72},
        {"mxfp4", SLI_ROW_KEY, 128, 68},
        {"fp8_ds_mla", SLI_ROW_LATENT, 576, 656},
        {"fp8_ds_mla", SLI_ROW_ENTRY, 512, 584},
        {"fp8_ds_mla", SLI_ROW_INDEX, 128, 132},
        {"fp8_ds_mla_mxfp4", SLI_ROW_INDEX, 128, 68},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sli_cache_format *format = sli_cache_format_find(cases[i].format);
        assert_non_null(format);
        assert_int_equal(sli_format_row_bytes(format, cases[i].sort, 1, cases[i].elements),
                         cases[i].bytes);
    }
    assert_null(sli_cache_format_find("int3"));
    assert_string_equal(sli_cache_formats[0].name, "bf16");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mla_computes_absorbed_or_expanded),
        cmocka_unit_test(sparse_mla_reads_its_choice_and_the_index),
        cmocka_unit_test(keys_and_values_may_differ_in_width),
        cmocka_unit_test(keys_that_are_values_are_kept_once_or_twice),
        cmocka_unit_test(windows_and_chunks_bound_the_cache),
        cmocka_unit_test(recurrent_state_does_not_grow),
        cmocka_unit_test(state_type_is_the_model_file_s),
        cmocka_unit_test(normaliser_is_kept_and_computed),
        cmocka_unit_test(delta_rules_prefill_in_chunks),
        cmocka_unit_test(experts_are_met_as_expected),
        cmocka_unit_test(formats_weigh_rows_with_their_scales),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
