/* The policy vllm_v1 on the engine against an independent model of it, transition by transition. */
#include "kernel/time.h"
#include "kit.h"
#include "vllm_blocks.h"
#include "vllm_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORLDS = 20000, WORLDS_WITH_GROUPS = 12000 };

static const sli_batch_case vllm_v1 = {.name = "vllm_v1"};

static sli_vllm_options draw_options(sli_rng *rng) {
    return (sli_vllm_options){
        .long_prefill_tokens = sli_draw_once_in(rng, 3) ? sli_draw_between(rng, 1, 24) : 0,
        .chunks_prefill = !sli_draw_once_in(rng, 4),
        .reserves_full_prompt = sli_draw_once_in(rng, 3),
    };
}

/* One replica, patient clients, and without chunks a budget that takes every prompt. */
static void make_plain(sli_small_world *world, const sli_vllm_options *options) {
    world->replica_count = 1;
    for (int i = 0; i < world->request_count; i++) {
        sli_small_request *request = &world->requests[i];
        int64_t longest_tokens = request->desc.prompt_tokens + request->desc.output_tokens - 1;
        request->patience_ns = SLI_NEVER;
        if (!options->chunks_prefill && world->engine.max_batched_tokens < longest_tokens) {
            world->engine.max_batched_tokens = longest_tokens;
        }
    }
}

/* False when the world is too large for the model. */
static bool compare(uint64_t number, sli_layers layers, sli_kit_tally *tally) {
    static sl_transition expected[SLI_VLLM_LOG];
    _Alignas(max_align_t) unsigned char values[SLI_VALUES_BYTES];
    sli_small_world world;
    sli_rng rng;
    sli_case_world(&vllm_v1, number, SLI_LAYERS_FULL, &world, values);
    sli_rng_init(&rng, number, "options of vLLM", 0, 0);
    const sli_vllm_options options = draw_options(&rng);
    make_plain(&world, &options);
    const sl_batch_policy *policy = sli_case_policy(&vllm_v1);
    sli_small_world_regroup(&world, layers, &policy->policy);
    if (world.engine.pool.block_count > SLI_VLLM_PAGES) {
        return false;
    }
    sli_set_param(&policy->policy, values, "long_prefill_threshold", options.long_prefill_tokens);
    sli_set_param(&policy->policy, values, "chunked_prefill", options.chunks_prefill);
    sli_set_param(&policy->policy, values, "full_prompt_fits", options.reserves_full_prompt);
    const sli_manner manner = {.keeps_promises = number % 2 == 0};
    sli_rehearsal played;
    sli_rehearse(&world, policy, values, &manner, &played);
    assert_int_equal(played.status, SL_OK);
    assert_string_equal(played.broken, "");
    size_t count = sli_vllm_model_run(&world, &options, expected);
    char text[SLI_BROKEN_CHARS];
    if (sli_transitions_differ(expected, count, played.transitions, played.transition_count,
                               text)) {
        fail_msg("world %d, the model, then the engine: %s", (int)number, text);
    }
    tally->worlds++;
    tally->preemptions += played.preemptions;
    tally->hit_tokens += played.hit_tokens;
    sli_rehearsal_fini(&played);
    return true;
}

static void engine_and_model_agree_on_every_transition(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    for (int i = 0; i < sli_scaled_worlds(WORLDS); i++) {
        assert_true(compare((uint64_t)i, SLI_LAYERS_FULL, &tally));
    }
    assert_true(tally.preemptions > tally.worlds);
    assert_true(tally.hit_tokens > tally.worlds);
}

static void they_agree_with_windows_chunks_and_states(void **state) {
    (void)state;
    sli_kit_tally tally = {0};
    int worlds = sli_scaled_worlds(WORLDS_WITH_GROUPS);
    for (int i = 0; i < worlds; i++) {
        (void)compare((uint64_t)i, SLI_LAYERS_GROUPS, &tally);
    }
    assert_true(tally.worlds > worlds * 9 / 10);
    assert_true(tally.preemptions > tally.worlds);
    assert_true(tally.hit_tokens > 10 * tally.worlds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine_and_model_agree_on_every_transition),
        cmocka_unit_test(they_agree_with_windows_chunks_and_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
