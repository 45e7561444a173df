/*
 * A history: a probe that keeps everything that a run reports.
 *
 * For laws about single requests and single steps. Requests are those of one source; the record of
 * request i lies at records[i]. The caller owns the struct; running out of memory fails the test.
 */
#ifndef SLUICE_TESTS_LAW_HISTORY_H
#define SLUICE_TESTS_LAW_HISTORY_H

#include "sluice/probe.h"

#include <stddef.h>

/* Zeroed is valid and empty. */
typedef struct sli_history {
    sl_transition *transitions;
    size_t transition_count;
    size_t transition_capacity;
    sl_step_record *steps;
    size_t step_count;
    size_t step_capacity;
    sl_request_record *records; /* by index */
    size_t record_count;        /* terminal records heard */
    size_t record_capacity;
    int64_t gap_count;
    int64_t gap_sum_ns;
} sli_history;

/* The probe borrows the history. */
sl_probe sli_history_probe(sli_history *history);

void sli_history_fini(sli_history *history);

#endif
