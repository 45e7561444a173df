/*
 * The closed forms: worked out by hand where that is short, and against model/opcount where both
 * speak of the same. (Against what the emulation counts they are held by the tests of the kernels.)
 */
#include "figures/peers.h"
#include "figures/splits.h"
#include "figures/work.h"
#include "model/kinds.h"
#include "model/opcount.h"
#include "model/params.h"
#include "model/state.h"
#include "oracle/experts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- By hand ---- */

/* One head of 128, 128 queries without a past: key tiles of 32, four of them, each 128 x 32 pairs
 * of 4 x 128 FLOPs; 128 x 129 / 2 pairs are seen. */
static void prefill_by_hand(void **state) {
    (void)state;
    const int32_t tokens[] = {128};
    kref_attention_shape shape = {
        .sequences = 1,
        .queries = tokens,
        .tokens = tokens,
        .queries_max = 128,
        .query_heads = 1,
        .kv_heads = 1,
        .head_dim = 128,
        .output_bytes = 2,
    };
    kref_work work = kref_prefill_attention_work(&shape);
    assert_int_equal(work.matrix_flops, 4 * 128 * 32 * 512);
    assert_int_equal(work.algorithmic_flops, 128 * 129 / 2 * 512);
    assert_int_equal(work.algorithmic_bytes, 4 * 128 * 128 * 2);
    assert_int_equal(work.copied_bytes, 3 * 128 * 128 * 2);
    assert_int_equal(work.stored_bytes, 128 * 128 * 2);
    /* An exponential for each pair of the tiles, and one for each lane's row and tile. */
    assert_int_equal(work.specials, 4 * 128 * 32 + 4 * 128 * 4);
}

/* 8 query heads on one key-value head of 64, 100 tokens: 7 tiles of 16 keys, 16 rows each. */
static void decode_by_hand(void **state) {
    (void)state;
    const int32_t tokens[] = {100};
    kref_attention_shape shape = {
        .sequences = 1,
        .tokens = tokens,
        .query_heads = 8,
        .kv_heads = 1,
        .head_dim = 64,
        .splits = 1,
        .output_bytes = 2,
    };
    kref_work work = kref_decode_attention_work(&shape);
    assert_int_equal(work.matrix_flops, 7 * 16 * 16 * 4 * 64);
    assert_int_equal(work.algorithmic_flops, 8 * 100 * 4 * 64);
    assert_int_equal(work.copied_bytes, 2 * 100 * 64 * 2);
    assert_int_equal(work.algorithmic_bytes, 2 * 100 * 64 * 2 + 2 * 8 * 64 * 2);
    assert_int_equal(work.stored_bytes, 8 * 64 * 2);
    /* 128 threads read the length, two lanes the block of each key. */
    assert_int_equal(work.loaded_bytes, 128 * 4 + 8 * 64 * 2 + 100 * 2 * 4);

    /* Two splits of 64 and 36 keys: 4 + 3 tiles; each leaves 66 floats a head. */
    shape.splits = 2;
    work = kref_decode_attention_work(&shape);
    assert_int_equal(work.matrix_flops, 7 * 16 * 16 * 4 * 64);
    assert_int_equal(work.stored_bytes, 2 * 8 * 66 * 4 + 8 * 64 * 2);
}

/* A row of 16 in one warp: per element addition, square and sum (2), two products; per thread five
 * steps in the warp, one over the warps, mean and epsilon. */
static void elementwise_by_hand(void **state) {
    (void)state;
    kref_work work = kref_rms_norm_work(3, 16, true);
    assert_int_equal(work.vector_flops, 3 * (16 * 5 + 32 * 8));
    assert_int_equal(work.specials, 3 * 32);
    assert_int_equal(work.loaded_bytes, 3 * 16 * 3 * 2);
    work = kref_rope_work(2, 1, 4, 2, 32);
    assert_int_equal(work.vector_flops, (2 * 4 + 1 * 2) * 16 * 6);
    assert_int_equal(work.stored_bytes, (2 * 4 + 2 * 2) * 32 * 2);
    work = kref_activation_work(2, 8, false, true);
    assert_int_equal(work.vector_flops, 16 * 3);
    assert_int_equal(work.stored_bytes, 16 * 2);
}

/* 33 x 40, 64 deep: one block of 128 x 128, one step of depth. 5 x 136, 72 deep: two blocks of 32 x
 * 128, two steps of 64; the left operand is copied for each of them. Of e4m3 a step is 128. */
static void gemm_by_hand(void **state) {
    (void)state;
    kref_gemm_shape shape = {33, 40, 64, 2, 2};
    kref_work work = kref_gemm_work(&shape);
    assert_int_equal(work.algorithmic_flops, 2 * 33 * 40 * 64);
    assert_int_equal(work.matrix_flops, 2 * 128 * 128 * 64);
    assert_int_equal(work.vector_flops, 128 * 128);
    assert_int_equal(work.copied_bytes, (33 + 40) * 64 * 2);
    assert_int_equal(work.stored_bytes, 33 * 40 * 2);
    assert_int_equal(work.shared_bytes, 3 * 256 * 144);
    shape = (kref_gemm_shape){5, 136, 72, 2, 4};
    work = kref_gemm_work(&shape);
    assert_int_equal(work.matrix_flops, 2 * (2 * 32 * 128 * 128));
    assert_int_equal(work.copied_bytes, (2 * 5 + 136) * 72 * 2);
    assert_int_equal(work.stored_bytes, 5 * 136 * 4);
    shape = (kref_gemm_shape){5, 8, 144, 1, 2};
    work = kref_gemm_work(&shape);
    assert_int_equal(work.matrix_flops, 2 * 32 * 128 * 256);
    assert_int_equal(work.algorithmic_bytes, (5 + 8) * 144 + 5 * 8 * 2);
}

/* 70 pairs of 4 experts: tiles of 32 rows, 2 + 0 + 1 + 1 of them. */
static void experts_by_hand(void **state) {
    (void)state;
    const int32_t counts[] = {33, 0, 32, 5};
    kref_expert_shape shape = {
        .counts = counts,
        .experts = 4,
        .pairs = 70,
        .top_k = 2,
        .n = 136,
        .k = 64,
        .output_bytes = 2,
    };
    kref_work work = kref_expert_gemm_work(&shape);
    assert_int_equal(work.algorithmic_flops, 2 * 70 * 136 * 64);
    assert_int_equal(work.matrix_flops, 4 * 2 * 32 * 256 * 64);
    /* 35 tokens, and the weights of three experts. */
    assert_int_equal(work.algorithmic_bytes, 2 * 64 * (35 + 3 * 136) + 2 * 70 * 136);
    /* Rows for each of two blocks across, weights for each of four tiles. */
    assert_int_equal(work.copied_bytes, 2 * 64 * (2 * 70 + 4 * 136));
    /* 70 / 32 + 4 blocks across ask how many tiles there are, 4 of them are tiles; 8 threads ask
     * for each row. */
    assert_int_equal(work.loaded_bytes, 2 * (256 * 4 * (6 + 3 * 4) + 70 * 8 * 4));

    work = kref_expert_order_work(&shape);
    assert_int_equal(work.loaded_bytes, 4 * (2 * 70 + 3 * 4));
    assert_int_equal(work.stored_bytes, 4 * (2 * 70 + 2 * 4 + 5 + 1 + 2 * 4));
    /* Three FLOPs a score; five steps of a sum and three FLOPs a choice in each lane. */
    work = kref_router_work(1, 8, 2);
    assert_int_equal(work.vector_flops, 3 * 8 + 32 * (5 + 3 * 2) + 2);
    assert_int_equal(work.specials, 8 + 32 * 2);
    work = kref_expert_sum_work(3, 2, 16, 2);
    assert_int_equal(work.vector_flops, 2 * 3 * 2 * 16);
    assert_int_equal(work.loaded_bytes, 3 * 2 * (16 * 2 + 2 * 8));
}

/* 20 heads are a block of 64 rows, 40 keys two tiles of 32: 576 + 512 multiply-adds a pair. */
static void mla_by_hand(void **state) {
    (void)state;
    const int32_t queries[] = {2};
    const int32_t tokens[] = {40};
    kref_mla_shape shape = {
        .sequences = 1,
        .queries = queries,
        .tokens = tokens,
        .queries_max = 2,
        .heads = 20,
        .splits = 1,
        .output_bytes = 2,
    };
    kref_work work = kref_mla_decode_work(&shape);
    assert_int_equal(work.matrix_flops, 2 * 2 * 64 * 32 * (576 + 512));
    assert_int_equal(work.algorithmic_flops, 2 * 20 * 40 * 1088);
    assert_int_equal(work.copied_bytes, 40 * 576 * 2);
    assert_int_equal(work.algorithmic_bytes, 40 * 1152 + 20 * (576 + 512) * 2);
    /* 256 threads read the length, eight warps the block of each key. */
    assert_int_equal(work.loaded_bytes, 256 * 4 + 20 * 576 * 2 + 8 * 40 * 4);
    assert_int_equal(work.stored_bytes, 20 * 512 * 2);
    /* A weight for each pair of the tiles, and a factor for each row, half of the keys and lane. */
    assert_int_equal(work.specials, 2 * 64 * (32 + 2 * 4));
    /* Split in 32 and 8: both leave 514 floats a head. */
    shape.splits = 2;
    work = kref_mla_decode_work(&shape);
    assert_int_equal(work.stored_bytes, 2 * 20 * 514 * 4 + 20 * 512 * 2);
    /* 16 heads need 16 rows. */
    shape.splits = 1;
    shape.heads = 16;
    assert_int_equal(kref_mla_decode_work(&shape).matrix_flops, 2 * 2 * 16 * 32 * 1088);

    /* Prefill: one block of 128 queries a head, two tiles of 32 keys, 192 + 128 a pair; the two
     * queries see 39 and 40 keys. */
    work = kref_mla_prefill_work(&shape);
    assert_int_equal(work.matrix_flops, 16 * 2 * 2 * 128 * 32 * 320);
    assert_int_equal(work.algorithmic_flops, 16 * 2 * 79 * 320);
    assert_int_equal(work.copied_bytes, 16 * 2 * (2 * 192 + 40 * 320));
    assert_int_equal(work.algorithmic_bytes, 2 * (40 * (16 * 256 + 64) + 2 * 16 * (192 + 128)));
}

/* ---- Against model/opcount ---- */

enum { QUERY_HEADS = 8, KV_HEADS = 2, HEAD_DIM = 128, HIDDEN = 64, WIDTH = 96 };

static sli_gqa heads;
static sli_dense inner;
static sli_layer_part parts[2];
static sli_layer_run layer[] = {{.count = 1, .mixer = &parts[0], .ffn = &parts[1]}};

static sli_architecture one_layer(void) {
    heads = (sli_gqa){
        .q_heads = QUERY_HEADS, .kv_heads = KV_HEADS, .head_dim = HEAD_DIM, .has_qk_norm = true};
    inner = (sli_dense){.width = WIDTH, .is_gated = true};
    parts[0] = (sli_layer_part){.name = "full", .kind = &sli_gqa_kind, .values = &heads};
    parts[1] = (sli_layer_part){.name = "dense", .kind = &sli_dense_kind, .values = &inner};
    for (int i = 0; i < 2; i++) {
        parts[i].kind->describe(parts[i].values, HIDDEN, &parts[i].facts);
    }
    return (sli_architecture){
        .id = "one layer",
        .hidden = HIDDEN,
        .vocab_tokens = 10,
        .layers = {.rows = layer, .count = 1},
    };
}

static kref_attention_shape shape_of(int sequences, const int32_t *queries, const int32_t *tokens) {
    return (kref_attention_shape){
        .sequences = sequences,
        .queries = queries,
        .tokens = tokens,
        .queries_max = 1024,
        .query_heads = QUERY_HEADS,
        .kv_heads = KV_HEADS,
        .head_dim = HEAD_DIM,
        .splits = 3,
        .output_bytes = 2,
    };
}

/* The tiles of opcount are those of the kernel where chunks fill tiles of 128 queries, and the past
 * tiles of 32 keys; bytes and exact FLOPs agree for every chunk. */
static void prefill_is_what_the_model_counts(void **state) {
    (void)state;
    const int32_t queries[] = {128, 384, 256};
    const int32_t tokens[] = {128, 384 + 64, 256 + 4096};
    sli_architecture model = one_layer();
    sl_batch_shape step = {0};
    double core = 0.0;
    for (int i = 0; i < 3; i++) {
        int64_t c = queries[i];
        int64_t k = tokens[i] - c;
        step.prefill_tokens += c;
        step.prefill_kv_tokens += k + c;
        step.prefill_tile_pairs_x2 += c * (2 * k + c + 128);
        core += sli_opcount_prefill_core(&model, k, c);
    }
    sli_prefill_work prefill;
    sli_decode_work decode;
    sli_opcount_attention(&model, layer, 1, &step, &prefill, &decode);

    kref_attention_shape shape = shape_of(3, queries, tokens);
    kref_work work = kref_prefill_attention_work(&shape);
    assert_true((double)work.matrix_flops == prefill.tile_flops);
    assert_true((double)work.algorithmic_flops == core);
    assert_true((double)work.algorithmic_bytes == prefill.bytes);
}

static void ragged_prefill_has_the_models_exact_work(void **state) {
    (void)state;
    const int32_t queries[] = {1, 77, 500};
    const int32_t tokens[] = {1, 80, 503};
    sli_architecture model = one_layer();
    double core = 0.0;
    double tile_flops = 0.0;
    for (int i = 0; i < 3; i++) {
        int64_t c = queries[i];
        int64_t k = tokens[i] - c;
        core += sli_opcount_prefill_core(&model, k, c);
        tile_flops += 2.0 * QUERY_HEADS * HEAD_DIM *
                      (double)((c + 127) / 128 * 128 * (2 * k + c + 128));
    }
    kref_attention_shape shape = shape_of(3, queries, tokens);
    kref_work work = kref_prefill_attention_work(&shape);
    assert_true((double)work.algorithmic_flops == core);
    /* Partial tiles: the model takes the diagonal as a line, the kernel in steps of tiles. */
    assert_true((double)work.matrix_flops > core);
    assert_true((double)work.matrix_flops < 1.25 * tile_flops);
    assert_true((double)work.matrix_flops > 0.6 * tile_flops);
}

static void decode_is_what_the_model_counts(void **state) {
    (void)state;
    const int32_t tokens[] = {1, 17, 900, 4096};
    sli_architecture model = one_layer();
    sl_batch_shape step = {.decodes = 4};
    double core = 0.0;
    for (int i = 0; i < 4; i++) {
        step.decode_kv_tokens += tokens[i];
        core += sli_opcount_decode_core(&model, tokens[i]);
    }
    sli_prefill_work prefill;
    sli_decode_work decode;
    sli_opcount_attention(&model, layer, 1, &step, &prefill, &decode);

    kref_attention_shape shape = shape_of(4, tokens, tokens);
    kref_work work = kref_decode_attention_work(&shape);
    assert_true((double)work.copied_bytes == decode.bytes);
    assert_true((double)work.algorithmic_flops == core);
}

static void elementwise_is_what_the_model_counts(void **state) {
    (void)state;
    enum { TOKENS = 37 };
    sli_architecture model = one_layer();
    sl_batch_shape step = {.tokens = TOKENS};
    sli_layer_work work;
    sli_opcount_layer(&model, layer, 1, &step, &work);
    const double *bytes = work.elementwise_bytes;

    kref_work norm = kref_rms_norm_work(TOKENS, HIDDEN, true);
    assert_true((double)norm.algorithmic_bytes == bytes[SLI_ELEMENTWISE_NORM_IN]);
    assert_true((double)norm.algorithmic_bytes == bytes[SLI_ELEMENTWISE_NORM_MID]);
    kref_work qk_norm = kref_rms_norm_work(TOKENS * (QUERY_HEADS + KV_HEADS), HEAD_DIM, false);
    assert_true((double)qk_norm.algorithmic_bytes == bytes[SLI_ELEMENTWISE_QK_NORM]);
    kref_work rope = kref_rope_work(TOKENS, TOKENS, QUERY_HEADS, KV_HEADS, HEAD_DIM);
    assert_true((double)rope.algorithmic_bytes == bytes[SLI_ELEMENTWISE_ROPE]);
    kref_work activation = kref_activation_work(TOKENS, WIDTH, false, true);
    assert_true((double)activation.algorithmic_bytes == bytes[SLI_ELEMENTWISE_ACTIVATION]);
}

static void gemms_are_what_the_model_counts(void **state) {
    (void)state;
    enum { TOKENS = 37 };
    sli_architecture model = one_layer();
    sl_batch_shape step = {.tokens = TOKENS};
    sli_layer_work layer_work;
    sli_opcount_layer(&model, layer, 1, &step, &layer_work);
    for (int i = 0; i < SLI_GEMM_COUNT; i++) {
        const sli_gemm *gemm = &layer_work.gemms[i];
        kref_gemm_shape shape = {(int64_t)gemm->m, (int64_t)gemm->n, (int64_t)gemm->k, 2, 2};
        kref_work work = kref_gemm_work(&shape);
        assert_true((double)work.algorithmic_flops == sli_gemm_flops(gemm));
        assert_true((double)work.algorithmic_bytes == sli_gemm_bytes(gemm));
        assert_true(work.matrix_flops >= work.algorithmic_flops);
    }
    /* Whole blocks have no padding. */
    kref_gemm_shape whole = {256, 384, 128, 2, 2};
    kref_work work = kref_gemm_work(&whole);
    assert_int_equal(work.matrix_flops, work.algorithmic_flops);
}

static sli_arena arena;
static sli_diag diag;

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

/* A model of one layer, as a file would have it. */
static const sli_architecture *read_layer(const char *mixer, const char *ffn) {
    const char *text = sli_arena_printf(&arena,
                                        "name: M\nsource: test\nhidden: 2048\nvocab: 1 tokens\n"
                                        "tie_embeddings: on\ncontext_native: unlimited\n"
                                        "attention: {x: {%s}}\nffn: {y: {%s}}\n"
                                        "layers: [[1, x, y]]\n",
                                        mixer, ffn);
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

static const char v3_mixer[] = "type: mla, q_heads: 128, q_lora: 1536, kv_lora: 512, rope_dim: 64, "
                               "nope_dim: 128, value_dim: 128";

/* DeepSeek-V3's heads: 278,528 FLOPs a pair absorbed. They take two blocks, and both copy the
 * cache's bytes. */
static void mla_decode_is_what_the_model_counts(void **state) {
    (void)state;
    const sli_architecture *model = read_layer(v3_mixer, "type: none");
    const sli_cache_format *bf16 = sli_cache_format_find("bf16");
    const int32_t lengths[] = {1, 77, 4096};
    for (int i = 0; i < 3; i++) {
        kref_mla_shape shape = {
            .sequences = 1,
            .tokens = &lengths[i],
            .heads = 128,
            .splits = 3,
            .output_bytes = 2,
        };
        kref_work work = kref_mla_decode_work(&shape);
        assert_int_equal(work.algorithmic_flops, INT64_C(278528) * lengths[i]);
        assert_true((double)work.algorithmic_flops == sli_opcount_decode_core(model, lengths[i]));
        assert_int_equal(work.copied_bytes, 2 * sli_state_read(model, bf16, lengths[i]));
    }
}

/* 81,920 FLOPs a pair expanded; and the latents of the past are expanded anew, by a gemm. */
static void mla_prefill_is_what_the_model_counts(void **state) {
    (void)state;
    const sli_architecture *model = read_layer(v3_mixer, "type: none");
    const int32_t chunks[][2] = {{1, 0}, {100, 300}, {512, 4096}}; /* queries, past */
    for (int i = 0; i < 3; i++) {
        int32_t queries = chunks[i][0];
        int32_t past = chunks[i][1];
        int32_t tokens = queries + past;
        kref_mla_shape shape = {
            .sequences = 1,
            .queries = &queries,
            .tokens = &tokens,
            .queries_max = queries,
            .heads = 128,
            .output_bytes = 2,
        };
        kref_gemm_shape expansion = {past, 128 * 256, 512, 2, 2};
        int64_t flops = kref_mla_prefill_work(&shape).algorithmic_flops +
                        kref_gemm_work(&expansion).algorithmic_flops;
        assert_true((double)flops == sli_opcount_prefill_core(model, past, queries));
    }
}

/* The matrices that tokens are multiplied with: the router's, and two of each chosen expert. */
static void experts_are_what_the_model_counts(void **state) {
    (void)state;
    enum { MODEL_EXPERTS = 128, TOP_K = 8, EXPERT_WIDTH = 768, EXPERT_HIDDEN = 2048, TOKENS = 48 };
    const sli_architecture *model = read_layer(v3_mixer,
                                               "type: moe, experts: 128, top_k: 8, width: 768");
    const sli_layer_run *run = model->layers.rows;
    int32_t counts[MODEL_EXPERTS];
    for (int i = 0; i < MODEL_EXPERTS; i++) {
        counts[i] = TOKENS * TOP_K / MODEL_EXPERTS;
    }
    kref_expert_shape up = {
        .counts = counts,
        .experts = MODEL_EXPERTS,
        .pairs = TOKENS * TOP_K,
        .top_k = TOP_K,
        .n = 2 * EXPERT_WIDTH,
        .k = EXPERT_HIDDEN,
        .output_bytes = 2,
    };
    kref_expert_shape down = up;
    down.top_k = 0;
    down.n = EXPERT_HIDDEN;
    down.k = EXPERT_WIDTH;
    kref_gemm_shape scores = {TOKENS, MODEL_EXPERTS, EXPERT_HIDDEN, 2, 4};
    int64_t flops = kref_gemm_work(&scores).algorithmic_flops +
                    kref_expert_gemm_work(&up).algorithmic_flops +
                    kref_expert_gemm_work(&down).algorithmic_flops;
    assert_int_equal(flops, 2 * TOKENS * sli_params_part_active(&run->ffn->facts));
}

/* Tokens whose scores are drawn go to as many experts as the model expects, so that a step reads as
 * many weights: the mean over many draws. */
static double mean_of_distinct(int experts, int top_k, int tokens, double *standard_error) {
    enum { DRAWS = 200, EXPERTS_MAX = 64 };
    double sum = 0.0;
    double sum_of_squares = 0.0;
    uint64_t drawn = 1;
    for (int draw = 0; draw < DRAWS; draw++) {
        bool is_used[EXPERTS_MAX] = {false};
        int distinct = 0;
        for (int token = 0; token < tokens; token++) {
            double scores[EXPERTS_MAX];
            int32_t chosen[EXPERTS_MAX];
            double unused[2][EXPERTS_MAX];
            kref_expected weights = {unused[0], unused[1]};
            for (int i = 0; i < experts; i++) {
                drawn = drawn * 6364136223846793005U + 1442695040888963407U; /* Knuth's MMIX */
                scores[i] = (double)(drawn >> 33);
            }
            kref_route(scores, experts, top_k, false, chosen, &weights);
            for (int i = 0; i < top_k; i++) {
                distinct += is_used[chosen[i]] ? 0 : 1;
                is_used[chosen[i]] = true;
            }
        }
        sum += distinct;
        sum_of_squares += (double)distinct * distinct;
    }
    double mean = sum / DRAWS;
    *standard_error = sqrt(fmax(sum_of_squares / DRAWS - mean * mean, 0.0) / DRAWS);
    return mean;
}

static void distinct_experts_are_what_the_model_expects(void **state) {
    (void)state;
    const int cases[][3] = {{64, 6, 1}, {64, 6, 8}, {32, 4, 20}, {16, 1, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double standard_error = 0.0;
        double mean = mean_of_distinct(cases[i][0], cases[i][1], cases[i][2], &standard_error);
        double expected = sli_moe_distinct(cases[i][0], cases[i][1], cases[i][2]);
        assert_true(fabs(mean - expected) <= 4.0 * standard_error + 1e-9);
    }
}

/* 24 elements are 3 packs: 2 ranks share them as 2 and 1, and of 7 ranks 4 have none. */
static void peers_share_packs(void **state) {
    (void)state;
    kref_work first = kref_peer_sum_work(2, 0, 24);
    kref_work second = kref_peer_sum_work(2, 1, 24);
    assert_int_equal(first.algorithmic_flops, 16);
    assert_int_equal(second.algorithmic_flops, 8);
    assert_int_equal(first.loaded_bytes, 2 * 2 * 16);
    assert_int_equal(second.stored_bytes, 2 * 2 * 8);
    /* All together move each input and each output once. */
    assert_int_equal(first.algorithmic_bytes + second.algorithmic_bytes, 2 * 2 * 2 * 24);
    assert_int_equal(kref_peer_sum_work(7, 2, 24).algorithmic_bytes, 2 * 7 * 2 * 8);
    assert_int_equal(kref_peer_sum_work(7, 3, 24).algorithmic_bytes, 0);
}

/* Against the parts one by one; and cut into so many, none is left with nothing. */
static void useful_splits_have_keys(void **state) {
    (void)state;
    for (int64_t seen = 1; seen <= 2100; seen += seen < 200 ? 1 : 97) {
        for (int splits = 1; splits <= 70; splits++) {
            int filled = 0;
            for (int i = 0; i < splits; i++) {
                filled += kref_split_keys(seen, splits, i, 64) > 0 ? 1 : 0;
            }
            int useful = kref_useful_splits(seen, splits, 64);
            assert_int_equal(useful, filled);
            assert_true(kref_split_keys(seen, useful, useful - 1, 64) > 0);
        }
    }
    assert_int_equal(kref_useful_splits(128, 33, 64), 2); /* two grains */
    assert_int_equal(kref_useful_splits(0, 33, 64), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefill_by_hand),
        cmocka_unit_test(decode_by_hand),
        cmocka_unit_test(elementwise_by_hand),
        cmocka_unit_test(gemm_by_hand),
        cmocka_unit_test(experts_by_hand),
        cmocka_unit_test(mla_by_hand),
        cmocka_unit_test(prefill_is_what_the_model_counts),
        cmocka_unit_test(ragged_prefill_has_the_models_exact_work),
        cmocka_unit_test(decode_is_what_the_model_counts),
        cmocka_unit_test(elementwise_is_what_the_model_counts),
        cmocka_unit_test(gemms_are_what_the_model_counts),
        cmocka_unit_test(mla_decode_is_what_the_model_counts),
        cmocka_unit_test(mla_prefill_is_what_the_model_counts),
        cmocka_unit_test(experts_are_what_the_model_counts),
        cmocka_unit_test(distinct_experts_are_what_the_model_expects),
        cmocka_unit_test(peers_share_packs),
        cmocka_unit_test(useful_splits_have_keys),
    };
    return cmocka_run_group_tests_name("work", tests, NULL, release);
}
