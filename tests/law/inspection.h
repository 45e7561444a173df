/*
 * A simulation that can be looked into: at the end of each step, before anything of it is booked.
 *
 * For laws about what the parts of a replica hold, which no probe is told.
 */
#ifndef SLUICE_TESTS_LAW_INSPECTION_H
#define SLUICE_TESTS_LAW_INSPECTION_H

#include "simulation.h"

/* What a look sees: the plan of the step stands in the core, its blocks are taken. */
typedef struct sli_sight {
    const sl_step_record *step;
    sli_core *core;
    const sli_layout *layout;
} sli_sight;

typedef struct sli_inspection {
    void (*look)(void *self, const sli_sight *sight);
    void *self;
} sli_inspection;

/* As sli_simulation_run, but without facts: what it leaves are deployment, result and metrics. The
 * watcher may be NULL. */
void sli_simulation_run_inspected(sli_simulation *simulation, const sli_inspection *inspection,
                                  const sl_probe *watcher);

/* Tokens of a running request that were computed before the step, and that the step computes. */
int64_t sli_sight_computed(const sli_sight *sight, const sl_request *request);
int64_t sli_sight_planned(const sli_sight *sight, const sl_request *request);

#endif
