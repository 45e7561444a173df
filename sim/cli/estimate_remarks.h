/*
 * What a user should know about an estimate besides its figures.
 *
 * Floor cli. Settings that change nothing, lengths that the model was not made for: sentences
 * without a full stop, for people and for programs alike.
 */
#ifndef SLUICE_CLI_ESTIMATE_REMARKS_H
#define SLUICE_CLI_ESTIMATE_REMARKS_H

#include "run/estimate.h"

enum { SLI_REMARKS_MAX = 4 };

typedef struct sli_remarks {
    char texts[SLI_REMARKS_MAX][160];
    size_t count;
} sli_remarks;

sli_remarks sli_estimate_remarks(const sli_estimate_query *query);

#endif
