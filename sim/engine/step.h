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

/* The plan of a core, summed up for the cost model. */
typedef struct sli_step_shape {
    sl_batch_shape whole;
    int64_t emitting_chunks; /* chunks among whole.emitting */
} sli_step_shape;

/* O(loose requests). */
void sli_core_shape(const sli_core *core, sli_step_shape *shape);

/*
 * What the planned step costs; *decode_own is the own time of each decode row in it, and every
 * loose request in it learns its own time. O(loose requests).
 */
void sli_core_cost(sli_core *core, const sl_cost_model *model, const sli_step_shape *shape,
                   sl_step_cost *cost, sli_own *decode_own);

/*
 * Applies the finished step: windows give back what they have passed, contents that others may find
 * in running order, then all others; tokens come out, in running order; requests that are complete
 * or cancelled leave and are handed to the listener. `decode_own` is that of sli_core_cost. O(loose
 * requests + finishes log running).
 */
void sli_core_advance(sli_core *core, const sli_own *decode_own, const sli_listener *listener);

#endif
