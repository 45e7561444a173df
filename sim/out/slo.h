/*
 * The service level objective of a run, and whether one request meets it.
 *
 * Floor out. A request meets the objective when it finished, its first token came within ttft_ns,
 * and its time per output token is within tpot_ns. The comparison is exact, in integers. A request
 * of one token has only the first to meet; a rejected, aborted or unfinished one never does.
 */
#ifndef SLUICE_OUT_SLO_H
#define SLUICE_OUT_SLO_H

#include "sluice/probe.h"

#include <stdbool.h>
#include <stdint.h>

#define SLI_SLO_NONE INT64_C(-1)

typedef struct sli_slo {
    int64_t ttft_ns;        /* SLI_SLO_NONE = not asked for */
    int64_t tpot_ns;        /* SLI_SLO_NONE = not asked for */
    double attainment_frac; /* the share of requests that has to meet it; 0 = not asked for */
} sli_slo;

/* Whether anything is asked of a request at all. */
bool sli_slo_is_set(const sli_slo *slo);

/* O(1). With nothing asked for, every finished request meets it. */
bool sli_slo_is_met(const sli_slo *slo, const sl_request_record *record);

#endif
