/*
 * A run: a scenario from its parts to its written results.
 *
 * Floor run. Refuses before it simulates, simulates before it writes results under their final
 * name: an output directory either holds a whole result or does not exist.
 */
#ifndef SLUICE_RUN_EXECUTE_H
#define SLUICE_RUN_EXECUTE_H

#include "run/facts.h"

typedef struct sli_execution {
    /* in */
    sli_scenario_file *file;
    bool replaces;                 /* an earlier result, or an earlier export */
    const sl_probe *watcher;       /* one more listener, or NULL */
    const volatile int *interrupt; /* becomes non-zero to stop early, or NULL */
    /* out, valid until sli_execution_fini if has_results */
    bool has_results; /* SL_OK, SL_ERR_STOPPED and SL_ERR_LIVENESS have some */
    sli_trial_result result;
    sli_metrics metrics;
    sli_run_facts facts;
    /* inside */
    sli_deployment deployment;
    sli_collector collector;
} sli_execution;

/* Builds the deployment and reads the workload, and no more: what `sluice check` does. */
SL_NODISCARD sl_err sli_execution_check(sli_scenario_file *file, sli_diag *diag);

/*
 * Runs and writes. Zero the struct and fill the part `in` before. The answer is the status of the
 * trial, or why there was none; mistakes and failures of writing are in diag. Call
 * sli_execution_fini in any case.
 */
SL_NODISCARD sl_err sli_execution_run(sli_execution *execution, sli_diag *diag);

void sli_execution_fini(sli_execution *execution);

#endif
