/*
 * The step: what a plan costs, and what it changes when its time is over.
 *
 * Floor engine. Between the two nothing of the plan can change.
 */
#ifndef SLUICE_ENGINE_STEP_H
#define SLUICE_ENGINE_STEP_H

#include "engine/core.h"
#include "sluice/cost.h"

/* Told of every request that ends in a step; it must forget the request before it destroys it. */
typedef struct sli_listener {
    void (*ended)(void *self, sl_request *request);
    void *self;
} sli_listener;

/* Sums the plan of a core up for a cost model. O(running). */
void sli_core_shape(const sli_core *core, const sl_cost_model *model, sl_batch_shape *shape);

/* Every request of the plan learns its own time of a step that lasts so long. O(running). */
void sli_core_attribute(sli_core *core, const sl_cost_model *model, int64_t step_ns);

/*
 * Applies the finished step. First all requests compute, and windows give back what they have
 * passed: contents that others may find in running order, then all others. Then, in running order,
 * tokens come out, and those that are complete or cancelled leave and are handed to the listener.
 * O(running).
 */
void sli_core_advance(sli_core *core, const sli_listener *listener);

#endif
