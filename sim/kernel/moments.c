#include "kernel/moments.h"

#include "base/check.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* Welford, Technometrics 4 (1962) 419. */
void sli_moments_add(sli_moments *moments, double value) {
    moments->count++;
    double delta = value - moments->mean;
    moments->mean += delta / (double)moments->count;
    moments->m2 += delta * (value - moments->mean);
}

double sli_moments_variance(const sli_moments *moments) {
    return moments->count < 2 ? 0.0 : moments->m2 / (double)(moments->count - 1);
}

sli_interval sli_interval_of(const sli_moments *moments, double level) {
    SL_ASSERT(moments->count >= 2 && level > 0.0 && level < 1.0);
    double count = (double)moments->count;
    double t = gsl_cdf_tdist_Pinv(0.5 + level / 2.0, count - 1.0);
    return (sli_interval){
        .mean = moments->mean,
        .half_width = t * sqrt(sli_moments_variance(moments) / count),
    };
}

sli_interval sli_batch_means(const double *values, size_t count, double drop_frac,
                             size_t batch_count, double level) {
    SL_ASSERT(drop_frac >= 0.0 && drop_frac < 1.0 && batch_count >= 2);
    size_t first = (size_t)lround(drop_frac * (double)count); /* 7 % of 100 are 7, not 8 */
    size_t batch_size = (count - first) / batch_count;
    SL_ASSERT(batch_size >= 1);
    sli_moments means = {0};
    for (size_t batch = 0; batch < batch_count; batch++) {
        sli_moments within = {0};
        for (size_t i = 0; i < batch_size; i++) {
            sli_moments_add(&within, values[first + batch * batch_size + i]);
        }
        sli_moments_add(&means, within.mean);
    }
    return sli_interval_of(&means, level);
}
