/*
 * Sums over a warp and over a block.
 */
#ifndef KREF_CUDA_REDUCE_H
#define KREF_CUDA_REDUCE_H

#include "cuda/kref.h"

namespace kref {

constexpr int WARP_LANES = 32;
constexpr int BLOCK_WARPS_MAX = 32;

/* Each lane gets the sum. All 32 take part. */
KREF_FUNCTION f32 sum_over_warp(f32 value) {
    KREF_UNROLL
    for (int pattern = WARP_LANES / 2; pattern > 0; pattern /= 2) {
        value = value + __shfl_xor_sync(~0U, value, pattern);
    }
    return value;
}

/* Each thread gets the sum. The block consists of whole warps; once a kernel, because a second call
 * would write the partial sums while slow threads still read those of the first. */
KREF_FUNCTION f32 sum_over_block(f32 value) {
    KREF_SHARED(f32, of_warps, BLOCK_WARPS_MAX);
    int warp = static_cast<int>(threadIdx.x) / WARP_LANES;
    int warps = static_cast<int>(blockDim.x) / WARP_LANES;
    value = sum_over_warp(value);
    if (threadIdx.x % WARP_LANES == 0) {
        of_warps[warp] = value;
    }
    __syncthreads();
    f32 sum = 0.0F;
    for (int i = 0; i < warps; i++) {
        sum += of_warps[i];
    }
    return sum;
}

} // namespace kref

#endif
