#include "engine/domain.h"

#include "base/minmax.h"
#include "engine/plan.h"
#include "kernel/time.h"

/*
 * A replica that repeats old work for so long will do so for ever: recomputing everything that its
 * pool can hold, token by token, takes fewer steps.
 */
static int64_t stall_limit_steps(const sli_core *core) {
    const sli_pool *pool = &core->pool;
    int64_t blocks = pool->config.block_count / sli_max_i64(1, pool->block_pages);
    return 10000 + 4 * pool->config.block_tokens * blocks;
}

static void mark_on_change(void *listener) {
    sli_domain_mark(listener);
}

sl_err sli_domain_init(sli_domain *domain, sli_world *world, uint32_t index,
                       const sli_engine_config *config, const sl_batch_policy *policy,
                       void *policy_self, sli_queue *shared, sl_cost_model cost,
                       sli_listener listener) {
    *domain = (sli_domain){.cost = cost, .listener = listener};
    SL_TRY(sli_core_init(&domain->core, world, index, config, policy, policy_self, shared,
                         &domain->cost));
    domain->core.queue.changed = mark_on_change;
    domain->core.queue.listener = domain;
    return SL_OK;
}

void sli_domain_fini(sli_domain *domain) {
    sli_core_fini(&domain->core);
}

/* Posts an event, or ends the run when memory is out. */
static void post(sli_domain *domain, int64_t at_ns, sli_event_class class, sli_event_fn *fire,
                 sli_event_handle *handle) {
    sli_world *world = domain->core.world;
    if (sli_evq_post(world->loop.events, at_ns, class, domain->core.index, fire, domain, handle) !=
        SL_OK) {
        sli_world_fail(world, SL_ERR_NOMEM, "out of memory for events");
    }
}

/* ---- The cycle: plan, step, end ---- */

static void check_progress(const sli_core *core) {
    if (core->stalled_steps > stall_limit_steps(core)) {
        sli_world_fail(core->world, SL_ERR_LIVENESS,
                       "livelock: replica %u has repeated old work for %lld steps, no request got "
                       "further (%lld running, %lld waiting)",
                       core->index, (long long)core->stalled_steps, (long long)core->running,
                       (long long)sli_core_waiting(core));
    }
}

static void end_step(void *subject, int64_t now_ns) {
    sli_domain *domain = subject;
    (void)now_ns;
    domain->is_stepping = false;
    const sli_own *decode_own = sli_jump_finish(&domain->jump, &domain->core);
    sli_core_advance(&domain->core, decode_own, &domain->listener);
    check_progress(&domain->core);
    sli_domain_mark(domain);
}

static void begin_step(sli_domain *domain, int64_t now_ns) {
    sli_jump_begin(&domain->jump, &domain->core, &domain->cost, now_ns);
    domain->is_stepping = true;
    post(domain, sli_jump_end(&domain->jump), SLI_EVENT_STEP_END, end_step, &domain->step_event);
}

static void wake_up(void *subject, int64_t now_ns) {
    (void)now_ns;
    sli_domain_mark(subject);
}

static void plan_step(void *subject, int64_t now_ns) {
    sli_domain *domain = subject;
    sli_core *core = &domain->core;
    sli_evq_cancel(core->world->loop.events, domain->wake_event);
    domain->is_planning = true;
    sli_core_plan(core);
    domain->is_planning = false;
    if (core->world->fault != SL_OK) {
        return;
    }
    if (core->state.planned_requests > 0) {
        begin_step(domain, now_ns);
    } else if (core->state.wake_ns > now_ns && core->state.wake_ns != SLI_NEVER) {
        post(domain, core->state.wake_ns, SLI_EVENT_TIMER, wake_up, &domain->wake_event);
    }
}

/* ---- Disturbances ---- */

/* At one instant plans come last, in the order of replicas. */
static bool has_planned_now(const sli_domain *domain) {
    const sli_loop *loop = &domain->core.world->loop;
    return loop->class > SLI_EVENT_PLAN ||
           (loop->class == SLI_EVENT_PLAN && loop->key > domain->core.index);
}

/* Steps planned ahead do not happen; the one in flight, if any, ends as it would have. */
static void cut_jump(sli_domain *domain) {
    sli_loop *loop = &domain->core.world->loop;
    if (sli_jump_cut(&domain->jump, &domain->core, loop->now_ns, has_planned_now(domain))) {
        sli_evq_move(loop->events, domain->step_event, sli_jump_end(&domain->jump));
    } else {
        sli_evq_cancel(loop->events, domain->step_event);
        domain->is_stepping = false;
    }
}

void sli_domain_mark(sli_domain *domain) {
    if (domain->is_planning) {
        return;
    }
    bool is_jumping = domain->is_stepping && domain->jump.count > 1;
    if (is_jumping && !sli_core_promise_holds(&domain->core)) {
        cut_jump(domain);
    }
    const sli_loop *loop = &domain->core.world->loop;
    if (!domain->is_stepping && !sli_evq_is_pending(loop->events, domain->plan_event)) {
        post(domain, loop->now_ns, SLI_EVENT_PLAN, plan_step, &domain->plan_event);
    }
}

void sli_domain_cancel(sli_domain *domain, sl_request *request) {
    sli_core *core = &domain->core;
    core->has_ended = true; /* the queue or the batch is about to change */
    sli_domain_mark(domain);
    if (request->state == SLI_REQUEST_RUNNING && domain->is_stepping) {
        core->cancelled += !request->is_cancelled;
        request->is_cancelled = true;
        return;
    }
    if (request->is_in_lockstep) {
        sli_core_leave_lockstep(core, request);
    }
    sli_request_report(request, core->world, SL_ABORT, core->index,
                       request->record.generated_tokens);
    if (request->state == SLI_REQUEST_RUNNING) {
        sli_core_unseat(core, request, false);
    } else {
        sli_queue_remove(request->home, request);
    }
    sli_context_forget(&request->context);
    sli_request_end(request, core->world, SL_ABORTED, core->index);
    domain->listener.ended(domain->listener.self, request);
}

void sli_domain_stop(sli_domain *domain) {
    if (domain->is_stepping) {
        int64_t now_ns = domain->core.world->loop.now_ns;
        (void)sli_jump_cut(&domain->jump, &domain->core, now_ns, true);
    }
}
