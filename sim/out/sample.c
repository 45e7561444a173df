#include "out/sample.h"

#include "base/grow.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

void sli_sample_fini(sli_sample *sample) {
    sli_hist_fini(&sample->hist);
    free(sample->values);
    *sample = (sli_sample){0};
}

sl_err sli_sample_add(sli_sample *sample, int64_t value, uint64_t count) {
    size_t kept = (size_t)sample->hist.count;
    if (sample->keeps_values) {
        SL_TRY(sli_grow(&sample->values, &sample->value_capacity, kept + count,
                        sizeof *sample->values));
    }
    SL_TRY(sli_hist_add(&sample->hist, value, count));
    if (sample->keeps_values) {
        for (size_t i = 0; i < count; i++) {
            sample->values[kept + i] = value;
        }
    }
    return SL_OK;
}

sl_err sli_sample_summarise(const sli_sample *sample, sli_spread *spread) {
    size_t count = (size_t)sample->hist.count;
    if (count == 0) {
        *spread = (sli_spread){0};
        return SL_OK;
    }
    sli_spread made = {
        .count = (int64_t)count,
        .is_exact = sample->keeps_values,
        .mean = sli_hist_mean(&sample->hist),
        .max = sample->hist.max,
    };
    if (sample->keeps_values) {
        int64_t *sorted = malloc(count * sizeof *sorted);
        if (sorted == NULL) {
            return SL_ERR_NOMEM;
        }
        memcpy(sorted, sample->values, count * sizeof *sorted);
        sli_sort_i64(sorted, count);
        made.p50 = sli_sorted_quantile(sorted, count, 0.50);
        made.p90 = sli_sorted_quantile(sorted, count, 0.90);
        made.p95 = sli_sorted_quantile(sorted, count, 0.95);
        made.p99 = sli_sorted_quantile(sorted, count, 0.99);
        free(sorted);
    } else {
        made.p50 = sli_hist_quantile(&sample->hist, 0.50);
        made.p90 = sli_hist_quantile(&sample->hist, 0.90);
        made.p95 = sli_hist_quantile(&sample->hist, 0.95);
        made.p99 = sli_hist_quantile(&sample->hist, 0.99);
    }
    *spread = made;
    return SL_OK;
}
