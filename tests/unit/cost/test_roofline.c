/*
 * The roofline by hand for single layers, and its laws for every model of the catalogue.
 *
 * By hand: H100 SXM, .814 x 989e3 FLOP and .874 x 3.35e3 bytes a nanosecond, 3,540 ns a class.
 */
#include "cost/cost.h"
#include "cost/roofline.h"
#include "model/opcount.h"
#include "model/parallel.h"

#include "../model/batch_shape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;
static const sli_device *h100;

enum { MODEL_MAX = 128 };
static const sli_architecture *models[MODEL_MAX];
static int model_count;

static int read_all(void **state) {
    (void)state;
    sli_catalogue_site nowhere = {.key = NULL};
    sl_err err = sli_device_read(&arena, "h100-sxm", nowhere, &diag, &h100);
    for (const sli_embedded *file = sli_model_files; file->name != NULL && err == SL_OK; file++) {
        err = model_count == MODEL_MAX ? SL_ERR_CONFIG
                                       : sli_architecture_read(&arena, file->name, nowhere, &diag,
                                                               &models[model_count++]);
    }
    sli_diag_print(&diag, stderr);
    return err == SL_OK ? 0 : -1;
}

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

/* A model of one layer; one token in the vocabulary. */
static const sli_architecture *layer_of(int hidden, const char *mixer, const char *ffn) {
    const char *text = sli_arena_printf(&arena,
                                        "name: M\nsource: test\nhidden: %d\nvocab: 1 tokens\n"
                                        "tie_embeddings: on\ncontext_native: unlimited\n"
                                        "attention: {x: %s}\nffn: {y: %s}\nlayers: [[1, x, y]]\n",
                                        hidden, mixer, ffn);
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

/* A model with its cost model, in the formats of the names. */
typedef struct served {
    sl_cost_model cost;
    sli_growth_list growths;
} served;

static sli_cost_subject subject_of(const sli_architecture *model, int64_t tp, const char *weights,
                                   const char *cache) {
    return (sli_cost_subject){
        .architecture = model,
        .device = h100,
        .tp = tp,
        .weights = sli_weights_all(sli_weight_format_find(weights)),
        .cache = sli_cache_format_find(cache),
    };
}

static served serve_as(sli_arena *memory, const sli_cost_subject *subject) {
    const sli_cost_config config = {.kind = SLI_COST_ROOFLINE};
    served made = {0};
    assert_int_equal(sli_cost_create(memory, &config, subject, &made.cost), SL_OK);
    made.growths.count = made.cost.growth_count;
    for (int i = 0; i < made.growths.count; i++) {
        made.growths.rows[i] = made.cost.growths[i];
    }
    return made;
}

static served serve_on(sli_arena *memory, const sli_architecture *model, int64_t tp,
                       const char *weights, const char *cache) {
    sli_cost_subject subject = subject_of(model, tp, weights, cache);
    return serve_as(memory, &subject);
}

/* On one rank, with a kernel of attention or NULL, and latents put in these ways. */
static served serve_asked(const sli_architecture *model, const char *cache, const char *kernel,
                          sli_latent_way decode_way, sli_latent_way prefill_way) {
    sli_cost_subject subject = subject_of(model, 1, "bf16", cache);
    subject.attention = (sli_attention_choice){
        .kernel = kernel != NULL ? sli_attention_kernel_find(kernel) : NULL,
        .decode_way = decode_way,
        .prefill_way = prefill_way,
    };
    return serve_as(&arena, &subject);
}

static served serve(const sli_architecture *model) {
    return serve_on(&arena, model, 1, "bf16", "bf16");
}

static sl_step_cost time_step(const served *made, const sl_batch_shape *shape) {
    sl_step_cost cost;
    made->cost.ops->step(made->cost.self, shape, &cost);
    double sum_ns = 0;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        sum_ns += cost.cause_ns[i];
    }
    assert_true(fabs(sum_ns - (double)cost.total_ns) <= 0.5 + 1e-6);
    return cost;
}

static void is_near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) {
        fail_msg("%.17g instead of %.17g", value, expected);
    }
}

static double compute_ns(double flops) {
    return 3540 + flops / (.814 * 989e3);
}

static double memory_ns(double bytes) {
    return 3540 + bytes / (.874 * 3.35e3);
}

/* ---- By hand ---- */

static double gemm_of_rows(const served *made, int rows) {
    sl_batch_shape shape = {0};
    for (int i = 0; i < rows; i++) {
        add_decode_row(&shape, &made->growths, 100);
    }
    return time_step(made, &shape).cause_ns[SL_CAUSE_GEMM];
}

/*
 * The experts of Qwen3-30B-A3B: router 2048 x 128, 128 experts of 3 x 2048 x 768, 8 a token. 32
 * tokens choose 128 (1 - (15/16)^32) = 111.771 of them, 1,055,315,738 bytes with the router; their
 * FLOPs would take 3 us. 8,192 tokens are bound by 6.22e11 FLOPs.
 */
static void experts_are_bound_by_those_that_are_read(void **state) {
    (void)state;
    const sli_architecture *model = layer_of(2048, "none",
                                             "{type: moe, experts: 128, top_k: 8, width: 768}");
    served bf16 = serve(model);
    served q4 = serve_on(&arena, model, 1, "q4_0", "bf16");
    double router = 2048.0 * 128;
    double expert = 3 * 2048.0 * 768;
    is_near(gemm_of_rows(&bf16, 1), memory_ns(2 * (router + 8 * expert)));
    double many = 128 * (1 - pow(15.0 / 16, 32));
    assert_true(fabs(many - 111.771) < 1e-3);
    is_near(gemm_of_rows(&bf16, 32), memory_ns(2 * (router + many * expert)));
    is_near(gemm_of_rows(&q4, 32), memory_ns((router + many * expert) * 18 / 32));
    is_near(gemm_of_rows(&bf16, 8192), compute_ns(2 * 8192 * (router + 8 * expert)));
}

/* The mixer of Qwen3-Next: 2 MiB of state and 48 KiB of convolution, 2,146,304 bytes. 64 rows move
 * them twice each; a chunk of 2,048 tokens computes 32 x 126,976 FLOPs a token. */
static void a_recurrence_moves_its_state(void **state) {
    (void)state;
    served made = serve(layer_of(2048,
                                 "{type: recurrent, rule: gdn, heads: 32, key_heads: 16, key_dim: "
                                 "128, value_dim: 128, conv: 4, gate: full}",
                                 "none"));
    sl_batch_shape rows = {0};
    for (int i = 0; i < 64; i++) {
        add_decode_row(&rows, &made.growths, 2 + 1000 * i);
    }
    is_near(time_step(&made, &rows).cause_ns[SL_CAUSE_ATTENTION], memory_ns(64 * 2 * 2146304.0));
    sl_batch_shape chunk = {0};
    add_prefill_chunk(&chunk, &made.growths, 70000, 2048);
    is_near(time_step(&made, &chunk).cause_ns[SL_CAUSE_ATTENTION],
            compute_ns(2048 * 32 * 126976.0));
}

#define V3                                                                                         \
    "type: mla, q_heads: 128, q_lora: 1536, kv_lora: 512, rope_dim: 64, nope_dim: 128, "           \
    "value_dim: 128"

/*
 * DeepSeek-V3, rows of 32,768 and 1,000 tokens: 1,152 bytes a latent, 278,528 FLOPs; bytes bind.
 * With latents of 656 bytes the FLOPs do. On 8 ranks bytes again: each reads all latents.
 */
static void absorbed_latents_are_read_once_for_all_heads(void **state) {
    (void)state;
    const sli_architecture *model = layer_of(7168, "{" V3 "}", "none");
    served bf16 = serve(model);
    served fp8 = serve_on(&arena, model, 1, "bf16", "fp8_ds_mla");
    served ranks = serve_on(&arena, model, 8, "bf16", "fp8_ds_mla");
    sl_batch_shape rows = {0};
    add_decode_row(&rows, &bf16.growths, 32768);
    add_decode_row(&rows, &bf16.growths, 1000);
    is_near(time_step(&bf16, &rows).cause_ns[SL_CAUSE_ATTENTION], memory_ns(1152.0 * 33770));
    is_near(time_step(&fp8, &rows).cause_ns[SL_CAUSE_ATTENTION], compute_ns(278528.0 * 33768));
    is_near(time_step(&ranks, &rows).cause_ns[SL_CAUSE_ATTENTION], memory_ns(656.0 * 33770));
}

/* 1,000 tokens over 3,000: 3,500,500 pairs of 81,920 FLOPs, and the prefix made anew. */
static void a_chunk_expands_its_prefix_again(void **state) {
    (void)state;
    served made = serve(layer_of(7168, "{" V3 "}", "none"));
    sl_batch_shape chunk = {0};
    add_prefill_chunk(&chunk, &made.growths, 3000, 1000);
    is_near(time_step(&made, &chunk).cause_ns[SL_CAUSE_ATTENTION],
            compute_ns(81920.0 * 3500500 + 33554432.0 * 3000));
}

/*
 * The same chunk absorbed: 278,528 FLOPs a pair and nothing made anew. Rows of 32,768 and 1,000
 * tokens expanded: 81,920 FLOPs a key, and 33,554,432 for each token before, which is more than
 * twice what reading the latents takes. On 8 ranks each does so for 16 heads.
 */
static void latents_are_put_as_they_are_asked_to(void **state) {
    (void)state;
    const sli_architecture *model = layer_of(7168, "{" V3 "}", "none");
    served absorbed = serve_asked(model, "bf16", NULL, SLI_LATENT_ABSORBED, SLI_LATENT_ABSORBED);
    served expanded = serve_asked(model, "bf16", NULL, SLI_LATENT_EXPANDED, SLI_LATENT_EXPANDED);
    sl_batch_shape chunk = {0};
    add_prefill_chunk(&chunk, &absorbed.growths, 3000, 1000);
    is_near(time_step(&absorbed, &chunk).cause_ns[SL_CAUSE_ATTENTION],
            compute_ns(278528.0 * 3500500));
    is_near(time_step(&expanded, &chunk).cause_ns[SL_CAUSE_ATTENTION],
            compute_ns(81920.0 * 3500500 + 33554432.0 * 3000));
    sl_batch_shape rows = {0};
    add_decode_row(&rows, &absorbed.growths, 32768);
    add_decode_row(&rows, &absorbed.growths, 1000);
    is_near(time_step(&absorbed, &rows).cause_ns[SL_CAUSE_ATTENTION], memory_ns(1152.0 * 33770));
    double flops = 81920.0 * 33768 + 33554432.0 * (32767 + 999);
    is_near(time_step(&expanded, &rows).cause_ns[SL_CAUSE_ATTENTION], compute_ns(flops));
    sli_cost_subject subject = subject_of(model, 8, "bf16", "bf16");
    subject.attention.decode_way = SLI_LATENT_EXPANDED;
    served ranks = serve_as(&arena, &subject);
    is_near(time_step(&ranks, &rows).cause_ns[SL_CAUSE_ATTENTION], compute_ns(flops / 8));
}

/* 32 heads of 128, 2,048 tokens over 30,000: 16,384 FLOPs for each of 63,538,176 pairs, at .15 of
 * the peak instead of .814. Absorbed latents of 656 bytes are bound by FLOPs too; keys and values
 * of rows by their bytes, whatever the kernel; a recurrence has none. */
static void a_kernel_has_a_share_of_the_peak_of_its_own(void **state) {
    (void)state;
    const sli_latent_way as_model = SLI_LATENT_AS_MODEL;
    const sli_architecture *model = layer_of(
        4096, "{type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}", "none");
    served known = serve(model);
    served naive = serve_asked(model, "bf16", "naive", as_model, as_model);
    sl_batch_shape chunk = {0};
    add_prefill_chunk(&chunk, &known.growths, 30000, 2048);
    double flops = 16384.0 * (2048 * 30000.0 + 2048 * 2049 / 2.0);
    is_near(time_step(&known, &chunk).cause_ns[SL_CAUSE_ATTENTION], compute_ns(flops));
    is_near(time_step(&naive, &chunk).cause_ns[SL_CAUSE_ATTENTION], 3540 + flops / (.15 * 989e3));
    is_near(time_step(&naive, &chunk).cause_ns[SL_CAUSE_GEMM],
            time_step(&known, &chunk).cause_ns[SL_CAUSE_GEMM]);
    sl_batch_shape row = {0};
    add_decode_row(&row, &known.growths, 10000);
    is_near(time_step(&naive, &row).cause_ns[SL_CAUSE_ATTENTION], memory_ns(4096 * 10001.0));
    const sli_architecture *latents = layer_of(7168, "{" V3 "}", "none");
    served fa3 = serve_asked(latents, "fp8_ds_mla", "fa3", as_model, as_model);
    is_near(time_step(&fa3, &row).cause_ns[SL_CAUSE_ATTENTION],
            3540 + 278528.0 * 10000 / (.658 * 989e3));
    const sli_architecture *states = layer_of(2048,
                                              "{type: recurrent, rule: gdn, heads: 32, key_heads: "
                                              "16, key_dim: 128, value_dim: 128, conv: 4, "
                                              "gate: full}",
                                              "none");
    served recurrence = serve_asked(states, "bf16", "naive", as_model, as_model);
    is_near(time_step(&recurrence, &chunk).cause_ns[SL_CAUSE_ATTENTION],
            compute_ns(2048 * 32 * 126976.0));
}

/* 4,096 bytes a token: read by attention, read and written to be copied, and the new one written.
 */
static void a_copied_cache_is_moved_three_times(void **state) {
    (void)state;
    const sli_architecture *model = layer_of(
        4096, "{type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}", "none");
    sli_cost_subject subject = subject_of(model, 1, "bf16", "bf16");
    subject.attention.is_copied = true;
    served made = serve_as(&arena, &subject);
    sl_batch_shape rows = {0};
    add_decode_row(&rows, &made.growths, 10000);
    add_decode_row(&rows, &made.growths, 500);
    is_near(time_step(&made, &rows).cause_ns[SL_CAUSE_ATTENTION],
            memory_ns(4096 * (3 * 10500.0 + 2)));
}

/* V3.2: 2,048 latents and all index keys of 256 bytes; 100,000 tokens more add index keys alone. */
static void sparse_attention_reads_its_top_and_the_index(void **state) {
    (void)state;
    served made = serve(layer_of(
        7168, "{" V3 ", index: {keys: own, heads: 64, dim: 128, top: 2048 tokens}}", "none"));
    assert_int_equal(made.growths.count, 1);
    for (int i = 1; i <= 2; i++) {
        sl_batch_shape row = {0};
        add_decode_row(&row, &made.growths, i * 100000);
        is_near(time_step(&made, &row).cause_ns[SL_CAUSE_ATTENTION],
                memory_ns(1152.0 * 2048 + 256.0 * i * 100000 + 1408));
    }
    /* 4,096 queries over 100,000: 16,384 FLOPs a pair, and 2,048 chosen keys each */
    sl_batch_shape chunk = {0};
    add_prefill_chunk(&chunk, &made.growths, 100000, 4096);
    double pairs = 4096 * 100000.0 + 4096 * 4097 / 2.0;
    is_near(time_step(&made, &chunk).cause_ns[SL_CAUSE_ATTENTION],
            compute_ns(16384 * pairs + 278528.0 * 2048 * 4096));
}

/* 4,096 bytes a token and 4,096 tokens at most; beyond, a longer context costs nothing. */
static void a_window_caps_what_is_read(void **state) {
    (void)state;
    served made = serve(layer_of(
        4096, "{type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128, window: 4096 tokens}", "none"));
    static const int64_t lengths_tokens[] = {1000, 4095, 4096, 4097, 1000000};
    for (int i = 0; i < 5; i++) {
        sl_batch_shape row = {0};
        add_decode_row(&row, &made.growths, lengths_tokens[i]);
        double seen = lengths_tokens[i] < 4096 ? (double)lengths_tokens[i] : 4096.0;
        is_near(time_step(&made, &row).cause_ns[SL_CAUSE_ATTENTION], memory_ns(4096 * (seen + 1)));
    }
}

/* Entries of V4: of one row of 40,000 tokens 128 of the window, 1,024 chosen of 10,000, and the
 * 10,000 index keys; 1,024 and 256 bytes; a token writes a row and a quarter of an entry and key.
 */
static void entries_are_chosen_by_their_index(void **state) {
    (void)state;
    served made = serve(layer_of(
        7168,
        "{type: compressed, q_heads: 128, head_dim: 512, q_lora: 1536, o_lora: 1024, o_groups: 16, "
        "window: 128 tokens, ratio: 4, state_span: 8 tokens, state_vectors: 4, "
        "index: {heads: 64, dim: 128, top: 1024}}",
        "none"));
    assert_int_equal(made.growths.count, 3);
    sl_batch_shape row = {0};
    add_decode_row(&row, &made.growths, 40000);
    is_near(time_step(&made, &row).cause_ns[SL_CAUSE_ATTENTION],
            memory_ns(1024.0 * (128 + 1024) + 256.0 * 10000 + 1024 + (1024 + 256) / 4.0));
}

/* Four residual streams of 1,024 are mixed in front of both parts: 2 x 4,096 x (8 + 16) parameters
 * a layer; 3 rows read them. */
static void streams_are_mixed_in_every_layer(void **state) {
    (void)state;
    sli_architecture model = *layer_of(1024, "none", "{type: dense, width: 4096}");
    served plain = serve(&model);
    double without_ns = gemm_of_rows(&plain, 3);
    model.hyper_streams = 4;
    served mixed = serve(&model);
    is_near(gemm_of_rows(&mixed, 3), without_ns + memory_ns(2 * 2 * 4096.0 * 24));
}

/* What a step has besides, as in pnorm: 2 MiB of all-reduce behind each of 2 parts, 2.2 us for each
 * of 4 elementwise operators, 1.75 ms + .41 ms x 3 + 21 us a sequence. */
static void the_rest_of_a_step_is_as_in_pnorm(void **state) {
    (void)state;
    const sli_architecture *both = layer_of(
        1024, "{type: gqa, q_heads: 8, kv_heads: 8, head_dim: 128}", "{type: dense, width: 4096}");
    const sli_architecture *one = layer_of(1024, "none", "{type: dense, width: 4096}");
    served whole = serve_on(&arena, both, 8, "bf16", "bf16");
    served half = serve_on(&arena, one, 8, "bf16", "bf16");
    sl_batch_shape shape = {0};
    add_prefill_chunk(&shape, &whole.growths, 0, 1024);
    sl_step_cost cost = time_step(&whole, &shape);
    sl_step_cost single = time_step(&half, &shape);
    /* 4,530 + 6.56 x sqrt(2^21) + 2^21 x 1.75 / (1.06 x 450) */
    double reduce_ns = 4530 + 6.56 * sqrt(2097152) + 2097152 * 1.75 / (1.06 * 450);
    is_near(cost.cause_ns[SL_CAUSE_COLLECTIVE], 2 * reduce_ns);
    is_near(single.cause_ns[SL_CAUSE_COLLECTIVE], reduce_ns);
    is_near(cost.cause_ns[SL_CAUSE_ENGINE], 1750000 + 3 * 410000 + 21000);
    /* a rank: q, k, v 3 x 128 wide; up and gate 2 x 512; read and written */
    double norm_ns = 2200 + 8.0 * 1024 * 1024 / (.5 * 3.35e3);
    is_near(single.cause_ns[SL_CAUSE_ELEMENTWISE],
            norm_ns + 2200 + 4.0 * 1024 * 1024 / (.5 * 3.35e3));
    is_near(cost.cause_ns[SL_CAUSE_ELEMENTWISE] - single.cause_ns[SL_CAUSE_ELEMENTWISE],
            norm_ns + 2200 + 4.0 * 1024 * 384 / (.5 * 3.35e3));
    assert_true(single.cause_ns[SL_CAUSE_ATTENTION] == 0);
}

/* The head draws from 151,936 tokens for one row, and from none for a silent chunk. */
static void the_head_is_read_when_a_token_comes_out(void **state) {
    (void)state;
    const sli_architecture *model = NULL;
    sli_catalogue_site nowhere = {.key = NULL};
    assert_int_equal(sli_architecture_read(&arena, "qwen3-next-80b-a3b", nowhere, &diag, &model),
                     SL_OK);
    served made = serve_on(&arena, model, 2, "fp8", "bf16");
    sl_batch_shape shape = {0};
    add_prefill_chunk(&shape, &made.growths, 0, 512);
    is_near(time_step(&made, &shape).cause_ns[SL_CAUSE_HEAD], memory_ns(151936.0 * 2048 / 2));
    shape.emitting = 0;
    assert_true(time_step(&made, &shape).cause_ns[SL_CAUSE_HEAD] == 0);
}

/* ---- Laws ---- */

/* Where attention sees only its own chunk of the sequence, a context of a few tokens more may see
 * less; of a multiple of this more it does not. */
static int64_t period_tokens(const sli_growth_list *growths) {
    int64_t period = 1;
    for (int i = 0; i < growths->count; i++) {
        if (growths->rows[i].kind == SLI_GROWTH_SAWTOOTH) {
            period = growths->rows[i].step_tokens; /* the catalogue has no two in one model */
        }
    }
    return period;
}

static int64_t draw(uint64_t *state, int64_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)below);
}

enum { PIECE_MAX = 12 };

/* Rows and chunks; a row is a chunk of one token over a prefix. */
typedef struct batch {
    int count;
    int64_t prefix_tokens[PIECE_MAX];
    int64_t chunk_tokens[PIECE_MAX];
} batch;

static int64_t time_batch(const served *made, const batch *drawn) {
    sl_batch_shape shape = {0};
    for (int i = 0; i < drawn->count; i++) {
        if (drawn->chunk_tokens[i] == 1) {
            add_decode_row(&shape, &made->growths, drawn->prefix_tokens[i] + 1);
        } else {
            add_prefill_chunk(&shape, &made->growths, drawn->prefix_tokens[i],
                              drawn->chunk_tokens[i]);
        }
    }
    return time_step(made, &shape).total_ns;
}

static void draw_piece(uint64_t *state, batch *drawn) {
    int64_t scale = INT64_C(1) << draw(state, 18);
    bool is_row = draw(state, 3) > 0;
    drawn->prefix_tokens[drawn->count] = 1 + draw(state, scale);
    drawn->chunk_tokens[drawn->count] = is_row ? 1 : 2 + draw(state, 3000);
    drawn->count++;
}

static void more_of_anything_is_never_faster(void **state) {
    (void)state;
    uint64_t random = 7;
    for (int m = 0; m < model_count; m++) {
        served made = serve(models[m]);
        int64_t period = period_tokens(&made.growths);
        for (int round = 0; round < 60; round++) {
            batch drawn = {0};
            int64_t pieces = 1 + draw(&random, PIECE_MAX - 1);
            while (drawn.count < pieces) {
                draw_piece(&random, &drawn);
            }
            int64_t before_ns = time_batch(&made, &drawn);
            int64_t one = draw(&random, drawn.count);
            batch longer = drawn;
            longer.prefix_tokens[one] += period * (1 + draw(&random, 5000 / period + 1));
            batch wider = drawn;
            wider.chunk_tokens[one] += wider.chunk_tokens[one] > 1 ? 1 + draw(&random, 500) : 0;
            batch more = drawn;
            draw_piece(&random, &more);
            if (time_batch(&made, &longer) < before_ns || time_batch(&made, &wider) < before_ns ||
                time_batch(&made, &more) < before_ns) {
                fail_msg("%s: more work in less time", models[m]->id);
            }
        }
    }
}

static sl_batch_shape some_batch(const sli_growth_list *growths) {
    sl_batch_shape shape = {0};
    add_prefill_chunk(&shape, growths, 1000, 1500);
    add_decode_row(&shape, growths, 30000);
    add_decode_row(&shape, growths, 2000);
    return shape;
}

/* Fewer bytes in smaller formats, less of anything on a rank of many. */
static void smaller_formats_and_more_ranks_are_never_slower(void **state) {
    (void)state;
    for (int m = 0; m < model_count; m++) {
        served bf16 = serve(models[m]);
        served small = serve_on(&arena, models[m], 1, "fp8", "fp8");
        sl_batch_shape shape = some_batch(&bf16.growths);
        sl_step_cost cost = time_step(&bf16, &shape);
        assert_true(time_step(&small, &shape).total_ns <= cost.total_ns);
        if (!sli_parallel_can_run(models[m], 2)) {
            continue;
        }
        served ranks = serve_on(&arena, models[m], 2, "bf16", "bf16");
        sl_step_cost shared = time_step(&ranks, &shape);
        assert_true(shared.cause_ns[SL_CAUSE_GEMM] <= cost.cause_ns[SL_CAUSE_GEMM]);
        assert_true(shared.cause_ns[SL_CAUSE_ATTENTION] <= cost.cause_ns[SL_CAUSE_ATTENTION]);
        assert_true(shared.cause_ns[SL_CAUSE_ELEMENTWISE] <= cost.cause_ns[SL_CAUSE_ELEMENTWISE]);
    }
}

/* pnorm takes a smooth maximum of the same times, at most 2^(1/2.83) = 1.28 of the larger one, of
 * twice as many calls, and adds activations: more, but not twice as much. */
static void products_are_a_lower_bound_of_pnorm(void **state) {
    (void)state;
    int plain_count = 0;
    for (int m = 0; m < model_count; m++) {
        if (sli_architecture_unplain(models[m]) != NULL) {
            continue;
        }
        plain_count++;
        const sli_cost_config config = {.kind = SLI_COST_PNORM};
        const sli_cost_subject subject = subject_of(models[m], 1, "bf16", "bf16");
        served made = serve(models[m]);
        served fitted = {0};
        assert_int_equal(sli_cost_create(&arena, &config, &subject, &fitted.cost), SL_OK);
        for (int64_t tokens = 1; tokens <= 8192; tokens *= 2) {
            sl_batch_shape shape = {0};
            add_prefill_chunk(&shape, &made.growths, 0, tokens);
            sl_step_cost bound = time_step(&made, &shape);
            sl_step_cost cost = time_step(&fitted, &shape);
            assert_true(bound.cause_ns[SL_CAUSE_GEMM] < cost.cause_ns[SL_CAUSE_GEMM]);
            assert_true(bound.cause_ns[SL_CAUSE_HEAD] < cost.cause_ns[SL_CAUSE_HEAD]);
            assert_true(bound.cause_ns[SL_CAUSE_GEMM] > 0.5 * cost.cause_ns[SL_CAUSE_GEMM]);
            assert_true(bound.cause_ns[SL_CAUSE_ENGINE] == cost.cause_ns[SL_CAUSE_ENGINE]);
        }
    }
    assert_true(plain_count > 10);
}

/* A kernel with a smaller share takes no less of anything, and longer for a long prompt. */
static void kernels_are_as_fast_as_their_shares(void **state) {
    (void)state;
    for (int m = 0; m < model_count; m++) {
        for (const sli_attention_kernel *a = sli_attention_kernels; a->name != NULL; a++) {
            for (const sli_attention_kernel *b = a + 1; b->name != NULL; b++) {
                served slow = serve_asked(models[m], "bf16", a->name, SLI_LATENT_AS_MODEL,
                                          SLI_LATENT_AS_MODEL);
                served fast = serve_asked(models[m], "bf16", b->name, SLI_LATENT_AS_MODEL,
                                          SLI_LATENT_AS_MODEL);
                sl_batch_shape shape = some_batch(&slow.growths);
                int64_t slow_ns = time_step(&slow, &shape).total_ns;
                int64_t fast_ns = time_step(&fast, &shape).total_ns;
                assert_true(a->flops_share <= b->flops_share ? slow_ns >= fast_ns
                                                             : slow_ns <= fast_ns);
            }
        }
    }
}

/* How the layers are listed is nothing to the sum. */
static void runs_of_layers_add_up(void **state) {
    (void)state;
    for (int m = 0; m < model_count; m++) {
        const sli_layer_run *runs = models[m]->layers.rows;
        size_t count = models[m]->layers.count;
        sli_layer_run *split = sli_arena_array(&arena, 2 * count, sizeof *split);
        assert_non_null(split);
        for (size_t i = 0; i < count; i++) {
            split[i] = runs[i];
            split[count + i] = runs[i];
        }
        sli_architecture twice = *models[m];
        twice.layers = (sli_table){.rows = split, .count = 2 * count};
        served once_made = serve(models[m]);
        served twice_made = serve(&twice);
        sl_batch_shape shape = some_batch(&once_made.growths);
        sl_step_cost once = time_step(&once_made, &shape);
        sl_step_cost doubled = time_step(&twice_made, &shape);
        for (int i = SL_CAUSE_GEMM; i <= SL_CAUSE_ELEMENTWISE; i++) {
            is_near(doubled.cause_ns[i], 2 * once.cause_ns[i]);
        }
        is_near(doubled.cause_ns[SL_CAUSE_HEAD], once.cause_ns[SL_CAUSE_HEAD]);
    }
}

/* DeepSeek V4-Pro lists 60 runs of 2 mixers and 1 feed-forward: a step looks at 2. */
static void equal_parts_are_looked_at_once(void **state) {
    (void)state;
    for (int m = 0; m < model_count; m++) {
        sli_cost_subject subject = subject_of(models[m], 1, "bf16", "bf16");
        sli_roofline_model made;
        assert_int_equal(sli_roofline_init(&arena, &subject, &made), SL_OK);
        assert_true(made.part_count <= models[m]->attention.count + models[m]->ffns.count);
        assert_true(made.core_count <= models[m]->attention.count);
        if (strcmp(models[m]->id, "deepseek-v4-pro") == 0) {
            assert_int_equal(made.part_count, 3);
            assert_int_equal(made.core_count, 2);
        }
    }
}

/* What is remembered of earlier steps changes nothing. */
static void steps_do_not_depend_on_earlier_ones(void **state) {
    (void)state;
    served made = serve(models[0]);
    for (int64_t tokens = 1; tokens < 5000; tokens += tokens < 50 ? 1 : 7) {
        sli_arena memory = {0};
        served fresh = serve_on(&memory, models[0], 1, "bf16", "bf16");
        sl_batch_shape shape = {0};
        add_prefill_chunk(&shape, &made.growths, 3 * tokens, tokens);
        assert_int_equal(time_step(&made, &shape).total_ns, time_step(&fresh, &shape).total_ns);
        sli_arena_fini(&memory);
    }
}

static void an_empty_step_lasts_as_long_as_the_engine(void **state) {
    (void)state;
    served made = serve(models[0]);
    sl_batch_shape nothing = {0};
    assert_int_equal(time_step(&made, &nothing).total_ns, 1750000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_are_bound_by_those_that_are_read),
        cmocka_unit_test(a_recurrence_moves_its_state),
        cmocka_unit_test(absorbed_latents_are_read_once_for_all_heads),
        cmocka_unit_test(a_chunk_expands_its_prefix_again),
        cmocka_unit_test(latents_are_put_as_they_are_asked_to),
        cmocka_unit_test(a_kernel_has_a_share_of_the_peak_of_its_own),
        cmocka_unit_test(a_copied_cache_is_moved_three_times),
        cmocka_unit_test(sparse_attention_reads_its_top_and_the_index),
        cmocka_unit_test(a_window_caps_what_is_read),
        cmocka_unit_test(entries_are_chosen_by_their_index),
        cmocka_unit_test(streams_are_mixed_in_every_layer),
        cmocka_unit_test(the_rest_of_a_step_is_as_in_pnorm),
        cmocka_unit_test(the_head_is_read_when_a_token_comes_out),
        cmocka_unit_test(more_of_anything_is_never_faster),
        cmocka_unit_test(smaller_formats_and_more_ranks_are_never_slower),
        cmocka_unit_test(products_are_a_lower_bound_of_pnorm),
        cmocka_unit_test(kernels_are_as_fast_as_their_shares),
        cmocka_unit_test(runs_of_layers_add_up),
        cmocka_unit_test(equal_parts_are_looked_at_once),
        cmocka_unit_test(steps_do_not_depend_on_earlier_ones),
        cmocka_unit_test(an_empty_step_lasts_as_long_as_the_engine),
    };
    return cmocka_run_group_tests(tests, read_all, release);
}
