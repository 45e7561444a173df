#include "kv/budget.h"

#include "base/check.h"
#include "model/parallel.h"
#include "model/params.h"
#include "model/state.h"

#include <stdio.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const sl_word auto_words[] = {{"auto", SLI_AUTO}, {NULL, 0}};

static const char *const allocs[] = {"paged", NULL};

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
     .help = "KV blocks of a replica; auto = as many as fit, a number is not checked to fit",
     .offset = offsetof(sli_memory_config, kv_blocks)},
    {.name = "alloc",
     .type = SL_TYPE_CHOICE,
     .choices = allocs,
     .fallback = "paged",
     .help = "how a context gets its memory: paged = block by block, from anywhere in the pool",
     .offset = offsetof(sli_memory_config, alloc)},
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
    return 2 * query->max_batched_tokens * query->architecture->hidden * fp32_bytes +
           query->max_seqs * query->architecture->vocab_tokens * fp32_bytes;
}

void sli_budget_compute(const sli_memory_config *config, const sli_budget_query *query,
                        sli_budget *budget) {
    const sli_architecture *architecture = query->architecture;
    SL_ASSERT(query->block_tokens >= 1);
    sli_budget found = {
        .capacity_bytes = query->device->memory_bytes.value,
        .weights_bytes = sli_params_rank_bytes(architecture, query->tp),
        .activation_bytes = config->activation_bytes == SLI_AUTO ? estimate_activation(query)
                                                                 : config->activation_bytes,
        .graphs_bytes = config->graphs_bytes,
        .other_bytes = config->other_bytes,
        .block_bytes = query->block_tokens * sli_state_token_rank_bytes(architecture, query->tp),
        .is_overridden = config->kv_blocks != SLI_AUTO,
    };
    found.usable_bytes = (int64_t)(config->utilization_frac * (double)found.capacity_bytes);
    found.kv_bytes = found.usable_bytes - found.weights_bytes - found.activation_bytes -
                     found.graphs_bytes - found.other_bytes;
    if (found.is_overridden) {
        found.blocks = config->kv_blocks;
    } else if (found.kv_bytes > 0) {
        found.blocks = found.kv_bytes / found.block_bytes;
    }
    *budget = found;
}

int64_t sli_budget_shortfall(const sli_budget *budget) {
    return budget->blocks >= 1 ? 0 : budget->block_bytes - budget->kv_bytes;
}

int64_t sli_budget_smallest_tp(const sli_memory_config *config, const sli_budget_query *query) {
    for (int i = 0; i < SLI_TP_COUNT; i++) {
        sli_budget_query other = *query;
        other.tp = sli_tp_degrees[i];
        if (!sli_parallel_divides(query->architecture, other.tp)) {
            continue;
        }
        sli_budget budget;
        sli_budget_compute(config, &other, &budget);
        if (budget.blocks >= 1) {
            return other.tp;
        }
    }
    return 0;
}

static double to_gib(int64_t bytes) {
    return (double)bytes / 0x1p30;
}

static void report_shortfall(const sli_memory_config *config, const sli_budget_query *query,
                             const sli_budget *budget, sli_mark mark, const char *key,
                             sli_diag *diag) {
    char advice[64] = "no tensor parallelism of 1, 2, 4 or 8 fits";
    int64_t smallest_tp = sli_budget_smallest_tp(config, query);
    if (smallest_tp > 0) {
        snprintf(advice, sizeof advice, "tp %lld is the smallest that fits",
                 (long long)smallest_tp);
    }
    /* In hundredths, rounded up: a shortfall never reads 0. */
    const int64_t gib_bytes = INT64_C(1) << 30;
    double short_gib = (double)((sli_budget_shortfall(budget) * 100 + gib_bytes - 1) / gib_bytes) /
                       100.0;
    sli_diag_error(diag, mark, key,
                   "%s (bf16) at tp %lld on %s: needs %.2f GiB of weights, %.2f GiB of "
                   "activations, %.2f GiB for CUDA graphs and others, and one KV block of %.2f "
                   "MiB, out of %.2f GiB usable; short by %.2f GiB; %s",
                   query->architecture->id, (long long)query->tp, query->device->id,
                   to_gib(budget->weights_bytes), to_gib(budget->activation_bytes),
                   to_gib(budget->graphs_bytes + budget->other_bytes),
                   to_gib(budget->block_bytes) * 1024.0, to_gib(budget->usable_bytes), short_gib,
                   advice);
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
