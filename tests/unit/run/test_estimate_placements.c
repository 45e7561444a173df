/* The fewest devices for what does not fit, against all placements tried one by one. */
#include "models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define KI              INT64_C(1024)

static void is_placed(const sli_placement *placement, int64_t tp, int64_t pp) {
    assert_int_equal(placement->tp, tp);
    assert_int_equal(placement->pp, pp);
}

/* 671 GB of weights leave no room on eight devices of 80 GB. Six layers of experts, 11.5 GB each,
 * find place on one and seven do not: 11 stages. Of five stages on two each, one has 13 layers. */
static void deepseek_v3_in_fp8_needs_two_nodes(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    sli_placement placements[SLI_PLACEMENTS_MAX];
    query.weights = sli_weight_format_find("fp8");
    query.device = find_device("h100-sxm");
    query.placement.tp = 2;
    assert_false(estimate_of(&query).fit.is_met);
    assert_int_equal((int)sli_estimate_placements(&query, true, placements), 2);
    is_placed(&placements[0], 16, 1);
    is_placed(&placements[1], 8, 2);
    assert_int_equal((int)sli_estimate_placements(&query, false, placements), 1);
    is_placed(&placements[0], 1, 11);
}

/* Experts on all of them instead: 16 copies of the attention fit as well, 8 do not. */
static void advice_keeps_what_was_asked_for_besides(void **state) {
    (void)state;
    sli_estimate_query query = query_of("deepseek-v3", 32 * KI, 1);
    sli_placement placements[SLI_PLACEMENTS_MAX];
    query.weights = sli_weight_format_find("fp8");
    query.device = find_device("h100-sxm");
    query.placement = (sli_placement){.tp = 1, .pp = 1, .dp = 8, .cp = 1, .ep = 8};
    assert_false(estimate_of(&query).fit.is_met);
    assert_int_equal((int)sli_estimate_placements(&query, true, placements), 2);
    assert_int_equal(placements[0].dp, 8);
    assert_int_equal(placements[0].ep, 8);
    is_placed(&placements[0], 2, 1);
    query.placement = (sli_placement){.tp = 1, .pp = 1, .dp = 16, .cp = 1, .ep = 16};
    assert_true(estimate_of(&query).fit.is_met);
}

static bool fits_on(const sli_estimate_query *asked, int64_t tp, int64_t pp) {
    sli_estimate_query query = *asked;
    sli_diag unsaid = {0};
    sli_estimate estimate;
    query.placement.tp = tp;
    query.placement.pp = pp;
    bool fits = sli_estimate_find(&query, &unsaid, &estimate) == SL_OK && estimate.fit.is_met;
    sli_diag_fini(&unsaid);
    return fits;
}

/* All placements on so many devices, by looking at each whole estimate. */
static int count_fitting(const sli_estimate_query *query, int64_t devices) {
    int count = 0;
    for (int64_t tp = 1; tp <= 16; tp *= 2) {
        count += devices % tp == 0 && fits_on(query, tp, devices / tp);
    }
    return count;
}

static void advice_is_the_fewest_devices(void **state) {
    (void)state;
    static const struct {
        const char *model;
        const char *device;
        int64_t requests;
    } cases[] = {{"kimi-k3", "h200", 1},           {"deepseek-v4-pro", "h100-sxm", 1},
                 {"qwen3-32b", "h100-sxm", 8},     {"llama-3.1-405b", "a100-80g", 3},
                 {"phi-4-14b", "a100-40g", 40},    {"gemma-4-31b", "a100-40g", 9},
                 {"rwkv-7-7.2b", "a100-40g", 9999}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_estimate_query query = query_of(cases[i].model, 32 * KI, cases[i].requests);
        sli_placement found[SLI_PLACEMENTS_MAX];
        query.device = find_device(cases[i].device);
        size_t count = sli_estimate_placements(&query, false, found);
        assert_true(count >= 1);
        int64_t devices = sli_placement_ranks(&found[0]);
        for (int64_t fewer = 1; fewer < devices; fewer++) {
            assert_int_equal(count_fitting(&query, fewer), 0);
        }
        int all = count_fitting(&query, devices);
        assert_int_equal((int)count, all < SLI_PLACEMENTS_MAX ? all : SLI_PLACEMENTS_MAX);
        for (size_t j = 0; j < count; j++) {
            assert_true(fits_on(&query, found[j].tp, found[j].pp));
        }
    }
}

/* 2,779 billion parameters in bf16 on 128 x 36 GiB */
static void some_models_find_no_place(void **state) {
    (void)state;
    sli_estimate_query query = query_of("kimi-k3", 32 * KI, 1);
    sli_placement placements[SLI_PLACEMENTS_MAX];
    query.device = find_device("a100-40g");
    query.weights = sli_weight_format_find("bf16");
    assert_int_equal((int)sli_estimate_placements(&query, false, placements), 0);
    assert_int_equal((int)sli_estimate_placements(&query, true, placements), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deepseek_v3_in_fp8_needs_two_nodes),
        cmocka_unit_test(advice_keeps_what_was_asked_for_besides),
        cmocka_unit_test(advice_is_the_fewest_devices),
        cmocka_unit_test(some_models_find_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
