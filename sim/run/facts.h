/*
 * The facts of a run, gathered from its scenario, its deployment and what came out.
 *
 * Floor run. All texts live in the arena of the scenario file.
 */
#ifndef SLUICE_RUN_FACTS_H
#define SLUICE_RUN_FACTS_H

#include "out/facts.h"
#include "out/metrics.h"
#include "run/deployment.h"
#include "run/trial.h"

/* A run that computes more than this share of its tokens again is said to thrash. */
#define SLI_THRASH_FRAC 0.20

/* A run with at least this share of its requests, and so many, waiting at the end of the arrivals
 * is said to be overloaded. */
#define SLI_OVERLOAD_FRAC     0.05
#define SLI_OVERLOAD_REQUESTS 50

/* What the facts are gathered from; all borrowed. */
typedef struct sli_facts_input {
    sli_scenario_file *file;
    const sli_deployment *deployment;
    const sli_trial_result *result;
    const sli_metrics *metrics;
    const sli_diag *diag; /* warnings of reading */
    uint64_t digest;
} sli_facts_input;

SL_NODISCARD sl_err sli_facts_gather(const sli_facts_input *input, sli_run_facts *facts);

#endif
