/*
 * A line on the terminal that tells how far a run is.
 *
 * Floor cli. Shown only when stderr is a terminal; looks at the clock once in a thousand steps.
 */
#ifndef SLUICE_CLI_PROGRESS_H
#define SLUICE_CLI_PROGRESS_H

#include "sluice/probe.h"

#include <stdbool.h>

typedef struct sli_progress {
    bool is_shown; /* something stands on the line */
    double start_s;
    double last_s;
    int64_t steps;
    int64_t arrived;
    int64_t ended;
} sli_progress;

/* The probe borrows the struct. */
sl_probe sli_progress_probe(sli_progress *progress);

/* Clears the line. */
void sli_progress_end(sli_progress *progress);

/* Seconds on a clock that only runs forwards. */
double sli_wall_s(void);

#endif
