#include "engine/attribution.h"

#include "base/check.h"
#include "base/minmax.h"

/*
 * Up to here (3.3 days) seven roundings of a relative 2^-53 put the shares out by a quarter of a
 * nanosecond in all: their whole parts never sum to more than they should, nor to so much less that
 * one nanosecond for each would not do.
 */
#define SPLIT_MAX_NS ((int64_t)1 << 48)

/* Hands single nanoseconds to the largest remainders, so that the parts add up: at most one each.
 * Counting how many come before each takes no branch that could be mispredicted, and this runs once
 * a step. */
static void settle(const double shares_ns[SL_CAUSE_COUNT], int64_t left_ns, sli_own *own) {
    SL_DCHECK(0 <= left_ns && left_ns <= SL_CAUSE_COUNT);
    double rest_ns[SL_CAUSE_COUNT];
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        rest_ns[i] = shares_ns[i] - (double)own->cause_ns[i];
    }
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        int ahead = 0;
        for (int j = 0; j < SL_CAUSE_COUNT; j++) {
            ahead += j < i ? rest_ns[j] >= rest_ns[i] : rest_ns[j] > rest_ns[i];
        }
        own->cause_ns[i] += ahead < left_ns;
    }
}

void sli_own_split(const sl_step_cost *alone, int64_t step_ns, sli_own *own) {
    int64_t own_ns = sli_min_i64(alone->total_ns, step_ns);
    double sum_ns = 0.0;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        sum_ns += alone->cause_ns[i];
    }
    double shares_ns[SL_CAUSE_COUNT] = {0};
    *own = (sli_own){0};
    if (sum_ns <= 0.0 || own_ns > SPLIT_MAX_NS) {
        own->cause_ns[SL_CAUSE_ENGINE] = own_ns;
        return;
    }
    double scale = (double)own_ns / sum_ns;
    int64_t left_ns = own_ns;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        shares_ns[i] = alone->cause_ns[i] * scale;
        own->cause_ns[i] = (int64_t)shares_ns[i];
        left_ns -= own->cause_ns[i];
    }
    settle(shares_ns, left_ns, own);
}

int64_t sli_own_total(const sli_own *own) {
    int64_t total_ns = 0;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        total_ns += own->cause_ns[i];
    }
    return total_ns;
}
