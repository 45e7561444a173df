/*
 * The simulator against queueing theory: mean waits, and the share of requests that wait at all.
 *
 * A replica becomes the server of a textbook: one seat, no limit on tokens, a microsecond a token.
 * A request is one step, its service time its prompt, 100,000 tokens in the mean. Whole tokens make
 * no difference: rounding to nearest keeps the mean of a smooth density, and the shortest prompt
 * being 1 adds P(X < 1/2) = 5e-6 tokens to an exponential one. Gaps are rounded to nanoseconds.
 *
 * Every law is judged over the seeds 1 to 20. The mean of the twenty run means must lie within its
 * own 99.9 % t-interval (19 degrees of freedom) around theory, and at least 16 of the twenty 95 %
 * intervals by batch means (30 batches, the first tenth of the run dropped) must hold the value.
 * The judge is tried on false theories too, which it must reject on both counts.
 */
#include "kernel/moments.h"
#include "queueing_theory.h"
#include "simulation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEEDS = 20, BATCHES = 30, LEAST_HOLDING = 16 };

#define DROPPED_FRAC   0.1
#define SERVICE_MEAN_S 0.1 /* 100,000 tokens of a microsecond */

typedef struct service_law {
    const char *prompt; /* as the scenario says it */
    double cv2;         /* variance / mean^2 */
} service_law;

static const service_law constant = {"{fixed: 100000 tokens}", 0};
static const service_law exponential = {"{exponential: {mean: 100000 tokens}}", 1};
static const service_law lognormal = {"{lognormal: {mean: 100000 tokens, cv: 1.5}}", 1.5 * 1.5};
/* n whole values have the variance (n^2 - 1) / 12. */
static const service_law uniform = {"{uniform: {min: 1 tokens, max: 199999 tokens}}",
                                    (199999.0 * 199999.0 - 1) / 12 / 1e10};

typedef struct queueing_system {
    int servers;
    service_law service;
    double load;
} queueing_system;

static double arrivals_per_s(const queueing_system *queue) {
    return queue->load * queue->servers / SERVICE_MEAN_S;
}

/*
 * Requests of a run, so that a batch is as long as forty spans of correlation and its mean nearly
 * independent of the next one's. The waits of M/M/1 are correlated over
 *   (2 + 5 r - 4 r^2 + r^3) / ((2 - r) (1 - r)^2)
 * requests at load r (asymptotic by simple variance; Daley, Journal of Applied Probability 5, 1968;
 * Whitt, Management Science 35, 1989), and those of other services, in heavy traffic, by a factor
 * (1 + cv^2) / 2 of that.
 */
static size_t run_requests(const queueing_system *queue) {
    double r = queue->load;
    double span = (2 + 5 * r - 4 * r * r + r * r * r) / ((2 - r) * (1 - r) * (1 - r));
    double batch = 40 * span * (1 + queue->service.cv2) / 2;
    return (size_t)ceil(batch * BATCHES / (1 - DROPPED_FRAC));
}

/* ---- One run ---- */

typedef struct wait_record {
    double *wait_s;  /* in the order of arrival */
    double *delayed; /* 1 for those that waited, else 0 */
    size_t count;
} wait_record;

static void note_wait(void *self, const sl_request_record *record) {
    wait_record *waits = self;
    size_t index = SL_REQUEST_INDEX(record->request);
    assert_in_range(index, 0, waits->count - 1);
    assert_int_equal(record->outcome, SL_FINISHED);
    int64_t wait_ns = record->admit_ns - record->arrival_ns;
    waits->wait_s[index] = (double)wait_ns / 1e9;
    waits->delayed[index] = wait_ns > 0 ? 1 : 0;
}

static void simulate(const queueing_system *queue, int seed, wait_record *waits) {
    char text[1024];
    snprintf(text, sizeof text,
             "model: llama-3.1-8b\n"
             "hardware: h100-sxm\n"
             "cost: {fixed: {token: 1 us}}\n"
             "engine: {max_seqs: 1, max_batched_tokens: 1000000000 tokens,\n"
             "         max_model_len: 1000000000 tokens, block: 1000000 tokens}\n"
             "memory: {kv_blocks: 1000}\n"
             "prefix: {index: none}\n"
             "route: shared\n"
             "run: {time_limit: 1000 h}\n"
             "output: {dir: none}\n"
             "seed: %d\n"
             "replicas: {count: %d}\n"
             "workload: {source: poisson, rate: %.17g /s, requests: %zu, prompt: %s,\n"
             "           output: {fixed: 1 tokens}}\n",
             seed, queue->servers, arrivals_per_s(queue), waits->count, queue->service.prompt);
    static const sl_probe_ops ops = {.terminal = note_wait};
    sl_probe probe = {.ops = &ops, .self = waits};
    sli_simulation simulation;
    sli_simulation_open(text, NULL, &simulation);
    sli_simulation_run(&simulation, &probe);
    assert_int_equal(simulation.execution.metrics.finished_count, waits->count);
    sli_simulation_fini(&simulation);
}

/* ---- The judge ---- */

typedef struct run_set {
    sli_interval wait_s[SEEDS];
    sli_interval delayed_frac[SEEDS];
} run_set;

static sli_interval sum_up(const double *values, size_t count) {
    return sli_batch_means(values, count, DROPPED_FRAC, BATCHES, 0.95);
}

static void simulate_all(const queueing_system *queue, run_set *runs) {
    size_t count = run_requests(queue);
    wait_record waits = {.wait_s = test_calloc(count, sizeof(double)),
                         .delayed = test_calloc(count, sizeof(double)),
                         .count = count};
    for (int i = 0; i < SEEDS; i++) {
        simulate(queue, i + 1, &waits);
        runs->wait_s[i] = sum_up(waits.wait_s, count);
        runs->delayed_frac[i] = sum_up(waits.delayed, count);
    }
    test_free(waits.wait_s);
    test_free(waits.delayed);
}

typedef struct law_verdict {
    sli_interval mean; /* of the run means, 99.9 % */
    bool is_inside;    /* theory lies in it */
    int holding;       /* single intervals that hold theory */
} law_verdict;

static bool holds(const sli_interval *interval, double value) {
    return fabs(interval->mean - value) <= interval->half_width;
}

static law_verdict judge(const sli_interval intervals[SEEDS], double theory) {
    law_verdict verdict = {0};
    sli_moments means = {0};
    for (int i = 0; i < SEEDS; i++) {
        sli_moments_add(&means, intervals[i].mean);
        verdict.holding += holds(&intervals[i], theory);
    }
    verdict.mean = sli_interval_of(&means, 0.999);
    verdict.is_inside = holds(&verdict.mean, theory);
    return verdict;
}

static void assert_law(const sli_interval intervals[SEEDS], const char *what, double theory) {
    law_verdict verdict = judge(intervals, theory);
    if (!verdict.is_inside || verdict.holding < LEAST_HOLDING) {
        fail_msg("%s: theory %.9g, simulated %.9g +- %.3g, %d of %d intervals hold it", what,
                 theory, verdict.mean.mean, verdict.mean.half_width, verdict.holding, SEEDS);
    }
}

/* That the judge can say no, and on either count. */
static void assert_rejected(const sli_interval intervals[SEEDS], double wrong) {
    law_verdict verdict = judge(intervals, wrong);
    assert_false(verdict.is_inside);
    assert_true(verdict.holding < LEAST_HOLDING);
}

/* ---- The laws ---- */

/* An arrival finds a single server busy with the chance `load`: Poisson arrivals see time averages
 * (Wolff, Operations Research 30, 1982). */
static void hold_single_server_to_theory(service_law service, const double *loads,
                                         size_t load_count) {
    for (size_t i = 0; i < load_count; i++) {
        queueing_system queue = {1, service, loads[i]};
        double rate = arrivals_per_s(&queue);
        double wait_s = sli_mg1_wait_s(rate, SERVICE_MEAN_S, service.cv2);
        run_set runs;
        simulate_all(&queue, &runs);
        assert_law(runs.wait_s, service.prompt, wait_s);
        assert_law(runs.delayed_frac, service.prompt, queue.load);
        /* A theory of a fifth less idle time is wrong. */
        double busier = queue.load + 0.2 * (1 - queue.load);
        assert_rejected(runs.wait_s,
                        sli_mg1_wait_s(busier / SERVICE_MEAN_S, SERVICE_MEAN_S, service.cv2));
        assert_rejected(runs.delayed_frac, busier);
    }
}

static void mm1_waits_as_theory_says(void **state) {
    (void)state;
    const double loads[] = {0.3, 0.5, 0.7, 0.8};
    hold_single_server_to_theory(exponential, loads, 4);
}

static void md1_waits_as_theory_says(void **state) {
    (void)state;
    const double loads[] = {0.3, 0.6, 0.9};
    hold_single_server_to_theory(constant, loads, 3);
}

static void mg1_waits_as_theory_says(void **state) {
    (void)state;
    const double loads[] = {0.5, 0.7};
    hold_single_server_to_theory(uniform, loads, 2);
    hold_single_server_to_theory(lognormal, loads, 2);
}

static void mmk_waits_as_theory_says(void **state) {
    (void)state;
    const int servers[] = {2, 5};
    const double loads[] = {0.5, 0.7};
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            queueing_system queue = {servers[i], exponential, loads[j]};
            double rate = arrivals_per_s(&queue);
            double load_erlang = rate * SERVICE_MEAN_S;
            run_set runs;
            simulate_all(&queue, &runs);
            assert_law(runs.wait_s, "M/M/k", sli_mmk_wait_s(servers[i], rate, SERVICE_MEAN_S));
            assert_law(runs.delayed_frac, "M/M/k", sli_erlang_c_frac(servers[i], load_erlang));
            /* One server more would wait too little. */
            assert_rejected(runs.wait_s, sli_mmk_wait_s(servers[i] + 1, rate, SERVICE_MEAN_S));
            assert_rejected(runs.delayed_frac, sli_erlang_c_frac(servers[i] + 1, load_erlang));
        }
    }
}

/* Constant, exponential and pooled service are told apart; a wait with the service in it, too. */
static void neighbouring_theories_are_rejected(void **state) {
    (void)state;
    queueing_system queue = {1, exponential, 0.5};
    double rate = arrivals_per_s(&queue);
    double wait_s = sli_mm1_wait_s(rate, SERVICE_MEAN_S);
    run_set runs;
    simulate_all(&queue, &runs);
    assert_law(runs.wait_s, "M/M/1", wait_s);
    assert_rejected(runs.wait_s, sli_md1_wait_s(rate, SERVICE_MEAN_S));
    assert_rejected(runs.wait_s, sli_mg1_wait_s(rate, SERVICE_MEAN_S, 1.5 * 1.5));
    assert_rejected(runs.wait_s, sli_mmk_wait_s(2, 2 * rate, SERVICE_MEAN_S));
    assert_rejected(runs.wait_s, wait_s + SERVICE_MEAN_S);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mm1_waits_as_theory_says),
        cmocka_unit_test(md1_waits_as_theory_says),
        cmocka_unit_test(mg1_waits_as_theory_says),
        cmocka_unit_test(mmk_waits_as_theory_says),
        cmocka_unit_test(neighbouring_theories_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
