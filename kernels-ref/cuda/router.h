/*
 * The router of a mixture of experts: which experts a token goes to, and with which weights.
 *
 * Softmax over the scores of all experts; the `top_k` greatest are chosen, greatest first, of equal
 * ones that with the lower number. Their weights are their softmax as it is (DeepSeek-V2), or
 * divided by the sum over the chosen ones (Mixtral, Qwen3).
 *
 * The scores come from gemm, not rounded. A warp takes a token.
 */
#ifndef KREF_CUDA_ROUTER_H
#define KREF_CUDA_ROUTER_H

#include "cuda/global.h"

namespace kref {

struct router_args {
    global<const float> scores; /* [tokens][experts] */
    global<int32_t> chosen;     /* [tokens][top_k] */
    global<float> weights;      /* [tokens][top_k] */
    int tokens;
    int experts; /* at most 1024 */
    int top_k;   /* at most 32 */
    bool is_normalised;
};

/* Why the shape cannot be served, or null. */
const char *router_refusal(const router_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *router(const router_args &args, void *stream);

} // namespace kref

#endif
