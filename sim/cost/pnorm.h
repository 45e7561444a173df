/*
 * The operator cost model: a step as a sum of measured operators.
 *
 * Floor cost. With T tokens in n sequences, s of them emitting, and L layers,
 *
 *     t = L [ 4 matrix products + prefill attention + decode attention + elementwise ]
 *         + head(s) + 2 L all-reduce + step overhead + n * sequence overhead
 *
 * summed in this order as doubles and rounded once. Attention is one call a step for all chunks and
 * one for all decode rows. Domain: dense grouped-query attention in bf16 with heads of 128, tensor
 * parallelism of 1, 2, 4 or 8; the operators alone are within 5-7 % of measured kernels in the
 * median, 20-35 % at the 95th percentile, on the devices they were fitted on.
 */
#ifndef SLUICE_COST_PNORM_H
#define SLUICE_COST_PNORM_H

#include "cost/memo.h"
#include "hw/device.h"
#include "model/opcount.h"
#include "sluice/cost.h"

/* The chunks that a run of layers was timed for last. Zeroed is right: no work takes no time. */
typedef struct sli_pnorm_prefill {
    sli_prefill_work work;
    double ns;
} sli_pnorm_prefill;

/* One instance a trial: it remembers terms of earlier steps. */
typedef struct sli_pnorm_model {
    const sli_architecture *architecture;
    const sli_device *device;
    int64_t tp;                  /* sli_parallel_is_even(architecture, tp) holds */
    sli_memo *layer_memos;       /* one a run of layers, by the tokens of the step */
    sli_memo head_memo;          /* by the emitting requests */
    sli_pnorm_prefill *prefills; /* one a run of layers */
} sli_pnorm_model;

/* Architecture and device outlive it; what it needs lives in the arena. */
SL_NODISCARD sl_err sli_pnorm_init(sli_arena *arena, const sli_architecture *architecture,
                                   const sli_device *device, int64_t tp, sli_pnorm_model *model);

/* Whether all attention heads have the width that the operators were fitted on, 128. O(runs). */
bool sli_pnorm_fits_heads(const sli_architecture *architecture);

/* The interface on a model that outlives it. A step is O(runs of layers). */
sl_cost_model sli_pnorm_interface(sli_pnorm_model *model);

#endif
