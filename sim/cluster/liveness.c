#include "cluster/liveness.h"

#include "base/units.h"
#include "engine/audit.h"
#include "kv/layout_held.h"

static const sl_request *first_waiting(const sli_cluster *cluster, const sli_core *core) {
    const sl_request *own = sli_queue_first(&core->queue);
    return own != NULL ? own : sli_queue_first(&cluster->shared);
}

/* The replica that tells the story best: one that somebody waits for. */
static const sli_core *stuck_core(const sli_cluster *cluster) {
    for (uint32_t i = 0; i < cluster->config->replica_count; i++) {
        const sli_core *core = &cluster->replicas[i].domain.core;
        if (core->running > 0 || core->queue.count > 0) {
            return core;
        }
    }
    return &cluster->replicas[0].domain.core;
}

/* That a request holds in the end. */
static int64_t final_blocks(const sli_pool *pool, const sl_request *request) {
    const sli_layout *layout = pool->config.layout;
    int64_t tokens = sli_request_final_tokens(&request->desc);
    return layout != NULL ? sli_layout_request_pages(layout, request->desc.prompt_tokens, tokens)
                          : sli_pool_blocks_for(pool, tokens);
}

void sli_report_deadlock(sli_cluster *cluster) {
    const sli_core *core = stuck_core(cluster);
    const sl_request *waiting = first_waiting(cluster, core);
    double now_s = (double)cluster->world->loop.now_ns / 1e9;
    sli_said held = sli_say_number((double)sli_pool_held_blocks(&core->pool));
    sli_said pool = sli_say_number((double)core->pool.config.block_count);
    const char *unit = sli_layout_unit(core->pool.config.layout);
    if (waiting == NULL) {
        sli_world_fail(cluster->world, SL_ERR_LIVENESS,
                       "deadlock at %.9f s: replica %u holds %lld running requests (%s of %s "
                       "%s), and policy '%s' plans nothing for them",
                       now_s, core->index, (long long)core->running, held.text, pool.text, unit,
                       core->policy->policy.name);
        return;
    }
    sli_said need = sli_say_number((double)final_blocks(&core->pool, waiting));
    sli_world_fail(
        cluster->world, SL_ERR_LIVENESS,
        "deadlock at %.9f s: %lld requests are left and nothing can happen; replica %u: "
        "%lld running hold %s of %s %s, %lld wait, the first (request %u:%llu, "
        "%lld prompt tokens, up to %s %s) is not admitted by policy '%s'",
        now_s, (long long)cluster->live_count, core->index, (long long)core->running, held.text,
        pool.text, unit, (long long)sli_core_waiting(core), SL_REQUEST_SOURCE(waiting->id),
        (unsigned long long)SL_REQUEST_INDEX(waiting->id), (long long)waiting->desc.prompt_tokens,
        need.text, unit, core->policy->policy.name);
}

void sli_check_conservation(sli_cluster *cluster) {
    for (uint32_t i = 0; i < cluster->config->replica_count; i++) {
        const char *fault = sli_core_audit(&cluster->replicas[i].domain.core);
        if (fault != NULL) {
            sli_world_fail(cluster->world, SL_ERR_BUG, "replica %u: %s", i, fault);
        }
    }
}
