/*
 * A matrix product in double precision: the oracle of gemm, library_gemm and expert_gemm.
 *
 * Beside each element stands how far a kernel may be from it that multiplies exactly and sums in a
 * format of precision `unit`: k products and sums, rounded or, on tensor cores, cut off, which is
 * twice as much; and the product with the scale. So |error| <= (2 k + 2) unit |scale| sum |l r|.
 * A kernel that rounds its output to bf16 adds 2^-8 |product|.
 *
 * Plain C; knows no kernel. The caller owns all memory. O(m n k).
 */
#ifndef KREF_ORACLE_GEMM_H
#define KREF_ORACLE_GEMM_H

#include "oracle/expected.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_gemm {
    int m;
    int n;
    int k;
    double scale;
    double unit; /* KREF_F32_UNIT, or KREF_WGMMA_E4M3_UNIT */
} kref_gemm;

/* The tensor cores of sm_90 keep about 14 bits of a sum of products of fp8 (DeepSeek-V3 Technical
 * Report, 2024, section 3.3.2); mma.sync, which widens first, sums in f32. */
#define KREF_WGMMA_E4M3_UNIT 0x1p-14

/* left [m][k], right [n][k]: product [m][n]. */
void kref_gemm_product(const kref_gemm *gemm, const double *left, const double *right,
                       const kref_expected *expected);

#ifdef __cplusplus
}
#endif

#endif
