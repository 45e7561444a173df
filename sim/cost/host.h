/*
 * What the serving engine adds to a step on the host.
 *
 * Floor cost. Pure functions, doubles in nanoseconds. The figures are those of vLLM on the device,
 * from replays of measured runs; the profile names its sources. Inline, as every step needs them.
 */
#ifndef SLUICE_COST_HOST_H
#define SLUICE_COST_HOST_H

#include "hw/device.h"

/* Of any step on so many ranks, a power of two: a step overhead, and more for each doubling. */
static inline double sli_host_step_ns(const sli_device *device, int64_t tp) {
    const sli_engine_figures *engine = &device->engine;
    double doublings = 0.0; /* log2 of tp, exactly */
    for (; tp > 1; tp /= 2) {
        doublings += 1.0;
    }
    return engine->step_ns.value + engine->log2_tp_ns.value * doublings;
}

/* Of the sequences in it. */
static inline double sli_host_sequences_ns(const sli_device *device, int64_t sequences) {
    return device->engine.sequence_ns.value * (double)sequences;
}

#endif
