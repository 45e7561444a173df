/*
 * How long an operator takes on a device.
 *
 * Floor cost. Each form is an overhead and a p-norm of what the work would take at a share of the
 * device's peaks: pnorm(a, b, p) = (a^p + b^p)^(1/p), a smooth maximum for large p and a sum for
 * p = 1. The figures are fits to measured kernels; the profile names their sources. Pure functions,
 * doubles in nanoseconds; an operator without work takes 0.
 */
#ifndef SLUICE_COST_OPERATORS_H
#define SLUICE_COST_OPERATORS_H

#include "hw/device.h"
#include "model/opcount.h"

/* (a^p + b^p)^(1/p) for a, b >= 0 and p > 0. */
double sli_pnorm(double a, double b, double p);

/* overhead + pnorm(FLOPs, bytes); 0 without rows. */
double sli_gemm_ns(const sli_device *device, const sli_gemm *gemm);

/*
 * overhead + pnorm(pnorm(tile FLOPs, critical FLOPs on one SM; r), bytes; p). The critical term is
 * what makes a small chunk over a long past slow: too few thread blocks for the device.
 */
double sli_prefill_ns(const sli_device *device, const sli_prefill_work *work);

/*
 * overhead + longest row + bytes + rows x heads, added up. In a CUDA graph, that is in a step
 * without prefill, overhead and the last term shrink.
 */
double sli_decode_ns(const sli_device *device, const sli_decode_work *work, bool is_in_graph);

/* overhead + bytes; 0 without bytes. */
double sli_elementwise_ns(const sli_device *device, double bytes);

#endif
