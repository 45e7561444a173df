/*
 * How long a collective among the ranks of a replica takes.
 *
 * Floor cost. Pure functions, doubles in nanoseconds.
 */
#ifndef SLUICE_COST_COLLECTIVES_H
#define SLUICE_COST_COLLECTIVES_H

#include "hw/device.h"

/*
 * All-reduce of a message of so many bytes: overhead + g sqrt(bytes) + bytes 2 (n - 1) / n over a
 * share of the link. The root fits the bend between latency and bandwidth, where a straight line is
 * off by 6-18 % in the median. 0 with one rank or no bytes.
 */
double sli_all_reduce_ns(const sli_device *device, int64_t ranks, double bytes);

#endif
