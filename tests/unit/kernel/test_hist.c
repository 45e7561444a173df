/* Histograms against the sorted values themselves. */
#include "kernel/dist.h"
#include "kernel/hist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void fill(sli_hist *hist, const int64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sli_hist_add(hist, values[i], 1), SL_OK);
    }
}

static const double ps[] = {0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0};
enum { P_COUNT = sizeof ps / sizeof ps[0] };

/* The law: at most 1/256 off, for few values (where interpolation matters most) and for many. */
static void assert_law(int64_t *values, size_t count) {
    sli_hist hist = {0};
    fill(&hist, values, count);
    qsort(values, count, sizeof values[0], compare);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i];
    }
    double last = -1.0;
    for (size_t i = 0; i < P_COUNT; i++) {
        double exact = sli_sorted_quantile(values, count, ps[i]);
        double answer = sli_hist_quantile(&hist, ps[i]);
        assert_true(fabs(answer - exact) <= exact * SLI_HIST_RELATIVE_ERROR * (1.0 + 1e-12));
        assert_true(answer >= last);
        last = answer;
    }
    assert_int_equal(hist.count, count);
    assert_int_equal(hist.min, values[0]);
    assert_int_equal(hist.max, values[count - 1]);
    double mean = sum / (double)count;
    assert_true(fabs(sli_hist_mean(&hist) - mean) <= 1e-12 * mean);
    sli_hist_fini(&hist);
}

static void quantiles_are_within_the_promised_error(void **state) {
    (void)state;
    static const sli_quantile gap[] = {{0.0, 1}, {0.5, 2}, {0.51, 1000000000}, {1.0, 1000000001}};
    static const sli_dist dists[] = {
        {.kind = SLI_DIST_UNIFORM, .min = 1, .max = 300},
        {.kind = SLI_DIST_UNIFORM, .min = 1, .max = INT64_MAX},
        {.kind = SLI_DIST_EXPONENTIAL, .mean = 3e7},
        {.kind = SLI_DIST_LOGNORMAL, .mean = 1e9, .cv = 3.0},
        {.kind = SLI_DIST_QUANTILES, .quantiles = gap, .quantile_count = 4},
    };
    static const size_t counts[] = {1, 2, 3, 10, 101, 20000};
    static int64_t values[20000];
    for (size_t d = 0; d < sizeof dists / sizeof dists[0]; d++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            sli_rng rng;
            sli_rng_init(&rng, 1, "test", d, c);
            for (size_t i = 0; i < counts[c]; i++) {
                values[i] = sli_dist_draw(&dists[d], &rng);
            }
            assert_law(values, counts[c]);
        }
    }
}

/* One value in the middle of three: no clamping helps it. All powers of two and their neighbours.
 */
static void every_octave_keeps_the_law(void **state) {
    (void)state;
    for (int bit = 0; bit < 63; bit++) {
        for (int64_t offset = -1; offset <= 1; offset++) {
            int64_t value = (INT64_C(1) << bit) + offset;
            int64_t values[3] = {0, value, INT64_MAX};
            assert_law(values, 3);
        }
    }
}

static void values_below_256_are_exact(void **state) {
    (void)state;
    for (int64_t value = 0; value < 256; value++) {
        int64_t values[3] = {0, value, 1000};
        sli_hist hist = {0};
        fill(&hist, values, 3);
        double answer = sli_hist_quantile(&hist, 0.5);
        assert_true(answer >= (double)value && answer <= (double)value);
        sli_hist_fini(&hist);
    }
}

/* Hyndman and Fan, American Statistician 50 (1996) 361, definition 7, by hand. */
static void sorted_quantiles_interpolate_linearly(void **state) {
    (void)state;
    static const int64_t sorted[] = {10, 20, 40, 80};
    static const double expected[][2] = {{0.0, 10.0},  {0.25, 17.5}, {0.5, 30.0},
                                         {0.75, 50.0}, {0.9, 68.0},  {1.0, 80.0}};
    sli_hist hist = {0};
    fill(&hist, sorted, 4);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        double p = expected[i][0];
        assert_true(fabs(sli_sorted_quantile(sorted, 4, p) - expected[i][1]) < 1e-12);
        assert_true(fabs(sli_hist_quantile(&hist, p) - expected[i][1]) < 1e-12);
    }
    sli_hist_fini(&hist);
}

static void a_weight_is_that_many_values(void **state) {
    (void)state;
    sli_hist weighted = {0};
    sli_hist repeated = {0};
    for (int64_t value = 1; value < 5000; value = value * 3 / 2 + 1) {
        uint64_t weight = (uint64_t)value % 7;
        assert_int_equal(sli_hist_add(&weighted, value, weight), SL_OK);
        for (uint64_t i = 0; i < weight; i++) {
            assert_int_equal(sli_hist_add(&repeated, value, 1), SL_OK);
        }
    }
    assert_int_equal(weighted.count, repeated.count);
    assert_int_equal(weighted.min, repeated.min);
    assert_int_equal(weighted.max, repeated.max);
    for (size_t i = 0; i < P_COUNT; i++) {
        double a = sli_hist_quantile(&weighted, ps[i]);
        double b = sli_hist_quantile(&repeated, ps[i]);
        assert_true(a >= b && a <= b);
    }
    sli_hist_fini(&weighted);
    sli_hist_fini(&repeated);
}

/* 2^62 * 2^40 overflows 64 bits by far. */
static void the_mean_of_huge_sums_is_exact(void **state) {
    (void)state;
    sli_hist hist = {0};
    assert_int_equal(sli_hist_add(&hist, INT64_C(1) << 62, UINT64_C(1) << 40), SL_OK);
    assert_int_equal(sli_hist_add(&hist, 0, UINT64_C(1) << 40), SL_OK);
    double mean = sli_hist_mean(&hist);
    assert_true(mean >= 0x1p61 && mean <= 0x1p61);
    sli_hist_fini(&hist);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_within_the_promised_error),
        cmocka_unit_test(every_octave_keeps_the_law),
        cmocka_unit_test(values_below_256_are_exact),
        cmocka_unit_test(sorted_quantiles_interpolate_linearly),
        cmocka_unit_test(a_weight_is_that_many_values),
        cmocka_unit_test(the_mean_of_huge_sums_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
