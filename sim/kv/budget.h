/*
 * How many KV blocks a rank has room for.
 *
 * Floor kv. What vLLM measures at start-up is computed here:
 *
 *     KV bytes = floor(utilization * capacity) - weights - activation - graphs - other
 *     blocks   = floor(KV bytes / bytes of a block on the rank)
 *
 * with the capacity that the driver reports. A deployment fits when at least one block is left:
 * whether a request fits into the pool is another question, asked when it arrives. Must not know
 * scheduling. Pure arithmetic; texts go to the diagnostics alone.
 */
#ifndef SLUICE_KV_BUDGET_H
#define SLUICE_KV_BUDGET_H

#include "config/schema.h"
#include "hw/device.h"
#include "model/architecture.h"

#include <stdint.h>

#define SLI_AUTO (-1)

/* What a scenario says under `memory`. */
typedef struct sli_memory_config {
    double utilization_frac;
    int64_t activation_bytes; /* SLI_AUTO = estimated from the batch limits */
    int64_t graphs_bytes;
    int64_t other_bytes;
    int alloc;         /* only paged so far */
    int64_t kv_blocks; /* SLI_AUTO = what fits; else so many, whether they fit or not */
} sli_memory_config;

extern const sli_section sli_memory_section;

/* The rest of what the rule depends on. */
typedef struct sli_budget_query {
    const sli_architecture *architecture;
    const sli_device *device;
    int64_t tp; /* sli_parallel_divides(architecture, tp) holds */
    int64_t block_tokens;
    int64_t max_batched_tokens;
    int64_t max_seqs;
} sli_budget_query;

/* Every term of the rule, of one rank. */
typedef struct sli_budget {
    int64_t capacity_bytes;
    int64_t usable_bytes; /* floor(utilization * capacity) */
    int64_t weights_bytes;
    int64_t activation_bytes;
    int64_t graphs_bytes;
    int64_t other_bytes;
    int64_t kv_bytes; /* what is left; negative when the rest does not fit */
    int64_t block_bytes;
    int64_t blocks; /* 0 when it does not fit; kv_blocks of the scenario when that is given */
    bool is_overridden;
} sli_budget;

/* The rule itself. */
void sli_budget_compute(const sli_memory_config *config, const sli_budget_query *query,
                        sli_budget *budget);

/* Bytes missing for one block; 0 when it fits. */
int64_t sli_budget_shortfall(const sli_budget *budget);

/* The smallest tensor-parallel degree that fits, or 0 when none does. */
int64_t sli_budget_smallest_tp(const sli_memory_config *config, const sli_budget_query *query);

/* Computes, and says at `mark` what is missing when it does not fit (SL_ERR_FIT). */
SL_NODISCARD sl_err sli_budget_find(const sli_memory_config *config, const sli_budget_query *query,
                                    sli_mark mark, const char *key, sli_diag *diag,
                                    sli_budget *budget);

#endif
