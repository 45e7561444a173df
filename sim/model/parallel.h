/*
 * What can be cut over the ranks of one replica, and how.
 *
 * Floor model. One rule for all: what an engine could place (model/placement.h). Runs have tensor
 * parallelism of a few degrees, all else can be counted. Must not know devices or memory. O(layer
 * runs x degrees tried).
 */
#ifndef SLUICE_MODEL_PARALLEL_H
#define SLUICE_MODEL_PARALLEL_H

#include "model/architecture.h"
#include "model/placement.h"

#define SLI_TP_COUNT 4

/* The degrees there are cost coefficients for: 1, 2, 4, 8. */
extern const int64_t sli_tp_degrees[SLI_TP_COUNT];

/*
 * Whether a model can lie so, by the rules of vLLM (config/model.py, distributed/utils.py,
 * fused_moe/layer.py; November 2026): tp divides the heads of queries and the columns of
 * feed-forwards, and divides or is divided by what there is less of; a stage has a layer; ep
 * divides the ranks of a stage, is not more than the experts, and leaves their columns cut evenly.
 */
bool sli_parallel_can_place(const sli_architecture *architecture, const sli_placement *placement);

/* The same for a user: what is wrong, and the nearest degrees that are right (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_parallel_check_placement(const sli_architecture *architecture,
                                                 const sli_placement *placement, sli_diag *diag);

/* Whether a run can have so many ranks: tp is one of the degrees, and a placement. */
bool sli_parallel_can_run(const sli_architecture *architecture, int64_t tp);

/* The same for a user: says what is wrong with tp at the place where it was written, and which
 * degrees are right. */
SL_NODISCARD sl_err sli_parallel_check(const sli_architecture *architecture, int64_t tp,
                                       sli_mark mark, const char *key, sli_diag *diag);

/* Whether so many ranks have equal parts of every matrix and copy nothing. */
bool sli_parallel_is_even(const sli_architecture *architecture, int64_t tp);

#endif
