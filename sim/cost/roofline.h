/*
 * The roofline cost model: a step of any architecture as classes of operators, each at what
 * computing or moving bytes takes, whichever is longer.
 *
 * Floor cost. With P and W the peaks of the device and the figures of its matrix products,
 *
 *     class(F, B) = overhead + max(F / (flops_share P), B / (bytes_share W))    0 without work
 *
 *     t = sum over layers [ class(matrices of the mixer) + class(matrices of the feed-forward)
 *                           + class(what the layer has beside them) + class(core of decode rows)
 *                           + class(core of chunks) + elementwise + all-reduces ]
 *         + class(head) + step overhead + n * sequence overhead
 *
 * summed by cause and rounded once. A core is attention, a recurrence, index scores, whatever the
 * mixer does beside its matrices (model/opcount.h). Where a kernel of attention is asked for
 * (model/attention.h), the cores of attention have its share of P. Where a cache is copied when
 * rows join it, its core moves what that takes (sli_opcount_add_copies). Each part has two
 * elementwise operators and an all-reduce; these and the overheads of the engine are timed as in
 * pnorm.
 *
 * Roofline model: Williams, Waterman and Patterson 2009. Nothing of it was fitted to a measured
 * step: the shares are those of bf16 matrix products in large sizes, FLOPs in any format go by the
 * peak of bf16, experts are taken to be chosen evenly, and a class is one call. Real kernels for
 * few tokens and small experts are slower. Results are marked assumed.
 *
 * More tokens, rows or visible keys never make a step shorter; a longer context may, where it has
 * fewer visible keys (attention within chunks of the sequence).
 */
#ifndef SLUICE_COST_ROOFLINE_H
#define SLUICE_COST_ROOFLINE_H

#include "cost/memo.h"
#include "cost/subject.h"
#include "model/opcount.h"
#include "sluice/cost.h"

/* A part, and how many layers have it. */
typedef struct sli_roofline_part {
    const sli_part_facts *facts;
    double layers;
} sli_roofline_part;

/* The core of a mixer. */
typedef struct sli_roofline_core {
    double layers;
    double flop_ns; /* at the share of the peak: that of matrix products, or of a kernel */
    sli_core_count decodes;
    sli_core_count chunks;
} sli_roofline_core;

/* One instance a trial: it remembers terms of earlier steps. */
typedef struct sli_roofline_model {
    sli_cost_subject subject;
    sli_growth_list growths;
    sli_roofline_part *parts; /* mixers and feed-forwards, each once */
    sli_roofline_core *cores;
    size_t part_count;
    size_t core_count;
    double flop_ns; /* at the share of the peak */
    double byte_ns;
    sli_memo token_memo; /* by the tokens of the step */
    sli_memo head_memo;  /* by the emitting requests */
} sli_roofline_model;

/* sli_opcount_growths holds for the architecture. What it needs lives in the arena; fails only for
 * lack of memory. */
SL_NODISCARD sl_err sli_roofline_init(sli_arena *arena, const sli_cost_subject *subject,
                                      sli_roofline_model *model);

/* The interface on a model that outlives it. A step is O(different mixers), and O(different parts)
 * when its tokens are not remembered. */
sl_cost_model sli_roofline_interface(sli_roofline_model *model);

#endif
