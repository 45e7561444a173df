/*
 * How a model is cut over the ranks of one replica.
 *
 * Floor model. Tensor parallelism so far: heads, feed-forward width and vocabulary are shared out
 * evenly, every rank holds all layers.
 */
#ifndef SLUICE_MODEL_PARALLEL_H
#define SLUICE_MODEL_PARALLEL_H

#include "model/architecture.h"

#define SLI_TP_COUNT 4

/* The degrees there are cost coefficients for: 1, 2, 4, 8. */
extern const int64_t sli_tp_degrees[SLI_TP_COUNT];

/* Whether tp is one of the degrees and divides heads and feed-forward width. */
bool sli_parallel_divides(const sli_architecture *architecture, int64_t tp);

/* The same for a user: says what is wrong with tp at the place where it was written. */
SL_NODISCARD sl_err sli_parallel_check(const sli_architecture *architecture, int64_t tp,
                                       sli_mark mark, const char *key, sli_diag *diag);

#endif
