/*
 * How many KV blocks a rank has room for.
 *
 * Floor kv. What vLLM measures at start-up is computed here:
 *
 *     KV bytes = floor(utilization * capacity) - weights - activation - workspace - graphs - other
 *     blocks   = floor(KV bytes / bytes of a page of the layout)
 *
 * with the capacity that the driver reports and the weights that the rank has, matrix by matrix
 * (model/placement.h). A block of the pool is a page of the layout
 * (kv/layout.h): of a model whose layers all grow the KV block, of others a part of it. A
 * deployment fits when the blocks of one token are left: whether a request fits into the pool is
 * another question, asked when it arrives. The workspace is that of a kernel of attention, where
 * one is asked for (model/attention.h): for the most tokens of a step in one chunk of the longest
 * context, or as many sequences that decode as there may be. Must not know scheduling. Pure
 * arithmetic; texts go to the diagnostics alone.
 */
#ifndef SLUICE_KV_BUDGET_H
#define SLUICE_KV_BUDGET_H

#include "config/schema.h"
#include "hw/device.h"
#include "kv/layout.h"
#include "model/attention.h"

#include <stdint.h>

#define SLI_AUTO (-1)

/* What a scenario says under `memory`. */
typedef struct sli_memory_config {
    double utilization_frac;
    int64_t activation_bytes; /* SLI_AUTO = estimated from the batch limits */
    int64_t graphs_bytes;
    int64_t other_bytes;
    int alloc;         /* only paged so far */
    int window_pages;  /* sli_window_pages */
    int64_t kv_blocks; /* SLI_AUTO = what fits; else so many, whether they fit or not */
} sli_memory_config;

extern const sli_section sli_memory_section;

/* The rest of what the rule depends on. */
typedef struct sli_budget_query {
    const sli_architecture *architecture;
    const sli_device *device;
    sli_weights weights;
    const sli_layout *layout;   /* NULL = only the terms besides the cache are asked for */
    sli_layout_options options; /* that it was made of; sli_parallel_can_run holds for its tp */
    int64_t max_seqs;
    const sli_attention_kernel *kernel; /* NULL = none: workspace is part of the activations */
} sli_budget_query;

/* Every term of the rule, of one rank. */
typedef struct sli_budget {
    int64_t capacity_bytes;
    int64_t usable_bytes; /* floor(utilization * capacity) */
    int64_t weights_bytes;
    int64_t activation_bytes;
    int64_t workspace_bytes; /* of a kernel */
    int64_t graphs_bytes;
    int64_t other_bytes;
    int64_t kv_bytes;     /* what is left; negative when the rest does not fit */
    int64_t block_bytes;  /* of a page */
    int64_t least_blocks; /* that a context of one token holds */
    int64_t blocks; /* 0 when these do not fit; kv_blocks of the scenario when that is given */
    bool is_overridden;
} sli_budget;

/* The rule itself. */
void sli_budget_compute(const sli_memory_config *config, const sli_budget_query *query,
                        sli_budget *budget);

/* Bytes missing for the blocks of one token; 0 when they fit. */
int64_t sli_budget_shortfall(const sli_budget *budget);

/* The smallest tensor-parallel degree that fits, or 0 when none does. Makes the layout of each. */
int64_t sli_budget_smallest_tp(const sli_memory_config *config, const sli_budget_query *query);

/* Computes, and says at `mark` what is missing when it does not fit (SL_ERR_FIT). */
SL_NODISCARD sl_err sli_budget_find(const sli_memory_config *config, const sli_budget_query *query,
                                    sli_mark mark, const char *key, sli_diag *diag,
                                    sli_budget *budget);

#endif
