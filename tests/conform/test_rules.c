/*
 * The rules of the planning conversation, each by a policy that breaks it or goes to its edge, and
 * the verdicts on policies that get nowhere. Worked by hand on the plain world.
 */
#include "rehearsal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef void plan_fn(void *self, sl_plan *plan);

static sl_batch_policy policy_of(const char *name, plan_fn *plan) {
    return (sl_batch_policy){
        .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = name,
                   .summary = "made for a test", .instance_bytes = sizeof(int64_t)},
        .plan = plan,
    };
}

static sli_rehearsal play(const sli_small_world *world, const char *name, plan_fn *plan) {
    const sl_batch_policy policy = policy_of(name, plan);
    const sli_manner manner = {.keeps_promises = true};
    sli_rehearsal played;
    sli_rehearse(world, &policy, NULL, &manner, &played);
    assert_string_equal(played.broken, "");
    return played;
}

static void assert_says(const sli_rehearsal *played, const char *words) {
    if (strstr(played->text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", played->text, words);
    }
}

/* Two requests at 0 ns: 12 prompt tokens and 3 to put out, twice. */
static sli_small_world pair(void) {
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 12, 3);
    sli_small_world_add(&world, 0, 12, 3);
    return world;
}

static const sl_admission plain_admission = {0};

static void admit_head(sl_plan *plan) {
    sl_request *head = sl_plan_first_waiting(plan);
    if (head != NULL) {
        sl_plan_admit(plan, head, &plain_admission);
    }
}

static void serve(void *self, sl_plan *plan) {
    (void)self;
    sl_plan_take_all(plan, 0);
    admit_head(plan);
}

/* ---- Against the rules: the run ends and says who, what and when ---- */

/* The first request is admitted alone at 0 ns, so the rule is broken at 10 ns. */
static void assert_broken(const char *name, plan_fn *plan, const char *rule, const char *whose) {
    const sli_small_world world = pair();
    sli_rehearsal played = play(&world, name, plan);
    assert_int_equal(played.status, SL_ERR_POLICY);
    assert_int_equal(played.end_ns, 10);
    assert_says(&played, name);
    assert_says(&played, "on replica 0 at 0.000000010 s");
    assert_says(&played, rule);
    assert_says(&played, whose);
    sli_rehearsal_fini(&played);
}

static bool is_first_plan(sl_plan *plan) {
    if (sl_plan_look(plan).now_ns > 0) {
        return false;
    }
    admit_head(plan);
    return true;
}

static void take_twice(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_take(plan, sl_plan_first_running(plan), 1);
        sl_answer answer = sl_plan_take(plan, sl_plan_first_running(plan), 1);
        assert_int_equal(answer.code, SL_ANSWER_NOT_ELIGIBLE);
    }
}

static void taking_twice_is_a_fault(void **state) {
    (void)state;
    assert_broken("takes_twice", take_twice, "taken twice in one plan", "request 0:0");
}

static void take_one_then_all(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_take(plan, sl_plan_first_running(plan), 1);
        sl_plan_take_all(plan, 0);
    }
}

static void taking_one_and_then_all_is_a_fault(void **state) {
    (void)state;
    assert_broken("takes_again", take_one_then_all, "taken twice in one plan", "request 0:0");
}

static void take_nothing(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_take(plan, sl_plan_first_running(plan), 0);
    }
}

static void taking_less_than_a_token_is_a_fault(void **state) {
    (void)state;
    assert_broken("takes_nothing", take_nothing, "less than one token", "request 0:0");
}

static void take_waiting(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_take(plan, sl_plan_first_waiting(plan), 1);
    }
}

static void taking_a_waiting_request_is_a_fault(void **state) {
    (void)state;
    assert_broken("takes_waiting", take_waiting, "only a running request can be taken",
                  "request 0:1");
}

static void admit_running(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_admit(plan, sl_plan_first_running(plan), &plain_admission);
    }
}

static void admitting_a_running_request_is_a_fault(void **state) {
    (void)state;
    assert_broken("admits_running", admit_running, "only a waiting request can be admitted",
                  "request 0:0");
}

static void preempt_waiting(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_preempt(plan, sl_plan_first_waiting(plan), SL_PREEMPT_RECOMPUTE);
    }
}

static void preempting_a_waiting_request_is_a_fault(void **state) {
    (void)state;
    assert_broken("preempts_waiting", preempt_waiting, "only a running request can be preempted",
                  "request 0:1");
}

static void preempt_nobody(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_preempt(plan, NULL, SL_PREEMPT_RECOMPUTE);
    }
}

static void preempting_nobody_is_a_fault(void **state) {
    (void)state;
    assert_broken("preempts_nobody", preempt_nobody, "only a running request can be preempted",
                  "broke a rule");
}

static void preempt_too_late(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_take(plan, sl_plan_first_running(plan), 1);
        admit_head(plan);
        sl_answer answer = sl_plan_preempt(plan, sl_plan_first_running(plan), SL_PREEMPT_RECOMPUTE);
        assert_int_equal(answer.code, SL_ANSWER_NOT_ELIGIBLE);
    }
}

static void preempting_one_with_tokens_after_an_admission_is_a_fault(void **state) {
    (void)state;
    assert_broken("preempts_late", preempt_too_late, "after an admission", "request 0:0");
}

/* ---- Within the rules ---- */

/* At 10 ns the first request, without tokens in the plan, gives way to the second. */
static void swap_once(void *self, sl_plan *plan) {
    if (sl_plan_look(plan).now_ns == 10) {
        sl_request *first = sl_plan_first_running(plan);
        admit_head(plan);
        sl_answer answer = sl_plan_preempt(plan, first, SL_PREEMPT_RECOMPUTE);
        assert_int_equal(answer.code, SL_ANSWER_OK);
    } else {
        serve(self, plan);
    }
}

static void one_without_tokens_may_be_preempted_after_an_admission(void **state) {
    (void)state;
    const sli_small_world world = pair();
    sli_rehearsal played = play(&world, "swaps", swap_once);
    assert_int_equal(played.status, SL_OK);
    assert_int_equal(played.records[0].preemption_count, 1);
    assert_int_equal(played.records[1].outcome, SL_FINISHED);
    sli_rehearsal_fini(&played);
}

static void take_a_thousand(void *self, sl_plan *plan) {
    (void)self;
    admit_head(plan);
    sl_request *request = sl_plan_first_running(plan);
    if (request != NULL && sl_plan_request(plan, request).planned_tokens == 0) {
        sl_answer answer = sl_plan_take(plan, request, 1000);
        assert_int_equal(answer.code, SL_ANSWER_OK);
        assert_true(answer.tokens <= 8);
    }
}

/* 12 tokens on a budget of 8: steps of 8, 4, 1 and 1. */
static void taking_more_than_pending_is_cut(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 12, 3);
    sli_rehearsal played = play(&world, "greedy", take_a_thousand);
    assert_int_equal(played.status, SL_OK);
    assert_int_equal(played.records[0].computed_tokens, 14);
    assert_int_equal(played.records[0].first_token_ns, 20);
    assert_int_equal(played.records[0].end_ns, 40);
    sli_rehearsal_fini(&played);
}

/* Whatever is beyond the pool is short, be it by a block or by all that an integer holds. */
static void ask_for_too_much(void *self, sl_plan *plan) {
    const sl_admission greedy[] = {{.reserve_tokens = 41},
                                   {.reserve_tokens = INT64_MAX},
                                   {.keep_free_blocks = 9},
                                   {.keep_free_blocks = INT64_MAX},
                                   {.reserve_tokens = INT64_MAX, .keep_free_blocks = INT64_MAX}};
    sl_request *head = sl_plan_first_waiting(plan);
    for (size_t i = 0; i < sizeof greedy / sizeof greedy[0] && head != NULL; i++) {
        sl_answer answer = sl_plan_admit(plan, head, &greedy[i]);
        assert_int_equal(answer.code, SL_ANSWER_SHORT);
        assert_true(answer.missing_blocks >= 1);
    }
    serve(self, plan);
}

/* 12 tokens want 2 of the 10 blocks of 4 in the first step. */
static void admission_beyond_the_pool_is_short(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 12, 3);
    sli_rehearsal played = play(&world, "wants_all", ask_for_too_much);
    assert_int_equal(played.status, SL_OK);
    sli_rehearsal_fini(&played);
}

static void serve_slowly(void *self, sl_plan *plan) {
    sl_plan_limit_tokens(plan, 2);
    serve(self, plan);
    assert_true(sl_plan_look(plan).planned_tokens <= 2);
}

/* Six tokens, two a step. */
static void limited_plan_takes_no_more(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 6, 1);
    sli_rehearsal played = play(&world, "slow", serve_slowly);
    assert_int_equal(played.status, SL_OK);
    assert_int_equal(played.steps, 3);
    assert_int_equal(played.records[0].end_ns, 30);
    sli_rehearsal_fini(&played);
}

static void limit_too_late(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_take_all(plan, 0);
        sl_plan_limit_tokens(plan, 1);
    }
}

static void limiting_after_taking_is_a_fault(void **state) {
    (void)state;
    assert_broken("limits_late", limit_too_late, "limited after something was taken", "");
}

static void take_nobody(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_request_view view = sl_plan_request(plan, NULL);
        assert_int_equal(view.pending_tokens, 0);
        assert_null(sl_plan_next_running(plan, NULL));
        assert_null(sl_plan_next_waiting(plan, NULL));
        assert_int_equal(sl_plan_cached_tokens(plan, NULL), 0);
        sl_plan_take(plan, NULL, 1);
    }
}

static void admit_nobody(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_admission admission = {0};
        sl_plan_admit(plan, NULL, &admission);
    }
}

static void deciding_about_nobody_is_a_fault(void **state) {
    (void)state;
    assert_broken("takes_nobody", take_nobody, "only a running request can be taken", "");
    assert_broken("admits_nobody", admit_nobody, "only a waiting request can be admitted", "");
}

static void admit_for_nothing(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_admit(plan, sl_plan_first_waiting(plan), NULL);
    }
}

static void admit_for_less(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_admission admission = {.keep_free_blocks = -3};
        sl_plan_admit(plan, sl_plan_first_waiting(plan), &admission);
    }
}

static void asking_for_less_than_nothing_is_a_fault(void **state) {
    (void)state;
    assert_broken("asks_nothing", admit_for_nothing, "asked for less than nothing", "");
    assert_broken("asks_less", admit_for_less, "asked for less than nothing", "");
}

static void preempt_oddly(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_preempt(plan, sl_plan_first_running(plan), (sl_preempt_mode)7);
    }
}

static void promise_backwards(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_repeat(plan, -1, 0);
    }
}

static void promise_unknown(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_repeat(plan, 1, 99);
    }
}

static void wake_in_the_past(void *self, sl_plan *plan) {
    (void)self;
    if (!is_first_plan(plan)) {
        sl_plan_wake(plan, 10);
    }
}

static void values_out_of_range_are_faults(void **state) {
    (void)state;
    assert_broken("preempts_oddly", preempt_oddly, "a way that does not exist", "request 0:0");
    assert_broken("promises_back", promise_backwards, "a promise of less than 0 steps", "");
    assert_broken("promises_odd", promise_unknown, "a disturbance not known", "");
    assert_broken("wakes_back", wake_in_the_past, "a time that is not ahead", "");
}

/* On a budget lowered to so much, take_all answers this and takes so many; refused, none. */
static void expect_budget(sl_plan *plan, int64_t budget_tokens, sl_answer_code code,
                          int64_t tokens) {
    sl_plan_limit_tokens(plan, budget_tokens);
    int64_t before_tokens = sl_plan_look(plan).budget_left;
    sl_answer answer = sl_plan_take_all(plan, 0);
    assert_int_equal(answer.code, code);
    assert_int_equal(before_tokens - sl_plan_look(plan).budget_left, tokens);
}

/* Two prompts of 12: the first gets 8 tokens at 0 and 2 at 10 ns, the second 6 at 10 ns. */
static void take_all_at_the_edges(void *self, sl_plan *plan) {
    (void)self;
    int64_t now_ns = sl_plan_look(plan).now_ns;
    if (now_ns == 0) {
        admit_head(plan);
    } else if (now_ns == 10) {
        sl_plan_take(plan, sl_plan_first_running(plan), 2);
        admit_head(plan); /* 6 of its 12 */
    } else if (now_ns == 20) {
        expect_budget(plan, 1, SL_ANSWER_BUDGET, 0); /* 2 and 6 pending: the first would be cut */
        sl_plan_take(plan, sl_plan_first_running(plan), 1);
    } else if (now_ns == 30) {
        expect_budget(plan, 5, SL_ANSWER_OK, 5); /* 1 and 6 pending: the last one is cut */
    } else {
        sl_plan_take_all(plan, 0);
    }
}

static void only_the_last_of_all_is_cut(void **state) {
    (void)state;
    const sli_small_world world = pair();
    sli_rehearsal played = play(&world, "at_edges", take_all_at_the_edges);
    assert_int_equal(played.status, SL_OK);
    sli_rehearsal_fini(&played);
}

/* At 30 ns the second request is thrown out; what is promised then counts for nothing. */
static void promise_while_preempting(void *self, sl_plan *plan) {
    (void)self;
    if (sl_plan_look(plan).now_ns == 30) {
        sl_plan_preempt(plan, sl_plan_last_running(plan), SL_PREEMPT_RECOMPUTE);
        sl_plan_take_all(plan, 0);
        sl_plan_repeat(plan, INT64_MAX, 0);
    } else {
        serve(self, plan);
        admit_head(plan);
    }
}

static void promise_with_a_preemption_has_no_effect(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 4, 10);
    sli_small_world_add(&world, 0, 4, 10);
    sli_rehearsal played = play(&world, "promises_badly", promise_while_preempting);
    assert_int_equal(played.status, SL_OK);
    assert_int_equal(played.records[1].preemption_count, 1);
    assert_int_equal(played.records[1].phase_ns[SL_PHASE_PREEMPTED], 10);
    sli_rehearsal_fini(&played);
}

static void serve_and_promise_two(void *self, sl_plan *plan) {
    serve(self, plan);
    sl_plan_repeat(plan, 2, SL_ON_ARRIVAL);
}

/* The prompt at 0 ns makes no promise; ten tokens out: asked at 0, 10, 40, 70 and 100 ns. */
static void promise_of_two_steps_spares_two_questions(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 4, 10);
    sli_rehearsal played = play(&world, "promises_two", serve_and_promise_two);
    assert_int_equal(played.status, SL_OK);
    assert_int_equal(played.end_ns, 100);
    assert_int_equal(played.asks, 5);
    sli_rehearsal_fini(&played);
}

/* ---- Idle, and woken ---- */

static void serve_in_pairs(void *self, sl_plan *plan) {
    (void)self;
    if (sl_plan_look(plan).waiting >= 2) {
        admit_head(plan);
        admit_head(plan);
    }
}

/* Nothing is planned at 0 ns though it could be; the arrival at 35 ns brings the next question. */
static void idle_policy_is_asked_at_the_next_event(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 4, 1);
    sli_small_world_add(&world, 35, 4, 1);
    sli_rehearsal played = play(&world, "pairs", serve_in_pairs);
    assert_int_equal(played.status, SL_OK);
    assert_int_equal(played.steps, 1);
    assert_int_equal(played.records[0].admit_ns, 35);
    assert_int_equal(played.records[1].admit_ns, 35);
    assert_int_equal(played.records[0].end_ns, 45);
    sli_rehearsal_fini(&played);
}

static void serve_from_100_ns(void *self, sl_plan *plan) {
    if (sl_plan_look(plan).now_ns >= 100) {
        serve(self, plan);
        admit_head(plan);
    } else {
        sl_plan_wake(plan, 100);
    }
}

/* Asked at 3, 50, 100 and, when the step is over, at 110 ns. */
static void sleeping_policy_is_woken_when_it_asked(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 3, 4, 1);
    sli_small_world_add(&world, 50, 4, 1);
    sli_rehearsal played = play(&world, "sleeps", serve_from_100_ns);
    assert_int_equal(played.status, SL_OK);
    assert_int_equal(played.records[0].admit_ns, 100);
    assert_int_equal(played.records[1].admit_ns, 100);
    assert_int_equal(played.end_ns, 110);
    assert_int_equal(played.asks, 4);
    sli_rehearsal_fini(&played);
}

static void sleep_once(void *self, sl_plan *plan) {
    int64_t *asks = self;
    if (++*asks == 1) {
        sl_plan_wake(plan, 100);
    }
}

/* Asked again at 50 ns, it does not repeat its wish. */
static void wish_to_be_woken_lasts_until_the_next_question(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 4, 1);
    sli_small_world_add(&world, 50, 4, 1);
    sli_rehearsal played = play(&world, "sleeps_once", sleep_once);
    assert_int_equal(played.status, SL_ERR_LIVENESS);
    assert_int_equal(played.asks, 2);
    assert_int_equal(played.end_ns, 50);
    sli_rehearsal_fini(&played);
}

/* ---- Verdicts ---- */

static void do_nothing(void *self, sl_plan *plan) {
    (void)self;
    (void)plan;
}

static void policy_that_never_admits_is_a_deadlock(void **state) {
    (void)state;
    const sli_small_world world = pair();
    sli_rehearsal played = play(&world, "never_admits", do_nothing);
    assert_int_equal(played.status, SL_ERR_LIVENESS);
    assert_says(&played, "deadlock");
    assert_says(&played, "'never_admits'");
    assert_says(&played, "0 running hold 0 of 10 blocks, 2 wait, the first (request 0:0");
    sli_rehearsal_fini(&played);
}

static void admit_first_only(void *self, sl_plan *plan) {
    (void)self;
    (void)is_first_plan(plan);
}

/* The first request holds the blocks of its first 8 tokens and never gets another. */
static void deadlock_names_who_holds_and_who_waits(void **state) {
    (void)state;
    const sli_small_world world = pair();
    sli_rehearsal played = play(&world, "stops", admit_first_only);
    assert_int_equal(played.status, SL_ERR_LIVENESS);
    assert_says(&played, "deadlock at 0.000000010 s");
    assert_says(&played, "1 running hold 2 of 10 blocks, 1 wait, the first (request 0:1");
    assert_says(&played, "12 prompt tokens, up to 4 blocks) is not admitted by policy 'stops'");
    sli_rehearsal_fini(&played);
}

static void deadlock_of_those_that_run_is_said_so(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 12, 3);
    sli_rehearsal played = play(&world, "stops", admit_first_only);
    assert_int_equal(played.status, SL_ERR_LIVENESS);
    assert_says(&played, "deadlock");
    assert_says(&played, "1 running requests (2 of 10 blocks), and policy 'stops' plans nothing");
    sli_rehearsal_fini(&played);
}

static void go_round(void *self, sl_plan *plan) {
    (void)self;
    while (sl_plan_last_running(plan) != NULL) {
        sl_plan_preempt(plan, sl_plan_last_running(plan), SL_PREEMPT_RECOMPUTE);
    }
    if (!sl_plan_look(plan).has_preempted) {
        admit_head(plan);
    }
}

/* Not before the whole pool could have been computed again, token by token; not for ever. */
static void policy_that_goes_round_is_a_livelock(void **state) {
    (void)state;
    const sli_small_world world = pair();
    sli_rehearsal played = play(&world, "goes_round", go_round);
    assert_int_equal(played.status, SL_ERR_LIVENESS);
    assert_says(&played, "livelock: replica 0");
    assert_says(&played, "1 waiting");
    assert_true(played.steps > 40);
    assert_true(played.steps < 20000);
    sli_rehearsal_fini(&played);
}

/* ---- Routing ---- */

static uint32_t route_far(void *self, const sl_route_view *view) {
    (void)self;
    return view->replica_count;
}

static void route_to_no_replica_is_a_fault(void **state) {
    (void)state;
    static const sl_route_policy far = {
        .policy = {SL_POLICY_HEAD(sl_route_policy, SL_POLICY_ROUTE), .name = "far",
                   .summary = "one too far"},
        .route = route_far,
    };
    const sli_small_world world = pair();
    const sl_batch_policy batch = policy_of("serves", serve);
    sli_rehearsal played;
    sli_rehearse_route(&world, &batch, &far, &played);
    assert_int_equal(played.status, SL_ERR_POLICY);
    assert_says(&played, "'far'");
    assert_says(&played, "replica 1 of 1");
    sli_rehearsal_fini(&played);
}

/* The second arrival finds the seat of the first replica taken, the third waits for either. */
static void idle_replicas_pull_from_the_shared_queue(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    world.replica_count = 2;
    world.route = "shared";
    world.engine.max_seqs = 1;
    sli_small_world_add(&world, 0, 4, 3);
    sli_small_world_add(&world, 5, 4, 1);
    sli_small_world_add(&world, 7, 4, 1);
    sli_rehearsal played = play(&world, "serves", serve);
    assert_int_equal(played.status, SL_OK);
    const int64_t admitted_ns[] = {0, 5, 15};
    const uint32_t replicas[] = {0, 1, 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(played.records[i].admit_ns, admitted_ns[i]);
        assert_int_equal(played.records[i].replica, replicas[i]);
    }
    sli_rehearsal_fini(&played);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taking_twice_is_a_fault),
        cmocka_unit_test(taking_one_and_then_all_is_a_fault),
        cmocka_unit_test(taking_less_than_a_token_is_a_fault),
        cmocka_unit_test(taking_a_waiting_request_is_a_fault),
        cmocka_unit_test(admitting_a_running_request_is_a_fault),
        cmocka_unit_test(preempting_a_waiting_request_is_a_fault),
        cmocka_unit_test(preempting_nobody_is_a_fault),
        cmocka_unit_test(preempting_one_with_tokens_after_an_admission_is_a_fault),
        cmocka_unit_test(one_without_tokens_may_be_preempted_after_an_admission),
        cmocka_unit_test(taking_more_than_pending_is_cut),
        cmocka_unit_test(admission_beyond_the_pool_is_short),
        cmocka_unit_test(limited_plan_takes_no_more),
        cmocka_unit_test(limiting_after_taking_is_a_fault),
        cmocka_unit_test(deciding_about_nobody_is_a_fault),
        cmocka_unit_test(asking_for_less_than_nothing_is_a_fault),
        cmocka_unit_test(values_out_of_range_are_faults),
        cmocka_unit_test(only_the_last_of_all_is_cut),
        cmocka_unit_test(promise_with_a_preemption_has_no_effect),
        cmocka_unit_test(promise_of_two_steps_spares_two_questions),
        cmocka_unit_test(idle_policy_is_asked_at_the_next_event),
        cmocka_unit_test(sleeping_policy_is_woken_when_it_asked),
        cmocka_unit_test(wish_to_be_woken_lasts_until_the_next_question),
        cmocka_unit_test(policy_that_never_admits_is_a_deadlock),
        cmocka_unit_test(deadlock_names_who_holds_and_who_waits),
        cmocka_unit_test(deadlock_of_those_that_run_is_said_so),
        cmocka_unit_test(policy_that_goes_round_is_a_livelock),
        cmocka_unit_test(route_to_no_replica_is_a_fault),
        cmocka_unit_test(idle_replicas_pull_from_the_shared_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
