#include "engine/core.h"

#include "base/check.h"
#include "engine/plan.h"

#include <stdlib.h>

/* The block of the group whose states are saved to be found again. */
static int64_t state_block_tokens(const sli_pool_config *pool) {
    int64_t block_tokens = 0;
    for (int i = 1; pool->has_index && pool->layout != NULL && i < pool->layout->group_count; i++) {
        const sli_group *group = &pool->layout->groups[i];
        block_tokens = group->kind == SLI_GROUP_STATE ? group->block_tokens : block_tokens;
    }
    return block_tokens;
}

sl_err sli_core_init(sli_core *core, sli_world *world, uint32_t index,
                     const sli_engine_config *config, const sl_batch_policy *policy,
                     void *policy_self, sli_queue *shared, const sl_cost_model *cost) {
    *core = (sli_core){
        .plan = {.ops = &sli_plan_ops},
        .world = world,
        .index = index,
        .config = config,
        .policy = policy,
        .policy_self = policy_self,
        .state_block_tokens = state_block_tokens(&config->pool),
        .queue = {.order = config->order},
        .shared = shared,
    };
    SL_TRY(sli_lockstep_init(&core->lockstep, &config->pool, cost));
    sl_err err = sli_pool_init(&core->pool, &config->pool);
    if (err != SL_OK) {
        sli_lockstep_fini(&core->lockstep);
    }
    return err;
}

void sli_core_fini(sli_core *core) {
    SL_ASSERT(core->running == 0 && core->queue.count == 0);
    sli_queue_fini(&core->queue);
    sli_lockstep_fini(&core->lockstep);
    sli_pool_fini(&core->pool);
    free(core->ripe);
}

/* ---- The list of loose requests, in the order of admission ---- */

/* Walks back from the end: those that leave the lockstep were admitted recently, if at all. */
static void link_loose(sli_core *core, sl_request *request) {
    sl_request *after = NULL;
    sl_request *before = core->last_loose;
    while (before != NULL && before->admit_order > request->admit_order) {
        after = before;
        before = before->previous_loose;
    }
    request->previous_loose = before;
    request->next_loose = after;
    *(before != NULL ? &before->next_loose : &core->first_loose) = request;
    *(after != NULL ? &after->previous_loose : &core->last_loose) = request;
}

static void unlink_loose(sli_core *core, sl_request *request) {
    sl_request *before = request->previous_loose;
    sl_request *after = request->next_loose;
    *(before != NULL ? &before->next_loose : &core->first_loose) = after;
    *(after != NULL ? &after->previous_loose : &core->last_loose) = before;
    request->previous_loose = NULL;
    request->next_loose = NULL;
}

/* ---- Seats ---- */

void sli_core_seat(sli_core *core, sl_request *request) {
    request->previous = core->last_running;
    request->next = NULL;
    *(core->last_running != NULL ? &core->last_running->next : &core->first_running) = request;
    core->last_running = request;
    core->running++;
    request->admit_order = core->admit_count++;
    request->state = SLI_REQUEST_RUNNING;
    link_loose(core, request);
}

void sli_core_unseat(sli_core *core, sl_request *request, bool will_be_back) {
    if (request->is_in_lockstep) {
        sli_lockstep_leave(&core->lockstep, request, &core->pool);
    } else {
        unlink_loose(core, request);
    }
    sli_context_release(&request->context, &core->pool, &request->content, will_be_back);
    *(request->previous != NULL ? &request->previous->next : &core->first_running) = request->next;
    *(request->next != NULL ? &request->next->previous : &core->last_running) = request->previous;
    request->previous = NULL;
    request->next = NULL;
    request->planned_tokens = 0;
    core->cancelled -= request->is_cancelled;
    core->running--;
}

sl_err sli_core_join_lockstep(sli_core *core, sl_request *request) {
    unlink_loose(core, request);
    return sli_lockstep_join(&core->lockstep, request);
}

void sli_core_leave_lockstep(sli_core *core, sl_request *request) {
    sli_lockstep_leave(&core->lockstep, request, &core->pool);
    link_loose(core, request);
}

/* ---- Whom a shortage throws out ---- */

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
