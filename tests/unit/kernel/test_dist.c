/* Distributions: means, spreads and shapes against theory. */
#include "kernel/dist.h"
#include "kernel/moments.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { DRAWS = 100000 };

static sli_moments moments_of(const sli_dist *dist) {
    sli_moments moments = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test", 0, i); /* a stream a draw, as the sources do */
        int64_t value = sli_dist_draw(dist, &rng);
        assert_true(value >= 1);
        sli_moments_add(&moments, (double)value);
    }
    return moments;
}

/* Rounding shifts the means below by less than 1e-3 of a standard error. */
static void assert_mean(const sli_dist *dist, double mean, double deviation) {
    sli_moments moments = moments_of(dist);
    double standard_error = deviation / sqrt(DRAWS);
    assert_true(fabs(moments.mean - mean) < 4.0 * standard_error);
}

static void fixed_is_fixed(void **state) {
    (void)state;
    sli_moments moments = moments_of(&(sli_dist){.kind = SLI_DIST_FIXED, .value = 512});
    assert_true(moments.mean >= 512.0 && moments.mean <= 512.0);
    assert_true(sli_moments_variance(&moments) <= 0.0);
}

static void uniform_reaches_both_ends_equally(void **state) {
    (void)state;
    const sli_dist dist = {.kind = SLI_DIST_UNIFORM, .min = 3, .max = 7};
    uint64_t counts[8] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test", 1, i);
        int64_t value = sli_dist_draw(&dist, &rng);
        assert_in_range(value, 3, 7);
        counts[value]++;
    }
    double deviation = sqrt(DRAWS * 0.2 * 0.8); /* binomial */
    for (int value = 3; value <= 7; value++) {
        assert_true(fabs((double)counts[value] - DRAWS * 0.2) < 4.0 * deviation);
    }
    assert_mean(&dist, 5.0, sqrt(2.0)); /* variance (n^2 - 1) / 12 with n = 5 */
}

static void exponential_has_its_mean_as_deviation(void **state) {
    (void)state;
    const sli_dist dist = {.kind = SLI_DIST_EXPONENTIAL, .mean = 1e6};
    assert_mean(&dist, 1e6, 1e6);
    sli_moments moments = moments_of(&dist);
    /* The fourth central moment is 9 mean^4: Var(s^2) = 8 mean^4 / n. */
    double error = sqrt(8.0 / DRAWS);
    assert_true(fabs(sli_moments_variance(&moments) / 1e12 - 1.0) < 4.0 * error);
}

static void lognormal_has_the_mean_and_cv_asked_for(void **state) {
    (void)state;
    static const double cvs[] = {0.1, 0.5, 1.0};
    for (size_t i = 0; i < sizeof cvs / sizeof cvs[0]; i++) {
        const sli_dist dist = {.kind = SLI_DIST_LOGNORMAL, .mean = 1e6, .cv = cvs[i]};
        assert_mean(&dist, 1e6, cvs[i] * 1e6);
        sli_moments moments = moments_of(&dist);
        /* With w = 1 + cv^2 the kurtosis is w^4 + 2 w^3 + 3 w^2 - 3; Var(s^2) = (k - 1) s^4 / n. */
        double w = 1.0 + cvs[i] * cvs[i];
        double kurtosis = w * w * w * w + 2.0 * w * w * w + 3.0 * w * w - 3.0;
        double error = sqrt((kurtosis - 1.0) / DRAWS);
        double ratio = sli_moments_variance(&moments) / (cvs[i] * cvs[i] * 1e12);
        assert_true(fabs(ratio - 1.0) < 4.0 * error);
    }
}

/* Half of a lognormal lies below exp(mu) = mean / sqrt(1 + cv^2). */
static void lognormal_has_its_median_below_its_mean(void **state) {
    (void)state;
    const sli_dist dist = {.kind = SLI_DIST_LOGNORMAL, .mean = 1e6, .cv = 2.0};
    int below = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test", 2, i);
        below += (double)sli_dist_draw(&dist, &rng) < 1e6 / sqrt(5.0);
    }
    assert_true(fabs(below - DRAWS / 2.0) < 4.0 * sqrt(DRAWS / 4.0));
}

/* The table is its own distribution function at its points, and linear between them. */
static void quantile_tables_are_followed(void **state) {
    (void)state;
    static const sli_quantile table[] = {{0.0, 100}, {0.5, 200}, {0.9, 1000}, {1.0, 100000}};
    const sli_dist dist = {.kind = SLI_DIST_QUANTILES, .quantiles = table, .quantile_count = 4};
    static const struct {
        double value;
        double frac;
    } points[] = {{100.0, 0.0},  {150.0, 0.25},   {200.0, 0.5},   {600.0, 0.7},
                  {1000.0, 0.9}, {50500.0, 0.95}, {100000.0, 1.0}};
    enum { POINT_COUNT = sizeof points / sizeof points[0] };
    int below[POINT_COUNT] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test", 3, i);
        double value = (double)sli_dist_draw(&dist, &rng);
        for (size_t k = 0; k < POINT_COUNT; k++) {
            /* Half a unit of rounding at the steepest stretch is 0.0025 of the values. */
            below[k] += value < points[k].value;
        }
    }
    for (size_t k = 0; k < POINT_COUNT; k++) {
        double frac = points[k].frac;
        double error = sqrt(frac * (1.0 - frac) / DRAWS);
        assert_true(fabs((double)below[k] / DRAWS - frac) < 4.0 * error + 0.0025 + 1e-9);
    }
    /* 0.5 * 150 + 0.4 * 600 + 0.1 * 50500 */
    sli_moments moments = moments_of(&dist);
    assert_true(fabs(moments.mean - 5365.0) < 4.0 * sqrt(sli_moments_variance(&moments) / DRAWS));
}

/* A stretch of equal values is an atom. */
static void quantile_tables_may_have_atoms(void **state) {
    (void)state;
    static const sli_quantile table[] = {{0.0, 10}, {0.3, 10}, {1.0, 20}};
    const sli_dist dist = {.kind = SLI_DIST_QUANTILES, .quantiles = table, .quantile_count = 3};
    int at_ten = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test", 4, i);
        at_ten += sli_dist_draw(&dist, &rng) == 10;
    }
    double frac = 0.3 + 0.7 * 0.05; /* the atom, and what rounds down to it */
    assert_true(fabs((double)at_ten / DRAWS - frac) < 4.0 * sqrt(frac * (1.0 - frac) / DRAWS));
}

static void draws_are_at_least_one(void **state) {
    (void)state;
    sli_moments moments = moments_of(&(sli_dist){.kind = SLI_DIST_EXPONENTIAL, .mean = 0.01});
    assert_true(moments.mean >= 1.0 && moments.mean <= 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_is_fixed),
        cmocka_unit_test(uniform_reaches_both_ends_equally),
        cmocka_unit_test(exponential_has_its_mean_as_deviation),
        cmocka_unit_test(lognormal_has_the_mean_and_cv_asked_for),
        cmocka_unit_test(lognormal_has_its_median_below_its_mean),
        cmocka_unit_test(quantile_tables_are_followed),
        cmocka_unit_test(quantile_tables_may_have_atoms),
        cmocka_unit_test(draws_are_at_least_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
