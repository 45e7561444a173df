#include "kernel/dist.h"

#include "base/check.h"
#include "kernel/time.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdbool.h>

/* The inverse of the distribution function: the value below which a share `frac` lies. */
static double quantile_at(const sli_dist *dist, double frac) {
    size_t low = 0;
    size_t high = dist->quantile_count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (dist->quantiles[middle].frac <= frac) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const sli_quantile *from = &dist->quantiles[low];
    const sli_quantile *to = &dist->quantiles[high];
    double share = (frac - from->frac) / (to->frac - from->frac);
    return (double)from->value + share * (double)(to->value - from->value);
}

/*
 * With X = exp(N(mu, sigma^2)), E X = exp(mu + sigma^2 / 2) and (cv of X)^2 = exp(sigma^2) - 1
 * (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, chapter 14).
 */
static double draw_lognormal(const sli_dist *dist, sli_rng *rng) {
    double variance = log1p(dist->cv * dist->cv);
    return gsl_ran_lognormal(&rng->gsl, log(dist->mean) - variance / 2.0, sqrt(variance));
}

/* To nearest, at least 1; too large a draw saturates, as it does for times. */
static int64_t round_draw(double drawn) {
    int64_t rounded = sli_time_round(drawn);
    return rounded < 1 ? 1 : rounded;
}

int64_t sli_dist_draw(const sli_dist *dist, sli_rng *rng) {
    switch (dist->kind) {
    case SLI_DIST_FIXED:
        return dist->value < 1 ? 1 : dist->value;
    case SLI_DIST_UNIFORM: {
        uint64_t span = (uint64_t)dist->max - (uint64_t)dist->min + 1;
        int64_t drawn = dist->min + (int64_t)sli_rng_below(rng, span);
        return drawn < 1 ? 1 : drawn;
    }
    case SLI_DIST_EXPONENTIAL:
        return round_draw(gsl_ran_exponential(&rng->gsl, dist->mean));
    case SLI_DIST_LOGNORMAL:
        return round_draw(draw_lognormal(dist, rng));
    case SLI_DIST_QUANTILES:
        return round_draw(quantile_at(dist, sli_rng_uniform(rng)));
    }
    SL_ASSERT(false); /* no such kind */
    return 1;
}
