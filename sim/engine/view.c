/* What a policy may see of a core. Nothing here changes anything. */
#include "engine/plan.h"

static const sli_core *core_of(const sl_plan *plan) {
    return (const sli_core *)plan;
}

void sli_plan_view(const sl_plan *plan, sl_plan_view *view) {
    const sli_core *core = core_of(plan);
    *view = (sl_plan_view){
        .now_ns = core->world->loop.now_ns,
        .running = core->running,
        .prefilling = core->running - core->state.decoding,
        .waiting = sli_core_waiting(core),
        .seats_left = core->config->max_seqs - core->running,
        .budget_left = core->state.budget_left,
        .planned_tokens = core->state.planned_tokens,
        .free_blocks = core->pool.free_blocks,
        .pool_blocks = core->pool.config.block_count,
        .has_preempted = core->state.preempted > 0,
    };
}

static void view_loose(const sl_request *request, sl_request_view *view) {
    view->generated_tokens = request->record.generated_tokens;
    view->computed_tokens = request->computed_tokens;
    view->planned_tokens = request->planned_tokens;
    view->pending_tokens = sli_request_pending(request);
    view->held_blocks = request->context.held_blocks;
}

static void view_member(const sli_core *core, const sl_request *request, sl_request_view *view) {
    bool is_taken = core->state.lockstep_bulk || request->planned_tokens > 0;
    int64_t steps = core->lockstep.step - request->joined_step;
    view->generated_tokens = request->record.generated_tokens + steps;
    view->computed_tokens = request->computed_tokens + steps;
    view->planned_tokens = is_taken;
    view->pending_tokens = !is_taken;
    view->held_blocks = sli_context_held_at(&request->context, &core->pool, view->computed_tokens,
                                            view->computed_tokens + is_taken);
}

void sli_plan_request(const sl_plan *plan, const sl_request *request, sl_request_view *view) {
    const sli_core *core = core_of(plan);
    if (request == NULL) {
        *view = (sl_request_view){0};
        return;
    }
    int64_t room_tokens = core->config->max_model_tokens - request->desc.prompt_tokens;
    bool has_limit = request->desc.max_tokens > 0 && request->desc.max_tokens < room_tokens;
    *view = (sl_request_view){
        .id = request->id,
        .arrival_ns = request->record.arrival_ns,
        .priority = request->desc.priority,
        .prompt_tokens = request->desc.prompt_tokens,
        .max_tokens = has_limit ? request->desc.max_tokens : room_tokens,
    };
    if (request->is_in_lockstep) {
        view_member(core, request, view);
    } else {
        view_loose(request, view);
    }
}

sli_hit sli_core_hit(const sli_core *core, const sl_request *waiting) {
    /* The last token is always computed: a step that computes nothing could emit nothing. */
    return sli_context_lookup(&waiting->context, &core->pool, &waiting->content,
                              waiting->known_tokens - 1);
}

int64_t sli_plan_cached_tokens(const sl_plan *plan, const sl_request *waiting) {
    const sli_core *core = core_of(plan);
    if (waiting == NULL) {
        return 0;
    }
    return sli_core_hit(core, waiting).blocks * core->pool.config.block_tokens;
}

sl_request *sli_plan_first_running(const sl_plan *plan) {
    return core_of(plan)->first_running;
}

sl_request *sli_plan_next_running(const sl_plan *plan, const sl_request *request) {
    (void)plan;
    return request != NULL ? request->next : NULL;
}

sl_request *sli_plan_last_running(const sl_plan *plan) {
    return core_of(plan)->last_running;
}

/* Its own queue first, then the shared one. */
sl_request *sli_plan_first_waiting(const sl_plan *plan) {
    const sli_core *core = core_of(plan);
    sl_request *own = sli_queue_first(&core->queue);
    return own != NULL ? own : sli_queue_first(core->shared);
}

sl_request *sli_plan_next_waiting(const sl_plan *plan, const sl_request *request) {
    const sli_core *core = core_of(plan);
    if (request == NULL) {
        return NULL;
    }
    sl_request *next = sli_queue_next(request->home, request);
    bool goes_on = next == NULL && request->home == &core->queue;
    return goes_on ? sli_queue_first(core->shared) : next;
}

sl_request *sli_plan_victim(const sl_plan *plan) {
    return sli_core_victim(core_of(plan));
}
