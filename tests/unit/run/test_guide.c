/*
 * Every figure of the guide to KV caches that bytes and bandwidths determine, where it stands
 * there, and how it comes out of an estimate; with the cross-checks of its figures against
 * published configurations, and the appendix of vLLM's article on DeepSeek V4 (2026-04-24).
 *
 * Heads, layers, windows, contexts and parameters; rounding in few bits, draft blocks and entries
 * of a length: tests/unit/model. Pages: those of kv/layout.h; what is reserved and not used:
 * tests/law/test_reservations.c. States of two tokens: kernels-ref/tests/test_state_oracles.c.
 *
 * Two figures of the guide are not those of exact arithmetic, and stand here as it has them, beside
 * the exact ones. The weights of Qwen3-32B are 65.6 GB in chapter 24 for 32.8 billion parameters,
 * of which there are 32.76: 65.5 GB. The worked example reads 8 GiB in 2.7 ms at 3 TB/s, as it
 * would 8 GB; chapter 24 has the 2.86 ms.
 */
#include "models.h"

#include "model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              1024
#define MI              (KI * 1024)

static const double B = 1.0;
static const double KIB = 0x1p10;
static const double MIB = 0x1p20;
static const double GIB = 0x1p30;
static const double GB = 1e9;
static const double MS = 1e6;
static const double PERCENT = 0.01;

typedef struct question {
    const char *model; /* NULL = none */
    const char *kv;
    int64_t tokens;
    int64_t requests;
    int64_t shared_tokens;
} question;

typedef double measure(const sli_estimate_query *query);

/* The guide's text of a figure, in units; `~` in front of it where it is rounded there. */
typedef struct figure {
    const char *where;
    const char *text;
    double unit;
    measure *of;
    question asked;
    question against; /* the figure is the ratio to this, or what is missing to it */
} figure;

/* ---- How ---- */

static double token(const sli_estimate_query *query) {
    return estimate_of(query).cache.token_bytes;
}

static double growing(const sli_estimate_query *query) {
    return (double)estimate_of(query).cache.growing_bytes;
}

static double fixed(const sli_estimate_query *query) {
    return (double)estimate_of(query).cache.fixed_bytes;
}

static double request(const sli_estimate_query *query) {
    return (double)estimate_of(query).cache.request_bytes;
}

static double total(const sli_estimate_query *query) {
    return (double)estimate_of(query).cache.total_bytes;
}

static double saved(const sli_estimate_query *query) {
    return (double)estimate_of(query).cache.saved_bytes;
}

static double layers_that_keep(const sli_estimate_query *query) {
    const sli_layer_run *runs = query->architecture->layers.rows;
    int64_t layers = 0;
    for (size_t i = 0; i < query->architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        bool keeps = sli_state_part(facts, query->cache, query->tokens).cached > 0;
        layers += keeps ? runs[i].count : 0;
    }
    return (double)layers;
}

/* Of the layers with a window, or of those without. */
static double cached_where(const sli_estimate_query *query, bool has_window) {
    const sli_layer_run *runs = query->architecture->layers.rows;
    int64_t bytes = 0;
    for (size_t i = 0; i < query->architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        bool is_counted = (facts->stores[0].kept.cap_rows != INT64_MAX) == has_window;
        int64_t part_bytes = sli_state_part(facts, query->cache, query->tokens).cached;
        bytes += is_counted ? runs[i].count * part_bytes : 0;
    }
    return (double)bytes;
}

static double local(const sli_estimate_query *query) {
    return cached_where(query, true);
}

static double global(const sli_estimate_query *query) {
    return cached_where(query, false);
}

/* What the index of sparse layers keeps of it: keys, or states of its compressor. */
static double of_index(const sli_estimate_query *query, bool is_state) {
    const sli_layer_run *runs = query->architecture->layers.rows;
    double bytes = 0.0;
    for (size_t i = 0; i < query->architecture->layers.count; i++) {
        sli_part_facts facts = runs[i].mixer->facts;
        for (int j = 0; j < facts.store_count; j++) {
            sli_store *store = &facts.stores[j];
            if (strncmp(store->name, "index", strlen("index")) != 0) {
                store->heads = 0;
            }
        }
        sli_state_bytes kept = sli_state_part(&facts, query->cache, query->tokens);
        bytes += (double)(runs[i].count * (is_state ? kept.fixed : kept.cached));
    }
    return bytes;
}

static double index_keys(const sli_estimate_query *query) {
    return of_index(query, false);
}

static double index_state(const sli_estimate_query *query) {
    return of_index(query, true);
}

static double growing_but_index(const sli_estimate_query *query) {
    return growing(query) - index_keys(query);
}

static double state_but_index(const sli_estimate_query *query) {
    return fixed(query) - index_state(query);
}

static double prefix(const sli_estimate_query *query) {
    return (double)estimate_of(query).cache.prefix_bytes;
}

static double weights(const sli_estimate_query *query) {
    return (double)estimate_of(query).weights.bytes;
}

/* Of the parameters that are advertised. */
static double advertised_weights(const sli_estimate_query *query) {
    sli_weights formats = sli_estimate_weight_formats(query);
    const sli_weight_format *format = formats.of[SLI_WEIGHT_ELSE];
    return query->architecture->published_params / (double)format->group_params *
           (double)format->group_bytes;
}

static double handoff(const sli_estimate_query *query) {
    return (double)estimate_of(query).handoff.bytes;
}

static double read(const sli_estimate_query *query) {
    return estimate_of(query).step.cache_bytes;
}

static double read_ms(const sli_estimate_query *query) {
    sli_estimate_query fast = *query;
    fast.bandwidth_bytes_per_s = 3e12;
    return estimate_of(&fast).step.cache_ns;
}

static double link_ms(const sli_estimate_query *query) {
    sli_estimate_query linked = *query;
    linked.link_bytes_per_s = 64e9;
    return estimate_of(&linked).handoff.ns;
}

/* Of the whole prompt at once. */
static double naive_scores(const sli_estimate_query *query) {
    sli_estimate_query naive = *query;
    naive.kernel = sli_attention_kernel_find("naive");
    naive.device = find_device("h200");
    return (double)estimate_of(&naive).fit.workspace_bytes;
}

static double flash_scores(const sli_estimate_query *query) {
    sli_estimate_query flash = *query;
    flash.kernel = sli_attention_kernel_find("fa1");
    flash.device = find_device("h200");
    return (double)estimate_of(&flash).fit.workspace_bytes;
}

static double mtp(const sli_estimate_query *query) {
    return (double)sli_state_mtp(query->architecture, query->cache, query->tokens).cached;
}

/* With the layers of multi-token prediction. */
static double with_mtp(const sli_estimate_query *query) {
    return growing(query) + mtp(query);
}

/* ---- Figures ---- */

#define ONE(model, kv, tokens)                                                                     \
    { model, kv, tokens, 1, 0 }
#define SAME(model, kv, tokens, requests)                                                          \
    { model, kv, tokens, requests, 0 }
#define SHARED(model, tokens, requests, shared)                                                    \
    { model, "bf16", tokens, requests, shared }
#define NONE                                                                                       \
    { NULL, NULL, 0, 0, 0 }

/* clang-format off */
static const figure figures[] = {
    /* 32 layers, heads of 128; 32, 8 or 1 of them for keys and values */
    {"opening", "512", KIB, token, ONE("mha", "bf16", 1), NONE},
    {"opening", "64", GIB, request, ONE("mha", "bf16", 128 * KI), NONE},
    {"opening", "16", GIB, request, ONE("gqa", "bf16", 128 * KI), NONE},
    {"opening", "2", GIB, request, ONE("mqa", "bf16", 128 * KI), NONE},
    {"3", "128", KIB, token, ONE("gqa", "bf16", 1), NONE},
    {"3", "16", KIB, token, ONE("mqa", "bf16", 1), NONE},
    {"5", "16", KIB, token, ONE("mha-layer", "bf16", 1), NONE},
    {"5", "512", MIB, request, ONE("mha", "bf16", 1024), NONE},
    {"5", "2", GIB, request, ONE("mha", "bf16", 4096), NONE},
    {"6", "512", B, token, ONE("mqa-layer", "bf16", 1), NONE},
    {"6", "32", B, token, ONE("mha", "bf16", 1), ONE("mqa", "bf16", 1)},
    {"7", "4", KIB, token, ONE("gqa-layer", "bf16", 1), NONE},
    {"7", "4", B, token, ONE("mha", "bf16", 1), ONE("gqa", "bf16", 1)},
    /* each against itself with a head of keys and values for each of its queries' */
    {"7", "1", B, token, ONE("mha", "bf16", 1), ONE("llama-2-7b", "bf16", 1)},
    {"7", "1", B, token, ONE("llama-2-13b-mha", "bf16", 1), ONE("llama-2-13b", "bf16", 1)},
    {"7", "8", B, token, ONE("llama-70b-mha", "bf16", 1), ONE("llama-2-70b", "bf16", 1)},
    {"7", "4", B, token, ONE("mha", "bf16", 1), ONE("llama-3.1-8b", "bf16", 1)},
    {"7", "8", B, token, ONE("llama-70b-mha", "bf16", 1), ONE("llama-3.1-70b", "bf16", 1)},
    {"7", "16", B, token, ONE("llama-3.1-405b-mha", "bf16", 1), ONE("llama-3.1-405b", "bf16", 1)},
    {"7", "4", B, request, ONE("mha", "bf16", 1), ONE("mistral-7b-v0.1", "bf16", 1)},

    /* MLA: 32,768 elements of a layer and token of DeepSeek V2 against 576 */
    {"8", "32768", 2 * 60, token, ONE("v2-mha", "bf16", 1), NONE},
    {"8", "576", 2 * 60, token, ONE("deepseek-v2", "bf16", 1), NONE},
    {"8", "~56.9", B, token, ONE("v2-mha", "bf16", 1), ONE("deepseek-v2", "bf16", 1)},
    {"8", "70272", B, token, ONE("deepseek-v3", "bf16", 1), NONE},
    {"8", "~68.6", KIB, token, ONE("deepseek-v3", "bf16", 1), NONE},
    {"8", "504", KIB, token, ONE("llama-3.1-405b", "bf16", 1), NONE},
    {"8", "320", KIB, token, ONE("qwen2.5-72b", "bf16", 1), NONE},

    /* CLA: one cache for two layers */
    {"9", "32", B, layers_that_keep, ONE("gqa", "bf16", 1), NONE},
    {"9", "16", B, layers_that_keep, ONE("cla", "bf16", 1), NONE},
    {"9", "128", KIB, token, ONE("gqa", "bf16", 1), NONE},
    {"9", "64", KIB, token, ONE("cla", "bf16", 1), NONE},

    /* formats */
    {"10", "2", B, token, ONE("gqa", "bf16", 1), ONE("gqa", "fp8", 1)},
    {"10", "4", B, token, ONE("gqa", "bf16", 1), ONE("gqa", "4 bits", 1)},
    {"10", "8", B, token, ONE("gqa", "bf16", 1), ONE("gqa", "2 bits", 1)},
    {"10", "4608", MIB, request, ONE("bonsai-8b", "bf16", 32 * KI), NONE},
    {"10", "1296", MIB, request, ONE("bonsai-8b", "q4_0", 32 * KI), NONE},

    /* windows */
    {"11", "16", MIB, request, ONE("window-layer", "bf16", 128 * KI), NONE},
    {"11", "512", MIB, request, ONE("mistral-7b-v0.1", "bf16", 4096), NONE},
    {"11", "512", MIB, request, ONE("mistral-7b-v0.1", "bf16", 128 * KI), NONE},

    /* scores that are written down, for 128 heads, and for each of them */
    {"13", "256", GIB, naive_scores, ONE("deepseek-v3", "bf16", 32 * KI), NONE},
    {"13", "2", 128 * 0x1p30, naive_scores, ONE("deepseek-v3", "bf16", 32 * KI), NONE},
    {"13", "16", MIB, flash_scores, ONE("deepseek-v3", "bf16", 32 * KI), NONE},

    /* recurrent layers: 24 x (32 x 128 x 128 x 4 + 8,192 x 3 x 2) */
    {"14.8", "32", KIB, token, ONE("qwen3.5-9b", "bf16", 1), NONE},
    {"14.8", "4", GIB, growing, ONE("qwen3.5-9b", "bf16", 128 * KI), NONE},
    {"14.8", "16", GIB, request, ONE("qwen3.5-full", "bf16", 128 * KI), NONE},
    {"check", "51511296", B, fixed, ONE("qwen3.5-9b", "bf16", 1), NONE},
    {"check", "51511296", B, fixed, ONE("qwen3.5-9b", "bf16", 128 * KI), NONE},

    /* moving: of the 8 GB that a step reads 6 come from the CPU */
    {"17.2", "8", GB, read, ONE("thousand", "bf16", 8000000), NONE},
    {"17.2", "6", GB, handoff, ONE("thousand", "bf16", 6000000), NONE},
    {"17.7", "1", GB, handoff, ONE("thousand", "bf16", 1000000), NONE},
    {"17.7", "~15.625", MS, link_ms, ONE("thousand", "bf16", 1000000), NONE},
    {"18.3", "2", GIB, handoff, ONE("gqa", "bf16", 16 * KI), NONE},

    /* models; Gemma 4 31B with two tensors for keys and values, with one, with one in full layers */
    {"19", "0.78125", GIB, local, ONE("gemma-4-31b", "bf16", 128 * KI), NONE},
    {"19", "10", GIB, global, ONE("gemma-4-31b", "bf16", 128 * KI), NONE},
    {"19", "10.78125", GIB, request, ONE("gemma-4-31b", "bf16", 128 * KI), NONE},
    {"19", "5.390625", GIB, request, ONE("gemma-one", "bf16", 128 * KI), NONE},
    {"check", "5.78125", GIB, request, ONE("gemma-full-one", "bf16", 128 * KI), NONE},
    {"19", "512", KIB, token, ONE("llama-2-7b", "bf16", 1), NONE},
    {"19", "320", KIB, token, ONE("llama-2-70b", "bf16", 1), NONE},
    {"19", "128", KIB, request, ONE("mistral-7b-v0.1", "bf16", 1), NONE},
    {"19", "448", KIB, token, ONE("gemma-1-7b", "bf16", 1), NONE},
    {"19", "128", KIB, token, ONE("llama-3.1-8b", "bf16", 1), NONE},
    {"19", "504", KIB, token, ONE("llama-3.1-405b", "bf16", 1), NONE},
    {"19", "320", KIB, token, ONE("qwen2-72b", "bf16", 1), NONE},
    {"19", "200", KIB, token, ONE("phi-4-14b", "bf16", 1), NONE},
    {"19", "256", KIB, token, ONE("qwen3-32b", "bf16", 1), NONE},
    {"19", "32", KIB, token, ONE("qwen3.5-9b", "bf16", 1), NONE},
    {"19", "~68.6", KIB, token, ONE("deepseek-v3", "bf16", 1), NONE},
    {"check", "320", KIB, token, ONE("llama-3.1-70b", "bf16", 1), NONE},
    {"check", "~49.12", MIB, fixed, ONE("qwen3.5-9b", "bf16", 1), NONE},

    /* DeepSeek V4 at 1 Mi tokens, against V3.2 */
    {"20", "~9.62", GIB, growing, ONE("deepseek-v4-pro", "bf16", MI), NONE},
    {"20", "~83.9", GIB, growing, ONE("deepseek-v3.2", "bf16", MI), NONE},
    {"appendix", "10334371840", B, growing, ONE("deepseek-v4-pro", "bf16", MI), NONE},
    {"appendix", "90060095488", B, growing, ONE("deepseek-v3.2", "bf16", MI), NONE},
    {"appendix", "83.875", GIB, growing, ONE("deepseek-v3.2", "bf16", MI), NONE},
    {"appendix", "~8.7146", B, growing, ONE("deepseek-v3.2", "bf16", MI),
     ONE("deepseek-v4-pro", "bf16", MI)},
    {"appendix", "335675392", B, growing, ONE("csa-layer", "bf16", MI), NONE},
    {"appendix", "8519680", B, growing, ONE("hca-layer", "bf16", MI), NONE},
    {"check", "1152", B, token, ONE("deepseek-v3.2-mla-layer", "bf16", 1), NONE},
    {"check", "256", B, index_keys, ONE("deepseek-v3.2-layer", "bf16", 1), NONE},
    {"check", "1408", B, token, ONE("deepseek-v3.2-layer", "bf16", 1), NONE},
    {"check", "1476395008", B, growing, ONE("deepseek-v3.2-layer", "bf16", MI), NONE},
    {"check", "1.375", GIB, growing, ONE("deepseek-v3.2-layer", "bf16", MI), NONE},
    {"check", "268566528", B, growing_but_index, ONE("csa-layer", "bf16", MI), NONE},
    {"check", "67108864", B, index_keys, ONE("csa-layer", "bf16", MI), NONE},
    {"check", "320.125", MIB, growing, ONE("csa-layer", "bf16", MI), NONE},
    {"check", "8.125", MIB, growing, ONE("hca-layer", "bf16", MI), NONE},
    {"check", "9855.625", MIB, growing, ONE("deepseek-v4-pro", "bf16", MI), NONE},
    {"check", "9600", B, token, ONE("csa-layers", "bf16", 1), NONE},
    {"check", "248", B, token, ONE("hca-layers", "bf16", 1), NONE},
    {"check", "64", KIB, state_but_index, ONE("csa-layer", "bf16", MI), NONE},
    {"check", "16", KIB, index_state, ONE("csa-layer", "bf16", MI), NONE},
    {"check", "80", KIB, fixed, ONE("csa-layer", "bf16", MI), NONE},
    {"check", "512", KIB, fixed, ONE("hca-layer", "bf16", MI), NONE},
    {"check", "~17.84", MIB, fixed, ONE("deepseek-v4-pro", "bf16", MI), NONE},
    {"check", "131072", B, mtp, ONE("deepseek-v4-pro", "bf16", MI), NONE},
    {"check", "9848", B, token, ONE("deepseek-v4-pro", "bf16", 1), NONE},
    {"check", "85888", B, token, ONE("deepseek-v3.2", "bf16", 1), NONE},
    {"check", "~9.6246", GIB, growing, ONE("deepseek-v4-pro", "bf16", MI), NONE},
    {"check", "~6.724", GIB, growing, ONE("deepseek-v4-flash", "bf16", MI), NONE},
    {"check", "~5.387", GIB, growing, ONE("deepseek-v4-pro", "fp8_ds_mla", MI), NONE},
    {"check", "~3.763", GIB, growing, ONE("deepseek-v4-flash", "fp8_ds_mla", MI), NONE},
    {"check", "~4.918", GIB, growing, ONE("deepseek-v4-pro", "fp8_ds_mla_mxfp4", MI), NONE},
    {"check", "~3.435", GIB, growing, ONE("deepseek-v4-flash", "fp8_ds_mla_mxfp4", MI), NONE},
    {"check", "~1.957", B, growing, ONE("deepseek-v4-pro", "bf16", MI),
     ONE("deepseek-v4-pro", "fp8_ds_mla_mxfp4", MI)},
    {"check", "~46.94", GIB, growing, ONE("deepseek-v3.2", "fp8_ds_mla", MI), NONE},
    {"check", "~1.2096", GIB, growing, ONE("deepseek-v4-pro", "bf16", 128 * KI), NONE},
    {"check", "~0.8451", GIB, growing, ONE("deepseek-v4-flash", "bf16", 128 * KI), NONE},
    {"check", "~0.3080", GIB, growing, ONE("deepseek-v4-pro", "bf16", 32 * KI), NONE},
    {"check", "~0.2152", GIB, growing, ONE("deepseek-v4-flash", "bf16", 32 * KI), NONE},
    /* FlashMLA counts 62 layers, one of them of multi-token prediction */
    {"check", "~8.72", GIB, with_mtp, ONE("deepseek-v3", "bf16", 128 * KI), NONE},

    /* three agents of 8,192 tokens at 64 KiB, or one of 24,576 */
    {"22", "1.5", GIB, total, SAME("cla", "bf16", 8192, 3), NONE},
    {"22", "1.5", GIB, total, ONE("cla", "bf16", 24576), NONE},

    /* Qwen3-32B */
    {"worked example", "4", 64 * 0x1p10, token, ONE("qwen3-32b", "bf16", 1), NONE},
    {"worked example", "4096", 64, token, ONE("qwen3-32b", "bf16", 1), NONE},
    {"worked example", "256", KIB, token, ONE("qwen3-32b", "bf16", 1), NONE},
    {"24", "262144", B, token, ONE("qwen3-32b", "bf16", 1), NONE},
    {"worked example", "8", GIB, total, ONE("qwen3-32b", "bf16", 32 * KI), NONE},
    {"worked example", "32", GIB, total, SAME("qwen3-32b", "bf16", 32 * KI, 4), NONE},
    {"worked example", "64", GIB, total, SAME("qwen3-32b", "bf16", 32 * KI, 8), NONE},
    /* as if they were 8 GB */
    {"worked example", "~2.7", MS * 0x1p30 / 1e9, read_ms, ONE("qwen3-32b", "bf16", 32 * KI), NONE},
    {"24, A", "64", GIB, total, SAME("qwen3-32b", "bf16", 32 * KI, 8), NONE},
    {"24, B", "~2.86", MS, read_ms, ONE("qwen3-32b", "bf16", 32 * KI), NONE},
    {"24, B", "~0.002863", 1e9, read_ms, ONE("qwen3-32b", "bf16", 32 * KI), NONE},
    {"24, B", "~65.6", GB, advertised_weights, ONE("qwen3-32b", "bf16", 1), NONE},
    {"check", "~65.5", GB, weights, ONE("qwen3-32b", "bf16", 1), NONE},
    {"24, C", "4", GIB, prefix, SHARED("qwen3-32b", 32 * KI, 8, 16 * KI), NONE},
    {"24, C", "36", GIB, total, SHARED("qwen3-32b", 32 * KI, 8, 16 * KI), NONE},
    {"24, C", "28", GIB, saved, SHARED("qwen3-32b", 32 * KI, 8, 16 * KI), NONE},
    {"24", "4", B, token, ONE("mha", "bf16", 1), ONE("gqa", "bf16", 1)},
    {"24", "8", B, token, ONE("mha", "bf16", 1), ONE("gqa", "fp8", 1)},
};

/* In per cent less. The abstract of DeepSeek-V2 says 93.3 %, against DeepSeek 67B with 95 layers of
 * 8 heads of 128 in 16 bits. That holds with 6 bits an element; at equal precision it is 82.2. */
static const figure savings[] = {
    {"8", "~93.34", PERCENT, token, ONE("deepseek-v2", "6bit", 1), ONE("deepseek-67b", "bf16", 1)},
    {"8", "~82.2", PERCENT, token, ONE("deepseek-v2", "bf16", 1), ONE("deepseek-67b", "bf16", 1)},
};
/* clang-format on */

/* ---- Formats of elements alone, which nobody stores ---- */

#define ROW(elements, bytes)                                                                       \
    { .group_elements = elements, .group_bytes = bytes }
#define EVERY_ROW(elements, bytes)                                                                 \
    { [SLI_ROW_KEY] = ROW(elements, bytes), [SLI_ROW_VALUE] = ROW(elements, bytes) }

static const sli_cache_format ideal_formats[] = {
    {.name = "4 bits", .rows = EVERY_ROW(2, 1)},
    {.name = "2 bits", .rows = EVERY_ROW(4, 1)},
};

static const sli_cache_format *find_format(const char *name) {
    for (size_t i = 0; i < COUNT_OF(ideal_formats); i++) {
        if (strcmp(ideal_formats[i].name, name) == 0) {
            return &ideal_formats[i];
        }
    }
    return sli_cache_format_find(name);
}

/* ---- Whether ---- */

static double answer(const question *asked, measure *of) {
    sli_estimate_query query = query_of(asked->model, asked->tokens, asked->requests);
    query.shared_tokens = asked->shared_tokens;
    query.cache = find_format(asked->kv);
    assert_non_null(query.cache);
    return of(&query);
}

/* As many digits behind the point as the text has. */
static bool is_printed_as(double value, const char *text) {
    const char *point = strchr(text, '.');
    int decimals = point != NULL ? (int)strlen(point + 1) : 0;
    char found[32];
    snprintf(found, sizeof found, "%.*f", decimals, value);
    return strcmp(found, text) == 0;
}

static void has_figure(const figure *row, double value) {
    bool is_rounded = row->text[0] == '~';
    bool is_right = is_rounded ? is_printed_as(value, row->text + 1)
                               : value == strtod(row->text, NULL);
    if (!is_right) {
        fail_msg("chapter %s, %s: %.9g and not %s", row->where, row->asked.model, value, row->text);
    }
}

static void every_figure_of_the_guide(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        const figure *row = &figures[i];
        double value = answer(&row->asked, row->of);
        double base = row->against.model != NULL ? answer(&row->against, row->of) : 1.0;
        has_figure(row, value / base / row->unit);
    }
}

static void every_saving_of_the_guide(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(savings); i++) {
        const figure *row = &savings[i];
        double left = answer(&row->asked, row->of) / answer(&row->against, row->of);
        has_figure(row, (1.0 - left) / row->unit);
    }
}

/* Chapter 10: Bonsai 8B takes 6,011 MiB in all with a cache in 16 bits and 2,699 MiB with q4_0.
 * What is neither is 1,403 MiB both times: weights of one bit, and about 305 MiB of buffers. */
static void two_caches_leave_bonsai_the_same_rest(void **state) {
    (void)state;
    static const struct {
        const char *cache;
        double total_mib;
    } measured[] = {{"bf16", 6011.0}, {"q4_0", 2699.0}};
    for (size_t i = 0; i < COUNT_OF(measured); i++) {
        sli_estimate_query query = query_of("bonsai-8b", 32 * KI, 1);
        query.cache = sli_cache_format_find(measured[i].cache);
        query.weights = sli_weight_format_find("q1_0");
        double rest_mib = measured[i].total_mib - total(&query) / MIB;
        assert_true(rest_mib == 1403.0);
        assert_true(is_printed_as(rest_mib - weights(&query) / MIB, "305"));
    }
}

/* Chapter 13: no device of the catalogue holds the scores, whatever else fits. */
static void scores_fit_on_no_device(void **state) {
    (void)state;
    for (const sli_embedded *row = sli_device_files; row->name != NULL; row++) {
        sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
        query.weights = sli_weight_format_find("q1_0");
        query.device = find_device(row->name);
        query.placement.pp = 61; /* the rest would fit on any of them */
        query.kernel = sli_attention_kernel_find("fa2");
        assert_true(estimate_of(&query).fit.is_met);
        query.kernel = sli_attention_kernel_find("naive");
        assert_false(estimate_of(&query).fit.is_met);
    }
}

/* Chapter 23: the cache depends on attention, not on experts. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_figure_of_the_guide),
        cmocka_unit_test(every_saving_of_the_guide),
        cmocka_unit_test(two_caches_leave_bonsai_the_same_rest),
        cmocka_unit_test(scores_fit_on_no_device),
        cmocka_unit_test(experts_leave_the_cache_alone),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
