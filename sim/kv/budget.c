#include "kv/budget.h"

#include "base/check.h"
#include "kv/layout_held.h"
#include "model/parallel.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const sl_word auto_words[] = {{"auto", SLI_AUTO}, {NULL, 0}};

static const char *const allocs[] = {"paged", NULL};
static const char *const window_pages[] = {"freed", "reserved", "ignored", NULL};

static const sl_param memory_params[] = {
    {.name = "utilization",
     .type = SL_TYPE_REAL,
     .min = 0.01,
     .max = 1.0,
     .fallback = "0.90",
     .help = "share of the device memory to use, vLLM's --gpu-memory-utilization",
     .offset = offsetof(sli_memory_config, utilization_frac)},
    {.name = "activation",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_BYTES,
     .min = 0,
     .max = 1e15,
     .words = auto_words,
     .fallback = "auto",
     .help = "kept for activations; auto = from the batch limits",
     .offset = offsetof(sli_memory_config, activation_bytes)},
    {.name = "graphs",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_BYTES,
     .min = 0,
     .max = 1e15,
     .fallback = "1 GiB",
     .help = "kept for CUDA graphs",
     .offset = offsetof(sli_memory_config, graphs_bytes)},
    {.name = "other",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_BYTES,
     .min = 0,
     .max = 1e15,
     .fallback = "0.5 GiB",
     .help = "kept for the driver, libraries and fragmentation",
     .offset = offsetof(sli_memory_config, other_bytes)},
    {.name = "kv_blocks",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e12,
     .words = auto_words,
     .fallback = "auto",
     .help = "KV blocks of a replica (pages, where layers of several sorts share them); auto = as "
             "many as fit, a number is taken, with a warning where it does not fit",
     .offset = offsetof(sli_memory_config, kv_blocks)},
    {.name = "alloc",
     .type = SL_TYPE_CHOICE,
     .choices = allocs,
     .fallback = "paged",
     .help = "how a context gets its memory: paged = block by block, from anywhere in the pool",
     .offset = offsetof(sli_memory_config, alloc)},
    {.name = "window_pages",
     .type = SL_TYPE_CHOICE,
     .choices = window_pages,
     .fallback = "freed",
     .help = "pages of sliding windows and chunks: freed = when the window has passed; reserved = "
             "for a window and a step, from the admission on; ignored = kept like full attention",
     .offset = offsetof(sli_memory_config, window_pages)},
};

const sli_section sli_memory_section = {
    .params = memory_params,
    .param_count = COUNT_OF(memory_params),
    .struct_size = sizeof(sli_memory_config),
};

/* Input and output of a layer for the widest batch, and the logits of the most sequences, in fp32.
 * An estimate in place of the profiling run of vLLM. */
static int64_t estimate_activation(const sli_budget_query *query) {
    const int64_t fp32_bytes = 4;
    return 2 * query->options.max_batched_tokens * query->architecture->hidden * fp32_bytes +
           query->max_seqs * query->architecture->vocab_tokens * fp32_bytes;
}

static int64_t find_workspace(const sli_budget_query *query) {
    sli_attention_load load = {
        .query_tokens = query->options.max_batched_tokens,
        .context_tokens = query->options.max_model_tokens,
        .decodes = query->max_seqs,
        .tp = query->options.tp,
    };
    return query->kernel != NULL
               ? sli_attention_workspace_bytes(query->architecture, query->kernel, &load)
               : 0;
}

static int64_t count_blocks(const sli_memory_config *config, const sli_budget *budget) {
    if (budget->is_overridden) {
        return config->kv_blocks;
    }
    int64_t blocks = budget->block_bytes > 0 ? budget->kv_bytes / budget->block_bytes : 0;
    return blocks >= budget->least_blocks ? blocks : 0;
}

void sli_budget_compute(const sli_memory_config *config, const sli_budget_query *query,
                        sli_budget *budget) {
    const sli_architecture *architecture = query->architecture;
    const sli_layout *layout = query->layout;
    sli_placement placement = sli_placement_of_tp(query->options.tp);
    sli_budget found = {
        .capacity_bytes = query->device->memory_bytes.value,
        .weights_bytes = sli_placement_weights_bytes(architecture, &query->weights, &placement, 0),
        .activation_bytes = config->activation_bytes == SLI_AUTO ? estimate_activation(query)
                                                                 : config->activation_bytes,
        .workspace_bytes = find_workspace(query),
        .graphs_bytes = config->graphs_bytes,
        .other_bytes = config->other_bytes,
        .block_bytes = layout != NULL ? layout->page_bytes : 0,
        .least_blocks = layout != NULL ? sli_layout_pages(layout, 1) : 0,
        .is_overridden = config->kv_blocks != SLI_AUTO,
    };
    found.usable_bytes = (int64_t)(config->utilization_frac * (double)found.capacity_bytes);
    found.kv_bytes = found.usable_bytes - found.weights_bytes - found.activation_bytes -
                     found.workspace_bytes - found.graphs_bytes - found.other_bytes;
    found.blocks = count_blocks(config, &found);
    *budget = found;
}

int64_t sli_budget_shortfall(const sli_budget *budget) {
    int64_t least_bytes = budget->least_blocks * budget->block_bytes;
    return budget->blocks >= 1 ? 0 : least_bytes - budget->kv_bytes;
}

/* Whether the query fits when it is asked for another degree. */
static bool fits_at(const sli_memory_config *config, const sli_budget_query *query, int64_t tp) {
    sli_budget_query other = *query;
    other.options.tp = tp;
    sli_layout layout;
    char why[128];
    if (!sli_parallel_can_run(query->architecture, tp) ||
        sli_layout_make(query->architecture, &other.options, &layout, why, sizeof why) != SL_OK) {
        return false;
    }
    other.layout = &layout;
    sli_budget budget;
    sli_budget_compute(config, &other, &budget);
    return budget.blocks >= 1;
}

int64_t sli_budget_smallest_tp(const sli_memory_config *config, const sli_budget_query *query) {
    for (int i = 0; i < SLI_TP_COUNT; i++) {
        if (fits_at(config, query, sli_tp_degrees[i])) {
            return sli_tp_degrees[i];
        }
    }
    return 0;
}

/* As published, else the first format of the table for all weights, that fits on some degree: its
 * name in a scenario; NULL when none does. */
static const char *find_fitting_weights(const sli_memory_config *config,
                                        const sli_budget_query *query, int64_t *tp) {
    sli_budget_query other = *query;
    for (int i = 0; sli_weight_format_or_published[i] != NULL; i++) {
        other.weights = i > 0 ? sli_weights_all(&sli_weight_formats[i - 1])
                              : query->architecture->weights;
        *tp = sli_budget_smallest_tp(config, &other);
        if (*tp > 0) {
            return sli_weight_format_or_published[i];
        }
    }
    return NULL;
}

static double to_gib(int64_t bytes) {
    return (double)bytes / 0x1p30;
}

/* What of the cache has to fit at least. */
static void describe_least(const sli_budget *budget, char *text, size_t text_bytes) {
    double least_mib = to_gib(budget->least_blocks * budget->block_bytes) * 1024.0;
    snprintf(text, text_bytes, "%s of %.2f MiB",
             budget->least_blocks == 1 ? "one KV block" : "KV pages for one token", least_mib);
}

/* `bf16`, or `fp8, KV in bf16` where they differ. */
static void describe_formats(const sli_budget_query *query, char *text, size_t text_bytes) {
    const char *cache = query->options.cache->name;
    sli_weights_text weights = sli_weights_say(&query->weights);
    bool differs = strcmp(weights.text, cache) != 0;
    snprintf(text, text_bytes, "%s%s%s", weights.text, differs ? ", KV in " : "",
             differs ? cache : "");
}

/* `, 256.00 GiB for the scores of naive attention`; nothing without a kernel. */
static void describe_workspace(const sli_budget_query *query, const sli_budget *budget, char *text,
                               size_t text_bytes) {
    if (query->kernel == NULL) {
        text[0] = '\0';
        return;
    }
    snprintf(text, text_bytes, ", %.2f GiB for the %s of %s attention",
             to_gib(budget->workspace_bytes), query->kernel->keeps_scores ? "scores" : "workspace",
             query->kernel->name);
}

/* Which degree would do, or which format of weights at which degree. */
static void describe_cure(const sli_memory_config *config, const sli_budget_query *query,
                          char *text, size_t text_bytes) {
    int64_t tp = sli_budget_smallest_tp(config, query);
    if (tp > 0) {
        snprintf(text, text_bytes, "tp %lld is the smallest that fits", (long long)tp);
        return;
    }
    const char *weights = find_fitting_weights(config, query, &tp);
    if (weights == NULL) {
        snprintf(text, text_bytes, "no tensor parallelism of 1, 2, 4 or 8 fits");
        return;
    }
    snprintf(text, text_bytes,
             "no tensor parallelism of 1, 2, 4 or 8 fits, but with model.weights: %s tp %lld does",
             weights, (long long)tp);
}

/* Whether it is the logits of so many sequences that do not fit. */
static bool has_too_many_seqs(const sli_memory_config *config, const sli_budget_query *query) {
    sli_budget_query alone = *query;
    sli_budget budget;
    alone.max_seqs = 1;
    sli_budget_compute(config, &alone, &budget);
    return sli_budget_shortfall(&budget) <= 0;
}

static void report_shortfall(const sli_memory_config *config, const sli_budget_query *query,
                             const sli_budget *budget, sli_mark mark, const char *key,
                             sli_diag *diag) {
    char advice[128];
    describe_cure(config, query, advice, sizeof advice);
    /* Scores that are written down are what is too much, whatever the device. */
    const char *remedy =
        query->kernel != NULL && query->kernel->keeps_scores
            ? "; flash attention (attention.kernel: fa2) writes no scores down"
        : has_too_many_seqs(config, query)
            ? "; a smaller engine.max_seqs needs less for activations, and would fit"
            : "";
    char formats[128];
    char least[64];
    char workspace[96];
    describe_workspace(query, budget, workspace, sizeof workspace);
    describe_formats(query, formats, sizeof formats);
    describe_least(budget, least, sizeof least);
    /* In hundredths, rounded up: a shortfall never reads 0. */
    const int64_t gib_bytes = INT64_C(1) << 30;
    double short_gib = (double)((sli_budget_shortfall(budget) * 100 + gib_bytes - 1) / gib_bytes) /
                       100.0;
    sli_diag_error(
        diag, mark, key,
        "%s (%s) at tp %lld on %s: needs %.2f GiB of weights, %.2f GiB of activations%s, "
        "%.2f GiB for CUDA graphs and others, and %s, out of %.2f GiB usable; short by "
        "%.2f GiB; %s%s",
        query->architecture->id, formats, (long long)query->options.tp, query->device->id,
        to_gib(budget->weights_bytes), to_gib(budget->activation_bytes), workspace,
        to_gib(budget->graphs_bytes + budget->other_bytes), least, to_gib(budget->usable_bytes),
        short_gib, advice, remedy);
}

sl_err sli_budget_find(const sli_memory_config *config, const sli_budget_query *query,
                       sli_mark mark, const char *key, sli_diag *diag, sli_budget *budget) {
    sli_budget found;
    sli_budget_compute(config, query, &found);
    if (sli_budget_shortfall(&found) > 0) {
        report_shortfall(config, query, &found, mark, key, diag);
        return SL_ERR_FIT;
    }
    *budget = found;
    return SL_OK;
}
