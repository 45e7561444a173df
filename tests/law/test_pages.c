/*
 * Pages and prefixes of runs, by hand.
 *
 * gpt-oss-20b has 12 full layers and 12 of a window of 128 tokens in pages of 12 x 16 x 2,048 bytes
 * (384 KiB). Qwen3.5 9B has blocks of 528 tokens on one rank and of 272 on eight, which is what a
 * state of its recurrent layers takes; states are saved where a chunk of a prompt ends, which is at
 * the end of a block, the last one of the prompt among them.
 */
#include "history.h"
#include "simulation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- Windows ---- */

/* One prompt token and 8,190 decoded ones, in step from the second on: 8,191 slots. */
#define IN_STEP                                                                                    \
    "model: gpt-oss-20b\n"                                                                         \
    "hardware: h200\n"                                                                             \
    "output: {dir: none}\n"                                                                        \
    "engine: {max_model_len: 8192 tokens}\n"                                                       \
    "workload: {source: closed, concurrency: 32, requests: 32, prompt: {fixed: 1 tokens},\n"       \
    "  output: {fixed: 8191 tokens}}\n"

/* At the worst a request holds 512 blocks of its full layers, and of the others 9 of a window while
 * its end moves into the ninth; ceil((127 + 2,048) / 16) + 1; ceil(8,192 / 16) + 1; 512. */
static void gpt_oss_holds_at_most_what_its_windows_are_given(void **state) {
    (void)state;
    static const struct {
        const char *window_pages;
        const char *budget;
        int64_t window_blocks;
        double gib;
    } cases[] = {
        {"memory.window_pages=freed", "engine.max_batched_tokens=8192 tokens", 9, 6.10546875},
        {"memory.window_pages=reserved", "engine.max_batched_tokens=2048 tokens", 137, 7.60546875},
        {"memory.window_pages=reserved", "engine.max_batched_tokens=8192 tokens", 513, 12.01171875},
        {"memory.window_pages=ignored", "engine.max_batched_tokens=8192 tokens", 512, 12.0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *const sets[] = {cases[i].window_pages, cases[i].budget, NULL};
        sli_simulation simulation;
        sli_simulation_open(IN_STEP, sets, &simulation);
        sli_simulation_run(&simulation, NULL);
        const sli_metrics *metrics = &simulation.execution.metrics;
        double peak_bytes = (double)metrics->replicas[0].peak_blocks *
                            (double)simulation.execution.deployment.layout->page_bytes;
        assert_int_equal(metrics->finished_count, 32);
        assert_int_equal(metrics->preemption_count, 0);
        assert_true(peak_bytes == 32.0 * (double)(512 + cases[i].window_blocks) * 393216.0);
        assert_true(peak_bytes / 0x1p30 == cases[i].gib);
        sli_simulation_fini(&simulation);
    }
}

/* ---- Reservations ---- */

/* Orca reserves for the longest context, of 4,224 tokens. Of Qwen3.5 9B these are 8 blocks of a
 * page and a state of three pages, which nobody can find and is written over: 11. Of gpt-oss-20b
 * they are 264 blocks and those that a window can lie in: ceil((128 + 15) / 16) = 9 while it
 * decodes, 63 for a prompt of 1,000 tokens that is computed at once, 327 then and 273 afterwards.
 * Nobody is ever short of a block. */
static void what_orca_reserves_is_enough_and_not_more(void **state) {
    (void)state;
    static const char text[] =
        "model: qwen3.5-9b\n"
        "hardware: h200\n"
        "output: {dir: none}\n"
        "prefix: {index: none}\n"
        "engine: {policy: orca, max_model_len: 4224 tokens}\n"
        "workload: {source: closed, concurrency: 6, requests: 6, prompt: {fixed: 100 tokens},\n"
        "  output: {fixed: 3000 tokens}}\n";
    static const struct {
        const char *sets[4];
        int64_t running;
        int64_t peak_pages;
    } cases[] = {
        {{"memory.kv_blocks=11"}, 1, 11},
        {{"memory.kv_blocks=22"}, 2, 22},
        {{"memory.kv_blocks=32"}, 2, 22},
        {{"model=gpt-oss-20b", "memory.kv_blocks=546"}, 2, 546},
        {{"model=gpt-oss-20b", "memory.kv_blocks=545"}, 1, 273},
        {{"model=gpt-oss-20b", "memory.kv_blocks=600", "workload.prompt.fixed=1000 tokens"},
         2,
         600},
        {{"model=gpt-oss-20b", "memory.kv_blocks=599", "workload.prompt.fixed=1000 tokens"},
         1,
         327},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_history history = {0};
        sl_probe probe = sli_history_probe(&history);
        sli_simulation simulation;
        sli_simulation_open(text, cases[i].sets, &simulation);
        sli_simulation_run(&simulation, &probe);
        int64_t running = 0;
        for (size_t j = 0; j < history.step_count; j++) {
            running = history.steps[j].running > running ? history.steps[j].running : running;
        }
        assert_int_equal(simulation.execution.metrics.finished_count, 6);
        assert_int_equal(running, cases[i].running);
        assert_int_equal(simulation.execution.metrics.replicas[0].peak_blocks, cases[i].peak_pages);
        sli_history_fini(&history);
        sli_simulation_fini(&simulation);
    }
}

/* ---- Prefixes ---- */

/* Two prompts of 1,500 tokens, one after the other, that begin alike. */
#define AFTER_EACH_OTHER                                                                           \
    "model: qwen3.5-9b\n"                                                                          \
    "hardware: h200\n"                                                                             \
    "output: {dir: none}\n"                                                                        \
    "workload: {source: closed, concurrency: 1, requests: 2, prompt: {fixed: 500 tokens},\n"       \
    "  output: {fixed: 20 tokens}, system_prompts: {count: 1, length: 1000 tokens}}\n"

static int64_t tokens_found(const char *const *sets) {
    sli_history history = {0};
    sl_probe probe = sli_history_probe(&history);
    sli_simulation simulation;
    sli_simulation_open(AFTER_EACH_OTHER, sets, &simulation);
    sli_simulation_run(&simulation, &probe);
    assert_int_equal(history.record_count, 2);
    assert_int_equal(history.records[0].hit_tokens, 0);
    assert_int_equal(history.records[1].prompt_tokens, 1500);
    int64_t tokens = history.records[1].hit_tokens;
    sli_history_fini(&history);
    sli_simulation_fini(&simulation);
    return tokens;
}

/* The first prompt is computed up to 1,056 = 2 x 528 tokens at once, and then to its end. */
static void a_state_is_found_where_a_chunk_has_ended(void **state) {
    (void)state;
    static const struct {
        const char *sets[4];
        int64_t tokens;
    } cases[] = {
        /* the state at 1,056 is of contents that differ, and there is none at 528 */
        {{"seed=1"}, 0},
        /* 1,200 tokens in common: the state is theirs; 200 more are computed again */
        {{"workload.system_prompts.length=1200 tokens", "workload.prompt.fixed=300 tokens"}, 1056},
        /* not so for 1,055 */
        {{"workload.system_prompts.length=1055 tokens", "workload.prompt.fixed=445 tokens"}, 0},
        /* chunks of at most 600 tokens: to 528, 1,056 and 1,500 */
        {{"engine.max_batched_tokens=600 tokens"}, 528},
        {{"engine.max_batched_tokens=600 tokens", "prefix.states=none"}, 0},
        /* of 272: 544, 1,088, 1,360 and 1,500; the full layers would have gone on to 816 */
        {{"engine.max_batched_tokens=600 tokens", "replicas.tp=8"}, 544},
        /* a chunk within a block is left alone, the next one ends with it: to 500, 528, 1,028 */
        {{"engine.max_batched_tokens=500 tokens"}, 528},
        /* to 160, 320, 480, 528 */
        {{"engine.max_batched_tokens=160 tokens"}, 528},
        /* blocks of 500 tokens would be too small for a state: of 1,000 they are asked for */
        {{"engine.block=1000 tokens", "engine.max_batched_tokens=1000 tokens"}, 1000},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t tokens = tokens_found(cases[i].sets);
        if (tokens != cases[i].tokens) {
            fail_msg("case %zu: %lld tokens found, not %lld", i, (long long)tokens,
                     (long long)cases[i].tokens);
        }
    }
}

/* Without states whole blocks of 16 tokens are found: 62 of the 1,000 tokens. A window needs the
 * 127 tokens before, which lie in the queue of free blocks until somebody wants these. */
static void windows_and_full_layers_are_found_in_whole_blocks(void **state) {
    (void)state;
    static const char *const models[] = {"model=llama-3.1-8b", "model=gpt-oss-20b",
                                         "model=mistral-7b-v0.1"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        const char *const sets[] = {models[i], NULL};
        assert_int_equal(tokens_found(sets), 992);
        const char *const reserved[] = {models[i], "memory.window_pages=reserved", NULL};
        assert_int_equal(tokens_found(reserved), i == 0 ? 992 : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt_oss_holds_at_most_what_its_windows_are_given),
        cmocka_unit_test(what_orca_reserves_is_enough_and_not_more),
        cmocka_unit_test(a_state_is_found_where_a_chunk_has_ended),
        cmocka_unit_test(windows_and_full_layers_are_found_in_whole_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
