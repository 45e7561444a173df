/*
 * The small sums beside `sluice estimate MODEL`: `sluice estimate NAME ...`.
 *
 * Floor cli. Each is one file that ends in one constant of this type: it reads its arguments, calls
 * pure functions of lower floors, and prints for people or as JSON.
 */
#ifndef SLUICE_CLI_ESTIMATORS_H
#define SLUICE_CLI_ESTIMATORS_H

#include "sluice/param.h"

#include <stdbool.h>

typedef struct sli_estimator {
    const char *name;
    int (*run)(int argc, char **argv); /* what follows the name; answers the exit code */
} sli_estimator;

extern const sli_estimator sli_estimator_rounding;
extern const sli_estimator sli_estimator_draft;
extern const sli_estimator sli_estimator_entries;

/* The estimator of a name, or NULL. */
const sli_estimator *sli_estimator_find(const char *name);

/* For estimators: reads the value of an option, which must lie between low and high. A text that is
 * NULL leaves the target as it is. False after a message that says what the option needs. */
typedef struct sli_estimator_need {
    const char *option; /* as "estimate draft: --block" */
    const char *need;   /* as "a number of candidates from 1 to 256" */
    sl_dim dim;
    double low;
    double high;
} sli_estimator_need;

bool sli_estimator_read_int(const sli_estimator_need *need, const char *text, int64_t *target);
bool sli_estimator_read_real(const sli_estimator_need *need, const char *text, double *target);

/* As `a,b,c`, at most `limit` of them. */
bool sli_estimator_read_list(const sli_estimator_need *need, const char *text, double *values,
                             size_t limit, size_t *count);

#endif
