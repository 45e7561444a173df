/*
 * An estimate for people and for programs.
 *
 * Floor cli. The table has a figure a line: its name, its size as it reads best, its bytes, and
 * what there is to say about it. At most 100 columns.
 */
#ifndef SLUICE_CLI_ESTIMATE_PRINT_H
#define SLUICE_CLI_ESTIMATE_PRINT_H

#include "out/json.h"
#include "run/estimate.h"

void sli_estimate_print(FILE *file, const sli_estimate_query *query, const sli_estimate *estimate);

/* One object, with the query in it. */
void sli_estimate_print_json(sli_json *json, const char *key, const sli_estimate_query *query,
                             const sli_estimate *estimate);

/* The same of a query that cannot be answered: why not, as a sentence without a full stop. */
void sli_estimate_print_refusal(sli_json *json, const sli_estimate_query *query,
                                const char *refusal);

#endif
