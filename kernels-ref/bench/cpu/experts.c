#include "bench/cpu/experts.h"

#include "bench/cpu/number.h"
#include "bench/cpu/panel.h"

#include <stdlib.h>

/* ---- Router ---- */

static int find_greatest(const float *scores, int count) {
    int greatest = 0;
    for (int i = 1; i < count; i++) {
        greatest = scores[i] > scores[greatest] ? i : greatest;
    }
    return greatest;
}

/* Chosen ones become the least number there is, so that the next is found. */
static void route_token(const float *scores, int32_t *chosen, float *weights, int experts,
                        int top_k, bool is_normalised) {
    float shares[KREF_CPU_EXPERTS_MAX];
    float rest[KREF_CPU_EXPERTS_MAX];
    float highest = scores[find_greatest(scores, experts)];
    float total = 0.0F;
#pragma omp simd reduction(+ : total)
    for (int i = 0; i < experts; i++) {
        shares[i] = expf(scores[i] - highest);
        total += shares[i];
        rest[i] = scores[i];
    }
    float total_of_chosen = 0.0F;
    for (int i = 0; i < top_k; i++) {
        chosen[i] = find_greatest(rest, experts);
        rest[chosen[i]] = -3e38F;
        total_of_chosen += shares[chosen[i]];
    }
    float factor = 1.0F / (is_normalised ? total_of_chosen : total);
    for (int i = 0; i < top_k; i++) {
        weights[i] = shares[chosen[i]] * factor;
    }
}

void kref_cpu_route(const float *scores, int32_t *chosen, float *weights, int tokens, int experts,
                    int top_k, bool is_normalised) {
#pragma omp parallel for schedule(static)
    for (int token = 0; token < tokens; token++) {
        ptrdiff_t to = (ptrdiff_t)token * top_k;
        route_token(scores + (ptrdiff_t)token * experts, chosen + to, weights + to, experts, top_k,
                    is_normalised);
    }
}

/* ---- Order: a counting sort ---- */

void kref_cpu_expert_order(const int32_t *chosen, int pairs, int experts, int32_t *starts,
                           int32_t *order, int32_t *places) {
    int32_t next[KREF_CPU_EXPERTS_MAX] = {0};
    for (int pair = 0; pair < pairs; pair++) {
        next[chosen[pair]]++;
    }
    int32_t first = 0;
    for (int expert = 0; expert < experts; expert++) {
        starts[expert] = first;
        first += next[expert];
        next[expert] = starts[expert];
    }
    starts[experts] = first;
    for (int pair = 0; pair < pairs; pair++) {
        int32_t place = next[chosen[pair]]++;
        order[place] = pair;
        places[pair] = place;
    }
}

/* ---- Product ---- */

static kref_cpu_panel panel_of(const kref_cpu_expert_product *it, const float *left, int expert) {
    ptrdiff_t first = it->starts[expert];
    bool is_sorted = it->top_k == 0;
    return (kref_cpu_panel){
        .left = is_sorted ? left + first * it->k : left,
        .left_rows = is_sorted ? NULL : it->order + first,
        .left_share = it->top_k,
        .right = it->weights + (ptrdiff_t)expert * it->n * it->k,
        .element_bytes = sizeof *it->weights,
        .product = it->product + first * it->n,
        .m = it->starts[expert + 1] - it->starts[expert],
        .n = it->n,
        .k = it->k,
        .scale = 1.0F,
    };
}

static int most_rows(const kref_cpu_expert_product *it) {
    int most = 0;
    for (int expert = 0; expert < it->experts; expert++) {
        int rows = it->starts[expert + 1] - it->starts[expert];
        most = rows > most ? rows : most;
    }
    return most;
}

bool kref_cpu_expert_gemm(const kref_cpu_expert_product *it) {
    int rows = it->top_k > 0 ? it->pairs / it->top_k : it->pairs;
    float *left = malloc(((size_t)rows * (size_t)it->k + 1) * sizeof *left);
    if (left == NULL) {
        return false;
    }
    bool is_done = true;
#pragma omp parallel
    {
        kref_cpu_sums *sums = malloc(((size_t)most_rows(it) + 1) * sizeof *sums);
        if (sums == NULL) {
#pragma omp atomic write
            is_done = false;
        }
#pragma omp for schedule(static)
        for (int row = 0; row < rows; row++) {
            ptrdiff_t at = (ptrdiff_t)row * it->k;
            kref_cpu_widen_all(it->rows + at, left + at, it->k);
        }
#pragma omp for collapse(2) schedule(dynamic)
        for (int expert = 0; expert < it->experts; expert++) {
            for (int column = 0; column < it->n; column += KREF_CPU_PANEL_COLUMNS) {
                kref_cpu_panel panel = panel_of(it, left, expert);
                if (panel.m > 0 && sums != NULL) {
                    kref_cpu_multiply_panel(&panel, column, sums);
                }
            }
        }
        free(sums);
    }
    free(left);
    return is_done;
}

/* ---- Sum ---- */

enum { COLUMNS = 64 };

static void sum_columns(const uint16_t *rows, const int32_t *places, const float *weights,
                        uint16_t *sums, int top_k, int width, int count) {
    float total[COLUMNS] = {0.0F};
    for (int j = 0; j < top_k; j++) {
        const uint16_t *row = rows + (ptrdiff_t)places[j] * width;
        float weight = weights[j];
#pragma omp simd
        for (int i = 0; i < count; i++) {
            total[i] += weight * kref_cpu_widen(row[i]);
        }
    }
#pragma omp simd
    for (int i = 0; i < count; i++) {
        sums[i] = kref_cpu_narrow(total[i]);
    }
}

void kref_cpu_expert_sum(const uint16_t *rows, const int32_t *places, const float *weights,
                         uint16_t *sums, int tokens, int top_k, int width) {
#pragma omp parallel for schedule(static)
    for (int token = 0; token < tokens; token++) {
        ptrdiff_t pairs = (ptrdiff_t)token * top_k;
        for (int column = 0; column < width; column += COLUMNS) {
            int count = width - column < COLUMNS ? width - column : COLUMNS;
            sum_columns(rows + column, places + pairs, weights + pairs,
                        sums + (ptrdiff_t)token * width + column, top_k, width, count);
        }
    }
}
