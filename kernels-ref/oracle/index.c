#include "oracle/index.h"

#include "oracle/rounding.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

double kref_index_score(int heads, int width, const double *queries, const double *weights,
                        const double *key, double *tolerance) {
    double score = 0.0;
    double magnitude = 0.0;
    for (int head = 0; head < heads; head++) {
        double product = 0.0;
        for (int i = 0; i < width; i++) {
            double term = queries[(ptrdiff_t)head * width + i] * key[i];
            product += term;
            magnitude += fabs(weights[head] * term);
        }
        score += weights[head] * fmax(product, 0.0);
    }
    *tolerance = 2.0 * (width + heads + 4) * KREF_F32_UNIT * magnitude;
    return score;
}

/* Chosen are those that fewer than `top` stand before: greater ones, and equal ones to their left.
 */
void kref_select_top(const double *numbers, int count, int top, int32_t *chosen) {
    int found = 0;
    for (int i = 0; i < count; i++) {
        int before = 0;
        for (int j = 0; j < count; j++) {
            bool is_before = numbers[j] > numbers[i] || (numbers[j] == numbers[i] && j < i);
            before += is_before ? 1 : 0;
        }
        if (before < top) {
            chosen[found++] = i;
        }
    }
    for (; found < top; found++) {
        chosen[found] = -1;
    }
}
