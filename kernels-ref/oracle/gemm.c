#include "oracle/gemm.h"

#include <math.h>
#include <stddef.h>

void kref_gemm_product(const kref_gemm *gemm, const double *left, const double *right,
                       const kref_expected *expected) {
    double share = (2.0 * gemm->k + 2.0) * gemm->unit * fabs(gemm->scale);
    for (ptrdiff_t at = 0; at < (ptrdiff_t)gemm->m * gemm->n; at++) {
        const double *row = left + at / gemm->n * gemm->k;
        const double *column = right + at % gemm->n * gemm->k;
        double sum = 0.0;
        double magnitude = 0.0;
        for (int i = 0; i < gemm->k; i++) {
            sum += row[i] * column[i];
            magnitude += fabs(row[i] * column[i]);
        }
        expected->outputs[at] = gemm->scale * sum;
        expected->tolerances[at] = share * magnitude;
    }
}
