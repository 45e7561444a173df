/*
 * What the layers of any architecture have to compute and to move: the two ways to count against
 * each other over the catalogue, and cases by hand.
 */
#include "model/opcount.h"
#include "model/params.h"
#include "model/state.h"

#include "batch_shape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;

/* ---- Models and sums ---- */

enum { MODEL_MAX = 128 };
static const sli_architecture *models[MODEL_MAX];
static int model_count;

static int read_catalogue(void **state) {
    (void)state;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        sli_catalogue_site nowhere = {.key = NULL};
        if (model_count == MODEL_MAX || sli_architecture_read(&arena, file->name, nowhere, &diag,
                                                              &models[model_count]) != SL_OK) {
            sli_diag_print(&diag, stderr);
            return -1;
        }
        model_count++;
    }
    return 0;
}

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

static const sli_architecture *find_model(const char *id) {
    for (int m = 0; m < model_count; m++) {
        if (strcmp(models[m]->id, id) == 0) {
            return models[m];
        }
    }
    fail_msg("no model %s", id);
    return NULL;
}

static const sli_architecture *read_text(const char *text) {
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

static sli_weights weights_in(const char *format) {
    return sli_weights_all(sli_weight_format_find(format));
}

/* What a batch takes over all layers, on one rank. */
typedef struct totals {
    double flops; /* of the cores */
    double moved_bytes;
    double new_bytes;
} totals;

static totals sum_cores_of(const sli_architecture *model, const sli_cache_format *cache, int64_t tp,
                           const sli_growth_list *growths, const sl_batch_shape *shape,
                           bool is_copied) {
    const sli_layer_run *rows = model->layers.rows;
    totals sum = {0};
    sli_batch_sums sums;
    sli_batch_sums_make(growths, shape, &sums);
    for (size_t i = 0; i < model->layers.count; i++) {
        const sli_part_facts *facts = &rows[i].mixer->facts;
        double layers = (double)rows[i].count;
        sli_core_count counts[] = {
            sli_opcount_decodes(facts, cache, SLI_LATENT_AS_MODEL, tp, growths),
            sli_opcount_chunks(facts, cache, SLI_LATENT_AS_MODEL, tp, growths)};
        if (is_copied) {
            sli_opcount_add_copies(facts, cache, tp, growths, &counts[0], &counts[1]);
        }
        for (int phase = 0; phase < 2; phase++) {
            sum.flops += layers * sli_linear_at(&counts[phase].flops, &sums);
            sum.moved_bytes += layers * sli_linear_at(&counts[phase].moved_bytes, &sums);
            sum.new_bytes += layers * sli_linear_at(&counts[phase].new_bytes, &sums);
        }
    }
    return sum;
}

static totals sum_cores(const sli_architecture *model, const sli_cache_format *cache, int64_t tp,
                        const sli_growth_list *growths, const sl_batch_shape *shape) {
    return sum_cores_of(model, cache, tp, growths, shape, false);
}

static sli_products sum_products(const sli_architecture *model, sli_weights weights, int64_t tp,
                                 const sl_batch_shape *shape) {
    const sli_layer_run *rows = model->layers.rows;
    sli_products sum = sli_opcount_head_products(model, &weights, tp, shape->emitting);
    for (size_t i = 0; i < model->layers.count; i++) {
        sli_products of_layer[] = {
            sli_opcount_part(&rows[i].mixer->facts, &weights, tp, shape->tokens),
            sli_opcount_part(&rows[i].ffn->facts, &weights, tp, shape->tokens),
            sli_opcount_layer_extra(model, &weights, shape->tokens),
        };
        for (int j = 0; j < 3; j++) {
            sum.flops += (double)rows[i].count * of_layer[j].flops;
            sum.weight_bytes += (double)rows[i].count * of_layer[j].weight_bytes;
        }
    }
    return sum;
}

static sli_growth_list growths_of(const sli_architecture *model) {
    sli_growth_list growths;
    if (!sli_opcount_growths(model, false, &growths)) {
        fail_msg("%s needs too many sums", model->id);
    }
    return growths;
}

static void equals(const sli_architecture *model, const char *what, double found, double expected) {
    if (found != expected) {
        fail_msg("%s: %s is %.17g, not %.17g", model->id, what, found, expected);
    }
}

static void is_near(const sli_architecture *model, const char *what, double found,
                    double expected) {
    if (!(fabs(found - expected) <= 1e-12 * fabs(expected))) {
        fail_msg("%s: %s is %.17g, not %.17g", model->id, what, found, expected);
    }
}

/* The two ways to count a sequence agree to the last FLOP and byte, whatever the model. */
static void decode_rows_count_as_sequences_do(void **state) {
    (void)state;
    static const int64_t lengths_tokens[] = {1, 2, 127, 128, 129, 2049, 8192, 32771, 1000000};
    static const char *const formats[] = {"bf16", "fp8", "q4_0", "fp8_ds_mla"};
    for (int m = 0; m < model_count; m++) {
        sli_growth_list growths = growths_of(models[m]);
        for (size_t t = 0; t < sizeof lengths_tokens / sizeof lengths_tokens[0]; t++) {
            sl_batch_shape shape = {0};
            add_decode_row(&shape, &growths, lengths_tokens[t]);
            for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
                const sli_cache_format *cache = sli_cache_format_find(formats[f]);
                totals sum = sum_cores(models[m], cache, 1, &growths, &shape);
                equals(models[m], "core FLOPs", sum.flops,
                       sli_opcount_decode_core(models[m], lengths_tokens[t]));
                equals(models[m], "bytes", sum.moved_bytes,
                       (double)sli_state_read(models[m], cache, lengths_tokens[t]));
            }
        }
    }
}

/* ---- Caches that are copied ---- */

/* What copies add to a batch, in bytes; nothing else may change. */
static double copied_bytes(const sli_architecture *model, const sli_cache_format *cache,
                           const sli_growth_list *growths, const sl_batch_shape *shape) {
    totals plain = sum_cores_of(model, cache, 1, growths, shape, false);
    totals copied = sum_cores_of(model, cache, 1, growths, shape, true);
    equals(model, "core FLOPs", copied.flops, plain.flops);
    equals(model, "new bytes", copied.new_bytes, plain.new_bytes);
    return copied.moved_bytes - plain.moved_bytes;
}

/* All that a sequence keeps is read and written once, whatever the model; states are left alone.
 * Of a chunk that sees all of it too, else no less than what is kept behind it. */
static void a_copy_moves_what_is_kept_twice(void **state) {
    (void)state;
    static const int64_t lengths_tokens[] = {1, 2, 127, 128, 129, 2049, 8192, 32771};
    static const char *const formats[] = {"bf16", "q4_0", "fp8_ds_mla"};
    int copied_models = 0;
    for (int m = 0; m < model_count; m++) {
        sli_growth_list growths;
        if (!sli_opcount_growths(models[m], true, &growths)) {
            continue;
        }
        copied_models++;
        for (size_t t = 0; t < sizeof lengths_tokens / sizeof lengths_tokens[0]; t++) {
            sl_batch_shape decode = {0};
            sl_batch_shape prompt = {0};
            add_decode_row(&decode, &growths, lengths_tokens[t]);
            add_prefill_chunk(&prompt, &growths, 0, lengths_tokens[t]);
            for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
                const sli_cache_format *cache = sli_cache_format_find(formats[f]);
                double kept_bytes =
                    (double)sli_state_kept(models[m], cache, lengths_tokens[t]).cached;
                equals(models[m], "copies", copied_bytes(models[m], cache, &growths, &decode),
                       2.0 * kept_bytes);
                assert_true(copied_bytes(models[m], cache, &growths, &prompt) >= 2.0 * kept_bytes);
            }
        }
    }
    assert_true(copied_models > 50);
}

/* Llama 3.1 8B, 131,072 bytes a token: 3 sequences that decode behind 999, and a chunk of 100 that
 * joins 50. */
static void copies_of_a_batch_are_worked_by_hand(void **state) {
    (void)state;
    const sli_architecture *model = find_model("llama-3.1-8b");
    sli_growth_list growths;
    assert_true(sli_opcount_growths(model, true, &growths));
    sl_batch_shape shape = {0};
    for (int i = 0; i < 3; i++) {
        add_decode_row(&shape, &growths, 1000);
    }
    add_prefill_chunk(&shape, &growths, 50, 100);
    equals(model, "copies", copied_bytes(model, &sli_cache_formats[0], &growths, &shape),
           2.0 * (3 * 1000 + 150) * 131072);
}

static void chunks_count_as_sequences_do(void **state) {
    (void)state;
    static const int64_t chunks[][2] = {{0, 2}, {0, 1000}, {5000, 700}, {8191, 2}, {100000, 2048}};
    for (int m = 0; m < model_count; m++) {
        sli_growth_list growths = growths_of(models[m]);
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
            sl_batch_shape shape = {0};
            add_prefill_chunk(&shape, &growths, chunks[i][0], chunks[i][1]);
            totals sum = sum_cores(models[m], &sli_cache_formats[0], 1, &growths, &shape);
            equals(models[m], "core FLOPs", sum.flops,
                   sli_opcount_prefill_core(models[m], chunks[i][0], chunks[i][1]));
        }
    }
}

/* A batch is the sum of its sequences. */
static void cores_of_a_batch_add_up(void **state) {
    (void)state;
    for (int m = 0; m < model_count; m++) {
        sli_growth_list growths = growths_of(models[m]);
        sl_batch_shape shape = {0};
        add_prefill_chunk(&shape, &growths, 3000, 500);
        add_prefill_chunk(&shape, &growths, 0, 300);
        add_decode_row(&shape, &growths, 5000);
        add_decode_row(&shape, &growths, 77);
        totals sum = sum_cores(models[m], &sli_cache_formats[0], 1, &growths, &shape);
        equals(models[m], "core FLOPs", sum.flops,
               sli_opcount_prefill_core(models[m], 3000, 500) +
                   sli_opcount_prefill_core(models[m], 0, 300) +
                   sli_opcount_decode_core(models[m], 5000) +
                   sli_opcount_decode_core(models[m], 77));
    }
}

static void products_follow_the_parameters(void **state) {
    (void)state;
    for (int m = 0; m < model_count; m++) {
        double head_params = (double)sli_params_vocab(models[m]);
        double layer_params = (double)sli_params_matmul(models[m]) - head_params;
        for (int64_t tokens = 1; tokens <= 4096; tokens *= 8) {
            sl_batch_shape shape = {.tokens = tokens, .emitting = 1};
            sli_products sum = sum_products(models[m], weights_in("bf16"), 1, &shape);
            equals(models[m], "FLOPs", sum.flops,
                   2 * layer_params * (double)tokens + 2 * head_params);
            is_near(models[m], "weights", sum.weight_bytes,
                    2 * sli_params_touched(models[m], tokens));
            sli_products fp8 = sum_products(models[m], weights_in("fp8"), 1, &shape);
            equals(models[m], "fp8 weights", 2 * fp8.weight_bytes, sum.weight_bytes);
            equals(models[m], "fp8 FLOPs", fp8.flops, sum.flops);
        }
        sl_batch_shape nothing = {0};
        assert_true(sum_products(models[m], weights_in("bf16"), 1, &nothing).flops == 0);
        assert_true(sum_products(models[m], weights_in("bf16"), 1, &nothing).weight_bytes == 0);
    }
}

static void plain_models_count_alike_both_ways(void **state) {
    (void)state;
    int plain_count = 0;
    for (int m = 0; m < model_count; m++) {
        if (sli_architecture_unplain(models[m]) != NULL) {
            continue;
        }
        plain_count++;
        sli_growth_list growths = growths_of(models[m]);
        assert_int_equal(growths.count, 0);
        sl_batch_shape shape = {0};
        add_prefill_chunk(&shape, &growths, 1024, 512);
        add_decode_row(&shape, &growths, 2000);
        add_decode_row(&shape, &growths, 300);
        sli_products products = sum_products(models[m], weights_in("bf16"), 1, &shape);
        totals cores = sum_cores(models[m], &sli_cache_formats[0], 1, &growths, &shape);
        equals(models[m], "FLOPs", products.flops + cores.flops,
               sli_opcount_flops(models[m], &shape));
    }
    assert_true(plain_count > 10);
}

/* Heads are shared out, down to one; what cannot be cut is on every rank. */
static void ranks_share_what_can_be_cut(void **state) {
    (void)state;
    const sli_architecture *llama = find_model("llama-3.1-8b");
    const sli_architecture *deepseek = find_model("deepseek-v3.2");
    const sli_cache_format *cache = &sli_cache_formats[0];
    sli_growth_list none = growths_of(llama);
    sli_growth_list top = growths_of(deepseek);
    sl_batch_shape shape = {0};
    add_decode_row(&shape, &none, 10000);
    equals(llama, "core FLOPs of a rank", 8 * sum_cores(llama, cache, 8, &none, &shape).flops,
           sum_cores(llama, cache, 1, &none, &shape).flops);
    /* 8 key-value heads: 16 ranks have one each */
    equals(llama, "bytes of a rank", 8 * sum_cores(llama, cache, 8, &none, &shape).moved_bytes,
           sum_cores(llama, cache, 1, &none, &shape).moved_bytes);
    equals(llama, "bytes of a rank", sum_cores(llama, cache, 16, &none, &shape).moved_bytes,
           sum_cores(llama, cache, 8, &none, &shape).moved_bytes);
    equals(llama, "products of a rank",
           8 * sum_products(llama, weights_in("bf16"), 8, &shape).weight_bytes,
           sum_products(llama, weights_in("bf16"), 1, &shape).weight_bytes);

    /* 61 layers: 278,528 FLOPs a chosen key by heads, 16,384 an index key on all ranks, latents of
     * 1,152 bytes and index keys of 256 on all ranks. */
    sl_batch_shape sparse = {0};
    add_decode_row(&sparse, &top, 10000);
    totals rank = sum_cores(deepseek, cache, 8, &top, &sparse);
    equals(deepseek, "core FLOPs of a rank", rank.flops,
           61 * (278528.0 / 8 * 2048 + 16384.0 * 10000));
    equals(deepseek, "bytes of a rank", rank.moved_bytes, 61 * (1152.0 * 2048 + 256.0 * 10000));
    equals(deepseek, "new bytes of a rank", rank.new_bytes, 61 * (1152.0 + 256.0));
}

/* FLOPs of a rank of 4 for a row of 40,000 tokens. */
static double flops_of_rank(const sli_architecture *model) {
    sli_growth_list growths = growths_of(model);
    sl_batch_shape shape = {0};
    add_decode_row(&shape, &growths, 40000);
    return sum_cores(model, &sli_cache_formats[0], 4, &growths, &shape).flops;
}

/* Whose heads are cut: those of queries and of recurrences are, index heads of MiniMax M3 too,
 * those of DeepSeek V4 are not. */
static void heads_of_all_kinds_are_shared_out(void **state) {
    (void)state;
    const sli_architecture *v4 = find_model("deepseek-v4-pro");
    double entry = 4.0 * 128 * 512 / 4;
    equals(v4, "core FLOPs of a rank", flops_of_rank(v4),
           30 * (entry * (128 + 1024) + 2.0 * 64 * 128 * 10000) + 31 * (entry * (128 + 312)));
    const sli_architecture *m3 = find_model("minimax-m3");
    double key = 4.0 * 64 * 128 / 4;
    equals(m3, "core FLOPs of a rank", flops_of_rank(m3),
           3 * key * 40000 + 57 * (key * 17 * 128 + 2.0 * 4 * 128 / 4 * 40000));
    /* 36 layers with 32 heads of 128 x 128, 7 FLOPs an element; 12 with 16 query heads of 256 */
    const sli_architecture *next = find_model("qwen3-next-80b-a3b");
    equals(next, "core FLOPs of a rank", flops_of_rank(next),
           36 * 7.0 * 32 * 16384 / 4 + 12 * 4.0 * 16 * 256 / 4 * 40000);
}

/*
 * Kimi Linear and its like, by hand: 2 heads of 4 x 4 in fp32, a convolution over 4 tokens of bf16.
 * State 2 x 64 bytes, convolution of q and k 2 x (8 x 3) x 2 and of v 2 x (4 x 3) x 2 bytes, all
 * read and written once a row or chunk, 7 FLOPs an element and row, 6 d^2 + 3 C d + C^2 a head and
 * token of a chunk (C = 64).
 */
static void a_state_is_moved_once_a_row_or_chunk(void **state) {
    (void)state;
    const sli_architecture *model = read_text(
        "name: M\nsource: test\nhidden: 16\nvocab: 1 tokens\ntie_embeddings: on\n"
        "context_native: unlimited\n"
        "attention: {x: {type: recurrent, rule: gdn, heads: 2, key_dim: 4, value_dim: 4, conv: "
        "4}}\n"
        "ffn: {none: none}\nlayers: [[1, x, none]]\n");
    sli_growth_list growths = growths_of(model);
    assert_int_equal(growths.count, 0);
    double state_bytes = 2 * 64 + 2 * 24 * 2 + 2 * 12 * 2;
    sl_batch_shape decode = {0};
    add_decode_row(&decode, &growths, 5000);
    add_decode_row(&decode, &growths, 2);
    totals rows = sum_cores(model, &sli_cache_formats[0], 1, &growths, &decode);
    equals(model, "FLOPs of rows", rows.flops, 2 * 2 * 7 * 16);
    equals(model, "bytes of rows", rows.moved_bytes, 2 * 2 * state_bytes);
    sl_batch_shape prefill = {0};
    add_prefill_chunk(&prefill, &growths, 5000, 100);
    totals chunk = sum_cores(model, &sli_cache_formats[0], 1, &growths, &prefill);
    equals(model, "FLOPs of a chunk", chunk.flops, 100 * 2 * (6 * 16 + 3 * 64 * 4 + 64 * 64));
    equals(model, "bytes of a chunk", chunk.moved_bytes, 2 * state_bytes);
    equals(model, "new bytes", chunk.new_bytes + rows.new_bytes, 0);
}

/* Rows are written by every token, entries by every fourth; a borrower writes none. */
static void tokens_write_their_rows(void **state) {
    (void)state;
    const sli_architecture *entries = read_text(
        "name: M\nsource: test\nhidden: 16\nvocab: 1 tokens\ntie_embeddings: on\n"
        "context_native: unlimited\n"
        "attention: {x: {type: compressed, q_heads: 2, head_dim: 8, q_lora: 4, o_lora: 4,\n"
        "  o_groups: 1, window: 6 tokens, ratio: 4, state_span: 8 tokens, state_vectors: 4}}\n"
        "ffn: {none: none}\nlayers: [[1, x, none]]\n");
    sli_growth_list growths = growths_of(entries);
    sl_batch_shape shape = {0};
    add_decode_row(&shape, &growths, 100);
    add_prefill_chunk(&shape, &growths, 40, 20);
    totals sum = sum_cores(entries, &sli_cache_formats[0], 1, &growths, &shape);
    equals(entries, "new bytes", sum.new_bytes, 21 * 16 + 21 * 16 / 4.0);
    /* the row: window and entries; the chunk: 20 + 5 of the window, 60 / 4 entries */
    equals(entries, "moved bytes", sum.moved_bytes, 16 * (6 + 25) + 16 * (25 + 15));

    const sli_architecture *shared = read_text(
        "name: M\nsource: test\nhidden: 16\nvocab: 1 tokens\ntie_embeddings: on\n"
        "context_native: unlimited\n"
        "attention: {own: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8},\n"
        "  lent: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, kv: shared}}\n"
        "ffn: {none: none}\nlayers: [[1, own, none], [3, lent, none]]\n");
    sli_growth_list none = growths_of(shared);
    totals lent = sum_cores(shared, &sli_cache_formats[0], 1, &none, &shape);
    equals(shared, "new bytes", lent.new_bytes, 21 * 32);
    equals(shared, "moved bytes", lent.moved_bytes, 4 * (100 + 60) * 32);

    /* 36 of 48 layers see chunks of 8,192 tokens only; all keep every key they are given */
    const sli_architecture *chunked = find_model("llama-4-scout");
    sli_growth_list sawtooth = growths_of(chunked);
    sl_batch_shape row = {0};
    add_decode_row(&row, &sawtooth, 8193);
    totals first = sum_cores(chunked, &sli_cache_formats[0], 1, &sawtooth, &row);
    equals(chunked, "new bytes", first.new_bytes, 48 * 4096);
    equals(chunked, "moved bytes", first.moved_bytes, 36 * 4096 + 12 * 4096.0 * 8193);
}

/* Behind a prefix, MLA makes keys and values of it anew: 2 x 8 x 2 x (4 + 4) FLOPs a latent. */
static void expanded_latents_are_expanded_again(void **state) {
    (void)state;
    const sli_architecture *model = read_text(
        "name: M\nsource: test\nhidden: 16\nvocab: 1 tokens\ntie_embeddings: on\n"
        "context_native: unlimited\n"
        "attention: {x: {type: mla, q_heads: 2, q_lora: none, kv_lora: 8, rope_dim: 2, nope_dim: "
        "4,\n  value_dim: 4}}\n"
        "ffn: {none: none}\nlayers: [[1, x, none]]\n");
    sli_growth_list growths = growths_of(model);
    sl_batch_shape shape = {0};
    add_prefill_chunk(&shape, &growths, 30, 10);
    double pairs = 30 * 10 + 55;
    double whole = 2 * 2 * (4 + 2 + 4) * pairs + 256.0 * 30;
    totals one = sum_cores(model, &sli_cache_formats[0], 1, &growths, &shape);
    totals half = sum_cores(model, &sli_cache_formats[0], 2, &growths, &shape);
    equals(model, "FLOPs", one.flops, whole);
    equals(model, "FLOPs of a rank", half.flops, whole / 2);
    equals(model, "bytes of a rank", half.moved_bytes, 40 * 20);
}

/* 8 experts of 2 used by 3 tokens: 8 (1 - (3/4)^3) = 4.625 different ones. Up 16 x 2 x 4, down 4 x
 * 16; the router 16 x 8 on all ranks, experts by their columns. */
static void experts_are_those_that_tokens_choose(void **state) {
    (void)state;
    const sli_architecture *model = read_text(
        "name: M\nsource: test\nhidden: 16\nvocab: 1 tokens\ntie_embeddings: on\n"
        "context_native: unlimited\n"
        "attention: {none: none}\nffn: {x: {type: moe, experts: 8, top_k: 2, width: 4}}\n"
        "layers: [[1, none, x]]\n");
    const sli_layer_run *run = model->layers.rows;
    sli_weights bf16 = weights_in("bf16");
    sli_weights q4_0 = weights_in("q4_0");
    sli_weights both_formats = bf16;
    both_formats.of[SLI_WEIGHT_EXPERT] = sli_weight_format_find("q4_0");
    sli_products one = sli_opcount_part(&run->ffn->facts, &bf16, 1, 3);
    equals(model, "FLOPs", one.flops, 2 * 3 * (128 + 2 * 192));
    equals(model, "weights", one.weight_bytes, 2 * (128 + 4.625 * 192));
    sli_products half = sli_opcount_part(&run->ffn->facts, &bf16, 2, 3);
    equals(model, "FLOPs of a rank", half.flops, 2 * 3 * (128 + 2 * 96));
    equals(model, "weights of a rank", half.weight_bytes, 2 * (128 + 4.625 * 96));
    sli_products q4 = sli_opcount_part(&run->ffn->facts, &q4_0, 1, 3);
    equals(model, "q4_0 weights", q4.weight_bytes, (128 + 4.625 * 192) * 18 / 32);
    sli_products both = sli_opcount_part(&run->ffn->facts, &both_formats, 1, 3);
    equals(model, "bytes of q4_0 experts", both.weight_bytes, 2 * 128 + 4.625 * 192 * 18 / 32);
    equals(model, "their FLOPs", both.flops, one.flops);
}

/* What is read, seen in decode and seen in prefill may be three different things. */
static void growths_of_reads_and_of_works_are_listed(void **state) {
    (void)state;
    sli_layer_part mixer = {.kind = &sli_none_kind};
    sli_layer_run run = {.count = 1, .mixer = &mixer, .ffn = &mixer};
    const sli_architecture model = {.id = "made", .layers = {.rows = &run, .count = 1}};
    sli_facts_store(&mixer.facts, (sli_store){.name = "rows",
                                              .heads = 1,
                                              .elements = 8,
                                              .kept = sli_growth_linear(),
                                              .read = sli_growth_capped(10)});
    sli_facts_decode(&mixer.facts, (sli_core_work){"row", 1.0, sli_growth_capped(20), 1});
    sli_facts_prefill(&mixer.facts, (sli_core_work){"chunk", 1.0, sli_growth_capped(30), 1});
    sli_growth_list growths = growths_of(&model);
    assert_int_equal(growths.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(growths.rows[i].cap_rows, 10 * (i + 1));
    }
}

/* Seven different windows. */
static void too_many_growths_are_told(void **state) {
    (void)state;
    const char *attention = "";
    const char *layers = "";
    for (int i = 1; i <= SL_VISIBLE_MAX + 1; i++) {
        const char *comma = i > 1 ? ", " : "";
        attention = sli_arena_printf(&arena,
                                     "%s%sw%d: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, "
                                     "window: %d tokens}",
                                     attention, comma, i, 10 * i);
        layers = sli_arena_printf(&arena, "%s%s[1, w%d, none]", layers, comma, i);
        assert_non_null(attention);
        assert_non_null(layers);
        const sli_architecture *model = read_text(
            sli_arena_printf(&arena,
                             "name: M\nsource: test\nhidden: 16\nvocab: 1 tokens\n"
                             "tie_embeddings: on\ncontext_native: unlimited\n"
                             "attention: {%s}\nffn: {none: none}\nlayers: [%s]\n",
                             attention, layers));
        sli_growth_list growths;
        assert_int_equal(sli_opcount_growths(model, false, &growths), i <= SL_VISIBLE_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode_rows_count_as_sequences_do),
        cmocka_unit_test(a_copy_moves_what_is_kept_twice),
        cmocka_unit_test(copies_of_a_batch_are_worked_by_hand),
        cmocka_unit_test(chunks_count_as_sequences_do),
        cmocka_unit_test(cores_of_a_batch_add_up),
        cmocka_unit_test(products_follow_the_parameters),
        cmocka_unit_test(plain_models_count_alike_both_ways),
        cmocka_unit_test(ranks_share_what_can_be_cut),
        cmocka_unit_test(heads_of_all_kinds_are_shared_out),
        cmocka_unit_test(a_state_is_moved_once_a_row_or_chunk),
        cmocka_unit_test(tokens_write_their_rows),
        cmocka_unit_test(expanded_latents_are_expanded_again),
        cmocka_unit_test(experts_are_those_that_tokens_choose),
        cmocka_unit_test(growths_of_reads_and_of_works_are_listed),
        cmocka_unit_test(too_many_growths_are_told),
    };
    return cmocka_run_group_tests(tests, read_catalogue, release);
}
