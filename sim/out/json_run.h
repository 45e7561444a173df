/*
 * A run as one JSON object: the facts, the metrics by name, and their counts.
 *
 * Floor out. Keys carry units and match the names in the database. `metrics` maps a name to its
 * value and `counts` the same name to its n. The wall time is left out, so that equal runs give
 * equal bytes.
 */
#ifndef SLUICE_OUT_JSON_RUN_H
#define SLUICE_OUT_JSON_RUN_H

#include "out/facts.h"
#include "out/metrics.h"
#include "sluice/err.h"

#include <stdio.h>

/* SL_ERR_IO when the stream failed. */
SL_NODISCARD sl_err sli_json_run_write(FILE *file, const sli_run_facts *facts,
                                       const sli_metrics *metrics);

#endif
