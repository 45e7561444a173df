/*
 * Every built-in batch policy, and the one to copy, through the conformance kit. A new one gets a
 * row in cases.c and a test.
 */
#include "cases.h"
#include "engine/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const sl_policy_table *const sl_builtin_policies[];
enum { WORLDS = 6000 };

static bool has_case(const char *name) {
    for (int i = 0; i < SLI_CASE_COUNT; i++) {
        if (strcmp(sli_case_name(&sli_batch_cases[i]), name) == 0) {
            return true;
        }
    }
    return false;
}

static void every_built_in_batch_policy_is_in_the_kit(void **state) {
    (void)state;
    for (const sl_policy_table *const *table = sl_builtin_policies; *table != NULL; table++) {
        for (size_t i = 0; i < (*table)->count; i++) {
            const sl_policy *policy = (*table)->policies[i];
            if (policy->kind == SL_POLICY_BATCH && !has_case(policy->name)) {
                fail_msg("'%s' has no row", policy->name);
            }
        }
    }
}

/* The tally shows that there was something to get wrong. */
static void play(const sli_batch_case *it, sli_kit_tally *tally) {
    static const char *const kinds[] = {"full attention", "groups", "kept rows"};
    char broken[SLI_BROKEN_CHARS];
    for (int i = 0; i < sli_scaled_worlds(WORLDS); i++) {
        sli_layers layers = (sli_layers)(i % SLI_LAYERS_COUNT);
        if (!sli_conforms(it, (uint64_t)i, layers, tally, broken)) {
            fail_msg("'%s', world %d of %s: %s", sli_case_name(it), i, kinds[layers], broken);
        }
    }
    assert_true(tally->steps > 20 * tally->worlds);
    assert_true(tally->aborts > tally->worlds / 10);
}

static void vllm_v1_decides_alike_in_all_manners(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    play(&sli_batch_cases[SLI_CASE_VLLM_V1], &tally);
    assert_true(tally.asks_spared > tally.steps / 10);
    assert_true(tally.preemptions > tally.worlds / 2);
    assert_true(tally.hit_tokens > tally.worlds);
}

static void orca_decides_alike_in_all_manners(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    play(&sli_batch_cases[SLI_CASE_ORCA], &tally);
    assert_true(tally.asks_spared > tally.steps / 10);
    assert_int_equal(tally.preemptions, 0);
    assert_int_equal(tally.hit_tokens, 0);
}

/* The policy to copy makes no promises and has nothing to walk by; the laws hold for it too. */
static void template_serves_every_world(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    sli_batch_case it = sli_batch_cases[SLI_CASE_TEMPLATE];
    it.walker = sli_case_policy(&it);
    play(&it, &tally);
    assert_int_equal(tally.asks_spared, 0);
    assert_true(tally.preemptions > tally.worlds / 2);
    assert_true(tally.hit_tokens > tally.worlds);
}

/* Its budget leaves decoders out of a step; it promises nothing, but it may be walked. */
static void budget_that_changes_leaves_nobody_behind(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    play(&sli_batch_cases[SLI_CASE_MOODY], &tally);
    assert_true(tally.preemptions > tally.worlds / 2);
}

/* What a request reserved is used up while it decodes; from then on it takes block by block. */
static void reservation_that_runs_out_is_extended(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    play(&sli_batch_cases[SLI_CASE_HEDGING], &tally);
    assert_true(tally.preemptions > tally.worlds / 4);
}

static void repeat_twice(sl_plan *plan, int64_t steps, uint32_t disturbances) {
    sli_plan_ops.repeat(plan, steps < 2 ? steps : 2, disturbances);
}

/* A promise may be of any length. */
static void short_promises_change_nothing(void **state) {
    (void)state;
    sl_plan_ops ops = sli_plan_ops;
    ops.repeat = repeat_twice;
    sli_batch_case it = sli_batch_cases[SLI_CASE_VLLM_V1];
    it.ops = &ops;
    sli_kit_tally tally = {0};
    char broken[SLI_BROKEN_CHARS];
    for (int i = 0; i < sli_scaled_worlds(WORLDS / 4); i++) {
        if (!sli_conforms(&it, (uint64_t)i, (sli_layers)(i % SLI_LAYERS_COUNT), &tally, broken)) {
            fail_msg("world %d: %s", i, broken);
        }
    }
    assert_true(tally.asks_spared > tally.steps / 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_built_in_batch_policy_is_in_the_kit),
        cmocka_unit_test(vllm_v1_decides_alike_in_all_manners),
        cmocka_unit_test(orca_decides_alike_in_all_manners),
        cmocka_unit_test(template_serves_every_world),
        cmocka_unit_test(budget_that_changes_leaves_nobody_behind),
        cmocka_unit_test(reservation_that_runs_out_is_extended),
        cmocka_unit_test(short_promises_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
