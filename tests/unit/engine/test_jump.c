/*
 * Jumps against a twin that plans every step by itself.
 *
 * Both replicas hold the same requests under the same policy, which takes everybody and promises to
 * go on; only one keeps the promise. Until the twin has done as many steps, nothing that a probe
 * hears and nothing in the pool may differ.
 */
#include "engine/jump.h"

#include "engine/plan.h"
#include "engine/step.h"
#include "kernel/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { REQUESTS = 3, MAX_STEPS = 2000, MAX_GAPS = 3 * MAX_STEPS };

/* ---- The policy ---- */

typedef struct promising {
    int64_t steps;
    int64_t times_asked;
} promising;

static void plan_all(void *self, sl_plan *plan) {
    promising *it = self;
    it->times_asked++;
    (void)sl_plan_take_all(plan, 0);
    for (sl_request *waiting = sl_plan_first_waiting(plan); waiting != NULL;
         waiting = sl_plan_first_waiting(plan)) {
        const sl_admission admission = {0};
        assert_int_equal(sl_plan_admit(plan, waiting, &admission).code, SL_ANSWER_OK);
    }
    sl_plan_repeat(plan, it->steps, SL_ON_ARRIVAL);
}

static const sl_batch_policy policy = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "all",
               .summary = "takes everybody", .instance_bytes = sizeof(promising)},
    .plan = plan_all,
};

/* ---- A replica driven by hand ---- */

/* What a test wants of the replicas. */
typedef struct setup {
    int64_t block_count;
    int64_t promised_steps;
    int64_t output_tokens[REQUESTS]; /* 0 = no such request */
    const sli_layout *layout;        /* with rows for the cost; NULL = full attention alone */
    bool has_public_prompts;         /* contents that others may find; each its own */
} setup;

static const sli_growth growths[] = {
    {SLI_GROWTH_STEPS, 1, INT64_MAX, NULL}, {SLI_GROWTH_STEPS, 1, 4, NULL},
    {SLI_GROWTH_STEPS, 3, INT64_MAX, NULL}, {SLI_GROWTH_SAWTOOTH, 5, INT64_MAX, NULL},
    {SLI_GROWTH_CONSTANT, 1, 3, NULL},
};

enum { GROWTHS = sizeof growths / sizeof growths[0] };

typedef struct gap {
    int64_t gap_ns;
    int64_t count;
} gap;

typedef struct replica {
    sli_world world;
    sl_probe probe;
    sli_engine_config config;
    const sl_cost_model *cost;
    sli_queue shared;
    sli_core core;
    sli_jump jump;
    promising promise;
    sl_step_record steps[MAX_STEPS];
    int step_count;
    gap gaps[MAX_GAPS];
    int gap_count;
    int ended_count;
} replica;

/* Every step takes longer than the one before, and by more than one cause. */
static void cost_of(void *self, const sl_batch_shape *shape, sl_step_cost *cost) {
    (void)self;
    int64_t gemm_ns = 50 + shape->tokens;
    int64_t attention_ns = 3 * shape->decode_kv_tokens + 5 * shape->decode_kv_max;
    for (int g = 0; g < GROWTHS; g++) {
        attention_ns += (7 + g) * shape->decode_visible[g];
    }
    *cost = (sl_step_cost){.total_ns = gemm_ns + attention_ns};
    cost->cause_ns[SL_CAUSE_GEMM] = (double)gemm_ns;
    cost->cause_ns[SL_CAUSE_ATTENTION] = (double)attention_ns;
}

static const sl_cost_ops cost_ops = {.step = cost_of};
static const sl_cost_model cost_model = {.ops = &cost_ops};
static const sl_cost_model cost_of_rows = {
    .ops = &cost_ops, .growths = growths, .growth_count = GROWTHS};

static void hear_step(void *self, const sl_step_record *step) {
    replica *it = self;
    assert_true(it->step_count < MAX_STEPS);
    it->steps[it->step_count++] = *step;
}

static void hear_gap(void *self, int64_t gap_ns, int64_t count) {
    replica *it = self;
    assert_true(it->gap_count < MAX_GAPS);
    it->gaps[it->gap_count++] = (gap){gap_ns, count};
}

static const sl_probe_ops probe_ops = {.step = hear_step, .gap = hear_gap};

static void ended(void *self, sl_request *request) {
    replica *it = self;
    it->ended_count++;
    sli_request_destroy(request);
}

static void replica_init(replica *it, const setup *wanted, bool keeps_promises) {
    memset(it, 0, sizeof *it);
    it->probe = (sl_probe){.ops = &probe_ops, .self = it};
    it->promise.steps = wanted->promised_steps;
    it->config = (sli_engine_config){
        .max_batched_tokens = 1000,
        .max_seqs = REQUESTS,
        .max_model_tokens = 100000,
        .keeps_promises = keeps_promises,
        .pool = {.block_count = wanted->block_count,
                 .block_tokens = 4,
                 .has_index = wanted->has_public_prompts,
                 .caches_generated = true,
                 .layout = wanted->layout},
    };
    it->cost = wanted->layout != NULL ? &cost_of_rows : &cost_model;
    assert_int_equal(sli_world_init(&it->world, 1, &it->probe, 1), SL_OK);
    assert_int_equal(sli_core_init(&it->core, &it->world, 0, &it->config, &policy, &it->promise,
                                   &it->shared, it->cost),
                     SL_OK);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        /* Prompts of 4, 5 and 6 tokens: their blocks fill up in different steps. */
        static const uint64_t ids[REQUESTS] = {1, 2, 3};
        sl_request_desc desc = {.prompt_tokens = 4 + (int64_t)i,
                                .output_tokens = wanted->output_tokens[i]};
        if (wanted->has_public_prompts) {
            desc.content = (sl_content){&ids[i], 1, desc.prompt_tokens, 1};
        }
        sl_request *request;
        if (desc.output_tokens > 0) {
            assert_int_equal(sli_request_create(i, i, &desc, 0, &request), SL_OK);
            request->home = &it->core.queue;
            assert_int_equal(sli_queue_add(&it->core.queue, request), SL_OK);
        }
    }
}

static void replica_fini(replica *it) {
    assert_int_equal(it->world.fault, SL_OK);
    while (it->core.first_running != NULL) {
        sl_request *request = it->core.first_running;
        sli_core_unseat(&it->core, request, false);
        sli_request_destroy(request);
    }
    assert_int_equal(it->core.pool.free_blocks, it->config.pool.block_count);
    sli_core_fini(&it->core);
    sli_queue_fini(&it->shared);
    sli_world_fini(&it->world);
}

/* Plans at the present moment; the jump is in flight afterwards. */
static void begin(replica *it) {
    sli_core_plan(&it->core);
    assert_true(it->core.state.planned_requests > 0);
    sli_jump_begin(&it->jump, &it->core, it->cost, it->world.loop.now_ns);
}

static void end(replica *it) {
    it->world.loop.now_ns = sli_jump_end(&it->jump);
    const sli_own *own = sli_jump_finish(&it->jump, &it->core);
    sli_core_advance(&it->core, own, &(sli_listener){.ended = ended, .self = it});
}

/* Past the step that computes the prompts, which is never part of a jump. */
static void replica_start(replica *it, const setup *wanted, bool keeps_promises) {
    replica_init(it, wanted, keeps_promises);
    begin(it);
    assert_int_equal(it->jump.count, 1);
    end(it);
    it->core.stalled_steps = 7; /* any step of decoding ends a stall */
}

/* ---- Comparing ---- */

static void assert_same_step(const sl_step_record *a, const sl_step_record *b) {
    assert_int_equal(a->start_ns, b->start_ns);
    assert_int_equal(a->end_ns, b->end_ns);
    assert_int_equal(a->tokens, b->tokens);
    assert_int_equal(a->prefill_tokens, b->prefill_tokens);
    assert_int_equal(a->sequences, b->sequences);
    assert_int_equal(a->running, b->running);
    assert_int_equal(a->held_blocks, b->held_blocks);
    assert_int_equal(a->cached_blocks, b->cached_blocks);
}

static void assert_same(replica *jumping, replica *twin) {
    assert_int_equal(jumping->step_count, twin->step_count);
    for (int i = 0; i < twin->step_count; i++) {
        assert_same_step(&jumping->steps[i], &twin->steps[i]);
    }
    assert_int_equal(jumping->gap_count, twin->gap_count);
    assert_memory_equal(jumping->gaps, twin->gaps, (size_t)twin->gap_count * sizeof(gap));
    assert_int_equal(jumping->ended_count, twin->ended_count);
    assert_int_equal(jumping->core.stalled_steps, twin->core.stalled_steps);
    assert_int_equal(jumping->core.pool.free_blocks, twin->core.pool.free_blocks);
    assert_int_equal(jumping->core.lockstep.computed_sum, twin->core.lockstep.computed_sum);
    assert_memory_equal(&jumping->core.lockstep.own, &twin->core.lockstep.own, sizeof(sli_own));
}

/* The twin does as many steps as the other one has done. */
static void catch_up(replica *twin, const replica *jumping) {
    while (twin->step_count < jumping->step_count) {
        begin(twin);
        end(twin);
        assert_int_equal(twin->jump.count, 1);
    }
}

static void run_to_the_end(replica *jumping, replica *twin) {
    while (jumping->core.running > 0) {
        begin(jumping);
        end(jumping);
        catch_up(twin, jumping);
        assert_same(jumping, twin);
    }
}

static replica jumping, twin;

static const setup roomy = {1000, 1000, {40, 61, 90}, NULL, false};

/* Layers of other sorts in blocks of 2, 4 and 8; all prompts are as long as the first window. */
static const sli_layout of_all_sorts = {
    .align_tokens = 8,
    .is_shareable = true,
    .group_count = 5,
    .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 4, .block_pages = 1},
               {.kind = SLI_GROUP_SLIDING, .span_tokens = 4, .block_tokens = 2, .block_pages = 3},
               {.kind = SLI_GROUP_CHUNKED, .span_tokens = 8, .block_tokens = 4, .block_pages = 2},
               {.kind = SLI_GROUP_STATE, .block_tokens = 8, .block_pages = 4},
               {.kind = SLI_GROUP_SLIDING, .span_tokens = 5, .block_tokens = 8, .block_pages = 1}},
};

/* Nothing grows but for a while. */
static const sli_layout of_windows = {
    .align_tokens = 4,
    .is_shareable = true,
    .group_count = 2,
    .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 4, .block_pages = 0},
               {.kind = SLI_GROUP_SLIDING, .span_tokens = 20, .block_tokens = 4, .block_pages = 3}},
};

static const setup hybrid = {1000, 1000, {40, 61, 90}, &of_all_sorts, false};

/* ---- Tests ---- */

static void a_jump_is_its_steps_one_by_one(void **state) {
    (void)state;
    const setup setups[] = {
        roomy,
        hybrid,
        {1000, 1000, {40, 61, 90}, &of_windows, false},
        {1000, 1000, {40, 61, 90}, &of_all_sorts, true},
        {1000, 1000, {40, 61, 90}, &of_windows, true},
    };
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        replica_start(&jumping, &setups[i], true);
        replica_start(&twin, &setups[i], false);
        run_to_the_end(&jumping, &twin);
        assert_int_equal(jumping.ended_count, REQUESTS);
        assert_true(jumping.promise.times_asked < twin.promise.times_asked / 5);
        replica_fini(&jumping);
        replica_fini(&twin);
    }
}

/* Steps but the last that have ended by then. */
static int64_t ended_by(const sli_jump *jump, int64_t now_ns) {
    int64_t ended_steps = 0;
    while (ended_steps < jump->count - 1 && jump->end_ns[ended_steps] <= now_ns) {
        ended_steps++;
    }
    return ended_steps;
}

/* Both finish the step in flight, or begin a new one if none is, and go on to the end. */
static void go_on_after_cut(const setup *wanted, bool is_in_flight, int64_t now_ns) {
    int64_t executed_steps = jumping.jump.committed + is_in_flight;
    if (is_in_flight) {
        begin(&twin);
        assert_int_equal(sli_jump_end(&jumping.jump), sli_jump_end(&twin.jump));
        assert_int_equal(jumping.core.pool.free_blocks, twin.core.pool.free_blocks);
        end(&jumping);
        end(&twin);
    } else {
        jumping.world.loop.now_ns = now_ns;
    }
    assert_same(&jumping, &twin);
    /* The step for which the policy was asked is none of those promised. */
    assert_int_equal(jumping.core.promise.steps_left,
                     wanted->promised_steps - (executed_steps - 1));
    run_to_the_end(&jumping, &twin);
}

static void check_cut(const setup *wanted, int64_t step, int64_t offset_ns, bool has_planned_now) {
    replica_start(&jumping, wanted, true);
    replica_start(&twin, wanted, false);
    jumping.jump.limit = 16;
    begin(&jumping);
    const sli_jump planned = jumping.jump;
    assert_int_equal(planned.count, 16);
    int64_t now_ns = (step > 0 ? planned.end_ns[step - 1] : planned.start_ns) + offset_ns;
    int64_t ended_steps = ended_by(&planned, now_ns);
    bool is_between = ended_steps > 0 && planned.end_ns[ended_steps - 1] == now_ns;
    bool is_in_flight = !is_between || has_planned_now;

    assert_int_equal(sli_jump_cut(&jumping.jump, &jumping.core, now_ns, has_planned_now),
                     is_in_flight);
    assert_int_equal(jumping.jump.committed, ended_steps);
    assert_int_equal(jumping.jump.count, ended_steps + is_in_flight);
    catch_up(&twin, &jumping);
    assert_int_equal(twin.step_count, 1 + ended_steps);
    go_on_after_cut(wanted, is_in_flight, now_ns);
    replica_fini(&jumping);
    replica_fini(&twin);
}

/* At the start, inside a step, when one ends, just before and just after, and in the last one. */
static void a_cut_leaves_the_step_in_flight_alone(void **state) {
    (void)state;
    for (int64_t step = 0; step < 16; step++) {
        for (int64_t offset_ns = step > 0 ? -1 : 0; offset_ns <= 1; offset_ns++) {
            check_cut(&roomy, step, offset_ns, false);
            check_cut(&roomy, step, offset_ns, true);
            check_cut(&hybrid, step, offset_ns, false);
            check_cut(&hybrid, step, offset_ns, true);
        }
    }
}

/* In any portions, and twice. */
static void committing_twice_is_committing_once(void **state) {
    (void)state;
    for (int64_t stride = 1; stride <= 6; stride++) {
        const setup *wanted = stride % 2 == 0 ? &roomy : &hybrid;
        replica_start(&jumping, wanted, true);
        replica_start(&twin, wanted, false);
        jumping.jump.limit = 16;
        begin(&jumping);
        for (int64_t step = 0; step < 16; step += stride) {
            int64_t now_ns = jumping.jump.end_ns[step];
            for (int times = 0; times < 2; times++) {
                sli_jump_commit(&jumping.jump, &jumping.core, now_ns);
                assert_int_equal(jumping.jump.committed, ended_by(&jumping.jump, now_ns));
                assert_int_equal(jumping.step_count, 1 + jumping.jump.committed);
            }
            catch_up(&twin, &jumping);
            assert_same(&jumping, &twin);
        }
        end(&jumping);
        catch_up(&twin, &jumping);
        assert_same(&jumping, &twin);
        run_to_the_end(&jumping, &twin);
        replica_fini(&jumping);
        replica_fini(&twin);
    }
}

/* Every answer is good for the step that it was given for and the promised ones. */
static void a_finite_promise_is_asked_for_again_when_it_is_used_up(void **state) {
    (void)state;
    for (int64_t promised_steps = 0; promised_steps <= 12; promised_steps++) {
        const setup wanted = {1000, promised_steps, {200, 0, 0}, NULL, false};
        replica_start(&jumping, &wanted, true);
        for (int rounds = 1; rounds <= 5; rounds++) {
            jumping.jump.limit = SLI_JUMP_STEPS_MAX;
            begin(&jumping);
            assert_int_equal(jumping.jump.count, promised_steps + 1);
            assert_int_equal(jumping.promise.times_asked, 1 + rounds);
            end(&jumping);
            assert_int_equal(jumping.core.promise.steps_left, 0);
        }
        replica_fini(&jumping);
    }
}

static void a_jump_that_was_cut_leaves_the_rest_of_its_promise(void **state) {
    (void)state;
    const setup wanted = {1000, 9, {200, 0, 0}, NULL, false};
    replica_start(&jumping, &wanted, true);
    jumping.jump.limit = SLI_JUMP_STEPS_MAX;
    begin(&jumping);
    /* The fourth step is in flight, then six of the ten are left. */
    assert_true(sli_jump_cut(&jumping.jump, &jumping.core, jumping.jump.end_ns[2] + 1, false));
    end(&jumping);
    jumping.jump.limit = SLI_JUMP_STEPS_MAX;
    begin(&jumping);
    assert_int_equal(jumping.jump.count, 6);
    assert_int_equal(jumping.promise.times_asked, 2);
    /* Two more, and the third is not begun. */
    int64_t now_ns = jumping.jump.end_ns[1];
    assert_false(sli_jump_cut(&jumping.jump, &jumping.core, now_ns, false));
    jumping.world.loop.now_ns = now_ns;
    jumping.jump.limit = SLI_JUMP_STEPS_MAX;
    begin(&jumping);
    assert_int_equal(jumping.jump.count, 4);
    assert_int_equal(jumping.promise.times_asked, 2);
    end(&jumping);
    replica_fini(&jumping);
}

static void the_limit_doubles_when_used_up_and_shrinks_on_cuts(void **state) {
    (void)state;
    const setup wanted = {10000, 100000, {2000, 0, 0}, NULL, false};
    replica_start(&jumping, &wanted, true);
    jumping.jump.limit = 0;
    for (int64_t expected = 4; expected <= 2 * SLI_JUMP_STEPS_MAX; expected *= 2) {
        begin(&jumping);
        assert_int_equal(jumping.jump.count,
                         expected < SLI_JUMP_STEPS_MAX ? expected : SLI_JUMP_STEPS_MAX);
        end(&jumping);
    }
    begin(&jumping);
    assert_true(sli_jump_cut(&jumping.jump, &jumping.core, jumping.jump.end_ns[9] + 1, false));
    assert_int_equal(jumping.jump.limit, 11);
    end(&jumping);
    begin(&jumping);
    assert_true(sli_jump_cut(&jumping.jump, &jumping.core, jumping.jump.start_ns, true));
    assert_int_equal(jumping.jump.limit, 2);
    end(&jumping);
    replica_fini(&jumping);
}

static void a_jump_ends_with_the_first_that_finishes(void **state) {
    (void)state;
    for (int64_t output_tokens = 2; output_tokens <= 40; output_tokens++) {
        const setup wanted = {1000, 1000, {100, output_tokens, 90}, NULL, false};
        replica_start(&jumping, &wanted, true);
        jumping.jump.limit = SLI_JUMP_STEPS_MAX;
        begin(&jumping);
        assert_int_equal(jumping.jump.count, output_tokens - 1); /* the first came out before */
        end(&jumping);
        assert_int_equal(jumping.ended_count, 1);
        replica_fini(&jumping);
    }
}

/* A prompt of one block of 4: every other block is good for 4 steps, the last one too. */
static void blocks_are_planned_down_to_exactly_zero(void **state) {
    (void)state;
    for (int64_t block_count = 2; block_count <= 20; block_count++) {
        const setup wanted = {block_count, 1000, {200, 0, 0}, NULL, false};
        replica_start(&jumping, &wanted, true);
        jumping.jump.limit = SLI_JUMP_STEPS_MAX;
        begin(&jumping);
        assert_int_equal(jumping.jump.count, 4 * (block_count - 1));
        end(&jumping);
        assert_int_equal(jumping.core.pool.free_blocks, 0);
        replica_fini(&jumping);
    }
}

/*
 * A window of 20 in blocks of 4: a request of 4 tokens comes to its length (19 kept ones) in 15
 * steps, and passes a block every fourth step from then on. It never holds more than 6 blocks of 3
 * pages: with so many a jump ends only there, with fewer when the sixth is missing.
 */
static void a_window_lives_on_what_it_leaves_behind(void **state) {
    (void)state;
    for (int64_t block_count = 2; block_count <= 8; block_count++) {
        const setup wanted = {3 * block_count, 1000, {200, 0, 0}, &of_windows, false};
        replica_start(&jumping, &wanted, true);
        jumping.jump.limit = SLI_JUMP_STEPS_MAX;
        begin(&jumping);
        int64_t steps_with_blocks = 4 * (block_count - 1);
        assert_int_equal(jumping.jump.count, steps_with_blocks < 15 ? steps_with_blocks : 15);
        end(&jumping);
        if (block_count >= 6) {
            jumping.jump.limit = SLI_JUMP_STEPS_MAX;
            begin(&jumping);
            assert_int_equal(jumping.jump.count, 199 - 15); /* all that is left of the output */
            end(&jumping);
        }
        replica_fini(&jumping);
    }
}

/*
 * A window of 18 in blocks of 4 keeps 17 tokens: it passes block 0 in the step that computes token
 * 21, and that takes block 5. With 5 blocks the step before is the last: what a step leaves behind
 * is not there for itself.
 */
static void a_block_is_free_only_for_the_next_step(void **state) {
    (void)state;
    sli_layout layout = of_windows;
    layout.groups[1].span_tokens = 18;
    for (int64_t block_count = 5; block_count <= 6; block_count++) {
        const setup wanted = {3 * block_count, 1000, {200, 0, 0}, &layout, false};
        replica_start(&jumping, &wanted, true);
        const int64_t expected[] = {13, block_count == 5 ? 3 : 199 - 13};
        for (int i = 0; i < 2; i++) {
            jumping.jump.limit = SLI_JUMP_STEPS_MAX;
            begin(&jumping);
            assert_int_equal(jumping.jump.count, expected[i]);
            end(&jumping);
        }
        replica_fini(&jumping);
    }
}

/*
 * Of a prompt of 5 tokens others may find block 0 of the window of 20. The window passes it in the
 * step that computes token 23 (it keeps 19 tokens), so a jump ends before: the step of token 6 is
 * the first, and in between the request comes to the length of the window.
 */
static void a_jump_ends_before_a_window_passes_what_others_may_find(void **state) {
    (void)state;
    const setup wanted = {1000, 1000, {0, 200, 0}, &of_windows, true};
    replica_start(&jumping, &wanted, true);
    static const int64_t expected[] = {14, 3, 1, 181};
    for (int i = 0; i < 4; i++) {
        jumping.jump.limit = SLI_JUMP_STEPS_MAX;
        begin(&jumping);
        assert_int_equal(jumping.jump.count, expected[i]);
        assert_int_equal(jumping.core.pool.cached_blocks, i < 3 ? 0 : 3);
        end(&jumping);
    }
    assert_int_equal(jumping.ended_count, 1);
    replica_fini(&jumping);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_is_its_steps_one_by_one),
        cmocka_unit_test(a_cut_leaves_the_step_in_flight_alone),
        cmocka_unit_test(committing_twice_is_committing_once),
        cmocka_unit_test(a_finite_promise_is_asked_for_again_when_it_is_used_up),
        cmocka_unit_test(a_jump_that_was_cut_leaves_the_rest_of_its_promise),
        cmocka_unit_test(the_limit_doubles_when_used_up_and_shrinks_on_cuts),
        cmocka_unit_test(a_jump_ends_with_the_first_that_finishes),
        cmocka_unit_test(blocks_are_planned_down_to_exactly_zero),
        cmocka_unit_test(a_window_lives_on_what_it_leaves_behind),
        cmocka_unit_test(a_block_is_free_only_for_the_next_step),
        cmocka_unit_test(a_jump_ends_before_a_window_passes_what_others_may_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
