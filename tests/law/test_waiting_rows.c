/*
 * Caches whose latest rows wait in bf16: what a run holds against the bytes of the format.
 *
 * Llama 3.1 8B in kivi2: a page has 16 tokens of 512 rows of 48 bytes, 393,216 bytes, and a request
 * has 43 pages for 128 keys and 128 values of 32 x 8 x 256 bytes (42.67) from its admission on.
 */
#include "history.h"
#include "model/state.h"
#include "simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char alone[] = "model: {name: llama-3.1-8b, kv: kivi2}\n"
                            "hardware: h100-sxm\n"
                            "cost: {fixed: {step: 10 ms}}\n"
                            "engine: {max_batched_tokens: 512 tokens}\n"
                            "prefix: {index: none}\n"
                            "workload: {source: poisson, rate: 1 /s, requests: 1,\n"
                            "  prompt: {fixed: 2000 tokens}, output: {fixed: 500 tokens}}\n"
                            "output: {dir: none}\n";

/* At every step: so many pages, and no fewer bytes than all rows have. */
static void a_request_holds_its_rows_and_their_buffers(void **state) {
    (void)state;
    sli_simulation simulation;
    sli_history history = {0};
    sl_probe probe = sli_history_probe(&history);
    sli_simulation_open(alone, NULL, &simulation);
    sli_simulation_run(&simulation, &probe);
    const sli_deployment *deployment = &simulation.execution.deployment;
    const sli_cache_format *kivi = sli_cache_format_find("kivi2");
    int64_t tokens = 0;
    for (size_t i = 0; i < history.step_count; i++) {
        const sl_step_record *step = &history.steps[i];
        tokens += step->tokens;
        assert_int_equal(step->held_blocks, (tokens + 15) / 16 + 43);
        int64_t held_bytes = step->held_blocks * deployment->layout->page_bytes;
        assert_int_equal(held_bytes, step->held_blocks * 393216);
        assert_true(held_bytes >= sli_state_kept(deployment->architecture, kivi, tokens).cached);
    }
    assert_int_equal(tokens, 2000 + 499); /* the last token is not put back in */
    sli_history_fini(&history);
    sli_simulation_fini(&simulation);
}

/* 8 requests of 32,768 tokens at the end: 2,048 pages each and the buffers. A page less, and one of
 * them has to go. */
static void as_many_requests_fit_as_have_room_for_both(void **state) {
    (void)state;
    static const char text[] = "model: {name: llama-3.1-8b, kv: kivi2}\n"
                               "hardware: h100-sxm\n"
                               "cost: {fixed: {step: 10 ms}}\n"
                               "engine: {max_batched_tokens: 262144 tokens}\n"
                               "prefix: {index: none}\n"
                               "workload: {source: closed, concurrency: 8, requests: 8,\n"
                               "  prompt: {fixed: 32700 tokens}, output: {fixed: 69 tokens}}\n"
                               "output: {dir: none}\n";
    for (int64_t missing = 0; missing <= 1; missing++) {
        char blocks[64];
        snprintf(blocks, sizeof blocks, "memory.kv_blocks=%lld",
                 (long long)(8 * (2048 + 43) - missing));
        const char *const sets[] = {blocks, NULL};
        sli_simulation simulation;
        sli_history history = {0};
        sl_probe probe = sli_history_probe(&history);
        sli_simulation_open(text, sets, &simulation);
        sli_simulation_run(&simulation, &probe);
        int64_t preempted_count = 0;
        for (size_t i = 0; i < history.transition_count; i++) {
            preempted_count += history.transitions[i].kind == SL_PREEMPT ? 1 : 0;
        }
        assert_int_equal(history.record_count, 8);
        assert_int_equal(preempted_count, missing);
        sli_history_fini(&history);
        sli_simulation_fini(&simulation);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_holds_its_rows_and_their_buffers),
        cmocka_unit_test(as_many_requests_fit_as_have_room_for_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
