/*
 * Closed loops: N clients, each with one request at a time, and the law X = N / R that binds
 * throughput and response time (Denning and Buzen, Computing Surveys 10 (3), 1978).
 */
#include "history.h"
#include "simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SERVED "model: llama-3.1-8b\nhardware: h100-sxm\noutput: {dir: none}\n"

enum { CLIENTS = 24 };

/* Batches of changing company on few blocks: nothing about it is regular. */
static const char rough_loop[] = SERVED
    "memory: {kv_blocks: 200}\n"
    "engine: {max_batched_tokens: 1024 tokens}\n"
    "workload: {source: closed, concurrency: 24, requests: 600,\n"
    "  prompt: {uniform: {min: 20 tokens, max: 900 tokens}},\n"
    "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n";

typedef struct loop_run {
    sli_simulation simulation;
    sli_history history;
} loop_run;

static void run_loop(const char *text, const char *const *sets, loop_run *run) {
    *run = (loop_run){0};
    sl_probe probe = sli_history_probe(&run->history);
    sli_simulation_open(text, sets, &run->simulation);
    sli_simulation_run(&run->simulation, &probe);
}

static void end_loop(loop_run *run) {
    sli_history_fini(&run->history);
    sli_simulation_fini(&run->simulation);
}

/* Who ends and who follows share an instant, so the number present dips only within it. */
static void all_clients_are_there_until_nothing_is_left_to_ask(void **state) {
    (void)state;
    loop_run run;
    run_loop(rough_loop, NULL, &run);
    int64_t present = 0;
    size_t arrived = 0;
    int64_t now_ns = 0;
    for (size_t i = 0; i < run.history.transition_count; i++) {
        const sl_transition *transition = &run.history.transitions[i];
        if (transition->at_ns > now_ns && arrived < run.history.record_count) {
            assert_int_equal(present, CLIENTS);
        }
        now_ns = transition->at_ns;
        arrived += transition->kind == SL_ARRIVE;
        present += transition->kind == SL_ARRIVE;
        present -= transition->kind == SL_FINISH;
        assert_in_range(present, 0, CLIENTS);
    }
    assert_int_equal(present, 0);
    end_loop(&run);
}

/* With a jitter the clients come one by one; there are never more of them than there are. */
static void jitter_never_adds_a_client(void **state) {
    (void)state;
    const char *const sets[] = {"workload.start_jitter=20 s", NULL};
    loop_run run;
    run_loop(rough_loop, sets, &run);
    int64_t present = 0;
    int64_t most = 0;
    for (size_t i = 0; i < run.history.transition_count; i++) {
        present += run.history.transitions[i].kind == SL_ARRIVE;
        present -= run.history.transitions[i].kind == SL_FINISH;
        most = present > most ? present : most;
    }
    assert_true(run.history.transitions[CLIENTS - 1].at_ns > 0);
    assert_int_equal(most, CLIENTS);
    end_loop(&run);
}

static int64_t within(int64_t at_ns, int64_t window_ns) {
    return at_ns < window_ns ? at_ns : window_ns;
}

/*
 * X = N / R to the nanosecond. While there is something to ask for, a window [0, T) holds exactly
 * N T nanoseconds of request time: X = C / T and R = N T / C, whatever the C completions were.
 */
static void response_time_law_is_exact(void **state) {
    (void)state;
    loop_run run;
    run_loop(rough_loop, NULL, &run);
    const sl_request_record *records = run.history.records;
    size_t count = run.history.record_count;
    int64_t last_start_ns = records[count - 1].arrival_ns;
    assert_true(run.simulation.execution.metrics.preemption_count > 0);
    for (int64_t eighth = 1; eighth <= 8; eighth++) {
        int64_t window_ns = last_start_ns / 8 * eighth;
        int64_t spent_ns = 0;
        for (size_t i = 0; i < count; i++) {
            spent_ns += within(records[i].end_ns, window_ns) -
                        within(records[i].arrival_ns, window_ns);
        }
        assert_int_equal(spent_ns, CLIENTS * window_ns);
    }
    end_loop(&run);
}

/*
 * In lockstep everything is known by hand: a step takes 10 ms whatever is in it, a request takes 50
 * steps, and S of them go together. With N = 24 clients and S seats, 240 requests take 240 / S
 * rounds of half a second, X = S / 0.5 s, and in the steady state a request stays R = N / X.
 */
static void lockstep_is_as_counted_by_hand(void **state) {
    (void)state;
    static const char lockstep[] = SERVED
        "cost: {fixed: {step: 10 ms}}\n"
        "prefix: {index: none}\n"
        "workload: {source: closed, concurrency: 24, requests: 240,\n"
        "  prompt: {fixed: 100 tokens}, output: {fixed: 50 tokens}}\n";
    const int64_t round_ns = 500000000;
    const int64_t seats[] = {1, 4, 8, 24, 100};
    for (int i = 0; i < 5; i++) {
        char set[64];
        snprintf(set, sizeof set, "engine.max_seqs=%lld", (long long)seats[i]);
        const char *const sets[] = {set, NULL};
        loop_run run;
        run_loop(lockstep, sets, &run);
        int64_t together = seats[i] < CLIENTS ? seats[i] : CLIENTS;
        assert_int_equal(run.simulation.execution.result.end_ns, 240 / together * round_ns);
        for (size_t j = CLIENTS; j < run.history.record_count; j++) {
            const sl_request_record *record = &run.history.records[j];
            assert_int_equal(record->end_ns - record->arrival_ns, CLIENTS / together * round_ns);
        }
        end_loop(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_clients_are_there_until_nothing_is_left_to_ask),
        cmocka_unit_test(jitter_never_adds_a_client),
        cmocka_unit_test(response_time_law_is_exact),
        cmocka_unit_test(lockstep_is_as_counted_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
