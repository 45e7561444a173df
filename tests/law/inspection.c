#include "inspection.h"

#include "kernel/time.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct inspector {
    const sli_inspection *inspection;
    sli_cluster *cluster;
} inspector;

static void look(void *self, const sl_step_record *step) {
    const inspector *it = self;
    sli_sight sight = {
        .step = step,
        .core = &it->cluster->replicas[step->replica].domain.core,
        .layout = it->cluster->config->engine.pool.layout,
    };
    it->inspection->look(it->inspection->self, &sight);
}

int64_t sli_sight_computed(const sli_sight *sight, const sl_request *request) {
    return request->is_in_lockstep ? sli_lockstep_computed(&sight->core->lockstep, request)
                                   : request->computed_tokens;
}

int64_t sli_sight_planned(const sli_sight *sight, const sl_request *request) {
    bool is_in_bulk = request->is_in_lockstep && sight->core->state.lockstep_bulk;
    return is_in_bulk ? 1 : request->planned_tokens;
}

/* As run/trial.c does it, which keeps the cluster to itself. */
static void run_cluster(sli_simulation *simulation, inspector *it, const sl_probe *probes,
                        size_t probe_count) {
    sli_execution *execution = &simulation->execution;
    sli_world world;
    sli_cluster cluster;
    it->cluster = &cluster;
    assert_int_equal(
        sli_world_init(&world, (uint64_t)simulation->file.values.seed, probes, probe_count), SL_OK);
    assert_int_equal(sli_cluster_init(&cluster, &world, &execution->deployment.cluster), SL_OK);
    assert_int_equal(sli_loop_run(&world.loop, SLI_NEVER), SLI_LOOP_DRAINED);
    sli_cluster_close(&cluster, world.fault == SL_OK);
    if (world.fault != SL_OK) {
        fail_msg("%s", world.fault_text);
    }
    execution->result = (sli_trial_result){
        .end_ns = world.loop.now_ns,
        .too_long_count = cluster.too_long_count,
        .has_prefix_ids = cluster.has_prefix_ids,
    };
    sli_cluster_fini(&cluster);
    sli_world_fini(&world);
}

void sli_simulation_run_inspected(sli_simulation *simulation, const sli_inspection *inspection,
                                  const sl_probe *watcher) {
    static const sl_probe_ops ops = {.step = look};
    sli_scenario_file *file = &simulation->file;
    sli_execution *execution = &simulation->execution;
    sl_source source = {0};
    assert_int_equal(sli_deployment_create(file, &simulation->diag, &execution->deployment), SL_OK);
    assert_int_equal(sli_deployment_source(file, &simulation->diag, &source), SL_OK);
    execution->deployment.cluster.source = source;
    sli_collector_options options = {
        .replica_count = execution->deployment.cluster.replica_count,
        .slo = file->values.slo,
    };
    assert_int_equal(sli_collector_init(&execution->collector, &options), SL_OK);
    inspector it = {.inspection = inspection};
    sl_probe probes[3] = {sli_collector_probe(&execution->collector), {.ops = &ops, .self = &it}};
    size_t probe_count = 2;
    if (watcher != NULL) {
        probes[probe_count++] = *watcher;
    }
    run_cluster(simulation, &it, probes, probe_count);
    assert_int_equal(sli_metrics_make(&execution->collector, &execution->metrics), SL_OK);
    source.ops->destroy(source.self);
}
