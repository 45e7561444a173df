#include "oracle/experts.h"

#include "oracle/gemm.h"
#include "oracle/rounding.h"

#include <math.h>
#include <stddef.h>

static bool is_among(const int32_t *chosen, int count, int expert) {
    for (int i = 0; i < count; i++) {
        if (chosen[i] == expert) {
            return true;
        }
    }
    return false;
}

static int32_t find_greatest(const double *scores, int experts, const int32_t *chosen, int count) {
    int32_t greatest = -1;
    for (int32_t i = 0; i < experts; i++) {
        if (!is_among(chosen, count, i) && (greatest < 0 || scores[i] > scores[greatest])) {
            greatest = i;
        }
    }
    return greatest;
}

void kref_route(const double *scores, int experts, int top_k, bool is_normalised, int32_t *chosen,
                const kref_expected *weights) {
    for (int i = 0; i < top_k; i++) {
        chosen[i] = find_greatest(scores, experts, chosen, i);
    }
    double highest = scores[chosen[0]];
    double lowest = highest;
    double sum = 0.0;
    for (int i = 0; i < experts; i++) {
        lowest = fmin(lowest, scores[i]);
        sum += exp(scores[i] - highest);
    }
    double sum_of_chosen = 0.0;
    for (int i = 0; i < top_k; i++) {
        sum_of_chosen += exp(scores[chosen[i]] - highest);
    }
    for (int i = 0; i < top_k; i++) {
        double share = exp(scores[chosen[i]] - highest) / (is_normalised ? sum_of_chosen : sum);
        weights->outputs[i] = share;
        weights->tolerances[i] = share * (8.0 * (highest - lowest) + experts + 16.0) *
                                 KREF_F32_UNIT;
    }
}

void kref_expert_order(const int32_t *chosen, int pairs, int experts, int32_t *starts,
                       int32_t *order, int32_t *places) {
    int32_t place = 0;
    for (int32_t expert = 0; expert < experts; expert++) {
        starts[expert] = place;
        for (int32_t pair = 0; pair < pairs; pair++) {
            if (chosen[pair] == expert) {
                order[place] = pair;
                places[pair] = place;
                place++;
            }
        }
    }
    starts[experts] = place;
}

void kref_expert_gemm(const kref_experts *experts, const double *rows, const double *weights,
                      const kref_expected *expected) {
    kref_gemm gemm = {1, experts->n, experts->k, 1.0, KREF_F32_UNIT};
    for (ptrdiff_t expert = 0; expert < experts->experts; expert++) {
        for (ptrdiff_t p = experts->starts[expert]; p < experts->starts[expert + 1]; p++) {
            ptrdiff_t row = experts->top_k > 0 ? experts->order[p] / experts->top_k : p;
            kref_expected at = {expected->outputs + p * experts->n,
                                expected->tolerances + p * experts->n};
            kref_gemm_product(&gemm, rows + row * experts->k,
                              weights + expert * experts->n * experts->k, &at);
        }
    }
}

void kref_expert_sum(const double *rows, const int32_t *places, const double *weights, int top_k,
                     int width, const kref_expected *expected) {
    for (int i = 0; i < width; i++) {
        double sum = 0.0;
        double magnitude = 0.0;
        for (int j = 0; j < top_k; j++) {
            double part = weights[j] * rows[(ptrdiff_t)places[j] * width + i];
            sum += part;
            magnitude += fabs(part);
        }
        expected->outputs[i] = sum;
        expected->tolerances[i] = magnitude * (top_k + 1) * KREF_F32_UNIT;
    }
}
