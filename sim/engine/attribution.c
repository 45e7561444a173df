#include "engine/attribution.h"

/* Hands single nanoseconds to the largest remainders, or takes them from the smallest, until the
 * parts add up. There are fewer to hand out than parts. */
static void settle(const double shares_ns[SL_CAUSE_COUNT], int64_t left_ns, sli_own *own) {
    double rest_ns[SL_CAUSE_COUNT];
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        rest_ns[i] = shares_ns[i] - (double)own->cause_ns[i];
    }
    while (left_ns != 0) {
        int chosen = 0;
        for (int i = 1; i < SL_CAUSE_COUNT; i++) {
            bool is_better = left_ns > 0 ? rest_ns[i] > rest_ns[chosen]
                                         : rest_ns[i] < rest_ns[chosen];
            chosen = is_better ? i : chosen;
        }
        int64_t one_ns = left_ns > 0 ? 1 : -1;
        own->cause_ns[chosen] += one_ns;
        rest_ns[chosen] -= (double)one_ns;
        left_ns -= one_ns;
    }
}

void sli_own_split(const sl_step_cost *alone, int64_t step_ns, sli_own *own) {
    int64_t own_ns = alone->total_ns < step_ns ? alone->total_ns : step_ns;
    double sum_ns = 0.0;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        sum_ns += alone->cause_ns[i];
    }
    double shares_ns[SL_CAUSE_COUNT] = {0};
    *own = (sli_own){0};
    if (sum_ns <= 0.0) {
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

void sli_own_add(sli_own *sum, const sli_own *own) {
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        sum->cause_ns[i] += own->cause_ns[i];
    }
}

void sli_own_subtract(sli_own *sum, const sli_own *own) {
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        sum->cause_ns[i] -= own->cause_ns[i];
    }
}

int64_t sli_own_total(const sli_own *own) {
    int64_t total_ns = 0;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        total_ns += own->cause_ns[i];
    }
    return total_ns;
}
