/*
 * The closed forms of what is kept between steps: by hand where that is short, and against the
 * model where both speak of the same.
 */
#include "figures/copy.h"
#include "figures/delta.h"
#include "figures/index.h"
#include "figures/quantized.h"
#include "model/format.h"
#include "model/kinds.h"
#include "model/opcount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Three blocks of 8208 bytes are two pieces of 8 KiB each; 128 threads of each read both lists. */
static void copies_by_hand(void **state) {
    (void)state;
    kref_work work = kref_block_copy_work(3, 8208, 2);
    assert_int_equal(work.stored_bytes, 3 * 8208);
    assert_int_equal(work.loaded_bytes, 3 * 8208 + 3 * 2 * 128 * 2 * 4);
    assert_int_equal(work.algorithmic_bytes, 2 * 3 * 8208);
    work = kref_gather_rows_work(5, 4, 576);
    assert_int_equal(work.stored_bytes, 5 * 1152);
    assert_int_equal(work.loaded_bytes, 4 * 1152 + 32 * 4 * (5 + 4));
}

/* Two tokens of one head of 128, one with a slot: 16 lanes a row, so one block each for keys and
 * values. */
static void append_by_hand(void **state) {
    (void)state;
    kref_work work = kref_kv_append_work(KREF_CACHE_INT8, 2, 1, 1, 128);
    assert_int_equal(work.stored_bytes, 2 * 130);
    assert_int_equal(work.loaded_bytes, 2 * 256 + 2 * 2 * 16 * 4);
    assert_int_equal(work.vector_flops, 2 * 128 * (16 + 4 + 2 + 8));
    work = kref_kv_append_work(KREF_CACHE_Q4_0, 2, 1, 1, 128);
    assert_int_equal(work.stored_bytes, 2 * 72);
    assert_int_equal(work.vector_flops, 2 * 128 * (14 + 4 + 3 + 16));
    work = kref_kv_append_work(KREF_CACHE_FP8, 2, 1, 1, 128);
    assert_int_equal(work.stored_bytes, 2 * 128);
    assert_int_equal(work.loaded_bytes, 2 * 256 + 2 * 2 * 16 * 4 + 2 * 16 * 4);
}

/* A row weighs what the model says, keys and values alike. */
static void rows_weigh_what_the_model_says(void **state) {
    (void)state;
    const struct {
        const char *name;
        kref_cache_format format;
    } formats[] = {{"fp8", KREF_CACHE_FP8}, {"int8", KREF_CACHE_INT8}, {"q4_0", KREF_CACHE_Q4_0}};
    for (int i = 0; i < 3; i++) {
        const sli_cache_format *its = sli_cache_format_find(formats[i].name);
        assert_non_null(its);
        for (int64_t head_dim = 32; head_dim <= 256; head_dim *= 2) {
            int64_t bytes = kref_cache_row_bytes(formats[i].format, head_dim);
            assert_int_equal(bytes, sli_format_row_bytes(its, SLI_ROW_KEY, 1, head_dim));
            assert_int_equal(bytes, sli_format_row_bytes(its, SLI_ROW_VALUE, 1, head_dim));
        }
    }
}

/* 100 tokens of two heads of 64, 7 tiles of 16 each: what is copied and loaded of the cache is what
 * the model says of its rows, and each element of a tile is multiplied once. */
static void quantized_decode_by_hand(void **state) {
    (void)state;
    const int32_t tokens = 100;
    kref_attention_shape shape = {
        .sequences = 1,
        .tokens = &tokens,
        .query_heads = 4,
        .kv_heads = 2,
        .head_dim = 64,
        .splits = 1,
        .output_bytes = 2,
    };
    kref_work plain = kref_decode_attention_work(&shape);
    for (int i = 0; i < 2; i++) {
        const sli_cache_format *its = sli_cache_format_find(i == 0 ? "int8" : "q4_0");
        kref_cache_format format = i == 0 ? KREF_CACHE_INT8 : KREF_CACHE_Q4_0;
        int64_t cache_bytes = 2 * 2 * 100 * sli_format_row_bytes(its, SLI_ROW_KEY, 1, 64);
        kref_work work = kref_quantized_decode_work(&shape, format);
        assert_int_equal(work.copied_bytes + work.loaded_bytes - plain.loaded_bytes, cache_bytes);
        assert_int_equal(work.algorithmic_bytes, cache_bytes + 2 * 4 * 64 * 2);
        assert_int_equal(work.vector_flops - plain.vector_flops, 2 * 2 * 7 * 16 * 64);
        assert_int_equal(work.matrix_flops, plain.matrix_flops);
    }
    kref_work work = kref_quantized_decode_work(&shape, KREF_CACHE_FP8);
    assert_int_equal(work.copied_bytes, 2 * 2 * 100 * 64);
    assert_int_equal(work.loaded_bytes - plain.loaded_bytes, 2 * 2 * 7 * 32 * 4);
}

/* ---- Delta rules ---- */

static kref_delta_shape delta_shape(const int32_t *tokens, bool has_channel_decays) {
    return (kref_delta_shape){
        .sequences = 1,
        .tokens = tokens,
        .key_heads = 1,
        .heads = 2,
        .key_dim = 64,
        .value_dim = 64,
        .has_channel_decays = has_channel_decays,
        .output_bytes = 2,
    };
}

/* Four blocks of 64 x 32. A token: 7 an element, twice 24 and 8 a thread for sums and corrections,
 * 32 scaled outputs. */
static void steps_by_hand(void **state) {
    (void)state;
    const int32_t tokens = 1;
    kref_delta_shape shape = delta_shape(&tokens, false);
    kref_work work = kref_delta_step_work(&shape);
    assert_int_equal(work.vector_flops, 4 * (7 * 64 * 32 + 128 * (2 * 24 + 8) + 32));
    assert_int_equal(work.specials, 4 * 128);
    assert_int_equal(work.stored_bytes, 4 * (64 * 32 * 4 + 32 * 2));
    assert_int_equal(work.algorithmic_bytes,
                     2 * 2 * 64 * 64 * 4 + 2 * (2 * 64 + 2 * 64) + 2 * 2 * 64 + 4 * (2 + 2));
}

/* Two blocks; 17 tokens are two chunks. A chunk: 4 warps x 4 depths x 6, 4 x 2 of the first warp, 8
 * outputs, 4 row tiles x 8 column tiles. */
static void chunks_by_hand(void **state) {
    (void)state;
    const int32_t tokens = 17;
    kref_delta_shape shape = delta_shape(&tokens, true);
    kref_work work = kref_delta_prefill_work(&shape);
    assert_int_equal(work.matrix_flops, 2 * 2 * (96 + 8 + 8 + 32) * 4096);
    assert_int_equal(work.stored_bytes, 2 * (64 * 64 * 4 + 17 * 64 * 2));
    /* Of each channel and token three exponentials; of each thread two for its rows of the state,
     * at the beginning and behind each chunk. */
    assert_int_equal(work.specials, 2 * (17 * 64 * 3 + 3 * 128 * 2));
    /* Cut to single tokens, each has the products of a chunk. Decays are loaded for the next 16
     * tokens again and again: of n tokens left, for the n - 1 behind the first. */
    int64_t whole_bytes = work.loaded_bytes;
    shape.chunk_tokens = 1;
    work = kref_delta_prefill_work(&shape);
    assert_int_equal(work.matrix_flops, 2 * 17 * (96 + 8 + 8 + 32) * 4096);
    assert_int_equal(work.loaded_bytes - whole_bytes, 2 * 64 * 4 * (16 * 17 / 2 - 16));
}

/* The rules of the model by name, with values in the place of its parameters. */
static void set_value(void *values, const char *name, int64_t number, const char *word) {
    for (size_t i = 0; i < sli_recurrent_section.param_count; i++) {
        const sl_param *param = &sli_recurrent_section.params[i];
        char *at = (char *)values + param->offset;
        if (strcmp(param->name, name) != 0) {
            continue;
        }
        if (word == NULL) {
            memcpy(at, &number, sizeof number);
            return;
        }
        int choice = 0;
        while (strcmp(param->choices[choice], word) != 0) {
            choice++;
        }
        memcpy(at, &choice, sizeof choice);
        return;
    }
    fail();
}

static void describe(sli_layer_part *part, void *values, const char *rule,
                     const kref_delta_shape *shape) {
    set_value(values, "rule", 0, rule);
    set_value(values, "heads", shape->heads, NULL);
    set_value(values, "key_heads", shape->key_heads, NULL);
    set_value(values, "key_dim", shape->key_dim, NULL);
    set_value(values, "value_dim", shape->value_dim, NULL);
    set_value(values, "chunk", 16, NULL);
    *part = (sli_layer_part){.name = rule, .kind = &sli_recurrent_kind, .values = values};
    part->kind->describe(values, 64, &part->facts);
}

/* A step has the FLOPs of the model, for both rules. A chunk has more: Q K^T is computed by each
 * warp, and what is above a diagonal too. */
static void deltas_are_what_the_model_counts(void **state) {
    (void)state;
    static const char *const names[] = {"gdn", "kda"};
    static _Alignas(max_align_t) char values[1024];
    assert_true(sli_recurrent_section.struct_size <= sizeof values);
    for (int i = 0; i < 2; i++) {
        int32_t tokens = 1;
        kref_delta_shape shape = delta_shape(&tokens, i == 1);
        sli_layer_part part;
        sli_layer_run run = {.count = 1, .mixer = &part};
        describe(&part, values, names[i], &shape);
        sli_architecture model = {
            .id = "one layer", .hidden = 64, .layers = {.rows = &run, .count = 1}};
        kref_work step = kref_delta_step_work(&shape);
        assert_true((double)step.algorithmic_flops == sli_opcount_decode_core(&model, 1));
        tokens = 160;
        kref_work chunks = kref_delta_prefill_work(&shape);
        double core = sli_opcount_prefill_core(&model, 0, tokens);
        assert_true((double)chunks.matrix_flops > core);
        assert_true((double)chunks.matrix_flops < 1.4 * core);
    }
}

/* ---- The index ---- */

/* 70 keys are two blocks of 64, 6 in the second; a third has nothing to do. */
static void index_by_hand(void **state) {
    (void)state;
    const int32_t lengths[] = {70};
    kref_work work = kref_index_scores_work(1, lengths, 140, 64, false);
    assert_int_equal(work.algorithmic_flops, 64 * 128 * 2 * 70);
    assert_int_equal(work.matrix_flops, 64 * 128 * 2 * 128);
    assert_int_equal(work.copied_bytes, (2 * 64 + 70) * 256);
    assert_int_equal(work.loaded_bytes, 3 * 128 * 4 + 2 * 64 * 4 + 70 * 2 * 4);
    assert_int_equal(work.vector_flops, 2 * 128 * (4 * 8 * 3 + 16));
    assert_int_equal(work.stored_bytes, 70 * 4);
    /* DeepSeek-V3.2's index keeps 132 bytes of a token. */
    int64_t bf16_bytes = work.algorithmic_bytes;
    work = kref_index_scores_work(1, lengths, 140, 64, true);
    assert_int_equal(bf16_bytes - work.algorithmic_bytes, 70 * (256 - 132));
    assert_int_equal(work.copied_bytes, 2 * 64 * 256);
    assert_int_equal(work.loaded_bytes, 3 * 128 * 4 + 2 * 64 * 4 + 70 * 2 * 4 + 70 * 132);
    assert_int_equal(work.vector_flops, 2 * 128 * (4 * 8 * 3 + 16) + 70);
    work = kref_select_top_work(1, lengths, 16);
    assert_int_equal(work.loaded_bytes, 256 * 4 + 5 * 70 * 4);
    assert_int_equal(work.stored_bytes, 16 * 4);
    work = kref_select_top_work(1, lengths, 70);
    assert_int_equal(work.loaded_bytes, 256 * 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_by_hand),
        cmocka_unit_test(append_by_hand),
        cmocka_unit_test(rows_weigh_what_the_model_says),
        cmocka_unit_test(quantized_decode_by_hand),
        cmocka_unit_test(steps_by_hand),
        cmocka_unit_test(chunks_by_hand),
        cmocka_unit_test(deltas_are_what_the_model_counts),
        cmocka_unit_test(index_by_hand),
    };
    return cmocka_run_group_tests_name("state_work", tests, NULL, NULL);
}
