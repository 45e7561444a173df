/*
 * Memory that is reserved and not used, and what blocks on demand leave of that.
 *
 * Chapters 4 and 15 of a guide to KV caches: 4,096 tokens are reserved for a request that uses 200;
 * the systems before PagedAttention had 60 to 80 % of their cache for nothing. The figure is that
 * of Kwon et al., SOSP 2023, with prompts of 161 and answers of 338 tokens in the mean (ShareGPT),
 * contexts of at most 2,048, and less than 4 % with blocks on demand.
 */
#include "history.h"
#include "inspection.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { BLOCK_TOKENS = 16 };

/* ---- One request ---- */

#define ALONE                                                                                      \
    "model: llama-3.1-8b\n"                                                                        \
    "hardware: h100-sxm\n"                                                                         \
    "output: {dir: none}\n"                                                                        \
    "engine: {max_model_len: 4096 tokens}\n"                                                       \
    "prefix: {index: none}\n"                                                                      \
    "workload: {source: closed, concurrency: 1, requests: 1, prompt: {fixed: 150 tokens},\n"       \
    "  output: {fixed: 51 tokens}}\n"

/* Tokens that there is room for in the blocks of the request when it ends; the last token of its
 * answer has no slot. */
static int64_t tokens_held(const char *policy) {
    const char *const sets[] = {policy, NULL};
    sli_simulation simulation;
    sli_history history = {0};
    sl_probe probe = sli_history_probe(&history);
    sli_simulation_open(ALONE, sets, &simulation);
    sli_simulation_run(&simulation, &probe);
    const sl_transition *last = &history.transitions[history.transition_count - 1];
    assert_int_equal(last->kind, SL_FINISH);
    assert_int_equal(history.records[0].computed_tokens, 200);
    int64_t tokens = last->blocks * BLOCK_TOKENS;
    sli_history_fini(&history);
    sli_simulation_fini(&simulation);
    return tokens;
}

static void of_4096_tokens_200_are_used(void **state) {
    (void)state;
    assert_int_equal(tokens_held("engine.policy=orca"), 4096);
    assert_int_equal(tokens_held("engine.policy=vllm_v1"), 13 * BLOCK_TOKENS);
}

/* ---- Many ---- */

#define SHARE_GPT                                                                                  \
    "model: llama-3.1-8b\n"                                                                        \
    "hardware: h100-sxm\n"                                                                         \
    "output: {dir: none}\n"                                                                        \
    "engine: {max_model_len: 2048 tokens}\n"                                                       \
    "prefix: {index: none}\n"                                                                      \
    "workload: {source: closed, concurrency: 20, requests: 500,\n"                                 \
    "  prompt: {exponential: {mean: 161 tokens}}, output: {exponential: {mean: 338 tokens}}}\n"

/* Summed over steps. */
typedef struct slots {
    int64_t used_tokens;
    int64_t held_tokens;
} slots;

static void add_step(void *self, const sli_sight *sight) {
    slots *sum = self;
    for (const sl_request *it = sight->core->first_running; it != NULL; it = it->next) {
        sum->used_tokens += sli_sight_computed(sight, it) + sli_sight_planned(sight, it);
    }
    sum->held_tokens += sight->step->held_blocks * BLOCK_TOKENS;
}

/* A whole prompt in the first step of a request, a token in each of the others. */
static slots slots_by_lengths(const sli_history *history) {
    slots sum = {0};
    for (size_t i = 0; i < history->record_count; i++) {
        const sl_request_record *record = &history->records[i];
        int64_t steps = record->generated_tokens;
        sum.used_tokens += steps * record->prompt_tokens + steps * (steps - 1) / 2;
        sum.held_tokens += steps * 2048;
    }
    return sum;
}

static slots play(const char *policy, slots *by_lengths) {
    const char *const sets[] = {policy, NULL};
    sli_simulation simulation;
    sli_history history = {0};
    slots sum = {0};
    sl_probe probe = sli_history_probe(&history);
    sli_inspection inspection = {.look = add_step, .self = &sum};
    sli_simulation_open(SHARE_GPT, sets, &simulation);
    sli_simulation_run_inspected(&simulation, &inspection, &probe);
    assert_int_equal(simulation.execution.metrics.preemption_count, 0);
    *by_lengths = slots_by_lengths(&history);
    sli_history_fini(&history);
    sli_simulation_fini(&simulation);
    return sum;
}

static double wasted(const slots *of) {
    return 1.0 - (double)of->used_tokens / (double)of->held_tokens;
}

static void reservations_waste_60_to_80_percent(void **state) {
    (void)state;
    slots by_lengths;
    slots found = play("engine.policy=orca", &by_lengths);
    assert_int_equal(found.used_tokens, by_lengths.used_tokens);
    assert_int_equal(found.held_tokens, by_lengths.held_tokens);
    assert_true(wasted(&found) > 0.60 && wasted(&found) < 0.80);
}

static void blocks_on_demand_waste_less_than_4_percent(void **state) {
    (void)state;
    slots by_lengths;
    slots found = play("engine.policy=vllm_v1", &by_lengths);
    assert_int_equal(found.used_tokens, by_lengths.used_tokens);
    assert_true(wasted(&found) > 0.0 && wasted(&found) < 0.04);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_4096_tokens_200_are_used),
        cmocka_unit_test(reservations_waste_60_to_80_percent),
        cmocka_unit_test(blocks_on_demand_waste_less_than_4_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
