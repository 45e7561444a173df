/*
 * A matrix product: product[m][n] = scale x left[m][k] right[n][k]^T.
 *
 * The right operand has a row for each column of the product, as the weights of a layer are stored.
 * Both operands are bf16, or both e4m3 with one scale each, whose product is `scale`; sums are f32.
 *
 * A block computes 128 x 128 of the product, or 32 x 128 where m is at most 32: see product.h.
 * Instructions are mma.sync. sm_90 and sm_100 have faster ones that one warp cannot issue, and
 * compute mma.sync of e4m3 by widening to f16; library_gemm shows what such a device can do.
 */
#ifndef KREF_CUDA_GEMM_H
#define KREF_CUDA_GEMM_H

#include "cuda/global.h"

namespace kref {

template <typename Element> struct gemm_args {
    global<const Element> left;  /* [m][k] */
    global<const Element> right; /* [n][k] */
    /* [m][n]; one of the two, the other is null. */
    global<bf16> product;
    global<float> exact_product; /* not rounded: scores of a router, and for tests */
    int m;
    int n; /* a multiple of 8 */
    int k; /* a multiple of 16 bytes: of 8 bf16, of 16 e4m3 */
    float scale;
};

/* Why the shape cannot be served, or null. */
const char *gemm_refusal(const gemm_args<bf16> &args);
const char *gemm_refusal(const gemm_args<e4m3> &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *gemm(const gemm_args<bf16> &args, void *stream);
const char *gemm(const gemm_args<e4m3> &args, void *stream);

} // namespace kref

#endif
