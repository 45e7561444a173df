/*
 * Arrivals written as a trace that sluice replays request by request.
 *
 * Part workloads. One line an arrival, in the order of arrival; the reader is sli_sluice_read. Ids
 * are written as they are: arrivals of sources with different scopes belong in different files.
 */
#ifndef WORKLOADS_EXPORT_H
#define WORKLOADS_EXPORT_H

#include "sluice/workload.h"

#include <stdio.h>

/* SL_ERR_IO if the stream is in error afterwards. O(ids). */
SL_NODISCARD sl_err sli_export_arrival(FILE *file, int64_t at_ns, const sl_request_desc *desc);

#endif
