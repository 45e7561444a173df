/*
 * What the measured operators cover: the domain of pnorm, and what a subject has outside of it.
 *
 * Floor cost. Pure functions of the subject. O(parts x layer runs).
 */
#ifndef SLUICE_COST_FITTED_H
#define SLUICE_COST_FITTED_H

#include "base/arena.h"
#include "cost/subject.h"

/* Formats of the measured operators. */
extern const sli_weight_format *const sli_fitted_weights;
extern const sli_cache_format *const sli_fitted_cache;

/* Whether all operators of the subject are of a sort that was measured. */
bool sli_is_fitted(const sli_cost_subject *subject);

/* What is not, as `layers dsa (mla), moe; weights in fp8`; "" when sli_is_fitted. In the arena;
 * NULL when memory is out. */
const char *sli_unfitted_text(sli_arena *arena, const sli_cost_subject *subject);

#endif
