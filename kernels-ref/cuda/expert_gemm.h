/*
 * The matrix product of each expert with its rows: product[p] = row of place p  weights[expert]^T.
 *
 * expert_order has said which places are whose. The first product of a feed-forward takes rows of
 * the tokens, where they stand: the token of place p is order[p] / top_k. The second takes its rows
 * from where the first has put them, at the places themselves.
 *
 * A block computes a tile of rows of one expert by 128 columns: see product.h. Weights are read
 * once a tile, so once for an expert with few tokens, and not at all for one with none.
 */
#ifndef KREF_CUDA_EXPERT_GEMM_H
#define KREF_CUDA_EXPERT_GEMM_H

#include "cuda/expert_order.h"

namespace kref {

struct expert_gemm_args {
    global<const bf16> rows;    /* [tokens][k], or [pairs][k] */
    global<const bf16> weights; /* [experts][n][k] */
    expert_groups groups;
    /* [pairs][n], at their places; one of the two, the other is null. */
    global<bf16> product;
    global<float> exact_product; /* not rounded, for tests */
    int top_k;                   /* of the router; 0 = rows lie at their places */
    int n;                       /* a multiple of 8 */
    int k;                       /* a multiple of 8 */
};

/* Why the shape cannot be served, or null. */
const char *expert_gemm_refusal(const expert_gemm_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *expert_gemm(const expert_gemm_args &args, void *stream);

} // namespace kref

#endif
