/*
 * Clients that go away: waiting, running in and between steps, finishing, ended. By hand on the
 * plain world, where every step takes 10 ns; random worlds with cancellations are part of the kit.
 */
#include "kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* vllm_v1, with whole prompts only where the world wants a head that stays blocked. */
static sli_rehearsal play(const sli_small_world *world, bool keeps_promises, bool needs_room) {
    const sl_policy *policy = sli_builtin_policy(SL_POLICY_BATCH, "vllm_v1");
    _Alignas(max_align_t) unsigned char values[SLI_VALUES_BYTES] = {0};
    sli_set_param(policy, values, "chunked_prefill", 1);
    sli_set_param(policy, values, "full_prompt_fits", needs_room);
    const sli_manner manner = {.keeps_promises = keeps_promises};
    sli_rehearsal played;
    sli_rehearse(world, (const sl_batch_policy *)policy, values, &manner, &played);
    assert_string_equal(played.broken, ""); /* blocks returned, books closed, sources told */
    assert_int_equal(played.status, SL_OK);
    return played;
}

static void add_impatient(sli_small_world *world, int64_t at_ns, int64_t prompt_tokens,
                          int64_t output_tokens, int64_t patience_ns) {
    sli_small_world_add(world, at_ns, prompt_tokens, output_tokens);
    world->requests[world->request_count - 1].patience_ns = patience_ns;
}

/* The one abort of the run. */
static const sl_transition *the_abort(const sli_rehearsal *played) {
    assert_int_equal(played->aborts, 1);
    size_t i = 0;
    while (played->transitions[i].kind != SL_ABORT) {
        i++;
    }
    return &played->transitions[i];
}

static void assert_abort(const sli_rehearsal *played, int64_t at_ns, uint64_t request,
                         uint32_t replica, int64_t tokens, int64_t blocks) {
    const sl_transition *abort = the_abort(played);
    assert_int_equal(abort->at_ns, at_ns);
    assert_int_equal(abort->request, request);
    assert_int_equal(abort->replica, replica);
    assert_int_equal(abort->tokens, tokens);
    assert_int_equal(abort->blocks, blocks);
    assert_int_equal(played->records[request].outcome, SL_ABORTED);
    assert_int_equal(played->records[request].end_ns, at_ns);
}

static void waiting_request_leaves_at_once(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    world.engine.max_seqs = 1;
    sli_small_world_add(&world, 0, 4, 10);
    add_impatient(&world, 0, 4, 10, 15);
    sli_rehearsal played = play(&world, true, false);
    assert_abort(&played, 15, 1, 0, 0, 0);
    assert_int_equal(played.records[1].phase_ns[SL_PHASE_QUEUED], 15);
    assert_int_equal(played.records[0].end_ns, 100);
    sli_rehearsal_fini(&played);
}

static void request_in_the_shared_queue_belongs_to_no_replica(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    world.engine.max_seqs = 1;
    world.replica_count = 2;
    world.route = "shared";
    sli_small_world_add(&world, 0, 4, 10);
    sli_small_world_add(&world, 0, 4, 10);
    add_impatient(&world, 0, 4, 10, 15);
    sli_rehearsal played = play(&world, true, false);
    assert_abort(&played, 15, 2, SL_NO_REPLICA, 0, 0);
    sli_rehearsal_fini(&played);
}

/* Tokens come out at 10 and 20 ns; of the step from 10 to 20 ns nothing is lost. */
static void running_request_leaves_with_its_step(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    add_impatient(&world, 0, 4, 10, 15);
    sli_rehearsal played = play(&world, true, false);
    assert_abort(&played, 20, 0, 0, 2, 2);
    assert_int_equal(played.end_ns, 20);
    sli_rehearsal_fini(&played);
}

/* A cancellation at the very end of a step comes after it and before the next. */
static void request_cancelled_between_two_steps_leaves_at_once(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    add_impatient(&world, 0, 4, 10, 10);
    sli_rehearsal played = play(&world, true, false);
    assert_abort(&played, 10, 0, 0, 1, 1);
    assert_int_equal(played.steps, 1);
    sli_rehearsal_fini(&played);
}

static void last_token_beats_the_cancellation(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    add_impatient(&world, 0, 4, 2, 15);
    sli_rehearsal played = play(&world, true, false);
    assert_int_equal(played.aborts, 0);
    assert_int_equal(played.records[0].outcome, SL_FINISHED);
    assert_int_equal(played.records[0].end_ns, 20);
    sli_rehearsal_fini(&played);
}

static void ended_request_is_left_alone(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    add_impatient(&world, 0, 4, 2, 1000);
    add_impatient(&world, 0, 100, 2, 1000); /* rejected: the pool has 40 slots */
    sli_rehearsal played = play(&world, true, false);
    assert_int_equal(played.aborts, 0);
    assert_int_equal(played.records[0].end_ns, 20);
    assert_int_equal(played.records[1].outcome, SL_REJECTED);
    sli_rehearsal_fini(&played);
}

static void admit_and_rest(void *self, sl_plan *plan) {
    (void)self;
    const sl_admission admission = {0};
    if (sl_plan_first_waiting(plan) != NULL) {
        sl_plan_admit(plan, sl_plan_first_waiting(plan), &admission);
    }
}

static sli_rehearsal play_resting(const sli_small_world *world) {
    static const sl_batch_policy rests = {
        .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "rests",
                   .summary = "admits and does no more"},
        .plan = admit_and_rest,
    };
    const sli_manner manner = {.keeps_promises = true};
    sli_rehearsal played;
    sli_rehearse(world, &rests, NULL, &manner, &played);
    assert_string_equal(played.broken, "");
    assert_int_equal(played.status, SL_OK);
    return played;
}

/* Nobody steps after 10 ns: it goes at the very time, with its blocks, and no deadlock is left. */
static void running_request_of_an_idle_replica_leaves_at_once(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    add_impatient(&world, 0, 12, 2, 33);
    sli_rehearsal played = play_resting(&world);
    assert_abort(&played, 33, 0, 0, 0, 2);
    sli_rehearsal_fini(&played);
}

static void idle_replica_gives_the_seat_away_at_once(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    world.engine.max_seqs = 1;
    add_impatient(&world, 0, 12, 2, 33);
    sli_small_world_add(&world, 5, 4, 1);
    sli_rehearsal played = play_resting(&world);
    assert_abort(&played, 33, 0, 0, 0, 2);
    assert_int_equal(played.records[1].admit_ns, 33);
    assert_int_equal(played.records[1].end_ns, 43);
    sli_rehearsal_fini(&played);
}

/*
 * The head of the queue needs 9 of 10 blocks and stays blocked while the first request decodes on
 * a promise. When it leaves at 35 ns, the small one behind it must be seen at 40 ns.
 */
static void cancelled_head_ends_the_promise(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    sli_small_world_add(&world, 0, 8, 20);
    add_impatient(&world, 5, 36, 1, 30);
    sli_small_world_add(&world, 5, 4, 1);
    for (int keeps_promises = 0; keeps_promises < 2; keeps_promises++) {
        sli_rehearsal played = play(&world, keeps_promises == 1, true);
        assert_abort(&played, 35, 1, 0, 0, 0);
        assert_int_equal(played.records[2].admit_ns, 40);
        assert_true(keeps_promises == 1 ? played.asks < played.steps : played.asks >= played.steps);
        sli_rehearsal_fini(&played);
    }
}

/* Two seats: whoever takes the third place must wait for the one that leaves with its step. */
static void cancelled_seat_is_given_away(void **state) {
    (void)state;
    sli_small_world world = sli_small_world_plain();
    world.engine.max_seqs = 2;
    sli_small_world_add(&world, 0, 4, 20);
    add_impatient(&world, 0, 4, 20, 35);
    sli_small_world_add(&world, 12, 4, 1);
    for (int keeps_promises = 0; keeps_promises < 2; keeps_promises++) {
        sli_rehearsal played = play(&world, keeps_promises == 1, false);
        assert_abort(&played, 40, 1, 0, 4, 2);
        assert_int_equal(played.records[2].admit_ns, 40);
        sli_rehearsal_fini(&played);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_request_leaves_at_once),
        cmocka_unit_test(request_in_the_shared_queue_belongs_to_no_replica),
        cmocka_unit_test(running_request_leaves_with_its_step),
        cmocka_unit_test(request_cancelled_between_two_steps_leaves_at_once),
        cmocka_unit_test(last_token_beats_the_cancellation),
        cmocka_unit_test(ended_request_is_left_alone),
        cmocka_unit_test(running_request_of_an_idle_replica_leaves_at_once),
        cmocka_unit_test(idle_replica_gives_the_seat_away_at_once),
        cmocka_unit_test(cancelled_head_ends_the_promise),
        cmocka_unit_test(cancelled_seat_is_given_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
