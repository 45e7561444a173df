#include "engine/domain.h"

#include "engine/plan.h"
#include "kernel/time.h"

/*
 * A replica that repeats old work for so long will do so for ever: recomputing everything that its
 * pool can hold, token by token, takes fewer steps.
 */
static int64_t stall_limit_steps(const sli_core *core) {
    const sli_pool *pool = &core->pool;
    int64_t block_pages = sli_pool_block_pages(pool);
    int64_t blocks = pool->config.block_count / (block_pages > 0 ? block_pages : 1);
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
    SL_TRY(sli_core_init(&domain->core, world, index, config, policy, policy_self, shared));
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

static void end_step(void *subject, int64_t now_ns) {
    sli_domain *domain = subject;
    (void)now_ns;
    domain->is_stepping = false;
    domain->step_count++;
    sli_world_step(domain->core.world, &domain->step);
    sli_core_advance(&domain->core, &domain->listener);
    if (domain->core.stalled_steps > stall_limit_steps(&domain->core)) {
        sli_world_fail(domain->core.world, SL_ERR_LIVENESS,
                       "livelock: replica %u has repeated old work for %lld steps, no request got "
                       "further (%lld running, %lld waiting)",
                       domain->core.index, (long long)domain->core.stalled_steps,
                       (long long)domain->core.running, (long long)sli_core_waiting(&domain->core));
    }
    sli_domain_mark(domain);
}

static void begin_step(sli_domain *domain, int64_t now_ns) {
    sli_core *core = &domain->core;
    sl_batch_shape shape;
    sl_step_cost cost;
    sli_core_shape(core, &domain->cost, &shape);
    domain->cost.ops->step(domain->cost.self, &shape, &cost);
    sli_core_attribute(core, &domain->cost, cost.total_ns);
    domain->step = (sl_step_record){
        .start_ns = now_ns,
        .end_ns = sli_time_add(now_ns, cost.total_ns),
        .replica = core->index,
        .tokens = shape.tokens,
        .prefill_tokens = shape.prefill_tokens,
        .sequences = shape.sequences,
        .running = core->running,
        .held_blocks = sli_pool_held_blocks(&core->pool),
        .cached_blocks = core->pool.cached_blocks,
        .pool_blocks = core->pool.config.block_count,
    };
    domain->is_stepping = true;
    sli_event_handle handle;
    post(domain, domain->step.end_ns, SLI_EVENT_STEP_END, end_step, &handle);
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

void sli_domain_mark(sli_domain *domain) {
    const sli_loop *loop = &domain->core.world->loop;
    bool is_busy = domain->is_planning || domain->is_stepping;
    if (!is_busy && !sli_evq_is_pending(loop->events, domain->plan_event)) {
        post(domain, loop->now_ns, SLI_EVENT_PLAN, plan_step, &domain->plan_event);
    }
}

void sli_domain_cancel(sli_domain *domain, sl_request *request) {
    sli_core *core = &domain->core;
    core->has_ended = true; /* the queue or the batch is about to change */
    request->is_cancelled = true;
    if (request->state == SLI_REQUEST_RUNNING && domain->is_stepping) {
        return;
    }
    sli_request_report(request, core->world, SL_ABORT, core->index,
                       request->record.generated_tokens);
    if (request->state == SLI_REQUEST_RUNNING) {
        sli_core_unseat(core, request, false);
    } else {
        sli_queue_remove(request->home, request);
    }
    sli_request_end(request, core->world, SL_ABORTED, core->index);
    domain->listener.ended(domain->listener.self, request);
    sli_domain_mark(domain);
}
