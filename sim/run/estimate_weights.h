/*
 * What the weights of a query weigh, in the formats that it asks for.
 *
 * Floor run. Part of estimate.h: model/placement.h in the formats of a query.
 * Must not know devices. No memory; O(layer runs).
 */
#ifndef SLUICE_RUN_ESTIMATE_WEIGHTS_H
#define SLUICE_RUN_ESTIMATE_WEIGHTS_H

#include "run/estimate.h"

/* Bytes on a rank of a stage. */
int64_t sli_estimate_weights_bytes(const sli_estimate_query *query, const sli_placement *placement,
                                   int64_t stage);

/* Bytes that a decode step of all requests is expected to touch, of one rank of each stage. */
double sli_estimate_touched_bytes(const sli_estimate_query *query, const sli_placement *placement);

#endif
