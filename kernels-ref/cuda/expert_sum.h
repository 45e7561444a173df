/*
 * What the experts of a token say, summed with the router's weights.
 *
 * sums[t] = sum over the choices j of token t of weights[t][j] x rows[place of pair t top_k + j]:
 * takes the sorted rows back to the order of the tokens. Summed in f32, in the order of choices.
 */
#ifndef KREF_CUDA_EXPERT_SUM_H
#define KREF_CUDA_EXPERT_SUM_H

#include "cuda/global.h"

namespace kref {

struct expert_sum_args {
    global<const bf16> rows;      /* [tokens x top_k][width], at their places */
    global<const int32_t> places; /* [tokens x top_k] */
    global<const float> weights;  /* [tokens][top_k] */
    /* [tokens][width]; one of the two, the other is null. */
    global<bf16> sums;
    global<float> exact_sums; /* not rounded, for tests */
    int tokens;
    int top_k;
    int width; /* a multiple of 8 */
};

/* Why the shape cannot be served, or null. */
const char *expert_sum_refusal(const expert_sum_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *expert_sum(const expert_sum_args &args, void *stream);

} // namespace kref

#endif
