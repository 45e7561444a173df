#include "out/text.h"

#include "run_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sli_run_facts fixture_facts(void) {
    return (sli_run_facts){.workload = "poisson, 40 /s",
                           .model = "llama-3.1-8b bf16",
                           .hardware = "h100-sxm",
                           .policy = "vllm_v1",
                           .cost = {"roofline", "no operators were measured for layers moe"},
                           .replica_count = 2,
                           .tp_count = 1,
                           .seed = 42,
                           .slo = fixture_slo,
                           .digest = UINT64_C(0x9f3ac41d22b07e15),
                           .simulated_ns = INT64_C(1012000000000),
                           .wall_s = 0.16};
}

/* The summary as text, which the caller frees. */
static char *summary(const sli_run_facts *facts, const sli_metrics *metrics) {
    char *bytes = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&bytes, &length);
    assert_non_null(file);
    assert_int_equal(sli_text_write(file, facts, metrics), SL_OK);
    fclose(file);
    return bytes;
}

static char *summary_of_fixture(const sli_run_facts *facts, bool keep_requests) {
    sli_collector collector;
    sli_metrics metrics;
    assert_int_equal(fixture_collect(keep_requests, &collector), SL_OK);
    assert_int_equal(sli_metrics_make(&collector, &metrics), SL_OK);
    char *text = summary(facts, &metrics);
    sli_collector_fini(&collector);
    return text;
}

static void expect(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
}

static void expect_no(const char *text, const char *part) {
    if (strstr(text, part) != NULL) {
        fail_msg("'%s' is in:\n%s", part, text);
    }
}

static void says_what_ran_and_what_came_out(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    char *text = summary_of_fixture(&facts, true);
    expect(text,
           "poisson, 40 /s · llama-3.1-8b bf16 · 2 × h100-sxm, tp 1 · vllm_v1 · cost roofline · "
           "seed 42\n"
           "4 of 6 requests finished · 1 rejected · 1 aborted · 1,012 s simulated in 160.0 ms\n");
    expect(text, "  TTFT       ns     80.0     90.0     98.0     99.8    100.0          3\n");
    expect(text, "  ITL        ns     6.00     5.00     7.80     8.88     9.00          4\n");
    expect(text, "  SLO          40.00 % within ttft 100 ns and tpot 10 ns · asked 90 %: missed");
    expect(text, "  KV           peak 50.0 % of 200 blocks a replica · mean 40.0 % while busy\n");
    expect(text, "  preempted    1 time · 9.3 % of the computed tokens had been computed before\n");
    expect(text, "  prefix       hits 27.3 % of prompt tokens\n");
    expect(text, "  P99 TTFT is  queue 20 % · own prefill 60 % · interference 20 %\n");
    expect(text, "  digest 9f3ac41d22b07e15\n");
    free(text);
}

static void a_pool_of_pages_is_told_in_bytes(void **state) {
    (void)state;
    static const sli_fact_group groups[] = {
        {.name = "full", .layers = 10, .block_tokens = 4128, .block_pages = 1},
        {.name = "sliding 128", .layers = 30, .block_tokens = 4128, .block_pages = 3},
        {.name = "state", .layers = 9, .block_tokens = 32, .block_pages = 1},
    };
    sli_run_facts facts = fixture_facts();
    facts.page_bytes = 393216;
    facts.groups = groups;
    facts.group_count = 3;
    char *text = summary_of_fixture(&facts, true);
    /* the larger pool has 200 pages of 384 KiB */
    expect(text, "  KV           peak 50.0 % of 75 MiB a device · mean 40.0 % while busy\n"
                 "  layout       10 full, 30 sliding 128, 9 state · blocks of 4,128, 4,128 and 32 "
                 "tokens\n"
                 "               page 384 KiB\n");
    free(text);
    facts.group_count = 2;
    text = summary_of_fixture(&facts, true);
    expect(text,
           "  layout       10 full, 30 sliding 128 · blocks of 4,128 tokens · page 384 KiB\n");
    free(text);
    facts.group_count = 1;
    text = summary_of_fixture(&facts, true);
    expect(text, "  KV           peak 50.0 % of 200 blocks a replica · mean");
    expect_no(text, "layout");
    free(text);
}

/* One device has one pool: nothing to tell apart. */
static void one_device_needs_no_name(void **state) {
    (void)state;
    static const sli_fact_group groups[] = {{.name = "full", .layers = 1, .block_tokens = 16},
                                            {.name = "state", .layers = 1, .block_tokens = 16}};
    sli_run_facts facts = fixture_facts();
    facts.page_bytes = 576;
    facts.groups = groups;
    facts.group_count = 2;
    sli_metrics metrics = {.step_count = 1,
                           .replica_count = 1,
                           .pool_blocks = 3,
                           .kv_peak_frac = {.kind = SLI_VALUE_REAL, .real = 0.5},
                           .kv_mean_frac = {.kind = SLI_VALUE_REAL, .real = 0.25}};
    char *text = summary(&facts, &metrics);
    expect(text, "  KV           peak 50.0 % of 1.688 KiB · mean 25.0 % while busy");
    expect(text, " · page 576 B\n");
    free(text);
    facts.tp_count = 2;
    text = summary(&facts, &metrics);
    expect(text, "  KV           peak 50.0 % of 1.688 KiB a device · mean");
    free(text);
}

static void no_hits_are_no_finding_without_ids(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    facts.lacks_prefixes = true;
    char *text = summary_of_fixture(&facts, true);
    expect(text, "  prefix       the workload shares none\n");
    expect_no(text, "hits");
    free(text);
}

static void states_where_quantiles_come_from(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    char *exact = summary_of_fixture(&facts, true);
    char *counted = summary_of_fixture(&facts, false);
    expect(exact, "quantiles are exact, those of ITL within 0.4 %");
    expect(counted, "quantiles come from histograms: within 0.4 %");
    /* 30, 155, 30 and 25 of 240 */
    expect(counted, "  mean TTFT is queue 13 % · own prefill 65 % · interference 12 % · "
                    "preempted 10 %\n");
    free(exact);
    free(counted);
}

static void running_time_names_the_large_parts(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    sli_metrics metrics = {
        .running_shares = {.count = 1,
                           .own_frac = {0.42, 0.2, 0.04, 0.01, 0.02, 0.06},
                           .interference_frac = 0.25},
    };
    char *text = summary(&facts, &metrics);
    expect_no(text, "running"); /* nothing finished and no step ran */
    free(text);
    metrics.step_count = 1;
    text = summary(&facts, &metrics);
    expect(text, "  running is   gemm 42 % · interference 25 % · attention 20 % · engine 6 % · "
                 "other 7 %\n");
    free(text);
    metrics.running_shares = (sli_running_shares){.count = 1, .own_frac = {[SL_CAUSE_ENGINE] = 1}};
    text = summary(&facts, &metrics);
    expect(text, "  running is   engine 100 %\n");
    free(text);
    char *fixture = summary_of_fixture(&facts, false);
    /* 130, 60, 60 of 306, the earlier cause first. */
    expect(fixture, "  running is   gemm 42 % · attention 20 % · interference 20 % · ");
    free(fixture);
}

static void shares_add_up_to_a_hundred(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    /* Each rounded by itself: 20 + 65 + 16 = 101, and 33 + 33 + 33 = 99. */
    sli_metrics metrics = {
        .step_count = 1,
        .ttft_mean_shares = {.count = 1, .part_frac = {0.195, 0.6475, 0.1575, 0}},
        .running_shares = {.count = 1,
                           .own_frac = {1 / 3.0, 1 / 3.0},
                           .interference_frac = 1 / 3.0},
    };
    char *text = summary(&facts, &metrics);
    expect(text, "  mean TTFT is queue 19 % · own prefill 65 % · interference 16 %\n");
    expect(text, "  running is   gemm 34 % · attention 33 % · interference 33 %\n");
    free(text);
    metrics.ttft_mean_shares = (sli_ttft_shares){.count = 1, .part_frac = {0.004, 0.996, 0, 0}};
    text = summary(&facts, &metrics);
    expect(text, "  mean TTFT is own prefill 100 %\n"); /* what rounds to nothing is left out */
    free(text);
}

static void long_numbers_widen_their_column(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    sli_metrics metrics = {
        .ttft_ns =
            {.count = 7, .mean = 2e3, .p50 = 1e3, .p90 = 3e3, .p99 = 4e3, .max = 123456789000},
        .itl_ns = {.count = 12345678901, .mean = 1e9, .max = 1000000000},
    };
    char *text = summary(&facts, &metrics);
    expect(text,
           "                    mean      p50      p90      p99         max              n\n"
           "  TTFT       us     2.00     1.00     3.00     4.00 123,456,789              7\n"
           "  ITL        s      1.00     0.00     0.00     0.00        1.00 12,345,678,901\n");
    free(text);
}

/* Two replicas of eight devices are not two devices. */
static void devices_of_a_replica_are_told(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    facts.tp_count = 8;
    char *text = summary_of_fixture(&facts, true);
    expect(text, "llama-3.1-8b bf16 · 2 × 8 × h100-sxm, tp 8 · vllm_v1");
    free(text);
}

static void lines_without_meaning_are_left_out(void **state) {
    (void)state;
    sli_run_facts facts = {.slo = {.ttft_ns = SLI_SLO_NONE, .tpot_ns = SLI_SLO_NONE}};
    sli_metrics metrics = {.arrived_count = 1, .rejected_count = 1};
    char *text = summary(&facts, &metrics);
    assert_string_equal(text, "seed 0\n"
                              "0 of 1 request finished · 1 rejected · 0.00 ms simulated\n"
                              "\n"
                              "  no latencies: every request was rejected on arrival, as the "
                              "warning says\n"
                              "\n"
                              "  digest 0000000000000000\n");
    free(text);
    metrics.arrived_count = 2; /* and one was cut off */
    text = summary(&facts, &metrics);
    expect(text, "  no latencies: no measured request finished\n");
    free(text);
}

static void times_have_the_unit_that_reads_best(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    static const struct {
        double ns;
        const char *row;
    } cases[] = {
        {999, "  TTFT       ns    999.0 "},      {1000, "  TTFT       us     1.00 "},
        {1.5e6, "  TTFT       ms     1.50 "},    {9.996e6, "  TTFT       ms     10.0 "},
        {999.96e6, "  TTFT       ms    1,000 "}, {2.03e9, "  TTFT       s      2.03 "},
        {123456e9, "  TTFT       s   123,456 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sli_metrics metrics = {.ttft_ns = {.count = 1, .mean = cases[i].ns}};
        char *text = summary(&facts, &metrics);
        expect(text, cases[i].row);
        expect_no(text, "TPOT"); /* which has no values here */
        free(text);
    }
}

static void says_when_results_are_partial(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    char *text = summary_of_fixture(&facts, false);
    expect_no(text, "partial");
    expect(text, "1 of them arrived during the warm-up and count no further\n");
    free(text);
    facts.is_partial = true;
    facts.partial_reason = "interrupted";
    text = summary_of_fixture(&facts, false);
    expect(text, "partial results: interrupted\n");
    free(text);
}

static void ends_with_warnings_and_assumptions(void **state) {
    (void)state;
    static const char *const warnings[] = {"31 % of the tokens were computed again"};
    static const char *const assumed[] = {"engine overhead on this device"};
    sli_run_facts facts = fixture_facts();
    facts.warnings = warnings;
    facts.warning_count = 1;
    facts.assumed = assumed;
    facts.assumed_count = 1;
    facts.results_dir = "out/";
    char *text = summary_of_fixture(&facts, false);
    expect(text, "\n  warning: 31 % of the tokens were computed again\n"
                 "  assumed, not measured: engine overhead on this device\n"
                 "  results in out/ (run.sqlite, scenario.resolved.yaml) · digest "
                 "9f3ac41d22b07e15\n");
    free(text);
}

/* Characters, not bytes. */
static size_t longest_line(const char *text) {
    size_t longest = 0;
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width = *text == '\n' ? 0 : width + (((unsigned char)*text & 0xc0) != 0x80);
        longest = width > longest ? width : longest;
    }
    return longest;
}

static void no_line_is_longer_than_a_hundred_columns(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    facts.workload = "mooncake tool and agent trace, rate scaled by 1.25, first 3,600 s of it";
    char *text = summary_of_fixture(&facts, true);
    expect(text, "of it\nllama-3.1-8b bf16 · 2 × h100-sxm"); /* what serves stays together */
    assert_in_range(longest_line(text), 70, 100);
    free(text);
}

static void columns_are_characters_not_bytes(void **state) {
    (void)state;
    char workload[2 * 92 + 1] = "";
    for (int i = 0; i < 91; i++) {
        strcat(workload, "µ");
    }
    sli_run_facts facts = {.workload = workload};
    sli_metrics metrics = {0};
    char *text = summary(&facts, &metrics);
    expect(text, "µ · seed 0\n"); /* 91 + 3 + 6 fill the line */
    free(text);
    strcat(workload, "µ");
    text = summary(&facts, &metrics);
    expect(text, "µ\nseed 0\n");
    free(text);
}

static void a_failed_stream_is_reported(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    sli_metrics metrics = {0};
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(sli_text_write(full, &facts, &metrics), SL_ERR_IO);
    fclose(full);
}

/* A burst: 1,089 of the slowest came within 5 s of a run of 3,000 s. Half of the run is no burst.
 */
static void slowest_requests_of_a_burst_are_placed(void **state) {
    (void)state;
    sli_collector collector;
    sli_metrics metrics;
    assert_int_equal(fixture_collect(true, &collector), SL_OK);
    assert_int_equal(sli_metrics_make(&collector, &metrics), SL_OK);
    const int64_t second_ns = 1000000000;
    metrics.ttft_p99_shares.count = 1089;
    metrics.p99_first_arrival_ns = 863 * second_ns + second_ns / 2;
    metrics.p99_last_arrival_ns = 868 * second_ns;
    metrics.arrival_span_ns = 3000 * second_ns;
    sli_run_facts facts = fixture_facts();
    char *text = summary(&facts, &metrics);
    expect(text, "  the slowest  1,089 requests arrived between 863.5 s and 868.0 s\n");
    free(text);
    metrics.p99_last_arrival_ns = 2400 * second_ns;
    text = summary(&facts, &metrics);
    expect_no(text, "the slowest");
    free(text);
    sli_collector_fini(&collector);
}

static void what_was_thrown_out_is_told_with_what_is_not_known(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    char *text = summary_of_fixture(&facts, true);
    expect_no(text, "quality");
    free(text);
    const sli_fact_quality given = {"20 %", "XSUM", 11.3, "a paper"};
    facts.keep = (sli_fact_keep){.method = "h2o", .budget = "20 % of the prompt"};
    text = summary_of_fixture(&facts, true);
    expect(text, "  keep         h2o: 20 % of the prompt · quality is not simulated\n");
    free(text);
    facts.keep.layers = "9 in the first layer";
    facts.quality = &given;
    facts.quality_count = 1;
    text = summary_of_fixture(&facts, true);
    expect(text, "  keep         h2o: 20 % of the prompt · 9 in the first layer · quality is not "
                 "simulated\n"
                 "  quality      XSUM 11.3 with 20 % · a paper · given, not simulated\n");
    free(text);
}

/* 2 requests a second arrive and 1.5 end: what is offered, unless they wait for each other. */
static void closed_loops_are_offered_nothing(void **state) {
    (void)state;
    sli_run_facts facts = fixture_facts();
    sli_metrics metrics = {
        .request_offered_per_s = {.kind = SLI_VALUE_REAL, .real = 2.0},
        .request_throughput_per_s = {.kind = SLI_VALUE_REAL, .real = 1.5},
    };
    char *text = summary(&facts, &metrics);
    expect(text, "1.50 of 2.00 req/s offered");
    free(text);
    facts.is_closed = true;
    text = summary(&facts, &metrics);
    expect(text, "1.50 req/s");
    expect_no(text, "offered");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_ran_and_what_came_out),
        cmocka_unit_test(what_was_thrown_out_is_told_with_what_is_not_known),
        cmocka_unit_test(a_pool_of_pages_is_told_in_bytes),
        cmocka_unit_test(one_device_needs_no_name),
        cmocka_unit_test(no_hits_are_no_finding_without_ids),
        cmocka_unit_test(states_where_quantiles_come_from),
        cmocka_unit_test(running_time_names_the_large_parts),
        cmocka_unit_test(shares_add_up_to_a_hundred),
        cmocka_unit_test(long_numbers_widen_their_column),
        cmocka_unit_test(devices_of_a_replica_are_told),
        cmocka_unit_test(lines_without_meaning_are_left_out),
        cmocka_unit_test(times_have_the_unit_that_reads_best),
        cmocka_unit_test(says_when_results_are_partial),
        cmocka_unit_test(ends_with_warnings_and_assumptions),
        cmocka_unit_test(no_line_is_longer_than_a_hundred_columns),
        cmocka_unit_test(columns_are_characters_not_bytes),
        cmocka_unit_test(slowest_requests_of_a_burst_are_placed),
        cmocka_unit_test(closed_loops_are_offered_nothing),
        cmocka_unit_test(a_failed_stream_is_reported),
    };
    return cmocka_run_group_tests_name("out/text", tests, NULL, NULL);
}
