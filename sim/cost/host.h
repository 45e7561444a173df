/*
 * What the serving engine adds to a step on the host.
 *
 * Floor cost. Pure functions, doubles in nanoseconds. The figures are those of vLLM on the device,
 * from replays of measured runs; the profile names its sources.
 */
#ifndef SLUICE_COST_HOST_H
#define SLUICE_COST_HOST_H

#include "hw/device.h"

/* Of any step on so many ranks, a power of two: a step overhead, and more for each doubling. */
double sli_host_step_ns(const sli_device *device, int64_t tp);

/* Of the sequences in it. */
double sli_host_sequences_ns(const sli_device *device, int64_t sequences);

#endif
