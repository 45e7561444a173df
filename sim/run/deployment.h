/*
 * A deployment: a scenario turned into the parts that a trial runs.
 *
 * Floor run. Everything that can be refused is refused here, before anything is simulated or
 * written: an unknown model, memory that does not suffice, policies that exclude each other.
 */
#ifndef SLUICE_RUN_DEPLOYMENT_H
#define SLUICE_RUN_DEPLOYMENT_H

#include "cluster/cluster.h"
#include "run/scenario.h"

typedef struct sli_deployment {
    const sli_architecture *architecture;
    const sli_device *device;
    const sli_layout *layout; /* in the arena of the file */
    sli_budget budget;
    sli_cluster_config cluster; /* without source */
    void **batch_selves;
    sli_cost_choice cost;
    const char *assumed[SLI_ASSUMED_MAX]; /* terms that were not measured */
    size_t assumed_count;
} sli_deployment;

/*
 * Builds it; the file outlives it. All mistakes go to diag: SL_ERR_CONFIG, or SL_ERR_FIT when
 * memory is all that is wrong. Destroy it in any case.
 */
SL_NODISCARD sl_err sli_deployment_create(sli_scenario_file *file, sli_diag *diag,
                                          sli_deployment *deployment);

void sli_deployment_destroy(sli_deployment *deployment);

/* The source that the scenario names, which the caller destroys. Reads traces. */
SL_NODISCARD sl_err sli_deployment_source(sli_scenario_file *file, sli_diag *diag,
                                          sl_source *source);

#endif
