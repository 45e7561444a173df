/*
 * Every built-in batch policy, and the one to copy, through the conformance kit. A new one gets a
 * row in `cases` and a test.
 */
#include "adapt.h"
#include "engine/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const sl_policy_table *const sl_builtin_policies[];
extern const sl_policy_table sl_policies_TEMPLATE;

/* Orca once more, one request at a time: what its description says, read again. */
static void plan_orca_walking(void *self, sl_plan *plan) {
    int64_t longest_tokens = *(const int64_t *)self;
    for (sl_request *it = sl_plan_first_running(plan); it != NULL;
         it = sl_plan_next_running(plan, it)) {
        sl_plan_take(plan, it, INT64_MAX);
    }
    const sl_admission admission = {.reserve_tokens = longest_tokens};
    sl_request *head;
    do {
        head = sl_plan_first_waiting(plan);
    } while (head != NULL && sl_plan_admit(plan, head, &admission).code == SL_ANSWER_OK);
    sl_plan_view view = sl_plan_look(plan);
    sl_plan_repeat(plan, INT64_MAX, head == NULL && view.seats_left > 0 ? SL_ON_ARRIVAL : 0);
}

static sl_err init_orca_walking(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
    *(int64_t *)self = env->max_model_tokens;
    return SL_OK;
}

static const sl_batch_policy orca_walking = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "orca_walking",
               .summary = "orca, one request at a time",
               .capabilities = SL_CAP_NO_TOKEN_BUDGET | SL_CAP_RESERVES_MAX_LEN,
               .instance_bytes = sizeof(int64_t), .init = init_orca_walking},
    .plan = plan_orca_walking,
};

enum { VLLM_V1, ORCA, CASES, WORLDS = 6000 };

static const sli_batch_case cases[CASES] = {
    [VLLM_V1] = {.name = "vllm_v1", .adapt = sli_adapt_vllm_v1},
    [ORCA] = {.name = "orca", .adapt = sli_adapt_orca, .walker = &orca_walking},
};

/* It cuts nothing, and says so itself: the longest context must fit in a step. */
static void adapt_template(const sl_policy *policy, sli_rng *rng, sli_small_world *world,
                           void *values) {
    sli_engine_config *engine = &world->engine;
    engine->max_batched_tokens = engine->max_model_tokens > engine->max_seqs
                                     ? engine->max_model_tokens
                                     : engine->max_seqs;
    sli_set_param(policy, values, "max_prompts", sli_draw_between(rng, 1, 8));
}

static bool has_case(const char *name) {
    for (int i = 0; i < CASES; i++) {
        if (strcmp(cases[i].name, name) == 0) {
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
static void play(const sli_batch_case *it, const char *name, sli_kit_tally *tally) {
    char broken[SLI_BROKEN_CHARS];
    for (int i = 0; i < sli_scaled_worlds(WORLDS); i++) {
        if (!sli_conforms(it, (uint64_t)i, tally, broken)) {
            fail_msg("'%s', world %d: %s", name, i, broken);
        }
    }
    assert_true(tally->steps > 20 * tally->worlds);
    assert_true(tally->aborts > tally->worlds / 10);
}

static void vllm_v1_decides_alike_in_all_manners(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    play(&cases[VLLM_V1], "vllm_v1", &tally);
    assert_true(tally.asks_spared > tally.steps / 10);
    assert_true(tally.preemptions > tally.worlds / 2);
    assert_true(tally.hit_tokens > tally.worlds);
}

static void orca_decides_alike_in_all_manners(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    play(&cases[ORCA], "orca", &tally);
    assert_true(tally.asks_spared > tally.steps / 10);
    assert_int_equal(tally.preemptions, 0);
    assert_int_equal(tally.hit_tokens, 0);
}

/* The policy to copy makes no promises and has nothing to walk by; the laws hold for it too. */
static void template_serves_every_world(void **state) {
    (void)state;
    const sl_batch_policy *template = (const sl_batch_policy *)sl_policies_TEMPLATE.policies[0];
    const sli_batch_case it = {.policy = template, .walker = template, .adapt = adapt_template};
    sli_kit_tally tally = {0};
    play(&it, "template", &tally);
    assert_int_equal(tally.asks_spared, 0);
    assert_true(tally.preemptions > tally.worlds / 2);
    assert_true(tally.hit_tokens > tally.worlds);
}

static void repeat_twice(sl_plan *plan, int64_t steps, uint32_t disturbances) {
    sli_plan_ops.repeat(plan, steps < 2 ? steps : 2, disturbances);
}

/* A promise may be of any length. */
static void short_promises_change_nothing(void **state) {
    (void)state;
    sl_plan_ops ops = sli_plan_ops;
    ops.repeat = repeat_twice;
    sli_batch_case it = cases[VLLM_V1];
    it.ops = &ops;
    sli_kit_tally tally = {0};
    char broken[SLI_BROKEN_CHARS];
    for (int i = 0; i < sli_scaled_worlds(WORLDS / 4); i++) {
        if (!sli_conforms(&it, (uint64_t)i, &tally, broken)) {
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
        cmocka_unit_test(short_promises_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
