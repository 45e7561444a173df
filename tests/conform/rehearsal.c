#include "rehearsal.h"

#include "base/check.h"
#include "base/grow.h"
#include "base/siphash.h"
#include "engine/audit.h"
#include "kernel/time.h"
#include "kv/layout_held.h"
#include "plug/instance.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPLICAS = 3 };

/* No small world lasts so long, unless something goes round for ever. */
#define HORIZON_NS (SLI_NS_PER_S / 100)

/* A policy whose questions are counted. */
typedef struct counted {
    const sl_batch_policy *policy;
    void *self;
    int64_t *asks;
} counted;

typedef struct stage {
    const sli_small_world *small;
    sli_layout layout;
    const sl_batch_policy *policy;
    const sl_route_policy *route;
    sl_batch_policy counting; /* the policy's descriptor, with plan_counted in place of its plan */
    counted batch[MAX_REPLICAS];
    void *batch_selves[MAX_REPLICAS];
    void *route_self;
    sli_script script;
    sli_cluster_config config;
    sli_world world;
    sli_cluster cluster;
    sli_rehearsal *rehearsal;
    size_t interrupt_after;
    int is_interrupted;
} stage;

static void plan_counted(void *self, sl_plan *plan) {
    const counted *it = self;
    ++*it->asks;
    it->policy->plan(it->self, plan);
}

static void break_law(sli_rehearsal *rehearsal, const char *format, ...) SL_PRINTF(2, 3);

static void break_law(sli_rehearsal *rehearsal, const char *format, ...) {
    if (rehearsal->broken[0] == '\0') {
        va_list args;
        va_start(args, format);
        vsnprintf(rehearsal->broken, sizeof rehearsal->broken, format, args);
        va_end(args);
    }
}

/* ---- Watching ---- */

static void on_transition(void *self, const sl_transition *transition) {
    stage *it = self;
    sli_rehearsal *rehearsal = it->rehearsal;
    sl_err err = sli_grow(&rehearsal->transitions, &rehearsal->transition_capacity,
                          rehearsal->transition_count + 1, sizeof *transition);
    SL_ASSERT(err == SL_OK);
    rehearsal->transitions[rehearsal->transition_count++] = *transition;
    it->is_interrupted = it->is_interrupted || rehearsal->transition_count == it->interrupt_after;
    rehearsal->preemptions += transition->kind == SL_PREEMPT;
    rehearsal->aborts += transition->kind == SL_ABORT;
    rehearsal->hit_tokens += transition->kind == SL_ADMIT ? transition->tokens : 0;
}

static void on_terminal(void *self, const sl_request_record *record) {
    sli_rehearsal *rehearsal = ((stage *)self)->rehearsal;
    uint64_t i = SL_REQUEST_INDEX(record->request);
    rehearsal->records[i] = *record;
    rehearsal->record_count[i]++;
}

static uint64_t mark_of(const int64_t *values, size_t bytes) {
    return sli_siphash_bytes(1, 2, values, bytes);
}

static void on_gap(void *self, int64_t gap_ns, int64_t count) {
    sli_rehearsal *rehearsal = ((stage *)self)->rehearsal;
    rehearsal->gap_mark += (uint64_t)count * mark_of(&gap_ns, sizeof gap_ns);
}

/* Cached blocks are left out: the plain engine counts contents that nobody will ask for again. */
static void mark_step(sli_rehearsal *rehearsal, const sl_step_record *step) {
    const int64_t values[] = {step->start_ns, step->end_ns,         step->replica,
                              step->tokens,   step->prefill_tokens, step->sequences,
                              step->running,  step->held_blocks,    step->pool_blocks};
    rehearsal->step_mark += mark_of(values, sizeof values);
}

/* The blocks of all groups follow from the tokens alone, reservations apart. */
static void check_held(sli_rehearsal *rehearsal, const sli_core *core, const sl_request *request,
                       const sl_request_view *view) {
    const sli_layout *layout = core->pool.config.layout;
    int64_t end_tokens = view->computed_tokens + view->planned_tokens;
    int64_t blocks = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        blocks += group->block_pages * sli_group_request_step_blocks(group, view->prompt_tokens,
                                                                     view->computed_tokens,
                                                                     end_tokens);
    }
    if (view->held_blocks < blocks) {
        break_law(rehearsal, "a request holds fewer blocks than it needs");
    }
    if (request->context.reserved_blocks == 0 && view->held_blocks != blocks) {
        break_law(rehearsal, "a request holds more blocks than it needs");
    }
}

static void check_request(sli_rehearsal *rehearsal, const sli_core *core,
                          const sl_request *request) {
    sl_request_view view = sl_plan_request(&core->plan, request);
    int64_t used_tokens = view.computed_tokens + view.planned_tokens;
    if (view.pending_tokens < 0) {
        break_law(rehearsal, "a request computes more tokens than it knows");
    }
    if (core->pool.config.layout != NULL) {
        check_held(rehearsal, core, request, &view);
        return;
    }
    if (used_tokens > view.held_blocks * core->pool.config.block_tokens) {
        break_law(rehearsal, "a request has more tokens than slots");
    }
    if (view.held_blocks > request->context.reserved_blocks &&
        view.held_blocks != sli_pool_blocks_for(&core->pool, used_tokens)) {
        break_law(rehearsal, "a request holds more blocks than it needs");
    }
}

static void check_pool(sli_rehearsal *rehearsal, sli_core *core) {
    for (const sl_request *it = core->first_running; it != NULL; it = it->next) {
        check_request(rehearsal, core, it);
    }
    const char *fault = sli_core_audit(core);
    if (fault != NULL) {
        break_law(rehearsal, "audit: %s", fault);
    }
}

/* Told of a step when its time is over and before anything has advanced. */
static void on_step(void *self, const sl_step_record *step) {
    stage *it = self;
    sli_core *core = &it->cluster.replicas[step->replica].domain.core;
    bool has_budget = (it->policy->policy.capabilities & SL_CAP_NO_TOKEN_BUDGET) == 0;
    it->rehearsal->steps++;
    mark_step(it->rehearsal, step);
    if (step->tokens < 1 || (has_budget && step->tokens > core->config->max_batched_tokens)) {
        break_law(it->rehearsal, "a step of %lld tokens on a budget of %lld",
                  (long long)step->tokens, (long long)core->config->max_batched_tokens);
    }
    if (step->running > core->config->max_seqs) {
        break_law(it->rehearsal, "more running requests than seats");
    }
    int64_t planned_tokens = 0;
    for (const sl_request *running = core->first_running; running != NULL;
         running = running->next) {
        planned_tokens += sl_plan_request(&core->plan, running).planned_tokens;
    }
    if (planned_tokens != step->tokens) {
        break_law(it->rehearsal, "a step has other tokens than its requests");
    }
    check_pool(it->rehearsal, core);
}

/* ---- Laws of the end ---- */

/* What was found and what was computed, less what was given up, is what it needed. */
static void check_tokens(sli_rehearsal *rehearsal, const sl_request_record *record) {
    int64_t lost_tokens = 0;
    for (size_t i = 0; i < rehearsal->transition_count; i++) {
        const sl_transition *at = &rehearsal->transitions[i];
        lost_tokens += at->kind == SL_PREEMPT && at->request == record->request ? at->tokens : 0;
    }
    int64_t gained_tokens = record->hit_tokens + record->rehit_tokens + record->computed_tokens;
    int64_t final_tokens = record->prompt_tokens + record->generated_tokens - 1;
    if (record->outcome == SL_FINISHED && gained_tokens - lost_tokens != final_tokens) {
        break_law(rehearsal, "request %llu: %lld tokens found or computed, %lld lost, %lld needed",
                  (unsigned long long)record->request, (long long)gained_tokens,
                  (long long)lost_tokens, (long long)final_tokens);
    }
}

static void check_times(sli_rehearsal *rehearsal, const sl_request_record *record) {
    int64_t sum_ns = 0;
    for (int phase = 0; phase < SL_PHASE_COUNT; phase++) {
        sum_ns += record->phase_ns[phase];
        if (record->phase_ns[phase] < 0) {
            break_law(rehearsal, "a phase is negative");
        }
    }
    if (sum_ns != record->end_ns - record->arrival_ns) {
        break_law(rehearsal, "phases do not sum to the latency");
    }
    bool is_ordered = record->arrival_ns <= record->admit_ns &&
                      record->admit_ns < record->first_token_ns &&
                      record->first_token_ns <= record->last_token_ns &&
                      record->last_token_ns == record->end_ns;
    if (record->outcome == SL_FINISHED && !is_ordered) {
        break_law(rehearsal, "times of a request are out of order");
    }
}

static void check_outcome(stage *it, int i) {
    sli_rehearsal *rehearsal = it->rehearsal;
    const sl_request_record *record = &rehearsal->records[i];
    const sli_small_request *request = &it->small->requests[i];
    if (rehearsal->record_count[i] != 1 || it->script.done_count[i] != 1) {
        break_law(rehearsal, "request %d ended %d times, its source heard of %d", i,
                  rehearsal->record_count[i], it->script.done_count[i]);
        return;
    }
    int64_t served_tokens = sli_small_served_tokens(it->small, &request->desc);
    bool is_right = served_tokens == 0 ? record->outcome == SL_REJECTED
                    : record->outcome == SL_FINISHED
                        ? record->generated_tokens == served_tokens
                        : record->outcome == SL_ABORTED && request->patience_ns != SLI_NEVER;
    if (!is_right) {
        break_law(rehearsal, "request %d ended with outcome %d and %lld of %lld tokens", i,
                  (int)record->outcome, (long long)record->generated_tokens,
                  (long long)served_tokens);
    }
    check_tokens(rehearsal, record);
    check_times(rehearsal, record);
}

static void check_end(stage *it) {
    for (uint32_t i = 0; i < it->small->replica_count; i++) {
        sli_core *core = &it->cluster.replicas[i].domain.core;
        check_pool(it->rehearsal, core);
        if (core->running != 0 || sli_core_waiting(core) != 0 ||
            core->pool.free_blocks != core->pool.config.block_count) {
            break_law(it->rehearsal, "replica %u is not empty at the end", i);
        }
        if (it->cluster.replicas[i].outstanding != 0) {
            break_law(it->rehearsal, "replica %u believes that requests are outstanding", i);
        }
    }
    if (it->script.popped_count != it->small->request_count) {
        break_law(it->rehearsal, "not every request arrived");
    }
    for (int i = 0; i < it->script.popped_count; i++) {
        check_outcome(it, i);
    }
}

/* ---- Playing ---- */

static void *create_instance(const sl_policy *policy, const void *values,
                             const sl_policy_env *env) {
    sli_diag diag = {0};
    sli_mark nowhere = {0};
    void *self = NULL;
    sl_err err = sli_instance_create(policy, values, env, nowhere, &diag, &self);
    sli_diag_fini(&diag);
    SL_ASSERT(err == SL_OK);
    return self;
}

static void hire(stage *it, const void *values) {
    const sli_engine_config *engine = &it->config.engine;
    sl_policy_env env = {
        .replica_count = it->small->replica_count,
        .max_batched_tokens = engine->max_batched_tokens,
        .max_seqs = engine->max_seqs,
        .max_model_tokens = engine->max_model_tokens,
        .block_tokens = engine->pool.block_tokens,
        .pool_blocks = engine->pool.block_count,
        .watermark_blocks = engine->watermark_blocks,
        .orders_by_priority = engine->order == SLI_ORDER_PRIORITY,
        .seed = it->small->number,
    };
    it->route_self = create_instance(&it->route->policy, NULL, &env);
    it->counting = *it->policy;
    it->counting.plan = plan_counted;
    for (uint32_t i = 0; i < it->small->replica_count; i++) {
        env.replica = i;
        it->batch[i] = (counted){it->policy, create_instance(&it->policy->policy, values, &env),
                                 &it->rehearsal->asks};
        it->batch_selves[i] = &it->batch[i];
    }
}

static void dismiss(stage *it) {
    sli_instance_destroy(&it->route->policy, it->route_self);
    for (uint32_t i = 0; i < it->small->replica_count; i++) {
        sli_instance_destroy(&it->policy->policy, it->batch[i].self);
    }
}

/* The layout of the world, told of the rule of its kept group; NULL without one. */
static const sli_layout *lay_out(stage *it) {
    it->layout = it->small->layout;
    for (int i = 0; i < it->layout.group_count; i++) {
        bool is_kept = it->layout.groups[i].kind == SLI_GROUP_KEPT;
        it->layout.groups[i].kept = is_kept ? &it->small->kept : NULL;
    }
    return it->small->has_layout ? &it->layout : NULL;
}

static void set_up(stage *it, const void *values, const sli_manner *manner) {
    const sli_small_world *small = it->small;
    SL_ASSERT(small->replica_count <= MAX_REPLICAS);
    it->config = (sli_cluster_config){
        .replica_count = small->replica_count,
        .engine = small->engine,
        .over_length = small->over_length,
        .batch = &it->counting,
        .batch_selves = it->batch_selves,
        .route = it->route,
        .cost = manner->cost.ops != NULL ? manner->cost : sli_fixed_model(&small->cost),
        .source = sli_script_start(&it->script, small),
    };
    it->config.engine.keeps_promises = manner->keeps_promises;
    it->config.engine.pool.layout = lay_out(it);
    hire(it, values);
    it->config.route_self = it->route_self;
    sl_err err = sli_cluster_init(&it->cluster, &it->world, &it->config);
    SL_ASSERT(err == SL_OK);
    for (uint32_t i = 0; manner->ops != NULL && i < small->replica_count; i++) {
        it->cluster.replicas[i].domain.core.plan.ops = manner->ops;
    }
}

static void play(stage *it, const void *values, const sli_manner *manner) {
    static const sl_probe_ops ops = {
        .transition = on_transition, .step = on_step, .gap = on_gap, .terminal = on_terminal};
    sli_rehearsal *rehearsal = it->rehearsal;
    const sl_probe probe = {.ops = &ops, .self = it};
    sl_err err = sli_world_init(&it->world, it->small->number, &probe, 1);
    SL_ASSERT(err == SL_OK);
    set_up(it, values, manner);
    it->interrupt_after = manner->interrupt_after;
    it->world.loop.interrupt = &it->is_interrupted;
    sli_loop_end end = sli_loop_run(&it->world.loop, HORIZON_NS);
    if (end == SLI_LOOP_HORIZON) {
        break_law(rehearsal, "the run does not end");
    } else if (end == SLI_LOOP_DRAINED && it->world.fault == SL_OK && it->cluster.live_count == 0) {
        check_end(it);
    }
    sli_cluster_close(&it->cluster, end == SLI_LOOP_DRAINED && it->world.fault == SL_OK);
    rehearsal->status = it->world.fault;
    memcpy(rehearsal->text, it->world.fault_text, sizeof rehearsal->text);
    rehearsal->end_ns = it->world.loop.now_ns;
    sli_cluster_fini(&it->cluster);
    sli_world_fini(&it->world);
    dismiss(it);
}

void sli_rehearse(const sli_small_world *world, const sl_batch_policy *policy, const void *values,
                  const sli_manner *manner, sli_rehearsal *rehearsal) {
    const sl_policy *route = sli_builtin_policy(SL_POLICY_ROUTE, world->route);
    SL_ASSERT(route != NULL);
    *rehearsal = (sli_rehearsal){0};
    stage it = {.small = world,
                .policy = policy,
                .route = (const sl_route_policy *)route,
                .rehearsal = rehearsal};
    play(&it, values, manner);
}

void sli_rehearse_route(const sli_small_world *world, const sl_batch_policy *policy,
                        const sl_route_policy *route, sli_rehearsal *rehearsal) {
    const sli_manner manner = {.keeps_promises = true};
    *rehearsal = (sli_rehearsal){0};
    stage it = {.small = world, .policy = policy, .route = route, .rehearsal = rehearsal};
    play(&it, NULL, &manner);
}

void sli_rehearsal_fini(sli_rehearsal *rehearsal) {
    free(rehearsal->transitions);
    *rehearsal = (sli_rehearsal){0};
}

static void mark_record(sli_siphash *hash, const sl_request_record *record) {
    const int64_t values[] = {
        (int64_t)record->request, record->replica,
        record->priority,         record->outcome,
        record->arrival_ns,       record->admit_ns,
        record->first_token_ns,   record->last_token_ns,
        record->end_ns,           record->prompt_tokens,
        record->output_tokens,    record->generated_tokens,
        record->hit_tokens,       record->rehit_tokens,
        record->computed_tokens,  record->recomputed_tokens,
        record->preemption_count, record->interference_ns,
        record->first_own_ns,     record->first_preempted_ns,
    };
    sli_siphash_add(hash, values, sizeof values);
    sli_siphash_add(hash, record->phase_ns, sizeof record->phase_ns);
    sli_siphash_add(hash, record->own_ns, sizeof record->own_ns);
}

uint64_t sli_rehearsal_mark(const sli_rehearsal *rehearsal) {
    sli_siphash hash;
    sli_siphash_init(&hash, 1, 2);
    sli_siphash_add(&hash, rehearsal->transitions,
                    rehearsal->transition_count * sizeof rehearsal->transitions[0]);
    for (int i = 0; i < SLI_SMALL_REQUESTS; i++) {
        mark_record(&hash, &rehearsal->records[i]);
    }
    const uint64_t ends[] = {rehearsal->step_mark, rehearsal->gap_mark, (uint64_t)rehearsal->end_ns,
                             (uint64_t)rehearsal->steps, (uint64_t)rehearsal->status};
    sli_siphash_add(&hash, ends, sizeof ends);
    return sli_siphash_value(&hash);
}

/* ---- Comparing ---- */

static int describe(const sl_transition *list, size_t count, size_t i, char *text, size_t bytes) {
    static const char *const names[] = {"arrive",  "reject", "admit", "first",
                                        "preempt", "finish", "abort"};
    if (i >= count) {
        return snprintf(text, bytes, "nothing");
    }
    const sl_transition *at = &list[i];
    return snprintf(text, bytes,
                    "%s of request %llu at %lld ns (replica %d, tokens %lld, blocks "
                    "%lld)",
                    names[at->kind], (unsigned long long)at->request, (long long)at->at_ns,
                    (int)at->replica, (long long)at->tokens, (long long)at->blocks);
}

bool sli_transitions_differ(const sl_transition *a, size_t a_count, const sl_transition *b,
                            size_t b_count, char text[SLI_BROKEN_CHARS]) {
    size_t i = 0;
    while (i < a_count && i < b_count && memcmp(&a[i], &b[i], sizeof a[i]) == 0) {
        i++;
    }
    if (i == a_count && i == b_count) {
        return false;
    }
    char one[SLI_BROKEN_CHARS / 2 - 24];
    char other[SLI_BROKEN_CHARS / 2 - 24];
    describe(a, a_count, i, one, sizeof one);
    describe(b, b_count, i, other, sizeof other);
    snprintf(text, SLI_BROKEN_CHARS, "transition %zu: %s; %s", i, one, other);
    return true;
}
