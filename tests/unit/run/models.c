#include "models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static sli_arena arena;
static sli_diag diag;

int free_models(void **state) {
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

#define V3_MLA                                                                                     \
    "type: mla, q_heads: 128, q_lora: 1536, kv_lora: 512, rope_dim: 64, nope_dim: 128, "           \
    "value_dim: 128"
#define V4                                                                                         \
    "type: compressed, q_heads: 128, head_dim: 512, q_lora: 1536, o_lora: 1024, o_groups: 16, "    \
    "window: 128 tokens, "
#define V4_CSA                                                                                     \
    V4 "ratio: 4, state_span: 8 tokens, state_vectors: 4, "                                        \
       "index: {heads: 64, dim: 128, top: 1024}"
#define V4_HCA V4 "ratio: 128, state_span: 128 tokens, state_vectors: 2"

static const own_model own_models[] = {
    {"mha", "{a: {type: gqa, q_heads: 32, kv_heads: 32, head_dim: 128}}", "[[32, a, dense]]"},
    {"gqa", "{a: {type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}}", "[[32, a, dense]]"},
    {"mqa", "{a: {type: gqa, q_heads: 32, kv_heads: 1, head_dim: 128}}", "[[32, a, dense]]"},
    {"mha-layer", "{a: {type: gqa, q_heads: 32, kv_heads: 32, head_dim: 128}}", "[[1, a, dense]]"},
    {"gqa-layer", "{a: {type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}}", "[[1, a, dense]]"},
    {"mqa-layer", "{a: {type: gqa, q_heads: 32, kv_heads: 1, head_dim: 128}}", "[[1, a, dense]]"},
    {"window-layer",
     "{a: {type: gqa, q_heads: 32, kv_heads: 8, head_dim: 128, window: 4096 tokens}}",
     "[[1, a, dense]]"},
    /* Llama 2 and 3.1 with keys and values for each query head; of both 7B and 8B that is mha */
    {"llama-2-13b-mha", "{a: {type: gqa, q_heads: 40, kv_heads: 40, head_dim: 128}}",
     "[[40, a, dense]]"},
    {"llama-70b-mha", "{a: {type: gqa, q_heads: 64, kv_heads: 64, head_dim: 128}}",
     "[[80, a, dense]]"},
    {"llama-3.1-405b-mha", "{a: {type: gqa, q_heads: 128, kv_heads: 128, head_dim: 128}}",
     "[[126, a, dense]]"},
    /* a layer of DeepSeek V3.2, and one without its index */
    {"deepseek-v3.2-layer",
     "{a: {" V3_MLA ", index: {keys: own, heads: 64, dim: 128, top: 2048 tokens}}}",
     "[[1, a, dense]]"},
    {"deepseek-v3.2-mla-layer", "{a: {" V3_MLA "}}", "[[1, a, dense]]"},
    /* each of the layers of DeepSeek V4 Pro, one and all of it */
    {"csa-layer", "{a: {" V4_CSA "}}", "[[1, a, dense]]"},
    {"hca-layer", "{a: {" V4_HCA "}}", "[[1, a, dense]]"},
    {"csa-layers", "{a: {" V4_CSA "}}", "[[30, a, dense]]"},
    {"hca-layers", "{a: {" V4_HCA "}}", "[[31, a, dense]]"},
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
    if (sli_architecture_resolve(&arena, own->name, root, &diag, &made) != SL_OK) {
        sli_diag_print(&diag, stderr);
        fail();
    }
    return made;
}

const sli_architecture *find_model(const char *name) {
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

const sli_device *find_device(const char *name) {
    const sli_device *device = NULL;
    assert_int_equal(sli_device_read(&arena, name, (sli_catalogue_site){0}, &diag, &device), SL_OK);
    return device;
}

sli_estimate_query query_of(const char *model, int64_t tokens, int64_t requests) {
    sli_estimate_query query = sli_estimate_defaults();
    query.architecture = find_model(model);
    query.tokens = tokens;
    query.requests = requests;
    return query;
}

sli_estimate estimate_of(const sli_estimate_query *query) {
    sli_estimate estimate;
    sl_err err = sli_estimate_find(query, &diag, &estimate);
    if (err != SL_OK) {
        sli_diag_print(&diag, stderr);
    }
    assert_int_equal(err, SL_OK);
    return estimate;
}

sli_layout layout_of_a_run(const sli_estimate_query *query) {
    sli_layout layout;
    char why[128];
    const sli_layout_options options = {
        .cache = query->cache,
        .block_tokens = query->block_tokens,
        .tp = query->placement.tp,
        .max_batched_tokens = 8192,
        .max_model_tokens = query->tokens,
        .window_pages = query->window_pages,
        .state_saves = query->state_saves,
    };
    assert_int_equal(sli_layout_make(query->architecture, &options, &layout, why, sizeof why),
                     SL_OK);
    return layout;
}
