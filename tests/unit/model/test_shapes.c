/*
 * Heads, layers, windows, contexts and widths of models, as a guide to KV caches tells them (its
 * chapter stands in front), and which layers the study has that the catalogue was checked against.
 *
 * Contexts that the guide itself calls those of another text, and that the configurations do not
 * have, are left out: 128 Ki for Qwen3 8B, 32B and 235B (32 Ki without YaRN) and Bonsai 8B (64 Ki).
 * Parameters that are a name (7B, 72B) are compared in test_published.c; here stand those that are
 * given as a count.
 */
#include "model/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const double KI = 0x1p10;
static const double MI = 0x1p20;
static const double BILLION = 1e9;

typedef double measure(const sli_architecture *model, const sli_layer_part *part);

/* The guide's text of a figure, in units. */
typedef struct shape {
    const char *where;
    const char *text;
    double unit;
    measure *of;
    const char *model;
    const char *part; /* a name under attention; NULL = the first */
} shape;

/* ---- How ---- */

static double layers(const sli_architecture *model, const sli_layer_part *part) {
    (void)part;
    return (double)sli_architecture_layers(model);
}

static double layers_of(const sli_architecture *model, const sli_layer_part *part) {
    return (double)sli_architecture_layers_of(model, part);
}

static double context(const sli_architecture *model, const sli_layer_part *part) {
    (void)part;
    return (double)model->context_native_tokens;
}

static double hidden(const sli_architecture *model, const sli_layer_part *part) {
    (void)part;
    return (double)model->hidden;
}

static double total(const sli_architecture *model, const sli_layer_part *part) {
    (void)part;
    return (double)sli_params_total(model);
}

static double active(const sli_architecture *model, const sli_layer_part *part) {
    (void)part;
    return (double)sli_params_matmul(model);
}

static double advertised(const sli_architecture *model, const sli_layer_part *part) {
    (void)part;
    return model->published_params;
}

static double advertised_active(const sli_architecture *model, const sli_layer_part *part) {
    (void)part;
    return model->published_active_params;
}

static double queries(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)part->facts.decode[0].pieces;
}

static const sli_store *find_store(const sli_layer_part *part, const char *name) {
    const sli_part_facts *facts = &part->facts;
    for (int i = 0; i < facts->store_count; i++) {
        if (strcmp(facts->stores[i].name, name) == 0) {
            return &facts->stores[i];
        }
    }
    fail_msg("%s keeps no %s", part->name, name);
    return NULL;
}

static double keys(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)find_store(part, "keys")->heads;
}

static double queries_per_key(const sli_architecture *model, const sli_layer_part *part) {
    return queries(model, part) / keys(model, part);
}

static double vectors(const sli_architecture *model, const sli_layer_part *part) {
    return keys(model, part) + (double)find_store(part, "values")->heads;
}

static double width(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)part->facts.stores[0].elements;
}

/* Of what attention sums up of a row: a value, or a latent without its rotary part. */
static double summed(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)part->facts.summed_elements;
}

static double rotary(const sli_architecture *model, const sli_layer_part *part) {
    return width(model, part) - summed(model, part);
}

static double window(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)part->facts.stores[0].kept.cap_rows;
}

static double entry_tokens(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)find_store(part, "entries")->kept.step_tokens;
}

static double pooled_tokens(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)find_store(part, "compressor state")->kept.cap_rows;
}

static double chosen_entries(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)find_store(part, "entries")->read.cap_rows;
}

static double chosen_latents(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)find_store(part, "latents")->read.cap_rows;
}

static double index_width(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)find_store(part, "index keys")->elements;
}

static double state_heads(const sli_architecture *model, const sli_layer_part *part) {
    (void)model;
    return (double)find_store(part, "state")->heads;
}

/* ---- Figures ---- */

/* clang-format off */
static const shape shapes[] = {
    /* query heads, heads of keys and values, and how many share one */
    {"7", "16", 1, vectors, "llama-3.1-8b", NULL},
    {"7", "32", 1, queries, "llama-2-7b", NULL},
    {"7", "32", 1, keys, "llama-2-7b", NULL},
    {"7", "1", 1, queries_per_key, "llama-2-7b", NULL},
    {"7", "40", 1, queries, "llama-2-13b", NULL},
    {"7", "40", 1, keys, "llama-2-13b", NULL},
    {"7", "1", 1, queries_per_key, "llama-2-13b", NULL},
    {"7", "64", 1, queries, "llama-2-70b", NULL},
    {"7", "8", 1, keys, "llama-2-70b", NULL},
    {"7", "8", 1, queries_per_key, "llama-2-70b", NULL},
    {"7", "32", 1, queries, "llama-3.1-8b", NULL},
    {"7", "8", 1, keys, "llama-3.1-8b", NULL},
    {"7", "4", 1, queries_per_key, "llama-3.1-8b", NULL},
    {"7", "64", 1, queries, "llama-3.1-70b", NULL},
    {"7", "8", 1, keys, "llama-3.1-70b", NULL},
    {"7", "8", 1, queries_per_key, "llama-3.1-70b", NULL},
    {"7", "128", 1, queries, "llama-3.1-405b", NULL},
    {"7", "8", 1, keys, "llama-3.1-405b", NULL},
    {"7", "16", 1, queries_per_key, "llama-3.1-405b", NULL},
    {"7", "32", 1, queries, "mistral-7b-v0.1", NULL},
    {"7", "8", 1, keys, "mistral-7b-v0.1", NULL},
    {"7", "4", 1, queries_per_key, "mistral-7b-v0.1", NULL},

    /* MLA: 5,120 channels become a latent of 512 and a rotary key of 64 */
    {"8", "5120", 1, hidden, "deepseek-v2", NULL},
    {"8", "512", 1, summed, "deepseek-v2", NULL},
    {"8", "64", 1, rotary, "deepseek-v2", NULL},
    {"8", "576", 1, width, "deepseek-v2", NULL},
    {"8", "61", 1, layers, "deepseek-v3", NULL},
    {"8", "671", BILLION, total, "deepseek-v3", NULL},
    {"8", "37", BILLION, active, "deepseek-v3", NULL},
    {"8", "8", 1, keys, "llama-3.1-405b", NULL},
    {"8", "405", BILLION, advertised, "llama-3.1-405b", NULL},

    {"11", "4096", 1, window, "mistral-7b-v0.1", NULL},
    {"11", "32", 1, layers, "mistral-7b-v0.1", NULL},

    {"14.8", "32", 1, layers, "qwen3.5-9b", NULL},
    {"14.8", "24", 1, layers_of, "qwen3.5-9b", "gdn"},
    {"14.8", "8", 1, layers_of, "qwen3.5-9b", "full"},
    {"14.8", "4", 1, keys, "qwen3.5-9b", "full"},
    {"14.8", "256", 1, width, "qwen3.5-9b", "full"},

    /* the example of chapter 19 */
    {"19", "60", 1, layers, "gemma-4-31b", NULL},
    {"19", "50", 1, layers_of, "gemma-4-31b", "sliding"},
    {"19", "10", 1, layers_of, "gemma-4-31b", "full"},
    {"19", "16", 1, keys, "gemma-4-31b", "sliding"},
    {"19", "256", 1, width, "gemma-4-31b", "sliding"},
    {"19", "1024", 1, window, "gemma-4-31b", "sliding"},
    {"19", "4", 1, keys, "gemma-4-31b", "full"},
    {"19", "512", 1, width, "gemma-4-31b", "full"},

    /* its table of 2023 and 2024 */
    {"19", "4", KI, context, "llama-2-7b", NULL},
    {"19", "4", KI, context, "llama-2-70b", NULL},
    {"19", "32", KI, context, "mistral-7b-v0.1", NULL},
    {"19", "4", KI, window, "mistral-7b-v0.1", NULL},
    {"19", "16", 1, queries, "gemma-1-7b", NULL},
    {"19", "16", 1, keys, "gemma-1-7b", NULL},
    {"19", "8", KI, context, "gemma-1-7b", NULL},
    {"19", "128", KI, context, "llama-3.1-8b", NULL},
    {"19", "128", KI, context, "llama-3.1-405b", NULL},
    {"19", "64", 1, queries, "qwen2-72b", NULL},
    {"19", "8", 1, keys, "qwen2-72b", NULL},
    {"19", "128", KI, context, "qwen2-72b", NULL},
    {"19", "32", 1, queries, "gemma-2-27b", "full"},
    {"19", "16", 1, keys, "gemma-2-27b", "full"},
    {"19", "8", KI, context, "gemma-2-27b", NULL},
    {"19", "4", KI, window, "gemma-2-27b", "sliding"},
    {"19", "27", BILLION, total, "gemma-2-27b", NULL},
    {"19", "40", 1, queries, "phi-4-14b", NULL},
    {"19", "10", 1, keys, "phi-4-14b", NULL},
    {"19", "16", KI, context, "phi-4-14b", NULL},
    {"19", "236", BILLION, total, "deepseek-v2", NULL},
    {"19", "21", BILLION, active, "deepseek-v2", NULL},
    {"19", "128", 1, queries, "deepseek-v2", NULL},
    {"19", "128", KI, context, "deepseek-v2", NULL},
    {"19", "671", BILLION, total, "deepseek-v3", NULL},
    {"19", "37", BILLION, active, "deepseek-v3", NULL},
    {"19", "128", 1, queries, "deepseek-v3", NULL},
    {"19", "128", KI, context, "deepseek-v3", NULL},

    /* and that of 2025 and 2026 */
    {"19", "27", BILLION, total, "gemma-3-27b", NULL},
    {"19", "32", 1, queries, "gemma-3-27b", NULL},
    {"19", "128", KI, context, "gemma-3-27b", NULL},
    {"19", "1", KI, window, "gemma-3-27b", "sliding"},
    {"19", "0.6", BILLION, total, "qwen3-0.6b", NULL},
    {"19", "16", 1, queries, "qwen3-0.6b", NULL},
    {"19", "8", 1, keys, "qwen3-0.6b", NULL},
    {"19", "2", 1, queries_per_key, "qwen3-0.6b", NULL},
    {"19", "32", KI, context, "qwen3-0.6b", NULL},
    {"19", "4", BILLION, total, "qwen3-4b", NULL},
    {"19", "32", 1, queries, "qwen3-4b", NULL},
    {"19", "8", 1, keys, "qwen3-4b", NULL},
    {"19", "4", 1, queries_per_key, "qwen3-4b", NULL},
    {"19", "36", 1, layers, "qwen3-4b", NULL},
    {"19", "32", KI, context, "qwen3-4b", NULL},
    {"19", "8.2", BILLION, total, "qwen3-8b", NULL},
    {"19", "32", 1, queries, "qwen3-8b", NULL},
    {"19", "8", 1, keys, "qwen3-8b", NULL},
    {"19", "32.8", BILLION, total, "qwen3-32b", NULL},
    {"19", "64", 1, queries, "qwen3-32b", NULL},
    {"19", "8", 1, keys, "qwen3-32b", NULL},
    {"19", "8", 1, queries_per_key, "qwen3-32b", NULL},
    {"19", "64", 1, layers, "qwen3-32b", NULL},
    {"19", "128", 1, width, "qwen3-32b", NULL},
    {"19", "235", BILLION, total, "qwen3-235b-a22b", NULL},
    {"19", "22", BILLION, active, "qwen3-235b-a22b", NULL},
    {"19", "64", 1, queries, "qwen3-235b-a22b", NULL},
    {"19", "4", 1, keys, "qwen3-235b-a22b", NULL},
    {"19", "16", 1, queries_per_key, "qwen3-235b-a22b", NULL},
    {"19", "262", 1000, context, "qwen3.5-4b", NULL},
    {"19", "109", BILLION, advertised, "llama-4-scout", NULL},
    {"19", "17", BILLION, advertised_active, "llama-4-scout", NULL},
    {"19", "10", MI, context, "llama-4-scout", NULL},
    {"19", "400", BILLION, advertised, "llama-4-maverick", NULL},
    {"19", "17", BILLION, advertised_active, "llama-4-maverick", NULL},
    {"19", "1", MI, context, "llama-4-maverick", NULL},
    {"19", "1", 1000 * BILLION, total, "kimi-k2", NULL},
    {"19", "32", BILLION, active, "kimi-k2", NULL},
    {"19", "64", 1, queries, "kimi-k2", NULL},
    {"19", "128", KI, context, "kimi-k2", NULL},
    {"19", "5.1", BILLION, advertised, "gemma-4-e2b", NULL},
    {"19", "2.3", BILLION, active, "gemma-4-e2b", NULL},
    {"19", "8", 1, queries, "gemma-4-e2b", NULL},
    {"19", "1", 1, keys, "gemma-4-e2b", NULL},
    {"19", "128", KI, context, "gemma-4-e2b", NULL},
    {"19", "8", BILLION, advertised, "gemma-4-e4b", NULL},
    {"19", "4.5", BILLION, advertised_active, "gemma-4-e4b", NULL},
    {"19", "8", 1, queries, "gemma-4-e4b", NULL},
    {"19", "2", 1, keys, "gemma-4-e4b", NULL},
    {"19", "128", KI, context, "gemma-4-e4b", NULL},
    {"19", "42", 1, layers, "gemma-4-e4b", NULL},
    {"19", "512", 1, window, "gemma-4-e4b", "sliding"},
    {"19", "26", BILLION, advertised, "gemma-4-26b-a4b", NULL},
    {"19", "3.8", BILLION, active, "gemma-4-26b-a4b", NULL},
    {"19", "8", 1, keys, "gemma-4-26b-a4b", "sliding"},
    {"19", "2", 1, keys, "gemma-4-26b-a4b", "full"},
    {"19", "256", KI, context, "gemma-4-26b-a4b", NULL},
    {"19", "31", BILLION, total, "gemma-4-31b", NULL},
    {"19", "256", KI, context, "gemma-4-31b", NULL},
    {"19", "8.2", BILLION, total, "bonsai-8b", NULL},

    /* DeepSeek V4: an entry pools 8 tokens and there is one for 4 of them; or 128 and 128 */
    {"20", "8", 1, pooled_tokens, "deepseek-v4-pro", "csa"},
    {"20", "4", 1, entry_tokens, "deepseek-v4-pro", "csa"},
    {"20", "128", 1, pooled_tokens, "deepseek-v4-pro", "hca"},
    {"20", "128", 1, entry_tokens, "deepseek-v4-pro", "hca"},
    {"20", "128", 1, window, "deepseek-v4-pro", "csa"},
    {"20", "128", 1, window, "deepseek-v4-flash", "window"},
    {"20", "61", 1, layers, "deepseek-v3.2", NULL},
    {"appendix", "61", 1, layers, "deepseek-v4-pro", NULL},
    {"appendix", "30", 1, layers_of, "deepseek-v4-pro", "csa"},
    {"appendix", "31", 1, layers_of, "deepseek-v4-pro", "hca"},
    {"check", "0", 1, layers_of, "deepseek-v4-pro", "window"},
    {"check", "2", 1, layers_of, "deepseek-v4-flash", "window"},
    {"check", "1024", 1, chosen_entries, "deepseek-v4-pro", "csa"},
    {"check", "512", 1, chosen_entries, "deepseek-v4-flash", "csa"},

    /* 69 + 24 = 93 */
    {"22", "93", 1, layers, "kimi-k3", NULL},
    {"22", "69", 1, layers_of, "kimi-k3", "kda"},
    {"22", "24", 1, layers_of, "kimi-k3", "mla"},
    {"22", "93", 1, layers, "kimi-k3.1-pro", NULL},
    {"22", "69", 1, layers_of, "kimi-k3.1-pro", "kda"},
    {"22", "24", 1, layers_of, "kimi-k3.1-pro", "dsa"},
    {"check", "96", 1, state_heads, "kimi-k3", "kda"},
    {"check", "128", 1, index_width, "kimi-k3.1-pro", "dsa"},
    {"check", "2048", 1, chosen_latents, "kimi-k3.1-pro", "dsa"},

    {"23", "671", BILLION, total, "deepseek-v3", NULL},
    {"23", "37", BILLION, active, "deepseek-v3", NULL},
    {"24", "64", 1, layers, "qwen3-32b", NULL},
    {"24", "64", 1, queries, "qwen3-32b", NULL},
    {"24", "8", 1, keys, "qwen3-32b", NULL},
    {"24", "128", 1, width, "qwen3-32b", NULL},
};

/* As the study has them; layers that share the keys and values of others among their like. */
typedef struct pattern {
    const char *model;
    const char *layers;
    sli_confidence confidence;
} pattern;

static const pattern patterns[] = {
    {"llama-2-7b", "32 full", SLI_CONFIDENCE_SOLID},
    {"llama-2-13b", "40 full", SLI_CONFIDENCE_SOLID},
    {"llama-2-70b", "80 full", SLI_CONFIDENCE_SOLID},
    {"mistral-7b-v0.1", "32 sliding", SLI_CONFIDENCE_SOLID},
    {"gemma-1-7b", "28 full", SLI_CONFIDENCE_SOLID},
    {"llama-3.1-8b", "32 full", SLI_CONFIDENCE_SOLID},
    {"llama-3.1-70b", "80 full", SLI_CONFIDENCE_SOLID},
    {"llama-3.1-405b", "126 full", SLI_CONFIDENCE_SOLID},
    {"llama-3.3-70b", "80 full", SLI_CONFIDENCE_SOLID},
    {"qwen2-72b", "80 full", SLI_CONFIDENCE_SOLID},
    {"qwen2.5-72b", "80 full", SLI_CONFIDENCE_SOLID},
    {"phi-4-14b", "40 full", SLI_CONFIDENCE_SOLID},
    {"qwen3-0.6b", "28 full", SLI_CONFIDENCE_SOLID},
    {"qwen3-4b", "36 full", SLI_CONFIDENCE_SOLID},
    {"qwen3-8b", "36 full", SLI_CONFIDENCE_SOLID},
    {"qwen3-32b", "64 full", SLI_CONFIDENCE_SOLID},
    {"bonsai-8b", "36 full", SLI_CONFIDENCE_SOLID},
    {"gemma-2-27b", "23 sliding, 23 full", SLI_CONFIDENCE_SOLID},
    {"gemma-3-27b", "52 sliding, 10 full", SLI_CONFIDENCE_SOLID},
    {"gemma-4-e2b", "28 sliding, 7 full", SLI_CONFIDENCE_SOLID},
    {"gemma-4-e4b", "35 sliding, 7 full", SLI_CONFIDENCE_SOLID},
    {"gemma-4-31b", "50 sliding, 10 full", SLI_CONFIDENCE_SOLID},
    {"gemma-4-26b-a4b", "25 sliding, 5 full", SLI_CONFIDENCE_SOLID},
    {"gpt-oss-20b", "12 sliding, 12 full", SLI_CONFIDENCE_SOLID},
    {"gpt-oss-120b", "18 sliding, 18 full", SLI_CONFIDENCE_SOLID},
    {"qwen3-30b-a3b", "48 full", SLI_CONFIDENCE_SOLID},
    {"qwen3-235b-a22b", "94 full", SLI_CONFIDENCE_SOLID},
    {"qwen3-next-80b-a3b", "36 gdn, 12 full", SLI_CONFIDENCE_SOLID},
    {"qwen3.5-4b", "24 gdn, 8 full", SLI_CONFIDENCE_SOLID},
    {"qwen3.5-9b", "24 gdn, 8 full", SLI_CONFIDENCE_SOLID},
    {"qwen3.5-27b", "48 gdn, 16 full", SLI_CONFIDENCE_SOLID},
    {"qwen3.5-35b-a3b", "30 gdn, 10 full", SLI_CONFIDENCE_SOLID},
    {"qwen3.5-122b-a10b", "36 gdn, 12 full", SLI_CONFIDENCE_SOLID},
    {"qwen3.5-397b-a17b", "45 gdn, 15 full", SLI_CONFIDENCE_SOLID},
    {"llama-4-scout", "36 chunked, 12 full", SLI_CONFIDENCE_SOLID},
    {"llama-4-maverick", "36 chunked, 12 full", SLI_CONFIDENCE_SOLID},
    {"deepseek-v2", "60 mla", SLI_CONFIDENCE_SOLID},
    {"deepseek-v3", "61 mla", SLI_CONFIDENCE_SOLID},
    {"deepseek-v3.2", "61 dsa", SLI_CONFIDENCE_SOLID},
    {"deepseek-v4-pro", "31 hca, 30 csa", SLI_CONFIDENCE_SOLID},
    {"deepseek-v4-flash", "2 window, 21 csa, 20 hca", SLI_CONFIDENCE_SOLID},
    {"kimi-k2", "61 mla", SLI_CONFIDENCE_SOLID},
    {"kimi-k2.5", "61 mla", SLI_CONFIDENCE_SOLID},
    {"kimi-linear-48b-a3b", "20 kda, 7 mla", SLI_CONFIDENCE_SOLID},
    {"kimi-k3", "69 kda, 24 mla", SLI_CONFIDENCE_SOLID},
    {"kimi-k3.1-pro", "69 kda, 24 dsa", SLI_CONFIDENCE_MIXED},
    {"glm-4.5", "92 full", SLI_CONFIDENCE_SOLID},
    {"glm-5", "78 dsa", SLI_CONFIDENCE_SOLID},
    {"glm-5.2", "21 dsa, 57 dsa_shared", SLI_CONFIDENCE_SOLID},
    {"minimax-m1", "70 lightning, 10 full", SLI_CONFIDENCE_SOLID},
    {"minimax-m2", "62 full", SLI_CONFIDENCE_SOLID},
    {"minimax-m3", "3 full, 57 msa", SLI_CONFIDENCE_MIXED},
    {"nemotron-3-nano-30b-a3b", "23 mamba2, 23 none, 6 full", SLI_CONFIDENCE_SOLID},
    {"nemotron-h-56b", "54 mamba2, 54 none, 10 full", SLI_CONFIDENCE_SOLID},
    {"mamba-2-2.7b", "64 mamba2", SLI_CONFIDENCE_MIXED},
    {"jamba-v0.1", "28 mamba1, 4 full", SLI_CONFIDENCE_SOLID},
    {"rwkv-7-0.4b", "24 rwkv7", SLI_CONFIDENCE_MIXED},
    {"rwkv-7-1.5b", "24 rwkv7", SLI_CONFIDENCE_SOLID},
    {"rwkv-7-2.9b", "32 rwkv7", SLI_CONFIDENCE_MIXED},
    {"rwkv-7-7.2b", "32 rwkv7", SLI_CONFIDENCE_MIXED},
};
/* clang-format on */

/* ---- Whether ---- */

static sli_arena arena;
static sli_diag diag;

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

static const sli_architecture *read_model(const char *id) {
    const sli_architecture *model = NULL;
    sl_err err = sli_architecture_read(&arena, id, (sli_catalogue_site){0}, &diag, &model);
    assert_int_equal(err, SL_OK);
    return model;
}

/* NULL when there is none. */
static const sli_layer_part *find_part(const sli_architecture *model, const char *name) {
    for (size_t i = 0; i < model->attention.count; i++) {
        if (strcmp(model->mixer_parts[i].name, name) == 0) {
            return &model->mixer_parts[i];
        }
    }
    return NULL;
}

/* As many digits behind the point as the text has. */
static bool is_printed_as(double value, const char *text) {
    const char *point = strchr(text, '.');
    char found[32];
    snprintf(found, sizeof found, "%.*f", point != NULL ? (int)strlen(point + 1) : 0, value);
    return strcmp(found, text) == 0;
}

/* Only what counts parameters, and 262K, is rounded. */
static bool is_figure(const shape *row, double value) {
    bool is_rounded = row->unit >= BILLION || row->unit == 1000;
    return is_rounded ? is_printed_as(value, row->text) : value == strtod(row->text, NULL);
}

static void every_shape_of_the_guide(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const shape *row = &shapes[i];
        const sli_architecture *model = read_model(row->model);
        const sli_layer_part *part = row->part != NULL ? find_part(model, row->part)
                                                       : &model->mixer_parts[0];
        assert_non_null(part);
        double value = row->of(model, part) / row->unit;
        if (!is_figure(row, value)) {
            fail_msg("chapter %s, %s: %.9g and not %s", row->where, row->model, value, row->text);
        }
    }
}

static int64_t layers_named(const sli_architecture *model, const char *name) {
    const sli_layer_part *part = find_part(model, name);
    return part != NULL ? sli_architecture_layers_of(model, part) : 0;
}

/* "28 sliding": those that are called so, and of Gemma 4 E "sliding_shared". The text is that of
 * one pattern; what it does not name there are no layers of. */
static int64_t match_layers(const pattern *row, const sli_architecture *model) {
    const char *text = row->layers;
    int64_t found = 0;
    int length = 0;
    long long count = 0;
    char name[32];
    char shared[48];
    while (sscanf(text, "%lld %31[^,]%n", &count, name, &length) == 2) {
        snprintf(shared, sizeof shared, "%s_shared", name);
        bool is_apart = strstr(row->layers, shared) != NULL;
        int64_t have = layers_named(model, name) + (is_apart ? 0 : layers_named(model, shared));
        if (have != count) {
            fail_msg("%s: %lld layers %s, not %lld", row->model, (long long)have, name, count);
        }
        found += have;
        text += length;
        text += strspn(text, ", ");
    }
    return found;
}

static void every_pattern_of_the_study(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        const sli_architecture *model = read_model(patterns[i].model);
        assert_int_equal(match_layers(&patterns[i], model), sli_architecture_layers(model));
        assert_int_equal(model->confidence, patterns[i].confidence);
    }
}

/* Gemma 3: about five layers with a window for each without. */
static void gemma_3_has_about_five_windows_for_each_full_layer(void **state) {
    (void)state;
    const sli_architecture *model = read_model("gemma-3-27b");
    double windows = (double)layers_named(model, "sliding");
    assert_true(is_printed_as(windows / (double)layers_named(model, "full"), "5"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_of_the_guide),
        cmocka_unit_test(every_pattern_of_the_study),
        cmocka_unit_test(gemma_3_has_about_five_windows_for_each_full_layer),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
