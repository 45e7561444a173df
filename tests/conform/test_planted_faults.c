/*
 * The kit finds faults that are planted: each is an engine or a policy that is wrong in one way.
 * That the fault alone makes the difference is what test_batch_policies shows over these worlds.
 */
#include "adapt.h"
#include "engine/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WORLDS = 1000, ENOUGH = 5 };

static const sli_core *core_of(const sl_plan *plan) {
    return (const sli_core *)plan;
}

/* How many worlds it takes until ENOUGH have found the fault, with `word` in what they say. */
static int count_worlds(const sli_batch_case *it, const char *word) {
    sli_kit_tally tally = {0};
    char broken[SLI_BROKEN_CHARS];
    int finders = 0;
    int worlds = 0;
    while (worlds < WORLDS && finders < ENOUGH) {
        if (!sli_conforms(it, (uint64_t)worlds++, SLI_LAYERS_FULL, &tally, broken)) {
            finders += strstr(broken, word) != NULL;
        }
    }
    return worlds;
}

static void assert_found(void (*plant)(sl_plan_ops *ops), const char *word) {
    sl_plan_ops ops = sli_plan_ops;
    const sli_batch_case it = {.name = "vllm_v1", .adapt = sli_adapt_vllm_v1, .ops = &ops};
    plant(&ops);
    assert_true(count_worlds(&it, word) < WORLDS);
}

/* ---- Promises ---- */

static void repeat_without_arrivals(sl_plan *plan, int64_t steps, uint32_t disturbances) {
    sli_plan_ops.repeat(plan, steps, disturbances & ~(uint32_t)SL_ON_ARRIVAL);
}

static void plant_no_arrivals(sl_plan_ops *ops) {
    ops->repeat = repeat_without_arrivals;
}

static void arrival_that_is_never_named_dies(void **state) {
    (void)state;
    assert_found(plant_no_arrivals, "then promised");
}

/* Forgets that an arrival may overtake a head that is blocked. */
static void repeat_as_if_fcfs(sl_plan *plan, int64_t steps, uint32_t disturbances) {
    bool has_head = sli_core_waiting(core_of(plan)) > 0;
    sli_plan_ops.repeat(plan, steps, has_head ? 0 : disturbances);
}

static void plant_fcfs(sl_plan_ops *ops) {
    ops->repeat = repeat_as_if_fcfs;
}

static void arrival_that_overtakes_unnamed_dies(void **state) {
    (void)state;
    assert_found(plant_fcfs, "then promised");
}

/* ---- The regular step ---- */

static sl_answer take_all_uncapped(sl_plan *plan, int64_t cap_tokens) {
    (void)cap_tokens;
    return sli_plan_ops.take_all(plan, 0);
}

static void plant_no_cap(sl_plan_ops *ops) {
    ops->take_all = take_all_uncapped;
}

static void regular_step_without_its_cap_dies(void **state) {
    (void)state;
    assert_found(plant_no_cap, "walking");
}

/* Takes decoding requests only, and says that it took all. */
static sl_answer take_all_decoding(sl_plan *plan, int64_t cap_tokens) {
    (void)cap_tokens;
    return sli_plan_ops.decode_all(plan, 1);
}

static void plant_decodes(sl_plan_ops *ops) {
    ops->take_all = take_all_decoding;
}

static void regular_step_that_passes_prompts_over_dies(void **state) {
    (void)state;
    assert_found(plant_decodes, "");
}

/* ---- Books: what an engine with a mistake would do ---- */

static sl_answer take_beyond_budget(sl_plan *plan, sl_request *request, int64_t tokens) {
    ((sli_core *)plan)->state.budget_left += tokens < 1000 ? tokens : 1000;
    return sli_plan_ops.take(plan, request, tokens);
}

static void plant_no_budget(sl_plan_ops *ops) {
    ops->take = take_beyond_budget;
}

static void step_beyond_its_budget_dies(void **state) {
    (void)state;
    assert_found(plant_no_budget, "on a budget of");
}

static sl_answer preempt_and_miscount(sl_plan *plan, sl_request *request, sl_preempt_mode mode) {
    ((sli_core *)plan)->pool.cached_blocks++;
    return sli_plan_ops.preempt(plan, request, mode);
}

static void plant_miscount(sl_plan_ops *ops) {
    ops->preempt = preempt_and_miscount;
}

static void miscounted_pool_dies(void **state) {
    (void)state;
    assert_found(plant_miscount, "audit");
}

static sl_answer admit_and_forget_hits(sl_plan *plan, sl_request *request,
                                       const sl_admission *admission) {
    sl_answer answer = sli_plan_ops.admit(plan, request, admission);
    request->record.hit_tokens = 0;
    return answer;
}

static void plant_lost_hits(sl_plan_ops *ops) {
    ops->admit = admit_and_forget_hits;
}

static void tokens_that_do_not_add_up_die(void **state) {
    (void)state;
    assert_found(plant_lost_hits, "found or computed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrival_that_is_never_named_dies),
        cmocka_unit_test(arrival_that_overtakes_unnamed_dies),
        cmocka_unit_test(regular_step_without_its_cap_dies),
        cmocka_unit_test(regular_step_that_passes_prompts_over_dies),
        cmocka_unit_test(step_beyond_its_budget_dies),
        cmocka_unit_test(miscounted_pool_dies),
        cmocka_unit_test(tokens_that_do_not_add_up_die),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
