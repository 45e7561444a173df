#include "support.h"

#include "kernel/hist.h"
#include "workloads/preset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIXED "prompt: {fixed: 100 tokens}, output: {fixed: 10 tokens}"

static arrivals draw(const char *yaml, uint64_t seed) {
    world w;
    if (world_open(&w, seed, yaml) != SL_OK) {
        fail_msg("%s", world_messages(&w));
    }
    arrivals list = arrivals_of(&w.source);
    world_close(&w);
    return list;
}

static void assert_refused(const char *yaml, const char *message) {
    world w;
    assert_int_equal(world_open(&w, 1, yaml), SL_ERR_CONFIG);
    assert_null(w.source.ops);
    assert_string_equal(world_messages(&w), message);
    world_close(&w);
}

static void deterministic_arrivals_do_not_drift(void **state) {
    (void)state;
    arrivals list = draw("{source: deterministic, rate: 3 /s, requests: 300001, " FIXED "}", 1);
    assert_int_equal(list.count, 300001);
    assert_int_equal(list.items[0].at_ns, 0);
    assert_int_equal(list.items[1].at_ns, 333333333);
    assert_int_equal(list.items[2].at_ns, 666666667);
    assert_int_equal(list.items[3].at_ns, 1000000000);
    assert_int_equal(list.items[300000].at_ns, 100000000000000);
    assert_int_equal(list.items[300000].index, 300000);
    arrivals_free(&list);
}

/* The gaps of a Poisson process have mean 1/rate and as large a standard deviation. */
static void poisson_gaps_are_exponential(void **state) {
    (void)state;
    enum { COUNT = 40000 };
    arrivals list = draw("{source: poisson, rate: 50 /s, requests: 40000, " FIXED "}", 7);
    assert_int_equal(list.count, COUNT);
    double mean_ns = (double)list.items[COUNT - 1].at_ns / COUNT;
    double square_sum = 0;
    int64_t above_mean_count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        int64_t before_ns = i > 0 ? list.items[i - 1].at_ns : 0;
        double gap_ns = (double)(list.items[i].at_ns - before_ns);
        assert_true(gap_ns >= 0);
        square_sum += gap_ns * gap_ns;
        above_mean_count += gap_ns > 20e6;
    }
    double root_count = sqrt(COUNT);
    assert_true(fabs(mean_ns / 20e6 - 1) < 4 / root_count);
    /* E[gap^2] = 2 mean^2, and its relative standard error is sqrt(E[g^4]/E[g^2]^2 - 1) = sqrt(5).
     */
    assert_true(fabs(square_sum / COUNT / (2 * 20e6 * 20e6) - 1) < 4 * sqrt(5) / root_count);
    /* P(gap > mean) = 1/e. */
    double frac = (double)above_mean_count / COUNT;
    assert_true(fabs(frac - exp(-1)) < 4 * sqrt(exp(-1) * (1 - exp(-1))) / root_count);
    arrivals_free(&list);
}

static void requests_do_not_depend_on_other_keys(void **state) {
    (void)state;
    const char *lengths = "prompt: {lognormal: {mean: 900 tokens, cv: 2}}";
    char yaml[2][512];
    snprintf(yaml[0], sizeof yaml[0],
             "{source: poisson, rate: 5 /s, requests: 200, %s, output: {exponential: {mean: 90 "
             "tokens}}, priorities: [[0.5, 0], [0.5, 9]]}",
             lengths);
    snprintf(yaml[1], sizeof yaml[1],
             "{source: deterministic, rate: 99 /s, requests: 100, %s, output: {uniform: {min: 1 "
             "tokens, max: 9 tokens}}, priorities: [[0.5, 0], [0.5, 9]]}",
             lengths);
    arrivals a = draw(yaml[0], 3);
    arrivals b = draw(yaml[1], 3);
    arrivals c = draw(yaml[0], 4);
    size_t same_count = 0;
    for (size_t i = 0; i < b.count; i++) {
        assert_int_equal(a.items[i].desc.prompt_tokens, b.items[i].desc.prompt_tokens);
        assert_int_equal(a.items[i].desc.priority, b.items[i].desc.priority);
        same_count += a.items[i].desc.prompt_tokens == c.items[i].desc.prompt_tokens;
    }
    assert_true(same_count < 10); /* another seed, other requests */
    arrivals_free(&a);
    arrivals_free(&b);
    arrivals_free(&c);
}

static void uniform_lengths_reach_both_ends(void **state) {
    (void)state;
    arrivals list = draw("{source: deterministic, rate: 1 /s, requests: 3000, prompt: {uniform: "
                         "{min: 5 tokens, max: 7 tokens}}, output: {fixed: 3 tokens}}",
                         1);
    size_t counts[3] = {0};
    for (size_t i = 0; i < list.count; i++) {
        int64_t tokens = list.items[i].desc.prompt_tokens;
        assert_in_range(tokens, 5, 7);
        counts[tokens - 5]++;
        assert_int_equal(list.items[i].desc.output_tokens, 3);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_in_range(counts[i], 1000 - 104, 1000 + 104); /* 4 sqrt(3000 * 1/3 * 2/3) */
    }
    arrivals_free(&list);
}

/* Shares 1, 1/2, 1/3 of their sum 11/6. */
static void system_prompts_follow_zipf(void **state) {
    (void)state;
    enum { COUNT = 11000 };
    arrivals list = draw("{source: deterministic, rate: 1 /s, requests: 11000, " FIXED
                         ", system_prompts: {count: 3, length: 640 tokens}}",
                         5);
    size_t counts[3] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        const sl_request_desc *desc = &list.items[i].desc;
        assert_int_equal(desc->prompt_tokens, 740);
        assert_int_equal(desc->content.id_count, 1);
        assert_int_equal(desc->content.id_tokens, 640);
        assert_int_equal(desc->content.scope, 1);
        assert_in_range(list.items[i].ids[0], 0, 2);
        counts[list.items[i].ids[0]]++;
    }
    const double shares[3] = {6.0 / 11, 3.0 / 11, 2.0 / 11};
    for (size_t i = 0; i < 3; i++) {
        double error = (double)counts[i] - shares[i] * COUNT;
        assert_true(fabs(error) < 4 * sqrt(COUNT * shares[i] * (1 - shares[i])));
    }
    arrivals_free(&list);
}

static void without_system_prompts_contents_are_private(void **state) {
    (void)state;
    arrivals list = draw("{source: deterministic, rate: 1 /s, requests: 2, " FIXED "}", 5);
    assert_int_equal(list.items[1].desc.content.id_count, 0);
    assert_int_equal(list.items[1].desc.content.scope, 0);
    assert_int_equal(list.items[1].desc.priority, 0);
    assert_int_equal(list.items[1].desc.max_tokens, 0);
    arrivals_free(&list);
}

static void warns_of_a_length_that_no_system_prompt_has(void **state) {
    (void)state;
    world w;
    assert_int_equal(world_open(&w, 1,
                                "{source: poisson, rate: 1 /s, requests: 1, " FIXED
                                ", system_prompts: {length: 9 tokens}}"),
                     SL_OK);
    assert_string_equal(world_messages(&w),
                        "s.yaml:1:136: warning: workload.system_prompts.length: has no effect: "
                        "count is 0\n");
    world_close(&w);
}

static void priorities_come_in_their_shares(void **state) {
    (void)state;
    enum { COUNT = 10000 };
    arrivals list = draw("{source: deterministic, rate: 1 /s, requests: 10000, " FIXED
                         ", priorities: [[0.2, -5], [0.7, 0], [0.1, 3]]}",
                         11);
    size_t counts[3] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        int32_t priority = list.items[i].desc.priority;
        assert_true(priority == -5 || priority == 0 || priority == 3);
        counts[priority < 0 ? 0 : priority == 0 ? 1 : 2]++;
    }
    const double shares[3] = {0.2, 0.7, 0.1};
    for (size_t i = 0; i < 3; i++) {
        double error = (double)counts[i] - shares[i] * COUNT;
        assert_true(fabs(error) < 4 * sqrt(COUNT * shares[i] * (1 - shares[i])));
    }
    arrivals_free(&list);
}

static void max_tokens_cuts_outputs(void **state) {
    (void)state;
    arrivals list = draw("{source: deterministic, rate: 1 /s, requests: 500, max_tokens: 6 tokens, "
                         "prompt: {fixed: 1 tokens}, output: {uniform: {min: 1 tokens, max: 9 "
                         "tokens}}}",
                         2);
    size_t at_limit_count = 0;
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.items[i].desc.max_tokens, 6);
        assert_in_range(list.items[i].desc.output_tokens, 1, 6);
        at_limit_count += list.items[i].desc.output_tokens == 6;
    }
    /* 6, 7, 8 and 9 of 9 lengths end at the limit: 4/9 of 500 within 4 standard errors. */
    assert_in_range(at_limit_count, 222 - 45, 222 + 45);
    arrivals_free(&list);
}

static int compare_tokens(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Prompts of the Azure conversation trace: p50 1,020, p90 2,734, max 14,050 (computed from it). */
static void preset_draws_the_quantiles_of_the_trace(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    arrivals list = draw("{source: deterministic, rate: 1 /s, requests: 20000, prompt: {preset: "
                         "azure-conv-2023}, output: {preset: azure-conv-2023}}",
                         9);
    int64_t *prompts = calloc(COUNT, sizeof *prompts);
    int64_t *outputs = calloc(COUNT, sizeof *outputs);
    assert_non_null(prompts);
    assert_non_null(outputs);
    for (size_t i = 0; i < COUNT; i++) {
        prompts[i] = list.items[i].desc.prompt_tokens;
        outputs[i] = list.items[i].desc.output_tokens;
    }
    qsort(prompts, COUNT, sizeof *prompts, compare_tokens);
    qsort(outputs, COUNT, sizeof *outputs, compare_tokens);
    assert_true(prompts[0] >= 2 && prompts[COUNT - 1] <= 14050);
    assert_true(outputs[0] >= 7 && outputs[COUNT - 1] <= 1000);
    /* Ranks within 4 standard errors, 1.4 % of the draws at the median, 0.85 % at p90. */
    assert_true(sli_sorted_quantile(prompts, COUNT, 0.486) <= 1020);
    assert_true(sli_sorted_quantile(prompts, COUNT, 0.514) >= 1020);
    assert_true(sli_sorted_quantile(prompts, COUNT, 0.8915) <= 2734);
    assert_true(sli_sorted_quantile(prompts, COUNT, 0.9085) >= 2734);
    assert_true(sli_sorted_quantile(outputs, COUNT, 0.486) <= 129);
    assert_true(sli_sorted_quantile(outputs, COUNT, 0.514) >= 129);
    free(prompts);
    free(outputs);
    arrivals_free(&list);
}

static void every_preset_reads_and_is_sound(void **state) {
    (void)state;
    for (const sli_embedded *row = sli_workload_presets; row->name != NULL; row++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 "{source: poisson, rate: 1 /s, requests: 10, prompt: {preset: %s}, output: "
                 "{preset: %s}}",
                 row->name, row->name);
        arrivals list = draw(yaml, 1);
        assert_int_equal(list.count, 10);
        arrivals_free(&list);
    }
}

static void says_what_no_single_key_can_check(void **state) {
    (void)state;
    assert_refused("{source: poisson, rate: 1 /s, requests: 1, prompt: {uniform: {min: 9 tokens, "
                   "max: 8 tokens}}, output: {preset: azure-conv-2032}}",
                   "s.yaml:1:72: workload.prompt.uniform: max (8 tokens) is below min (9 tokens)\n"
                   "s.yaml:1:122: workload.output.preset: unknown preset 'azure-conv-2032'; known "
                   "are azure-conv-2023\n");
    assert_refused("{source: poisson, rate: 1 /s, requests: 1, " FIXED
                   ", priorities: [[0.5, 1], [0.4, 2]]}",
                   "s.yaml:1:123: workload.priorities: shares must sum to 1, found 0.9\n");
    assert_refused("{source: poisson, rate: 1 /s, requests: 1, " FIXED
                   ", system_prompts: {count: 2, length: 0 tokens}}",
                   "s.yaml:1:146: workload.system_prompts.length: must be at least 1 token with 2 "
                   "of them\n");
}

static void says_what_is_wrong_with_quantiles(void **state) {
    (void)state;
    const struct {
        const char *rows;
        const char *message;
    } cases[] = {
        {"[[0.1, 1 tokens], [1, 2 tokens]]", "shares must begin with 0 and end with 1"},
        {"[[0, 1 tokens], [0.9, 2 tokens]]", "shares must begin with 0 and end with 1"},
        {"[[0, 1 tokens], [0.5, 2 tokens], [0.5, 3 tokens], [1, 4 tokens]]",
         "shares must rise from row to row; row 3 does not"},
        {"[[0, 5 tokens], [0.5, 4 tokens], [1, 9 tokens]]",
         "tokens must not fall from row to row; row 2 does"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[512];
        char message[512];
        snprintf(yaml, sizeof yaml,
                 "{source: poisson, rate: 1 /s, requests: 1, output: {fixed: 1 tokens}, prompt: "
                 "{quantiles: %s}}",
                 cases[i].rows);
        snprintf(message, sizeof message, "s.yaml:1:101: workload.prompt.quantiles: %s\n",
                 cases[i].message);
        assert_refused(yaml, message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deterministic_arrivals_do_not_drift),
        cmocka_unit_test(poisson_gaps_are_exponential),
        cmocka_unit_test(requests_do_not_depend_on_other_keys),
        cmocka_unit_test(uniform_lengths_reach_both_ends),
        cmocka_unit_test(system_prompts_follow_zipf),
        cmocka_unit_test(without_system_prompts_contents_are_private),
        cmocka_unit_test(warns_of_a_length_that_no_system_prompt_has),
        cmocka_unit_test(priorities_come_in_their_shares),
        cmocka_unit_test(max_tokens_cuts_outputs),
        cmocka_unit_test(preset_draws_the_quantiles_of_the_trace),
        cmocka_unit_test(every_preset_reads_and_is_sound),
        cmocka_unit_test(says_what_no_single_key_can_check),
        cmocka_unit_test(says_what_is_wrong_with_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
