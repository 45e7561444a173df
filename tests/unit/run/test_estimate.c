#include "run/estimate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              INT64_C(1024)
#define MI              (KI * 1024)
#define GI              (MI * 1024)

static sli_arena arena;
static sli_diag diag;

static int free_all(void **state) {
    (void)state;
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return 0;
}

/* ---- Models that stand in no catalogue ---- */

typedef struct own_model {
    const char *name;
    const char *attention;
    const char *layers;
} own_model;

#define PAIR  "[1, own, dense], [1, borrowed, dense]"
#define PAIRS PAIR ", " PAIR ", " PAIR ", " PAIR

static const own_model own_models[] = {
    {"mha", "{a: {type: gqa, q_heads: 32, kv_heads: 32, head_dim: 128}}", "[[32, a, dense]]"},
    {"gqa", "{a: {type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}}", "[[32, a, dense]]"},
    {"mqa", "{a: {type: gqa, q_heads: 32, kv_heads: 1, head_dim: 128}}", "[[32, a, dense]]"},
    /* DeepSeek V2 with the keys and values of all its heads */
    {"v2-mha", "{a: {type: gqa, q_heads: 128, kv_heads: 128, head_dim: 128}}", "[[60, a, dense]]"},
    /* cross-layer attention: every second layer reads what the one before keeps */
    {"cla",
     "{own: {type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}, "
     "borrowed: {type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128, kv: shared}}",
     "[" PAIRS ", " PAIRS ", " PAIRS ", " PAIRS "]"},
    /* Qwen3.5 9B with attention in all layers */
    {"qwen3.5-full", "{a: {type: gqa, q_heads: 16, kv_heads: 4, head_dim: 256}}",
     "[[32, a, dense]]"},
    /* Gemma 4 31B with one tensor for keys and values: in all layers, or the full ones */
    {"gemma-one",
     "{w: {type: gqa, q_heads: 32, kv_heads: 16, head_dim: 256, window: 1024 tokens, k_eq_v: "
     "cache}, "
     "f: {type: gqa, q_heads: 32, kv_heads: 4, head_dim: 512, k_eq_v: cache}}",
     "[[50, w, dense], [10, f, dense]]"},
    {"gemma-full-one",
     "{w: {type: gqa, q_heads: 32, kv_heads: 16, head_dim: 256, window: 1024 tokens}, "
     "f: {type: gqa, q_heads: 32, kv_heads: 4, head_dim: 512, k_eq_v: cache}}",
     "[[50, w, dense], [10, f, dense]]"},
    /* 1,000 B a token */
    {"thousand", "{a: {type: gqa, q_heads: 1, kv_heads: 1, head_dim: 250}}", "[[1, a, dense]]"},
    {"window", "{a: {type: gqa, q_heads: 1, kv_heads: 1, head_dim: 1, window: 7 tokens}}",
     "[[1, a, dense]]"},
    {"chunk", "{a: {type: gqa, q_heads: 1, kv_heads: 1, head_dim: 1, chunk: 5 tokens}}",
     "[[1, a, dense]]"},
    {"few-experts", "{a: {type: gqa, q_heads: 8, kv_heads: 2, head_dim: 64}}", "[[4, a, few]]"},
    {"many-experts", "{a: {type: gqa, q_heads: 8, kv_heads: 2, head_dim: 64}}", "[[4, a, many]]"},
};

static const sli_architecture *make_model(const own_model *own) {
    const char *text = sli_arena_printf(
        &arena,
        "{name: Own, source: by hand, hidden: 4096, vocab: 1000 tokens, tie_embeddings: on, "
        "context_native: 131072 tokens, attention: %s, ffn: {dense: {type: dense, width: 1024}, "
        "few: {type: moe, experts: 8, top_k: 2, width: 64}, "
        "many: {type: moe, experts: 64, top_k: 6, width: 64}}, layers: %s}",
        own->attention, own->layers);
    sli_node *root = NULL;
    const sli_architecture *made = NULL;
    assert_int_equal(sli_tree_read_text(&arena, "own.yaml", text, strlen(text), &diag, &root),
                     SL_OK);
    sl_err err = sli_architecture_resolve(&arena, own->name, root, &diag, &made);
    sli_diag_print(&diag, stderr);
    assert_int_equal(err, SL_OK);
    return made;
}

static const sli_architecture *find_model(const char *name) {
    for (size_t i = 0; i < COUNT_OF(own_models); i++) {
        if (strcmp(own_models[i].name, name) == 0) {
            return make_model(&own_models[i]);
        }
    }
    const sli_architecture *read = NULL;
    sl_err err = sli_architecture_read(&arena, name, (sli_catalogue_site){0}, &diag, &read);
    sli_diag_print(&diag, stderr);
    assert_int_equal(err, SL_OK);
    return read;
}

static const sli_device *find_device(const char *name) {
    const sli_device *device = NULL;
    assert_int_equal(sli_device_read(&arena, name, (sli_catalogue_site){0}, &diag, &device), SL_OK);
    return device;
}

static sli_estimate_query query_of(const char *model, int64_t tokens, int64_t requests) {
    return (sli_estimate_query){
        .architecture = find_model(model),
        .cache = &sli_cache_formats[0],
        .weights = &sli_weight_formats[0],
        .tokens = tokens,
        .requests = requests,
        .tp = 1,
        .pp = 1,
    };
}

static sli_estimate estimate_of(const sli_estimate_query *query) {
    sli_estimate estimate;
    assert_int_equal(sli_estimate_find(query, &diag, &estimate), SL_OK);
    return estimate;
}

/* ---- Published figures ---- */

/* What a row is about. */
typedef enum golden_figure { TOKEN, GROWING, FIXED, REQUEST, TOTAL, SAVED, HANDOFF } golden_figure;

typedef struct golden_bytes {
    const char *model;
    const char *kv;
    int64_t tokens;
    int64_t requests;
    int64_t shared_tokens;
    golden_figure figure;
    int64_t bytes;
} golden_bytes;

static double figure_of(const sli_estimate *estimate, golden_figure figure) {
    switch (figure) {
    case TOKEN:
        return estimate->cache.token_bytes;
    case GROWING:
        return (double)estimate->cache.growing_bytes;
    case FIXED:
        return (double)estimate->cache.fixed_bytes;
    case REQUEST:
        return (double)estimate->cache.request_bytes;
    case TOTAL:
        return (double)estimate->cache.total_bytes;
    case SAVED:
        return (double)estimate->cache.saved_bytes;
    case HANDOFF:
        return (double)estimate->handoff.bytes;
    }
    return -1.0;
}

/* The guide to KV caches, and the cross-checks of its figures against published configurations and
 * the appendix of vLLM's article on DeepSeek V4 (2026-04-24). */
static const golden_bytes golden[] = {
    /* 32 layers, heads of 128, 32 / 8 / 1 of them */
    {"mha", "bf16", 1, 1, 0, TOKEN, 512 * KI},
    {"gqa", "bf16", 1, 1, 0, TOKEN, 128 * KI},
    {"mqa", "bf16", 1, 1, 0, TOKEN, 16 * KI},
    {"mha", "bf16", 1024, 1, 0, REQUEST, 512 * MI},
    {"mha", "bf16", 4096, 1, 0, REQUEST, 2 * GI},
    {"mha", "bf16", 128 * KI, 1, 0, REQUEST, 64 * GI},
    {"gqa", "bf16", 128 * KI, 1, 0, REQUEST, 16 * GI},
    {"mqa", "bf16", 128 * KI, 1, 0, REQUEST, 2 * GI},
    /* published models, a token */
    {"llama-2-7b", "bf16", 1, 1, 0, TOKEN, 512 * KI},
    {"llama-2-70b", "bf16", 1, 1, 0, TOKEN, 320 * KI},
    {"mistral-7b-v0.1", "bf16", 1, 1, 0, REQUEST, 128 * KI},
    {"gemma-1-7b", "bf16", 1, 1, 0, TOKEN, 448 * KI},
    {"llama-3.1-8b", "bf16", 1, 1, 0, TOKEN, 128 * KI},
    {"llama-3.1-70b", "bf16", 1, 1, 0, TOKEN, 320 * KI},
    {"llama-3.1-405b", "bf16", 1, 1, 0, TOKEN, 504 * KI},
    {"qwen2-72b", "bf16", 1, 1, 0, TOKEN, 320 * KI},
    {"qwen2.5-72b", "bf16", 1, 1, 0, TOKEN, 320 * KI},
    {"phi-4-14b", "bf16", 1, 1, 0, TOKEN, 200 * KI},
    {"qwen3-32b", "bf16", 1, 1, 0, TOKEN, 256 * KI},
    {"deepseek-v3", "bf16", 1, 1, 0, TOKEN, 70272},
    {"deepseek-v3.2", "bf16", 1, 1, 0, TOKEN, 85888},
    {"deepseek-v4-pro", "bf16", 1, 1, 0, TOKEN, 9848},
    /* one cache for two layers */
    {"cla", "bf16", 1, 1, 0, TOKEN, 64 * KI},
    /* windows */
    {"mistral-7b-v0.1", "bf16", 4096, 1, 0, REQUEST, 512 * MI},
    {"mistral-7b-v0.1", "bf16", 128 * KI, 1, 0, REQUEST, 512 * MI},
    {"gemma-4-31b", "bf16", 128 * KI, 1, 0, REQUEST, 800 * MI + 10 * GI},
    {"gemma-one", "bf16", 128 * KI, 1, 0, REQUEST, 400 * MI + 5 * GI},
    {"gemma-full-one", "bf16", 128 * KI, 1, 0, REQUEST, 800 * MI + 5 * GI},
    {"gpt-oss-20b", "bf16", 8192, 32, 0, TOTAL, 6240 * MI},
    /* recurrent layers: 24 x (32 x 128 x 128 x 4 + 8,192 x 3 x 2) */
    {"qwen3.5-9b", "bf16", 128 * KI, 1, 0, GROWING, 4 * GI},
    {"qwen3.5-9b", "bf16", 1, 1, 0, FIXED, 51511296},
    {"qwen3.5-9b", "bf16", 128 * KI, 1, 0, FIXED, 51511296},
    {"qwen3.5-full", "bf16", 128 * KI, 1, 0, REQUEST, 16 * GI},
    /* DeepSeek at 1 Mi tokens; its own formats by hand: 30 x ((128 + 262,144) x 584 + 262,144 x
     * 132) + 31 x (128 + 8,192) x 584, index keys of 68 B, and 61 x (656 + 132) */
    {"deepseek-v4-pro", "bf16", MI, 1, 0, GROWING, INT64_C(10334371840)},
    {"deepseek-v4-pro", "bf16", MI, 1, 0, FIXED, 30 * 80 * KI + 31 * 512 * KI},
    {"deepseek-v3.2", "bf16", MI, 1, 0, GROWING, INT64_C(90060095488)},
    {"deepseek-v4-pro", "fp8_ds_mla", MI, 1, 0, GROWING, INT64_C(5783720960)},
    {"deepseek-v4-pro", "fp8_ds_mla_mxfp4", MI, 1, 0, GROWING, INT64_C(5280404480)},
    {"deepseek-v3.2", "fp8_ds_mla", MI, 1, 0, GROWING, 61 * 788 * MI},
    /* formats */
    {"bonsai-8b", "bf16", 32 * KI, 1, 0, REQUEST, 4608 * MI},
    {"bonsai-8b", "q4_0", 32 * KI, 1, 0, REQUEST, 1296 * MI},
    {"gqa", "int8", 1024, 1, 0, REQUEST, 1024 * 32 * 2 * 8 * 130},
    /* KIVI at 512 tokens: 4.625 of 16 bits; 384 of them shared, all quantised, or 500 of which 116
     * values wait. Of 100 tokens all wait. */
    {"gqa", "kivi2", 512, 1, 0, REQUEST, 64 * MI * 37 / 128},
    {"gqa", "kivi2", 512, 2, 384, SAVED, 384 * 32 * 8 * (48 + 48)},
    {"gqa", "kivi2", 512, 2, 500, SAVED, INT64_C(32) * 8 * (500 * 48 + 384 * 48 + 116 * 256)},
    {"gqa", "kivi2", 100, 1, 0, REQUEST, 100 * 128 * KI},
    /* the worked example */
    {"qwen3-32b", "bf16", 32 * KI, 1, 0, TOTAL, 8 * GI},
    {"qwen3-32b", "bf16", 32 * KI, 4, 0, TOTAL, 32 * GI},
    {"qwen3-32b", "bf16", 32 * KI, 8, 0, TOTAL, 64 * GI},
    {"qwen3-32b", "bf16", 32 * KI, 8, 16 * KI, TOTAL, 36 * GI},
    {"qwen3-32b", "bf16", 32 * KI, 8, 16 * KI, SAVED, 28 * GI},
    /* hand-off of 16 Ki tokens; three agents of 8,192 tokens at 64 KiB, or one of 24,576 */
    {"gqa", "bf16", 16 * KI, 1, 0, HANDOFF, 2 * GI},
    {"cla", "bf16", 8192, 3, 0, TOTAL, 1536 * MI},
    {"cla", "bf16", 24576, 1, 0, TOTAL, 1536 * MI},
};

static void has_published_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        const golden_bytes *row = &golden[i];
        sli_estimate_query query = query_of(row->model, row->tokens, row->requests);
        query.shared_tokens = row->shared_tokens;
        query.cache = sli_cache_format_find(row->kv);
        sli_estimate estimate = estimate_of(&query);
        double found = figure_of(&estimate, row->figure);
        if (found != (double)row->bytes) {
            fail_msg("row %zu, %s: %.0f and not %" PRId64, i, row->model, found, row->bytes);
        }
    }
}

/* As printed in the sources: so many digits behind the point. */
typedef struct golden_rounded {
    const char *model;
    const char *kv;
    int64_t tokens;
    double unit;
    const char *text;
} golden_rounded;

static void is_printed_as(const char *model, double value, const char *text) {
    const char *point = strchr(text, '.');
    int decimals = point != NULL ? (int)strlen(point + 1) : 0;
    char found[32];
    snprintf(found, sizeof found, "%.*f", decimals, value);
    if (strcmp(found, text) != 0) {
        fail_msg("%s: %s and not %s", model, found, text);
    }
}

/* DeepSeek V4 in GiB, from the same appendix. */
static void has_published_gib_of_deepseek_v4(void **state) {
    (void)state;
    static const golden_rounded rows[] = {
        {"deepseek-v4-pro", "bf16", MI, 0x1p30, "9.6246"},
        {"deepseek-v4-flash", "bf16", MI, 0x1p30, "6.724"},
        {"deepseek-v4-pro", "fp8_ds_mla", MI, 0x1p30, "5.387"},
        {"deepseek-v4-flash", "fp8_ds_mla", MI, 0x1p30, "3.763"},
        {"deepseek-v4-pro", "fp8_ds_mla_mxfp4", MI, 0x1p30, "4.918"},
        {"deepseek-v4-flash", "fp8_ds_mla_mxfp4", MI, 0x1p30, "3.435"},
        {"deepseek-v3.2", "fp8_ds_mla", MI, 0x1p30, "46.94"},
        {"deepseek-v4-pro", "bf16", 128 * KI, 0x1p30, "1.2096"},
        {"deepseek-v4-flash", "bf16", 128 * KI, 0x1p30, "0.8451"},
        {"deepseek-v4-pro", "bf16", 32 * KI, 0x1p30, "0.3080"},
        {"deepseek-v4-flash", "bf16", 32 * KI, 0x1p30, "0.2152"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        sli_estimate_query query = query_of(rows[i].model, rows[i].tokens, 1);
        query.cache = sli_cache_format_find(rows[i].kv);
        sli_estimate estimate = estimate_of(&query);
        is_printed_as(rows[i].model, (double)estimate.cache.growing_bytes / rows[i].unit,
                      rows[i].text);
    }
}

/* What a decode step reads of the cache, computed apart from this program for the catalogue. */
static void a_decode_step_reads_what_the_catalogue_says(void **state) {
    (void)state;
    static const golden_rounded rows[] = {
        {"llama-3.1-8b", NULL, 128 * KI, 0x1p30, "16"},
        {"gpt-oss-120b", NULL, 32 * KI, 0x1p30, "1.129"},
        {"deepseek-v3", NULL, 32 * KI, 0x1p30, "2.145"},
        {"deepseek-v3.2", NULL, 32 * KI, 0x1p20, "625.2"},
        {"deepseek-v3.2", NULL, 128 * KI, 0x1p30, "2.04"},
        {"deepseek-v4-pro", NULL, 32 * KI, 0x1p20, "105.4"},
        {"deepseek-v4-pro", NULL, 128 * KI, 0x1p20, "308.6"},
        {"deepseek-v4-flash", NULL, 32 * KI, 0x1p20, "62.88"},
        {"deepseek-v4-flash", NULL, 128 * KI, 0x1p20, "203.9"},
        {"kimi-k3", NULL, 32 * KI, 0x1p30, "1.681"},
        {"kimi-k3", NULL, 128 * KI, 0x1p30, "4.212"},
        {"kimi-k3.1-pro", NULL, 128 * KI, 0x1p30, "1.64"},
        {"qwen3.5-9b", NULL, 32 * KI, 0x1p30, "1.096"},
        {"qwen3.5-397b-a17b", NULL, 128 * KI, 0x1p30, "4.108"},
        {"gemma-4-31b", NULL, 128 * KI, 0x1p30, "10.78"},
        {"glm-5", NULL, 32 * KI, 0x1p20, "799.5"},
        {"minimax-m1", NULL, 32 * KI, 0x1p30, "1.797"},
        {"nemotron-3-nano-30b-a3b", NULL, 128 * KI, 0x1p20, "861.6"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        sli_estimate_query query = query_of(rows[i].model, rows[i].tokens, 1);
        sli_estimate estimate = estimate_of(&query);
        is_printed_as(rows[i].model, estimate.step.cache_bytes / rows[i].unit, rows[i].text);
    }
}

/* 32,768 elements of a layer and token of DeepSeek V2 against 576, and 83.875 GiB against V4's. */
static void has_published_ratios(void **state) {
    (void)state;
    sli_estimate_query plain = query_of("v2-mha", 1, 1);
    sli_estimate_query latent = query_of("deepseek-v2", 1, 1);
    sli_estimate_query sparse = query_of("deepseek-v3.2", MI, 1);
    sli_estimate_query compressed = query_of("deepseek-v4-pro", MI, 1);
    is_printed_as("MLA",
                  estimate_of(&plain).cache.token_bytes / estimate_of(&latent).cache.token_bytes,
                  "56.9");
    is_printed_as("V4",
                  (double)estimate_of(&sparse).cache.growing_bytes /
                      (double)estimate_of(&compressed).cache.growing_bytes,
                  "8.7146");
}

/* DeepSeek-V2's abstract: 93.3 % less cache than DeepSeek 67B, whose 95 layers keep 8 heads of 128
 * in 16 bits. That holds with 6 bits an element; at equal precision it is 82.2 %. */
static void saves_what_deepseek_v2_says_only_in_six_bits(void **state) {
    (void)state;
    sli_estimate_query grouped = query_of("deepseek-67b", 1, 1);
    sli_estimate_query latent = query_of("deepseek-v2", 1, 1);
    double grouped_bytes = estimate_of(&grouped).cache.token_bytes;
    is_printed_as("16 bits", 100.0 - 100.0 * estimate_of(&latent).cache.token_bytes / grouped_bytes,
                  "82.2");
    latent.cache = sli_cache_format_find("6bit");
    is_printed_as("6 bits", 100.0 - 100.0 * estimate_of(&latent).cache.token_bytes / grouped_bytes,
                  "93.34");
}

/* 8 GiB at 3 TB/s, and 1 GB over 64 GB/s. */
static void has_published_times(void **state) {
    (void)state;
    sli_estimate_query query = query_of("qwen3-32b", 32 * KI, 1);
    query.bandwidth_bytes_per_s = 3e12;
    is_printed_as("step", estimate_of(&query).step.cache_ns / 1e6, "2.863");
    query = query_of("thousand", 1000000, 1);
    query.link_bytes_per_s = 64e9;
    assert_int_equal(estimate_of(&query).handoff.bytes, 1000000000);
    is_printed_as("hand-off", estimate_of(&query).handoff.ns / 1e6, "15.625");
}

/* The white paper of Bonsai: 1.125 bits a parameter, 1,098.5 MiB with what the count leaves out;
 * the other formats as bits. */
static void weights_weigh_what_their_format_says(void **state) {
    (void)state;
    sli_estimate_query query = query_of("bonsai-8b", 1, 1);
    query.weights = sli_weight_format_find("q1_0");
    double mib = (double)estimate_of(&query).weights.bytes / 0x1p20;
    assert_true(mib > 1098.0 && mib <= 1098.5);
    static const struct {
        const char *name;
        double bytes; /* a parameter */
    } formats[] = {{"bf16", 2.0},    {"fp8", 1.0},      {"int8", 1.0},      {"q8_0", 1.0625},
                   {"q4_0", 0.5625}, {"nvfp4", 0.5625}, {"mxfp4", 0.53125}, {"q1_0", 0.140625}};
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        query.weights = sli_weight_format_find(formats[i].name);
        sli_estimate_weights weights = estimate_of(&query).weights;
        double exact = (double)weights.params * formats[i].bytes;
        assert_true((double)weights.bytes >= exact && (double)weights.bytes < exact + 34.0);
        assert_true(fabs(estimate_of(&query).step.weights_bytes -
                         (double)weights.token_params * formats[i].bytes) < 1.0);
    }
    assert_null(sli_weight_format_find("q9_9"));
}

static void experts_leave_the_cache_alone(void **state) {
    (void)state;
    sli_estimate_query few = query_of("few-experts", 1000, 3);
    sli_estimate_query many = query_of("many-experts", 1000, 3);
    sli_estimate of_few = estimate_of(&few);
    sli_estimate of_many = estimate_of(&many);
    assert_int_equal(of_few.cache.total_bytes, of_many.cache.total_bytes);
    assert_true(of_few.weights.params < of_many.weights.params);
    assert_true(of_few.step.weights_bytes < of_many.step.weights_bytes);
}

/* ---- The shared prefix ---- */

/* Rows of positions (or of entries that end at one) that a sequence still keeps, by looking at each
 * position. */
static int64_t count_kept(const char *model, int64_t tokens, int64_t last) {
    int64_t rows = 0;
    for (int64_t at = 1; at <= last; at++) {
        bool is_kept = true;
        if (strcmp(model, "window") == 0) {
            is_kept = at > tokens - 7;
        } else if (strcmp(model, "chunk") == 0) {
            is_kept = (at - 1) / 5 == (tokens - 1) / 5;
        }
        rows += is_kept;
    }
    return rows;
}

/* A row of the small models is a key and a value of 2 B. */
static void shares_the_rows_of_the_prefix_that_are_left(void **state) {
    (void)state;
    static const char *const models[] = {"window", "chunk"};
    for (size_t m = 0; m < COUNT_OF(models); m++) {
        sli_estimate_query query = query_of(models[m], 1, 2);
        for (query.tokens = 1; query.tokens < 40; query.tokens++) {
            for (query.shared_tokens = 0; query.shared_tokens < query.tokens;
                 query.shared_tokens++) {
                sli_estimate_cache cache = estimate_of(&query).cache;
                int64_t shared = count_kept(models[m], query.tokens, query.shared_tokens);
                int64_t kept = count_kept(models[m], query.tokens, query.tokens);
                assert_int_equal(cache.prefix_bytes, 4 * shared);
                assert_int_equal(cache.request_bytes, 4 * kept);
                assert_int_equal(cache.total_bytes, 4 * (2 * kept - shared));
            }
        }
    }
}

/* By hand, of 200 tokens. 42 shared ones: 30 x 10 entries of 1,024 B and as many index keys of 256
 * B, no entry of 128 tokens, nothing of the window. 199: 49 of the 50 entries, the one of 128
 * tokens, and 127 rows of each window. */
static void shares_compressed_entries_and_no_compressor_state(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v4-pro", 200, 2);
    query.shared_tokens = 42;
    assert_int_equal(estimate_of(&query).cache.prefix_bytes, 30 * 10 * (1024 + 256));
    query.shared_tokens = 199;
    assert_int_equal(estimate_of(&query).cache.prefix_bytes,
                     30 * 49 * (1024 + 256) + 31 * 1024 + 61 * 127 * 1024);
    query = query_of("mamba-2-2.7b", 200, 2);
    query.shared_tokens = 199;
    assert_int_equal(estimate_of(&query).cache.prefix_bytes, 0);
}

/* ---- The memory of a rank ---- */

/* The rule of a run, with the default keys of a scenario. */
static int64_t requests_of_a_run(const sli_estimate_query *query) {
    sli_memory_config config = {0};
    sli_node *root = NULL;
    assert_int_equal(sli_tree_read_text(&arena, "m.yaml", "{}", 2, &diag, &root), SL_OK);
    assert_int_equal(sli_schema_resolve(&arena, &sli_memory_section, NULL, root, &diag, &config),
                     SL_OK);
    sli_budget_query rule = {
        .architecture = query->architecture,
        .device = query->device,
        .tp = query->tp,
        .block_tokens = 16,
        .max_batched_tokens = 8192,
        .max_seqs = 256,
    };
    sli_budget budget;
    sli_budget_compute(&config, &rule, &budget);
    return budget.blocks / ((query->tokens + 15) / 16);
}

static void has_the_room_of_a_run(void **state) {
    (void)state;
    static const char *const models[] = {"llama-3.1-8b", "qwen3-32b"};
    static const char *const devices[] = {"h100-sxm", "h200", "a100-40g"};
    static const int64_t lengths[] = {1, 16, 17, 1000, 32768};
    for (size_t i = 0; i < 2 * 3 * 5 * 4; i++) {
        sli_estimate_query query = query_of(models[i % 2], lengths[i / 6 % 5], 1);
        query.device = find_device(devices[i / 2 % 3]);
        query.tp = INT64_C(1) << (i / 30);
        assert_int_equal(estimate_of(&query).fit.max_requests, requests_of_a_run(&query));
    }
}

/* Also for what no run can hold yet. */
static void one_request_more_does_not_fit(void **state) {
    (void)state;
    static const char *const models[] = {"qwen3-32b", "qwen3.5-9b", "gemma-4-31b", "mamba-2-2.7b",
                                         "gpt-oss-20b"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        sli_estimate_query query = query_of(models[i], 5000, 1);
        query.device = find_device("h200");
        query.shared_tokens = 3000;
        query.requests = estimate_of(&query).fit.max_requests;
        assert_true(query.requests >= 1);
        sli_estimate_fit most = estimate_of(&query).fit;
        assert_true(most.is_met && most.cache_bytes <= most.room_bytes);
        query.requests++;
        sli_estimate_fit more = estimate_of(&query).fit;
        assert_true(!more.is_met && more.cache_bytes > more.room_bytes);
    }
}

static int64_t rank_bytes(const char *model, int64_t tp, int64_t pp) {
    sli_estimate_query query = query_of(model, 32 * KI, 1);
    query.device = find_device("h200");
    query.tp = tp;
    query.pp = pp;
    return estimate_of(&query).fit.cache_bytes;
}

static void ranks_share_heads_and_copy_the_last(void **state) {
    (void)state;
    assert_int_equal(rank_bytes("gqa", 1, 1), 4 * GI);
    assert_int_equal(rank_bytes("gqa", 8, 1), GI / 2);
    assert_int_equal(rank_bytes("gqa", 16, 1), GI / 2);
    assert_int_equal(rank_bytes("mqa", 8, 1), rank_bytes("mqa", 1, 1));
    assert_int_equal(rank_bytes("deepseek-v3", 8, 1), 32 * KI * 70272);
}

/* Rounded up to a block 127 tokens would be 128, of which no key waits. */
static void rows_that_wait_fill_no_blocks(void **state) {
    (void)state;
    sli_estimate_query query = query_of("gqa", 127, 1);
    query.cache = sli_cache_format_find("kivi2");
    query.device = find_device("h200");
    assert_int_equal(estimate_of(&query).fit.cache_bytes, 127 * 128 * KI);
}

static void the_fullest_stage_counts(void **state) {
    (void)state;
    assert_int_equal(rank_bytes("gqa", 1, 4), GI);
    assert_int_equal(rank_bytes("gqa", 2, 32), 64 * MI);
    /* 61 layers on two stages are 30 and 31 */
    assert_int_equal(rank_bytes("deepseek-v3", 1, 2), 32 * KI * 31 * 1152);
    /* of Gemma's 60 stages the fullest has a full layer */
    assert_int_equal(rank_bytes("gemma-4-31b", 1, 60), 32 * KI * 8192);
}

/* 671 GB of weights leave no room on eight devices of 80 GB. */
static void deepseek_v3_in_fp8_needs_sixteen_devices(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    query.weights = sli_weight_format_find("fp8");
    query.device = find_device("h100-sxm");
    query.tp = 2;
    assert_false(estimate_of(&query).fit.is_met);
    sli_placement placements[SLI_PLACEMENTS_MAX];
    assert_int_equal(sli_estimate_placements(&query, placements), 2);
    assert_int_equal(placements[0].tp, 16);
    assert_int_equal(placements[0].pp, 1);
    assert_int_equal(placements[1].tp, 8);
    assert_int_equal(placements[1].pp, 2);
}

/* ---- What cannot be asked ---- */

static void refuses_what_cannot_be(void **state) {
    (void)state;
    sli_diag said = {0};
    sli_estimate estimate = {.fit = {.max_requests = 77}};
    sli_estimate_query query = query_of("mha", 100, 2);
    query.shared_tokens = 100;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    query = query_of("mha", 100, 2);
    query.pp = 33;
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    query = query_of("bloom-176b", SLI_ESTIMATE_TOKENS_MAX, SLI_ESTIMATE_REQUESTS_MAX);
    assert_int_equal(sli_estimate_find(&query, &said, &estimate), SL_ERR_CONFIG);
    assert_int_equal(said.error_count, 3);
    assert_int_equal(estimate.fit.max_requests, 77);
    sli_diag_fini(&said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_published_bytes),
        cmocka_unit_test(has_published_gib_of_deepseek_v4),
        cmocka_unit_test(a_decode_step_reads_what_the_catalogue_says),
        cmocka_unit_test(has_published_ratios),
        cmocka_unit_test(saves_what_deepseek_v2_says_only_in_six_bits),
        cmocka_unit_test(has_published_times),
        cmocka_unit_test(weights_weigh_what_their_format_says),
        cmocka_unit_test(experts_leave_the_cache_alone),
        cmocka_unit_test(shares_the_rows_of_the_prefix_that_are_left),
        cmocka_unit_test(shares_compressed_entries_and_no_compressor_state),
        cmocka_unit_test(has_the_room_of_a_run),
        cmocka_unit_test(one_request_more_does_not_fit),
        cmocka_unit_test(ranks_share_heads_and_copy_the_last),
        cmocka_unit_test(rows_that_wait_fill_no_blocks),
        cmocka_unit_test(the_fullest_stage_counts),
        cmocka_unit_test(deepseek_v3_in_fp8_needs_sixteen_devices),
        cmocka_unit_test(refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, free_all);
}
