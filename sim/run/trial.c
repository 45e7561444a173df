#include "run/trial.h"

#include "base/minmax.h"

#include <stdio.h>

static sl_err fail(sli_trial_result *result, sl_err status, const char *text) {
    result->status = status;
    snprintf(result->text, sizeof result->text, "%s", text);
    return status;
}

static void judge(const sli_trial *trial, const sli_world *world, sli_loop_end end,
                  sli_trial_result *result) {
    if (world->fault != SL_OK) {
        fail(result, world->fault, world->fault_text);
    } else if (end == SLI_LOOP_STOPPED) {
        fail(result, SL_ERR_STOPPED, "interrupted");
    } else if (end == SLI_LOOP_HORIZON && trial->time_limit_ns < trial->until_ns) {
        fail(result, SL_ERR_STOPPED, "run.time_limit was reached");
    }
}

sl_err sli_trial_run(const sli_trial *trial, sli_trial_result *result) {
    *result = (sli_trial_result){0};
    sli_world world;
    if (sli_world_init(&world, trial->seed, trial->probes, trial->probe_count) != SL_OK) {
        return fail(result, SL_ERR_NOMEM, "out of memory");
    }
    world.loop.interrupt = trial->interrupt;
    sli_cluster cluster;
    if (sli_cluster_init(&cluster, &world, trial->cluster) != SL_OK) {
        sli_world_fini(&world);
        return fail(result, SL_ERR_NOMEM, "out of memory for the KV cache of the replicas");
    }
    int64_t horizon_ns = sli_min_i64(trial->until_ns, trial->time_limit_ns);
    sli_loop_end end = sli_loop_run(&world.loop, horizon_ns);
    if (end == SLI_LOOP_HORIZON) {
        world.loop.now_ns = horizon_ns;
    }
    sli_cluster_close(&cluster, end == SLI_LOOP_DRAINED && world.fault == SL_OK);
    judge(trial, &world, end, result);
    result->end_ns = world.loop.now_ns;
    result->too_long_count = cluster.too_long_count;
    result->has_prefix_ids = cluster.has_prefix_ids;
    sli_cluster_fini(&cluster);
    sli_world_fini(&world);
    return result->status;
}
