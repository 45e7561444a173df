#include "engine/core.h"

#include "base/check.h"
#include "engine/plan.h"

sl_err sli_core_init(sli_core *core, sli_world *world, uint32_t index,
                     const sli_engine_config *config, const sl_batch_policy *policy,
                     void *policy_self, sli_queue *shared) {
    sli_core fresh = {
        .plan = {.ops = &sli_plan_ops},
        .world = world,
        .index = index,
        .config = config,
        .policy = policy,
        .policy_self = policy_self,
        .queue = {.order = config->order},
        .shared = shared,
    };
    SL_TRY(sli_pool_init(&fresh.pool, &config->pool));
    *core = fresh;
    return SL_OK;
}

void sli_core_fini(sli_core *core) {
    SL_ASSERT(core->running == 0 && core->queue.count == 0);
    sli_queue_fini(&core->queue);
    sli_pool_fini(&core->pool);
}

void sli_core_seat(sli_core *core, sl_request *request) {
    request->previous = core->last_running;
    request->next = NULL;
    *(core->last_running != NULL ? &core->last_running->next : &core->first_running) = request;
    core->last_running = request;
    core->running++;
    request->state = SLI_REQUEST_RUNNING;
}

void sli_core_unseat(sli_core *core, sl_request *request, bool will_be_back) {
    (void)will_be_back;
    sli_context_release(&request->context, &core->pool);
    *(request->previous != NULL ? &request->previous->next : &core->first_running) = request->next;
    *(request->next != NULL ? &request->next->previous : &core->last_running) = request->previous;
    request->previous = NULL;
    request->next = NULL;
    request->planned_tokens = 0;
    core->running--;
}

static bool is_worse(const sl_request *a, const sl_request *b) {
    if (a->desc.priority != b->desc.priority) {
        return a->desc.priority > b->desc.priority;
    }
    return a->arrival_order > b->arrival_order;
}

sl_request *sli_core_victim(const sli_core *core) {
    if (core->config->victim == SLI_VICTIM_LAST) {
        return core->last_running;
    }
    sl_request *worst = core->first_running;
    for (sl_request *request = worst; request != NULL; request = request->next) {
        worst = is_worse(request, worst) ? request : worst;
    }
    return worst;
}

int64_t sli_core_waiting(const sli_core *core) {
    return core->queue.count + core->shared->count;
}
