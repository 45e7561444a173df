#include "out/sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void quantiles_of_kept_values_are_exact(void **state) {
    (void)state;
    sli_sample sample = {.keeps_values = true};
    /* 1,000,001 is not the middle of any bucket. h = (n - 1) p with n = 3. */
    const int64_t values[] = {3000003, 1000001, 2000001};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sli_sample_add(&sample, values[i], 1), SL_OK);
    }
    sli_spread spread;
    assert_int_equal(sli_sample_summarise(&sample, &spread), SL_OK);
    assert_true(spread.is_exact);
    assert_int_equal(spread.count, 3);
    assert_int_equal(spread.max, 3000003);
    assert_true(fabs(spread.mean - 6000005.0 / 3) < 1e-6);
    assert_true(fabs(spread.p50 - 2000001) < 1e-6);
    assert_true(fabs(spread.p90 - (2000001 + 0.8 * 1000002)) < 1e-6);
    assert_true(fabs(spread.p95 - (2000001 + 0.9 * 1000002)) < 1e-6);
    assert_true(fabs(spread.p99 - (2000001 + 0.98 * 1000002)) < 1e-6);
    sli_sample_fini(&sample);
}

static void histogram_quantiles_stay_within_the_stated_error(void **state) {
    (void)state;
    sli_sample kept = {.keeps_values = true};
    sli_sample counted = {0};
    uint64_t x = 88172645463325252;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13; /* xorshift64, Marsaglia (2003) */
        x ^= x >> 7;
        x ^= x << 17;
        int64_t value = (int64_t)(x >> (20 + x % 30));
        assert_int_equal(sli_sample_add(&kept, value, 1), SL_OK);
        assert_int_equal(sli_sample_add(&counted, value, 1), SL_OK);
    }
    sli_spread exact;
    sli_spread near;
    assert_int_equal(sli_sample_summarise(&kept, &exact), SL_OK);
    assert_int_equal(sli_sample_summarise(&counted, &near), SL_OK);
    assert_false(near.is_exact);
    const double pairs[][2] = {
        {exact.p50, near.p50}, {exact.p90, near.p90}, {exact.p95, near.p95}, {exact.p99, near.p99}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_true(fabs(pairs[i][1] - pairs[i][0]) <= SLI_HIST_RELATIVE_ERROR * pairs[i][0]);
    }
    assert_int_equal(near.max, exact.max);
    sli_sample_fini(&kept);
    sli_sample_fini(&counted);
}

static void a_weight_equals_that_many_single_values(void **state) {
    (void)state;
    for (int keeps = 0; keeps < 2; keeps++) {
        sli_sample weighted = {.keeps_values = keeps};
        sli_sample single = {.keeps_values = keeps};
        assert_int_equal(sli_sample_add(&weighted, 10, 3), SL_OK);
        assert_int_equal(sli_sample_add(&weighted, 20, 2), SL_OK);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(sli_sample_add(&single, i % 2 == 0 ? 10 : 20, 1), SL_OK);
        }
        sli_spread a;
        sli_spread b;
        assert_int_equal(sli_sample_summarise(&weighted, &a), SL_OK);
        assert_int_equal(sli_sample_summarise(&single, &b), SL_OK);
        assert_int_equal(a.count, 5);
        assert_int_equal(b.count, 5);
        assert_true(fabs(a.mean - 14) < 1e-9 && fabs(b.mean - 14) < 1e-9);
        assert_true(fabs(a.p50 - 10) < 1e-9 && fabs(b.p50 - 10) < 1e-9);
        assert_true(fabs(a.p90 - 20) < 1e-9 && fabs(b.p90 - 20) < 1e-9);
        sli_sample_fini(&weighted);
        sli_sample_fini(&single);
    }
}

static void an_empty_sample_counts_nothing(void **state) {
    (void)state;
    sli_sample sample = {.keeps_values = true};
    sli_spread spread = {.count = 77};
    assert_int_equal(sli_sample_summarise(&sample, &spread), SL_OK);
    assert_int_equal(spread.count, 0);
    sli_sample_fini(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_of_kept_values_are_exact),
        cmocka_unit_test(histogram_quantiles_stay_within_the_stated_error),
        cmocka_unit_test(a_weight_equals_that_many_single_values),
        cmocka_unit_test(an_empty_sample_counts_nothing),
    };
    return cmocka_run_group_tests_name("out/sample", tests, NULL, NULL);
}
