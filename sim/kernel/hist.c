#include "kernel/hist.h"

#include "base/check.h"
#include "base/minmax.h"

#include <stdlib.h>

/*
 * Octave 7 is 128..255, with buckets of width 1; the last one is octave 62. Together with the
 * exact values below 128 that is one row of 128 buckets an octave, and one more.
 */
enum { SUB_BITS = 7, SUB_COUNT = 1 << SUB_BITS, BUCKET_COUNT = (62 - SUB_BITS + 2) * SUB_COUNT };

void sli_hist_fini(sli_hist *hist) {
    free(hist->counts);
    *hist = (sli_hist){0};
}

/* How many low bits a value loses in its bucket: those below the highest eight. */
static int shift_of(int64_t value) {
    uint64_t kept = (uint64_t)value | SUB_COUNT; /* nothing of a value below it is lost */
    return 63 - SUB_BITS - __builtin_clzll(kept);
}

static size_t bucket_of(int64_t value) {
    int shift = shift_of(value);
    return (size_t)shift * SUB_COUNT + (size_t)(value >> shift);
}

static double middle_of(size_t bucket) {
    if (bucket < 2 * SUB_COUNT) {
        return (double)bucket;
    }
    size_t shift = bucket / SUB_COUNT - 1;
    int64_t low = (int64_t)(bucket % SUB_COUNT + SUB_COUNT) << shift;
    int64_t last_offset = ((int64_t)1 << shift) - 1;
    return (double)low + (double)last_offset / 2.0;
}

sl_err sli_hist_add(sli_hist *hist, int64_t value, uint64_t count) {
    SL_ASSERT(value >= 0);
    if (count == 0) {
        return SL_OK;
    }
    if (hist->counts == NULL) {
        hist->counts = calloc(BUCKET_COUNT, sizeof *hist->counts);
        if (hist->counts == NULL) {
            return SL_ERR_NOMEM;
        }
        hist->min = value;
        hist->max = value;
    }
    hist->counts[bucket_of(value)] += count;
    hist->count += count;
    hist->sum += (__extension__(unsigned __int128) value) * count;
    hist->min = sli_min_i64(hist->min, value);
    hist->max = sli_max_i64(hist->max, value);
    return SL_OK;
}

double sli_hist_mean(const sli_hist *hist) {
    SL_ASSERT(hist->count > 0);
    return (double)hist->sum / (double)hist->count;
}

static double clamp(const sli_hist *hist, double value) {
    double min = (double)hist->min;
    double max = (double)hist->max;
    return value < min ? min : value > max ? max : value;
}

/* Where a quantile lies: between the order statistics `rank` and `rank` + 1, a share of the way. */
typedef struct position {
    uint64_t rank;
    double share; /* 0 at the last order statistic, which has no next */
} position;

static position position_of(uint64_t count, double p) {
    SL_ASSERT(count > 0 && p >= 0.0 && p <= 1.0);
    double h = (double)(count - 1) * p;
    uint64_t rank = (uint64_t)h;
    if (rank >= count - 1) {
        return (position){.rank = count - 1, .share = 0.0};
    }
    return (position){.rank = rank, .share = h - (double)rank};
}

double sli_hist_quantile(const sli_hist *hist, double p) {
    position at = position_of(hist->count, p);
    size_t bucket = 0;
    uint64_t below = hist->counts[0]; /* values up to the end of the bucket */
    while (below <= at.rank) {
        below += hist->counts[++bucket];
    }
    double low = clamp(hist, middle_of(bucket));
    if (at.rank + 1 < below || !(at.share > 0.0)) {
        return low;
    }
    do {
        bucket++;
    } while (hist->counts[bucket] == 0);
    return low + at.share * (clamp(hist, middle_of(bucket)) - low);
}

double sli_sorted_quantile(const int64_t *sorted, size_t count, double p) {
    position at = position_of(count, p);
    double low = (double)sorted[at.rank];
    if (!(at.share > 0.0)) {
        return low;
    }
    return low + at.share * ((double)sorted[at.rank + 1] - low);
}
