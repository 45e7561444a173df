/* The cluster: who is sent where, who can never be served, and what it says when nothing moves. */
#include "cluster/cluster.h"

#include "kernel/rng.h"
#include "kernel/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { REPLICAS = 3, MAX_REQUESTS = 300, MAX_EVENTS = 2 * MAX_REQUESTS };

/* ---- A script of requests ---- */

typedef struct script_event {
    int64_t at_ns;
    sl_source_event kind;
    uint64_t index; /* of the request that is cancelled */
    sl_request_desc desc;
} script_event;

typedef struct script {
    script_event events[MAX_EVENTS];
    int count;
    int next;
    uint64_t arrivals;
    bool is_cancelled[MAX_REQUESTS];
    int done_count[MAX_REQUESTS];
    sl_outcome outcomes[MAX_REQUESTS];
} script;

static sl_source_event peek(const void *self, int64_t *at_ns) {
    const script *it = self;
    if (it->next == it->count) {
        return SL_SOURCE_IDLE;
    }
    *at_ns = it->events[it->next].at_ns;
    return it->events[it->next].kind;
}

static void pop(void *self, uint64_t *index, sl_request_desc *desc) {
    script *it = self;
    const script_event *event = &it->events[it->next++];
    if (event->kind == SL_SOURCE_ARRIVAL) {
        *index = it->arrivals++;
        *desc = event->desc;
    } else {
        *index = event->index;
        it->is_cancelled[event->index] = true;
    }
}

static void done(void *self, uint64_t index, sl_outcome outcome, int64_t now_ns) {
    script *it = self;
    (void)now_ns;
    it->done_count[index]++;
    it->outcomes[index] = outcome;
    assert_true(outcome != SL_ABORTED || it->is_cancelled[index]);
}

static const sl_source_ops source_ops = {.peek = peek, .pop = pop, .done = done};

enum { LOOPS = 20, THINK_NS = 3, PATIENCE_NS = 100000 };

/* A client who thinks, asks again, and whose patience starts anew: what was to come is dropped. */
static void done_in_loop(void *self, uint64_t index, sl_outcome outcome, int64_t now_ns) {
    script *it = self;
    done(self, index, outcome, now_ns);
    it->count = it->next;
    if (it->arrivals < LOOPS) {
        const sl_request_desc desc = {.prompt_tokens = 4, .output_tokens = 1};
        it->events[it->count++] = (script_event){
            .at_ns = now_ns + THINK_NS, .kind = SL_SOURCE_ARRIVAL, .desc = desc};
        it->events[it->count++] = (script_event){
            .at_ns = now_ns + PATIENCE_NS, .kind = SL_SOURCE_CANCEL, .index = it->arrivals};
    }
}

static const sl_source_ops loop_ops = {.peek = peek, .pop = pop, .done = done_in_loop};

/* ---- Policies ---- */

/* Everybody who runs gets what he wants, whoever has to go for that; then the others come in. */
static void plan_all(void *self, sl_plan *plan) {
    (void)self;
    while (sl_plan_take_all(plan, 0).code == SL_ANSWER_SHORT) {
        (void)sl_plan_preempt(plan, sl_plan_victim(plan), SL_PREEMPT_RECOMPUTE);
    }
    sl_request *waiting = sl_plan_look(plan).has_preempted ? NULL : sl_plan_first_waiting(plan);
    const sl_admission admission = {.whole_prompt_fits = true};
    while (waiting != NULL && sl_plan_admit(plan, waiting, &admission).code == SL_ANSWER_OK) {
        waiting = sl_plan_first_waiting(plan);
    }
}

static void plan_nothing(void *self, sl_plan *plan) {
    (void)self;
    (void)plan;
}

/* Admits with one token, and never gives another. */
static void plan_first_token(void *self, sl_plan *plan) {
    (void)self;
    sl_request *waiting = sl_plan_first_waiting(plan);
    if (waiting != NULL) {
        (void)sl_plan_admit(plan, waiting, &(sl_admission){.tokens = 1});
    }
}

/* Throws out whom it has just admitted. */
static void plan_in_circles(void *self, sl_plan *plan) {
    sl_request *running = sl_plan_last_running(plan);
    if (running != NULL) {
        (void)sl_plan_preempt(plan, running, SL_PREEMPT_RECOMPUTE);
    } else {
        plan_first_token(self, plan);
    }
}

#define BATCH_POLICY(policy_name, function)                                                        \
    {                                                                                              \
        .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = (policy_name),        \
                   .summary = "for tests"},                                                        \
        .plan = (function),                                                                        \
    }

static const sl_batch_policy serves_all = BATCH_POLICY("all", plan_all);
static const sl_batch_policy serves_nobody = BATCH_POLICY("nobody", plan_nothing);
static const sl_batch_policy stalls = BATCH_POLICY("first_token", plan_first_token);
static const sl_batch_policy circles = BATCH_POLICY("circles", plan_in_circles);

/* ---- A small world ---- */

typedef struct world {
    sli_world world;
    sl_probe probe;
    sli_cluster_config config;
    sli_cluster cluster;
    script script;
    void *batch_selves[REPLICAS];
    int64_t unended[REPLICAS]; /* sent there and not ended, by what the probe has heard */
    int decisions;
    int outcomes[SL_UNFINISHED + 1];
    int transitions[SL_ABORT + 1];
    sl_request_record records[MAX_REQUESTS];
} world;

static world it;

/* What is counted here comes from transitions alone. */
static void hear_transition(void *self, const sl_transition *transition) {
    (void)self;
    it.transitions[transition->kind]++;
    if (transition->replica >= REPLICAS) {
        return;
    }
    bool is_end = transition->kind == SL_FINISH || transition->kind == SL_ABORT;
    it.unended[transition->replica] += (transition->kind == SL_ARRIVE) - is_end;
}

static void hear_terminal(void *self, const sl_request_record *record) {
    (void)self;
    it.records[SL_REQUEST_INDEX(record->request)] = *record;
    it.outcomes[record->outcome]++;
}

static const sl_probe_ops probe_ops = {.transition = hear_transition, .terminal = hear_terminal};

extern const sl_policy_table sl_policies_least_outstanding;

/* The real policy, watched: it must be told who has not ended, and take the first of the least. */
static uint32_t route_watched(void *self, const sl_route_view *view) {
    const sl_route_policy *real = (const sl_route_policy *)
                                      sl_policies_least_outstanding.policies[0];
    uint32_t chosen = real->route(self, view);
    for (uint32_t i = 0; i < view->replica_count; i++) {
        assert_int_equal(sl_route_outstanding(view, i).value, it.unended[i]);
        assert_int_equal(sl_route_outstanding(view, i).age_ns, 0);
        assert_true(i < chosen ? it.unended[i] > it.unended[chosen]
                               : it.unended[i] >= it.unended[chosen]);
    }
    it.decisions++;
    return chosen;
}

static uint32_t route_shared(void *self, const sl_route_view *view) {
    (void)self;
    for (uint32_t i = 0; i < view->replica_count; i++) {
        assert_int_equal(sl_route_outstanding(view, i).value, 0);
    }
    return SL_ROUTE_SHARED;
}

static uint32_t route_last(void *self, const sl_route_view *view) {
    (void)self;
    return view->replica_count - 1;
}

static uint32_t route_nowhere(void *self, const sl_route_view *view) {
    (void)self;
    return view->replica_count;
}

static const sl_route_policy watched = {.policy = {.name = "watched"}, .route = route_watched};
static const sl_route_policy shared = {.policy = {.name = "shared"}, .route = route_shared};
static const sl_route_policy last = {.policy = {.name = "last"}, .route = route_last};
static const sl_route_policy nowhere = {.policy = {.name = "nowhere"}, .route = route_nowhere};

/* Any step takes 10 ns. */
static void cost_of(void *self, const sl_batch_shape *shape, sl_step_cost *cost) {
    (void)self;
    (void)shape;
    *cost = (sl_step_cost){.cause_ns[SL_CAUSE_ENGINE] = 10.0, .total_ns = 10};
}

static const sl_cost_ops cost_ops = {.step = cost_of};

static void world_init(const sl_batch_policy *batch, const sl_route_policy *route) {
    memset(&it, 0, sizeof it);
    it.probe = (sl_probe){.ops = &probe_ops};
    it.config = (sli_cluster_config){
        .replica_count = REPLICAS,
        .engine = {.max_batched_tokens = 64,
                   .max_seqs = 4,
                   .max_model_tokens = 40,
                   .keeps_promises = true,
                   .pool = {.block_count = 12, .block_tokens = 4}},
        .batch = batch,
        .batch_selves = it.batch_selves,
        .route = route,
        .cost = {.ops = &cost_ops},
        .source = {.ops = &source_ops, .self = &it.script},
    };
    assert_int_equal(sli_world_init(&it.world, 1, &it.probe, 1), SL_OK);
}

static void add_arrival(int64_t at_ns, int64_t prompt_tokens, int64_t output_tokens) {
    it.script.events[it.script.count++] = (script_event){
        .at_ns = at_ns,
        .kind = SL_SOURCE_ARRIVAL,
        .desc = {.prompt_tokens = prompt_tokens, .output_tokens = output_tokens},
    };
}

static void add_cancel(int64_t at_ns, uint64_t index) {
    it.script.events[it.script.count++] = (script_event){
        .at_ns = at_ns, .kind = SL_SOURCE_CANCEL, .index = index};
}

static void run_until(int64_t horizon_ns) {
    assert_int_equal(sli_cluster_init(&it.cluster, &it.world, &it.config), SL_OK);
    sli_loop_end end = sli_loop_run(&it.world.loop, horizon_ns);
    sli_cluster_close(&it.cluster, end == SLI_LOOP_DRAINED);
}

static void world_fini(void) {
    sli_cluster_fini(&it.cluster);
    sli_world_fini(&it.world);
}

static void assert_fault(sl_err fault, const char *part) {
    assert_int_equal(it.world.fault, fault);
    if (strstr(it.world.fault_text, part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, it.world.fault_text);
    }
}

/* ---- Routing ---- */

/* Cancellations come while a request waits, runs, was preempted, or has ended long ago; every ninth
 * request can never be served. */
static void draw_script(sli_rng *rng) {
    int64_t now_ns = 0;
    for (uint64_t i = 0; i < MAX_REQUESTS; i++) {
        now_ns += 5 * (int64_t)sli_rng_below(rng, 8);
        add_arrival(now_ns, 1 + (int64_t)sli_rng_below(rng, 16),
                    i % 9 == 8 ? 100 : 1 + (int64_t)sli_rng_below(rng, 20));
        if (sli_rng_below(rng, 3) == 0) {
            add_cancel(now_ns, i - sli_rng_below(rng, i < 12 ? i + 1 : 12));
        }
        if (sli_rng_below(rng, 3) == 0) {
            now_ns += 5 * (int64_t)sli_rng_below(rng, 8);
            add_cancel(now_ns, i);
        }
    }
}

static void routing_follows_who_has_not_ended(void **state) {
    (void)state;
    sli_rng rng;
    sli_rng_init(&rng, 1, "test-cluster", 0, 0);
    world_init(&serves_all, &watched);
    draw_script(&rng);
    run_until(SLI_NEVER);
    assert_int_equal(it.world.fault, SL_OK);
    for (uint32_t i = 0; i < REPLICAS; i++) {
        assert_int_equal(it.cluster.replicas[i].outstanding, 0);
    }
    assert_int_equal(it.outcomes[SL_UNFINISHED], 0);
    assert_int_equal(it.decisions + it.outcomes[SL_REJECTED], MAX_REQUESTS);
    assert_int_equal(it.outcomes[SL_REJECTED], MAX_REQUESTS / 9);
    assert_int_equal(it.transitions[SL_REJECT], MAX_REQUESTS / 9);
    assert_int_equal(it.transitions[SL_ARRIVE], MAX_REQUESTS);
    assert_true(it.outcomes[SL_FINISHED] > 50 && it.outcomes[SL_ABORTED] > 50);
    world_fini();
}

static void the_source_is_told_of_every_end_once(void **state) {
    (void)state;
    sli_rng rng;
    sli_rng_init(&rng, 1, "test-cluster", 0, 1);
    world_init(&serves_all, &watched);
    draw_script(&rng);
    run_until(SLI_NEVER);
    for (int i = 0; i < MAX_REQUESTS; i++) {
        assert_int_equal(it.script.done_count[i], 1);
        assert_int_equal(it.script.outcomes[i], it.records[i].outcome);
    }
    world_fini();
}

/* Nobody knows yet which replica will pull it, so none has it outstanding. */
static void a_shared_request_is_outstanding_nowhere(void **state) {
    (void)state;
    sli_rng rng;
    sli_rng_init(&rng, 1, "test-cluster", 0, 2);
    world_init(&serves_all, &shared);
    it.config.engine.pool.block_count = 8;
    it.config.engine.pool.has_index = true;
    it.config.engine.pool.caches_generated = true;
    draw_script(&rng);
    run_until(SLI_NEVER);
    assert_int_equal(it.world.fault, SL_OK);
    assert_int_equal(it.outcomes[SL_UNFINISHED], 0);
    assert_true(it.transitions[SL_PREEMPT] > 20);
    assert_true(it.outcomes[SL_FINISHED] > 50 && it.outcomes[SL_ABORTED] > 50);
    world_fini();
}

static void a_replica_that_does_not_exist_is_a_fault_of_the_policy(void **state) {
    (void)state;
    world_init(&serves_all, &nowhere);
    add_arrival(5, 4, 4);
    run_until(SLI_NEVER);
    assert_fault(SL_ERR_POLICY, "policy 'nowhere' sent a request to replica 3 of 3");
    world_fini();
}

/* ---- What can never be served ---- */

/* One request by itself: how it ends and how many tokens it got. */
static void assert_served(sli_over_length over_length, int64_t max_model_tokens,
                          int64_t prompt_tokens, int64_t output_tokens, sl_outcome outcome,
                          int64_t generated_tokens) {
    world_init(&serves_all, &watched);
    it.config.over_length = over_length;
    it.config.engine.max_model_tokens = max_model_tokens;
    add_arrival(5, prompt_tokens, output_tokens);
    run_until(SLI_NEVER);
    assert_int_equal(it.world.fault, SL_OK);
    assert_int_equal(it.records[0].outcome, outcome);
    assert_int_equal(it.records[0].generated_tokens, generated_tokens);
    if (outcome == SL_REJECTED) {
        assert_int_equal(it.records[0].replica, SL_NO_REPLICA);
        assert_int_equal(it.records[0].end_ns, 5);
        assert_int_equal(it.decisions, 0);
    }
    world_fini();
}

static void too_long_is_refused_or_cut(void **state) {
    (void)state;
    const sli_over_length rejects = SLI_OVER_LENGTH_REJECT;
    const sli_over_length cuts = SLI_OVER_LENGTH_TRUNCATE;
    assert_served(rejects, 40, 30, 10, SL_FINISHED, 10);
    assert_served(rejects, 40, 30, 11, SL_REJECTED, 0);
    assert_served(cuts, 40, 30, 10, SL_FINISHED, 10);
    assert_served(cuts, 40, 30, 11, SL_FINISHED, 10);
    assert_served(cuts, 40, 39, 11, SL_FINISHED, 1);
    assert_served(cuts, 40, 40, 11, SL_REJECTED, 0); /* no room for a single token */
}

/* 12 blocks of 4 hold 48 tokens; the last token of an output takes no slot. */
static void what_the_pool_cannot_hold_is_refused(void **state) {
    (void)state;
    const sli_over_length rejects = SLI_OVER_LENGTH_REJECT;
    assert_served(rejects, 1000, 30, 19, SL_FINISHED, 19);
    assert_served(rejects, 1000, 30, 20, SL_REJECTED, 0);
    assert_served(rejects, 1000, 49, 1, SL_REJECTED, 0);
    assert_served(SLI_OVER_LENGTH_TRUNCATE, 48, 40, 100, SL_FINISHED, 8);
    assert_served(SLI_OVER_LENGTH_TRUNCATE, 1000, 40, 100, SL_REJECTED, 0);
}

/* ---- The end of a run ---- */

static void who_is_left_at_the_horizon_is_unfinished(void **state) {
    (void)state;
    static const sl_route_policy *const routes[] = {&watched, &shared};
    for (int i = 0; i < 2; i++) {
        world_init(&serves_all, routes[i]);
        for (int request = 0; request < 30; request++) {
            add_arrival(1, 8, 20);
        }
        run_until(45); /* four steps; most have not been admitted */
        assert_int_equal(it.world.fault, SL_OK);
        assert_int_equal(it.outcomes[SL_UNFINISHED], 30);
        assert_int_equal(it.cluster.live_count, 0);
        world_fini();
    }
}

/* An end brings the next arrival and takes the time-out away, so the last end is the last event. */
static void an_end_moves_what_the_source_does_next(void **state) {
    (void)state;
    world_init(&serves_all, &watched);
    it.config.source.ops = &loop_ops;
    add_arrival(0, 4, 1);
    add_cancel(PATIENCE_NS, 0);
    run_until(SLI_NEVER);
    assert_int_equal(it.outcomes[SL_FINISHED], LOOPS);
    assert_int_equal(it.world.loop.now_ns, LOOPS * (10 + THINK_NS) - THINK_NS);
    world_fini();
}

static void a_deadlock_names_who_waits_for_what(void **state) {
    (void)state;
    world_init(&serves_nobody, &watched);
    add_arrival(1000000000, 9, 8);
    add_arrival(1000000000, 4, 4);
    add_arrival(1000000000, 4, 4);
    add_arrival(1000000000, 4, 4);
    run_until(SLI_NEVER);
    /* Two on replica 0; the first takes up to 16 slots, 4 blocks. */
    assert_fault(SL_ERR_LIVENESS,
                 "deadlock at 1.000000000 s: 4 requests are left and nothing can happen; replica "
                 "0: 0 running hold 0 of 12 blocks, 2 wait, the first (request 0:0, 9 prompt "
                 "tokens, up to 4 blocks) is not admitted by policy 'nobody'");
    assert_int_equal(it.outcomes[SL_UNFINISHED], 4);
    world_fini();
}

static void a_deadlock_of_the_running_names_the_policy(void **state) {
    (void)state;
    world_init(&stalls, &last);
    add_arrival(0, 9, 8);
    run_until(SLI_NEVER);
    assert_fault(SL_ERR_LIVENESS,
                 "deadlock at 0.000000010 s: replica 2 holds 1 running requests (1 of 12 blocks), "
                 "and policy 'first_token' plans nothing for them");
    world_fini();
}

/* Nobody gets further than ever: that is told apart from slow progress after so many steps as no
 * honest policy takes. */
static void going_in_circles_is_a_livelock(void **state) {
    (void)state;
    world_init(&circles, &watched);
    add_arrival(0, 9, 8);
    run_until(SLI_NEVER);
    assert_fault(SL_ERR_LIVENESS, "livelock: replica 0 has repeated old work for 10193 steps, no "
                                  "request got further (1 running, 0 waiting)");
    world_fini();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routing_follows_who_has_not_ended),
        cmocka_unit_test(the_source_is_told_of_every_end_once),
        cmocka_unit_test(a_shared_request_is_outstanding_nowhere),
        cmocka_unit_test(a_replica_that_does_not_exist_is_a_fault_of_the_policy),
        cmocka_unit_test(too_long_is_refused_or_cut),
        cmocka_unit_test(what_the_pool_cannot_hold_is_refused),
        cmocka_unit_test(who_is_left_at_the_horizon_is_unfinished),
        cmocka_unit_test(an_end_moves_what_the_source_does_next),
        cmocka_unit_test(a_deadlock_names_who_waits_for_what),
        cmocka_unit_test(a_deadlock_of_the_running_names_the_policy),
        cmocka_unit_test(going_in_circles_is_a_livelock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
