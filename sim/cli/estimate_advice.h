/*
 * What to do when requests do not fit.
 *
 * Floor cli. Lines of an estimate for people: another kernel, the fewest devices, the formats that
 * the model is published in.
 */
#ifndef SLUICE_CLI_ESTIMATE_ADVICE_H
#define SLUICE_CLI_ESTIMATE_ADVICE_H

#include "run/estimate.h"

#include <stdio.h>

/* For a query with a device and its estimate, that is not met. */
void sli_estimate_advise(FILE *file, const sli_estimate_query *query, const sli_estimate *estimate);

#endif
