/*
 * A trial: one deployment, one source, one seed, from the first arrival to the end.
 *
 * Floor run. A pure function of its arguments: it reads no clock, no environment and no file, and
 * any number of trials may run in one process.
 */
#ifndef SLUICE_RUN_TRIAL_H
#define SLUICE_RUN_TRIAL_H

#include "cluster/cluster.h"

typedef struct sli_trial {
    const sli_cluster_config *cluster; /* with source */
    uint64_t seed;
    int64_t until_ns;      /* stop there, as planned; SLI_NEVER = when drained */
    int64_t time_limit_ns; /* stop there, as an accident */
    const sl_probe *probes;
    size_t probe_count;
    const volatile int *interrupt; /* becomes non-zero to stop early; or NULL */
} sli_trial;

typedef struct sli_trial_result {
    /* SL_OK, SL_ERR_STOPPED (results are partial), SL_ERR_LIVENESS (a verdict, partial too), or a
     * failure without results: SL_ERR_POLICY, SL_ERR_BUG, SL_ERR_NOMEM. */
    sl_err status;
    char text[SLI_FAULT_CHARS]; /* why, if not SL_OK */
    int64_t end_ns;             /* simulated */
    int64_t too_long_count; /* rejected requests that pass max_model_len; the others, the cache */
    bool has_prefix_ids;    /* a request said what its prompt shares with others */
} sli_trial_result;

/* Runs to the end; answers result->status. */
sl_err sli_trial_run(const sli_trial *trial, sli_trial_result *result);

#endif
