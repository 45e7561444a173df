/* Moments by hand, intervals by printed tables of Student's t, and coverage by trial. */
#include "kernel/moments.h"
#include "kernel/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double actual, double expected, double error) {
    if (!(fabs(actual - expected) <= error)) {
        fail_msg("%.17g is not within %g of %.17g", actual, error, expected);
    }
}

static void mean_and_variance_are_those_of_the_values(void **state) {
    (void)state;
    sli_moments moments = {0};
    assert_near(sli_moments_variance(&moments), 0.0, 0.0);
    sli_moments_add(&moments, 2.0);
    assert_near(sli_moments_variance(&moments), 0.0, 0.0);
    static const double more[] = {4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
    for (size_t i = 0; i < 7; i++) {
        sli_moments_add(&moments, more[i]);
    }
    assert_int_equal(moments.count, 8);
    assert_near(moments.mean, 5.0, 1e-14);
    assert_near(sli_moments_variance(&moments), 32.0 / 7.0, 1e-14);
}

/* The sum of squares minus the square of the sum has no digits left here. */
static void a_large_mean_does_not_swallow_the_variance(void **state) {
    (void)state;
    sli_moments moments = {0};
    static const double values[] = {4.0, 7.0, 13.0, 16.0};
    for (size_t i = 0; i < 4; i++) {
        sli_moments_add(&moments, 1e9 + values[i]);
    }
    assert_near(sli_moments_variance(&moments), 30.0, 1e-6);
}

/* Law, Simulation Modeling and Analysis, appendix: t(0.975, 4) = 2.776, t(0.95, 9) = 1.833. */
static void the_half_width_uses_the_table_of_students_t(void **state) {
    (void)state;
    sli_moments five = {0};
    for (int i = 1; i <= 5; i++) {
        sli_moments_add(&five, i);
    }
    sli_interval interval = sli_interval_of(&five, 0.95);
    assert_near(interval.mean, 3.0, 1e-14);
    assert_near(interval.half_width, 2.776 * sqrt(2.5 / 5.0), 0.0005);
    sli_moments ten = {0};
    for (int i = 1; i <= 10; i++) {
        sli_moments_add(&ten, i);
    }
    assert_near(sli_interval_of(&ten, 0.90).half_width, 1.833 * sqrt(55.0 / 6.0 / 10.0), 0.0005);
}

/* Ten values, 20 % dropped, two batches of four: means 4.5 and 8.5, s^2 = 8, t(0.975, 1) = 12.706.
 * An eleventh value is the remainder of the second batch. */
static void batches_are_cut_as_documented(void **state) {
    (void)state;
    static const double values[] = {900, -900, 3, 4, 5, 6, 7, 8, 9, 10, 1e9};
    sli_interval interval = sli_batch_means(values, 10, 0.2, 2, 0.95);
    assert_near(interval.mean, 6.5, 1e-13);
    assert_near(interval.half_width, 12.706 * 2.0, 0.001);
    sli_interval longer = sli_batch_means(values, 11, 2.0 / 11.0, 2, 0.95);
    assert_near(longer.mean, 6.5, 1e-13);
    assert_near(longer.half_width, interval.half_width, 1e-12);
}

enum { TRIALS = 1000, LENGTH = 4000, BATCHES = 10 };

/*
 * An AR(1) series with coefficient 0.8 has a true mean of 0 and a correlation of 0.8 between
 * neighbours. Batches of 400 are long against that, so 90 % intervals should cover 0 in 90 % of
 * trials; intervals that take the values as independent cover it in some 42 %.
 */
static void batch_means_cover_correlated_series(void **state) {
    (void)state;
    int covered = 0;
    int covered_naively = 0;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        static double values[LENGTH];
        sli_moments naive = {0};
        sli_rng rng;
        sli_rng_init(&rng, 1, "test", 0, trial);
        double value = 0.0;
        for (size_t i = 0; i < LENGTH; i++) {
            value = 0.8 * value + gsl_ran_gaussian(&rng.gsl, 1.0);
            values[i] = value;
            sli_moments_add(&naive, value);
        }
        sli_interval interval = sli_batch_means(values, LENGTH, 0.0, BATCHES, 0.90);
        covered += fabs(interval.mean) <= interval.half_width;
        sli_interval naively = sli_interval_of(&naive, 0.90);
        covered_naively += fabs(naively.mean) <= naively.half_width;
    }
    double error = sqrt(TRIALS * 0.9 * 0.1);
    assert_near(covered, 0.9 * TRIALS, 4.0 * error);
    assert_true(covered_naively < TRIALS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_variance_are_those_of_the_values),
        cmocka_unit_test(a_large_mean_does_not_swallow_the_variance),
        cmocka_unit_test(the_half_width_uses_the_table_of_students_t),
        cmocka_unit_test(batches_are_cut_as_documented),
        cmocka_unit_test(batch_means_cover_correlated_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
