/*
 * Attribution: whose time a step was, and what it went into.
 *
 * Floor engine. A request that computes has two kinds of time. Its own: for a decode row, the step
 * as it would have been without prefill chunks; for a chunk, a step with that chunk alone; never
 * more than the step lasted. The rest of the time is interference by others. Own time is split by
 * cause in whole nanoseconds that add up exactly.
 */
#ifndef SLUICE_ENGINE_ATTRIBUTION_H
#define SLUICE_ENGINE_ATTRIBUTION_H

#include "sluice/cost.h"

/* Own time by cause. */
typedef struct sli_own {
    int64_t cause_ns[SL_CAUSE_COUNT];
} sli_own;

/*
 * The own time of a step that would cost `alone` but lasted step_ns: min(alone, step_ns), split in
 * the proportions of `alone` by largest remainder; ties go to the earlier cause. With nothing to
 * go by, and beyond three days, where doubles lose nanoseconds, it is all the engine's.
 */
void sli_own_split(const sl_step_cost *alone, int64_t step_ns, sli_own *own);

static inline void sli_own_add(sli_own *sum, const sli_own *own) {
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        sum->cause_ns[i] += own->cause_ns[i];
    }
}

static inline void sli_own_subtract(sli_own *sum, const sli_own *own) {
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        sum->cause_ns[i] -= own->cause_ns[i];
    }
}

int64_t sli_own_total(const sli_own *own);

#endif
