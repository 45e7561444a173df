#include "out/metrics.h"

#include "run_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const sli_metric *metric(const sli_metrics *metrics, const char *name) {
    const sli_metric *found = sli_metrics_find(metrics, name);
    if (found == NULL) {
        fail_msg("no metric %s", name);
    }
    return found;
}

static void expect_int(const sli_metrics *metrics, const char *name, int64_t value, int64_t n) {
    const sli_metric *found = metric(metrics, name);
    if (found->value.kind != SLI_VALUE_INT || found->value.integer != value || found->n != n) {
        fail_msg("%s is %lld over %lld", name, (long long)found->value.integer,
                 (long long)found->n);
    }
}

static void expect_real(const sli_metrics *metrics, const char *name, double value, int64_t n) {
    const sli_metric *found = metric(metrics, name);
    if (found->value.kind != SLI_VALUE_REAL || found->n != n ||
        fabs(found->value.real - value) > 1e-9 * fabs(value)) {
        fail_msg("%s is %.17g over %lld", name, found->value.real, (long long)found->n);
    }
}

static void expect_null(const sli_metrics *metrics, const char *name) {
    assert_int_equal(metric(metrics, name)->value.kind, SLI_VALUE_NULL);
}

/* The fixture collected and summed up; fini_world ends it. */
typedef struct world {
    sli_collector collector;
    sli_metrics metrics;
} world;

static void init_world(world *w, bool keep_requests) {
    assert_int_equal(fixture_collect(keep_requests, &w->collector), SL_OK);
    assert_int_equal(sli_metrics_make(&w->collector, &w->metrics), SL_OK);
}

static void fini_world(world *w) {
    sli_collector_fini(&w->collector);
}

static void latencies_are_of_measured_finished_requests(void **state) {
    (void)state;
    world w;
    init_world(&w, true);
    const sli_metrics *m = &w.metrics;
    /* TTFT 100, 50, 90. */
    expect_real(m, "ttft_mean_ns", 80, 3);
    expect_real(m, "ttft_p50_ns", 90, 3);
    expect_real(m, "ttft_p90_ns", 98, 3);
    expect_real(m, "ttft_p95_ns", 99, 3);
    expect_real(m, "ttft_p99_ns", 99.8, 3);
    expect_int(m, "ttft_max_ns", 100, 3);
    /* TPOT 10 and 10.5 rounded up; the request of one token has none. */
    expect_real(m, "tpot_mean_ns", 10.5, 2);
    expect_int(m, "tpot_max_ns", 11, 2);
    expect_int(m, "requests_single_token_count", 1, 6);
    /* E2E 200, 71, 90. */
    expect_real(m, "e2e_mean_ns", 361.0 / 3, 3);
    expect_int(m, "e2e_max_ns", 200, 3);
    /* Queue 20, 0, 10. */
    expect_real(m, "queue_delay_mean_ns", 10, 3);
    expect_real(m, "queue_delay_p50_ns", 10, 3);
    /* Normalised 200 / 11 = 18.2, 71 / 3 = 23.7, 90: each to a whole ns. */
    expect_real(m, "normalised_latency_mean_ns_per_token", 132.0 / 3, 3);
    expect_int(m, "normalised_latency_max_ns_per_token", 90, 3);
    /* Gaps 5, 5, 5, 9. */
    expect_real(m, "itl_mean_ns", 6, 4);
    expect_real(m, "itl_p50_ns", 5, 4);
    expect_int(m, "itl_max_ns", 9, 4);
    fini_world(&w);
}

static void phases_average_over_finished_requests(void **state) {
    (void)state;
    world w;
    init_world(&w, false);
    expect_real(&w.metrics, "phase_queued_mean_ns", 30.0 / 3, 3);
    expect_real(&w.metrics, "phase_prefill_mean_ns", 160.0 / 3, 3);
    expect_real(&w.metrics, "phase_decode_mean_ns", 121.0 / 3, 3);
    expect_real(&w.metrics, "phase_preempted_mean_ns", 25.0 / 3, 3);
    expect_real(&w.metrics, "phase_recompute_mean_ns", 25.0 / 3, 3);
    fini_world(&w);
}

static void rates_are_over_first_arrival_to_last_completion(void **state) {
    (void)state;
    world w;
    init_world(&w, false);
    const double window_s = 590e-9; /* 1000 to 1590 */
    expect_real(&w.metrics, "request_throughput_per_s", 3 / window_s, 3);
    expect_real(&w.metrics, "output_throughput_tokens_per_s", 15 / window_s, 3);
    expect_real(&w.metrics, "prompt_throughput_tokens_per_s", 100 / window_s, 3);
    expect_real(&w.metrics, "slo_attainment_frac", 2.0 / 5, 5);
    expect_real(&w.metrics, "goodput_per_s", 2 / window_s, 5);
    fini_world(&w);
}

static void requests_are_counted_by_outcome(void **state) {
    (void)state;
    world w;
    init_world(&w, false);
    expect_int(&w.metrics, "requests_arrived_count", 6, 6);
    expect_int(&w.metrics, "requests_finished_count", 4, 6);
    expect_int(&w.metrics, "requests_rejected_count", 1, 6);
    expect_int(&w.metrics, "requests_aborted_count", 1, 6);
    expect_int(&w.metrics, "requests_unfinished_count", 0, 6);
    expect_int(&w.metrics, "requests_warmup_count", 1, 6);
    fini_world(&w);
}

static void cache_use_is_counted_in_tokens(void **state) {
    (void)state;
    world w;
    init_world(&w, false);
    expect_int(&w.metrics, "prefix_hit_tokens", 30, 4);
    expect_int(&w.metrics, "prefix_rehit_tokens", 5, 4);
    expect_real(&w.metrics, "prefix_hit_frac", 30.0 / 110, 4);
    expect_int(&w.metrics, "computed_tokens", 107, 5);
    expect_int(&w.metrics, "reprefilled_tokens", 10, 5);
    expect_real(&w.metrics, "reprefilled_frac", 10.0 / 107, 5);
    expect_int(&w.metrics, "preemption_count", 1, 5);
    fini_world(&w);
}

static void kv_use_is_weighted_by_step_time(void **state) {
    (void)state;
    world w;
    init_world(&w, false);
    /* (50 x 300 + 10 x 100 + 80 x 100) / (100 x 400 + 200 x 100) */
    expect_real(&w.metrics, "kv_mean_frac", 24000.0 / 60000, 3);
    expect_real(&w.metrics, "kv_peak_frac", 0.5, 3); /* 50 of 100, not 80 of 200 */
    /* 500 ns of steps on 2 replicas from the first arrival, 10, to the last end, 400. */
    expect_real(&w.metrics, "busy_frac", 500.0 / 780, 3);
    expect_int(&w.metrics, "step_count", 3, 3);
    assert_int_equal(w.metrics.pool_blocks, 200);
    assert_int_equal(w.metrics.replicas[0].busy_ns, 400);
    assert_int_equal(w.metrics.replicas[0].tokens, 12);
    assert_int_equal(w.metrics.replicas[0].finished_count, 3);
    assert_int_equal(w.metrics.replicas[1].finished_count, 1);
    assert_int_equal(w.metrics.replicas[1].peak_blocks, 80);
    fini_world(&w);
}

static void first_token_time_splits_exactly(void **state) {
    (void)state;
    world w;
    init_world(&w, true);
    /* 240 ns in all. Queued 20 + 0 + 10, own 60 + 50 + 45, preempted 25; the others' is the rest:
     * 100 - 20 - 60, 50 - 50, 90 - 10 - 45 - 25. */
    expect_real(&w.metrics, "ttft_mean_queued_frac", 30.0 / 240, 3);
    expect_real(&w.metrics, "ttft_mean_own_frac", 155.0 / 240, 3);
    expect_real(&w.metrics, "ttft_mean_interference_frac", 30.0 / 240, 3);
    expect_real(&w.metrics, "ttft_mean_preempted_frac", 25.0 / 240, 3);
    /* Only the one of 100 ns is at or above the P99 of 99.8. */
    expect_real(&w.metrics, "ttft_p99_queued_frac", 0.2, 1);
    expect_real(&w.metrics, "ttft_p99_own_frac", 0.6, 1);
    expect_real(&w.metrics, "ttft_p99_interference_frac", 0.2, 1);
    expect_real(&w.metrics, "ttft_p99_preempted_frac", 0, 1);
    fini_world(&w);
}

static void running_time_splits_into_causes_and_interference(void **state) {
    (void)state;
    world w;
    init_world(&w, false);
    expect_real(&w.metrics, "own_gemm_mean_ns", 130.0 / 3, 3);
    expect_real(&w.metrics, "own_attention_mean_ns", 60.0 / 3, 3);
    expect_real(&w.metrics, "own_elementwise_mean_ns", 20.0 / 3, 3);
    expect_real(&w.metrics, "own_head_mean_ns", 13.0 / 3, 3);
    expect_real(&w.metrics, "own_collective_mean_ns", 5.0 / 3, 3);
    expect_real(&w.metrics, "own_engine_mean_ns", 18.0 / 3, 3);
    expect_real(&w.metrics, "interference_mean_ns", 60.0 / 3, 3);
    /* 306 ns in all: the phases prefill, decode and recompute. */
    const sli_running_shares *shares = &w.metrics.running_shares;
    assert_int_equal(shares->count, 3);
    assert_true(fabs(shares->own_frac[SL_CAUSE_HEAD] - 13.0 / 306) < 1e-12);
    assert_true(fabs(shares->interference_frac - 60.0 / 306) < 1e-12);
    fini_world(&w);
}

static void keeping_requests_changes_nothing_but_the_tail(void **state) {
    (void)state;
    world kept;
    world counted;
    init_world(&kept, true);
    init_world(&counted, false);
    assert_int_equal(kept.metrics.list_count, counted.metrics.list_count);
    for (size_t i = 0; i < kept.metrics.list_count; i++) {
        const sli_metric *a = &kept.metrics.list[i];
        const sli_metric *b = &counted.metrics.list[i];
        assert_string_equal(a->name, b->name);
        if (strncmp(a->name, "ttft_p99_", 9) == 0 && strstr(a->name, "_frac") != NULL) {
            assert_int_equal(b->value.kind, SLI_VALUE_NULL);
            continue;
        }
        assert_int_equal(a->value.kind, b->value.kind);
        assert_int_equal(a->value.integer, b->value.integer);
        assert_true(fabs(a->value.real - b->value.real) <= 1e-9 * fabs(a->value.real));
        assert_int_equal(a->n, b->n);
    }
    fini_world(&kept);
    fini_world(&counted);
}

static void what_has_no_value_is_null(void **state) {
    (void)state;
    const sli_collector_options options = {
        .replica_count = 1, .slo = {.ttft_ns = SLI_SLO_NONE, .tpot_ns = SLI_SLO_NONE}};
    world w;
    assert_int_equal(sli_collector_init(&w.collector, &options), SL_OK);
    assert_int_equal(sli_metrics_make(&w.collector, &w.metrics), SL_OK);
    for (size_t i = 0; i < w.metrics.list_count; i++) {
        const sli_metric *m = &w.metrics.list[i];
        bool is_sum = strstr(m->name, "_count") != NULL || strstr(m->name, "_tokens") != NULL;
        bool is_rate = strstr(m->name, "_per_s") != NULL;
        assert_int_equal(m->value.kind, is_sum && !is_rate ? SLI_VALUE_INT : SLI_VALUE_NULL);
        assert_int_equal(m->n, 0);
    }
    /* One rejected request: an attainment exists once there is an objective, a window does not. */
    sl_request_record rejected = fixture_records[3];
    sl_probe probe = sli_collector_probe(&w.collector);
    probe.ops->terminal(probe.self, &rejected);
    assert_int_equal(sli_metrics_make(&w.collector, &w.metrics), SL_OK);
    expect_null(&w.metrics, "slo_attainment_frac");
    w.collector.options.slo = fixture_slo;
    assert_int_equal(sli_metrics_make(&w.collector, &w.metrics), SL_OK);
    expect_real(&w.metrics, "slo_attainment_frac", 0, 1);
    expect_null(&w.metrics, "goodput_per_s");
    expect_null(&w.metrics, "prefix_hit_frac");
    fini_world(&w);
}

static void names_are_unique_and_end_in_their_unit(void **state) {
    (void)state;
    static const char *const endings[][2] = {{"ns", "_ns"},
                                             {"ns/token", "_ns_per_token"},
                                             {"1/s", "_per_s"},
                                             {"tokens", "_tokens"},
                                             {"tokens/s", "_tokens_per_s"}};
    world w;
    init_world(&w, true);
    for (size_t i = 0; i < w.metrics.list_count; i++) {
        const sli_metric *m = &w.metrics.list[i];
        assert_ptr_equal(sli_metrics_find(&w.metrics, m->name), m);
        size_t length = strlen(m->name);
        bool is_named = strcmp(m->unit, "1") == 0 && (strcmp(m->name + length - 5, "_frac") == 0 ||
                                                      strcmp(m->name + length - 6, "_count") == 0);
        for (size_t k = 0; k < sizeof endings / sizeof endings[0]; k++) {
            size_t tail = strlen(endings[k][1]);
            is_named = is_named || (strcmp(m->unit, endings[k][0]) == 0 &&
                                    strcmp(m->name + length - tail, endings[k][1]) == 0);
        }
        if (!is_named) {
            fail_msg("%s has the unit %s", m->name, m->unit);
        }
    }
    fini_world(&w);
}

static void tell(sl_probe probe, int64_t at_ns, sl_transition_kind kind, int64_t blocks) {
    probe.ops->transition(probe.self, &(sl_transition){.at_ns = at_ns,
                                                       .kind = (uint32_t)kind,
                                                       .replica = 0,
                                                       .request = SL_REQUEST_ID(0, 0),
                                                       .blocks = blocks});
}

/* Five arrivals in 2 s: 4 / 2 a second. Two were admitted, one of them preempted, one was turned
 * away, and a client that waited has left when the last one comes: 5 - 2 + 1 - 1 - 1 = 2 wait. */
static void backlog_counts_who_waits_when_the_last_one_arrives(void **state) {
    (void)state;
    sli_collector collector;
    sli_metrics metrics;
    const sli_collector_options options = {.replica_count = 1};
    assert_int_equal(sli_collector_init(&collector, &options), SL_OK);
    sl_probe probe = sli_collector_probe(&collector);
    const int64_t second_ns = 1000000000;
    tell(probe, second_ns, SL_ARRIVE, 0);
    tell(probe, second_ns, SL_ADMIT, 3);
    tell(probe, second_ns, SL_ARRIVE, 0);
    tell(probe, 2 * second_ns, SL_ADMIT, 3);
    tell(probe, 2 * second_ns, SL_ARRIVE, 0);
    tell(probe, 2 * second_ns, SL_ABORT, 0);
    tell(probe, 2 * second_ns, SL_PREEMPT, 3);
    tell(probe, 3 * second_ns, SL_ARRIVE, 0);
    tell(probe, 3 * second_ns, SL_ARRIVE, 0);
    tell(probe, 3 * second_ns, SL_REJECT, 0);
    tell(probe, 4 * second_ns, SL_ADMIT, 3); /* later: it does not count */
    assert_int_equal(sli_metrics_make(&collector, &metrics), SL_OK);
    expect_real(&metrics, "request_offered_per_s", 2.0, 5);
    expect_real(&metrics, "backlog_frac", 0.4, 5);
    sli_collector_fini(&collector);
}

static void a_failure_inside_a_hook_is_reported(void **state) {
    (void)state;
    world w;
    init_world(&w, false);
    w.collector.status = SL_ERR_NOMEM;
    sl_probe probe = sli_collector_probe(&w.collector);
    probe.ops->gap(probe.self, 1, 1); /* a later success does not hide it */
    assert_int_equal(sli_collector_status(&w.collector), SL_ERR_NOMEM);
    w.metrics.arrived_count = 4711;
    assert_int_equal(sli_metrics_make(&w.collector, &w.metrics), SL_ERR_NOMEM);
    assert_int_equal(w.metrics.arrived_count, 4711);
    fini_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latencies_are_of_measured_finished_requests),
        cmocka_unit_test(phases_average_over_finished_requests),
        cmocka_unit_test(rates_are_over_first_arrival_to_last_completion),
        cmocka_unit_test(requests_are_counted_by_outcome),
        cmocka_unit_test(cache_use_is_counted_in_tokens),
        cmocka_unit_test(kv_use_is_weighted_by_step_time),
        cmocka_unit_test(first_token_time_splits_exactly),
        cmocka_unit_test(running_time_splits_into_causes_and_interference),
        cmocka_unit_test(keeping_requests_changes_nothing_but_the_tail),
        cmocka_unit_test(what_has_no_value_is_null),
        cmocka_unit_test(names_are_unique_and_end_in_their_unit),
        cmocka_unit_test(backlog_counts_who_waits_when_the_last_one_arrives),
        cmocka_unit_test(a_failure_inside_a_hook_is_reported),
    };
    return cmocka_run_group_tests_name("out/metrics", tests, NULL, NULL);
}
