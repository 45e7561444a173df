/*
 * Two runs on common random numbers: what must not change a result, and what must not improve it.
 *
 * Request 17 is the same request in both, however fast they come and however many replicas serve.
 */
#include "history.h"
#include "simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SERVED "model: llama-3.1-8b\nhardware: h100-sxm\noutput: {dir: none}\n"

/* ---- What changes nothing ---- */

static const char *const served_worlds[] = {
    /* few blocks, preemptions, shared prompts */
    SERVED "memory: {kv_blocks: 150}\n"
           "engine: {max_batched_tokens: 700 tokens}\n"
           "workload: {source: poisson, rate: 12 /s, requests: 400,\n"
           "  prompt: {uniform: {min: 20 tokens, max: 500 tokens}},\n"
           "  output: {uniform: {min: 1 tokens, max: 250 tokens}},\n"
           "  system_prompts: {count: 4, length: 320 tokens}}\n",
    /* priorities: an arrival overtakes */
    SERVED "engine: {order: priority, max_seqs: 6}\n"
           "workload: {source: poisson, rate: 4 /s, requests: 400,\n"
           "  prompt: {lognormal: {mean: 1000 tokens, cv: 1}},\n"
           "  output: {exponential: {mean: 150 tokens}},\n"
           "  priorities: [[0.3, 0], [0.7, 5]]}\n",
    /* replicas short of blocks take from each other's queue what another one has no room for */
    SERVED "replicas: {count: 3}\n"
           "route: shared\n"
           "memory: {kv_blocks: 100}\n"
           "prefix: {index: none}\n"
           "workload: {source: poisson, rate: 12 /s, requests: 400,\n"
           "  prompt: {uniform: {min: 20 tokens, max: 1200 tokens}},\n"
           "  output: {uniform: {min: 1 tokens, max: 200 tokens}}}\n",
    /* orca in a closed loop */
    SERVED "engine: {policy: orca, max_seqs: 8, max_model_len: 2048 tokens}\n"
           "prefix: {index: none}\n"
           "workload: {source: closed, concurrency: 16, requests: 300,\n"
           "  prompt: {uniform: {min: 20 tokens, max: 1500 tokens}},\n"
           "  output: {uniform: {min: 1 tokens, max: 200 tokens}}}\n",
};
enum { SERVED_COUNT = sizeof served_worlds / sizeof served_worlds[0] };

static void assert_same_digest(const char *a, const char *b) {
    for (int i = 0; i < SERVED_COUNT; i++) {
        const char *const a_sets[] = {a, NULL};
        const char *const b_sets[] = {b, NULL};
        assert_int_equal(sli_simulation_digest(served_worlds[i], a_sets),
                         sli_simulation_digest(served_worlds[i], b_sets));
    }
}

static void keeping_requests_changes_nothing(void **state) {
    (void)state;
    assert_same_digest("output.requests=off", "output.requests=on");
}

static void keeping_promises_changes_nothing(void **state) {
    (void)state;
    assert_same_digest("engine.coalesce=on", "engine.coalesce=off");
}

static void measuring_changes_nothing(void **state) {
    (void)state;
    assert_same_digest("run.warmup=0 s", "run.warmup=20 s");
    assert_same_digest("slo.ttft=none", "slo.ttft=100 ms");
}

static void running_again_changes_nothing(void **state) {
    (void)state;
    assert_same_digest("seed=1", "seed=1");
}

static void another_seed_is_another_run(void **state) {
    (void)state;
    for (int i = 0; i < SERVED_COUNT; i++) {
        const char *const sets[] = {"seed=2", NULL};
        assert_int_not_equal(sli_simulation_digest(served_worlds[i], NULL),
                             sli_simulation_digest(served_worlds[i], sets));
    }
}

/* ---- What improves nothing ---- */

static void hear(const char *text, const char *const *sets, sli_history *history) {
    *history = (sli_history){0};
    sl_probe probe = sli_history_probe(history);
    sli_simulation simulation;
    sli_simulation_open(text, sets, &simulation);
    sli_simulation_run(&simulation, &probe);
    sli_simulation_fini(&simulation);
}

/* One seat a replica and a queue for all: the servers of queueing theory. */
static const char servers[] = SERVED
    "cost: {fixed: {token: 1 us}}\n"
    "engine: {max_seqs: 1, max_batched_tokens: 1000000 tokens,\n"
    "         max_model_len: 1000000 tokens, block: 1000000 tokens}\n"
    "memory: {kv_blocks: 1}\n"
    "prefix: {index: none}\n"
    "route: shared\n"
    "replicas: {count: 2}\n"
    "workload: {source: poisson, rate: 10 /s, requests: 20000,\n"
    "  prompt: {exponential: {mean: 100000 tokens}}, output: {fixed: 1 tokens}}\n";

/*
 * Lets every request wait at least as long under `worse` as under `better`, and some longer. Holds
 * path by path for servers of one queue: by Lindley's recursion for one server, by Kiefer's and
 * Wolfowitz's for more (Transactions of the AMS 78, 1955), for the vector of workloads that a
 * request finds grows with closer arrivals, longer services and fewer servers.
 */
static void assert_nobody_gains(const char *better, const char *worse) {
    const char *const better_sets[] = {better, NULL};
    const char *const worse_sets[] = {worse, NULL};
    sli_history a;
    sli_history b;
    hear(servers, better_sets, &a);
    hear(servers, worse_sets, &b);
    assert_int_equal(a.record_count, b.record_count);
    size_t longer = 0;
    for (size_t i = 0; i < a.record_count; i++) {
        int64_t better_ns = a.records[i].admit_ns - a.records[i].arrival_ns;
        int64_t worse_ns = b.records[i].admit_ns - b.records[i].arrival_ns;
        assert_true(worse_ns >= better_ns);
        longer += worse_ns > better_ns;
    }
    assert_true(longer > a.record_count / 10);
    sli_history_fini(&a);
    sli_history_fini(&b);
}

static void nobody_gains_by_closer_arrivals(void **state) {
    (void)state;
    assert_nobody_gains("workload.rate=5 /s", "workload.rate=10 /s");
    assert_nobody_gains("workload.rate=10 /s", "workload.rate=11 /s");
    assert_nobody_gains("workload.rate=10 /s", "workload.rate=20 /s");
}

static void nobody_gains_by_fewer_replicas(void **state) {
    (void)state;
    assert_nobody_gains("replicas.count=2", "replicas.count=1");
    assert_nobody_gains("replicas.count=3", "replicas.count=2");
}

static void nobody_gains_by_slower_service(void **state) {
    (void)state;
    assert_nobody_gains("cost={fixed: {token: 1000 ns}}", "cost={fixed: {token: 1100 ns}}");
}

/* Batches are no servers: one request may gain, but not all of them in the mean. */
static double mean_ttft_s(const char *a, const char *b) {
    static const char batches[] = SERVED
        "workload: {source: poisson, rate: 30 /s, requests: 2000,\n"
        "  prompt: {lognormal: {mean: 1500 tokens, cv: 1}},\n"
        "  output: {exponential: {mean: 100 tokens}},\n"
        "  system_prompts: {count: 5, length: 1024 tokens}}\n";
    const char *const sets[] = {a, b, NULL};
    sli_history history;
    hear(batches, sets, &history);
    double sum_s = 0;
    for (size_t i = 0; i < history.record_count; i++) {
        const sl_request_record *record = &history.records[i];
        sum_s += (double)(record->first_token_ns - record->arrival_ns) / 1e9;
    }
    double mean_s = sum_s / (double)history.record_count;
    sli_history_fini(&history);
    return mean_s;
}

static void first_tokens_come_later_at_higher_rates(void **state) {
    (void)state;
    const char *const rates[] = {"workload.rate=5 /s", "workload.rate=10 /s", "workload.rate=20 /s",
                                 "workload.rate=40 /s"};
    for (int i = 1; i < 4; i++) {
        assert_true(mean_ttft_s(rates[i], NULL) > mean_ttft_s(rates[i - 1], NULL));
    }
}

static void first_tokens_come_sooner_from_more_replicas(void **state) {
    (void)state;
    const char *const routes[] = {"route=round_robin", "route=least_outstanding", "route=shared"};
    for (int i = 0; i < 3; i++) {
        double one_s = mean_ttft_s(routes[i], "replicas.count=1");
        double two_s = mean_ttft_s(routes[i], "replicas.count=2");
        double four_s = mean_ttft_s(routes[i], "replicas.count=4");
        assert_true(one_s > two_s && two_s > four_s);
    }
}

static void first_tokens_come_sooner_from_a_cache(void **state) {
    (void)state;
    assert_true(mean_ttft_s("prefix.index=none", NULL) > mean_ttft_s("prefix.index=hash", NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeping_requests_changes_nothing),
        cmocka_unit_test(keeping_promises_changes_nothing),
        cmocka_unit_test(measuring_changes_nothing),
        cmocka_unit_test(running_again_changes_nothing),
        cmocka_unit_test(another_seed_is_another_run),
        cmocka_unit_test(nobody_gains_by_closer_arrivals),
        cmocka_unit_test(nobody_gains_by_fewer_replicas),
        cmocka_unit_test(nobody_gains_by_slower_service),
        cmocka_unit_test(first_tokens_come_later_at_higher_rates),
        cmocka_unit_test(first_tokens_come_sooner_from_more_replicas),
        cmocka_unit_test(first_tokens_come_sooner_from_a_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
