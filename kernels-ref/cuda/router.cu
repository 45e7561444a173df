#include "cuda/router.h"

#include "cuda/kref.h"
#include "cuda/reduce.h"
#include "cuda/softmax.h"

namespace kref {

namespace {

constexpr int WARPS = 4;
constexpr int THREADS = WARPS * WARP_LANES;
constexpr int EXPERTS_MAX = 1024;
constexpr int TOP_K_MAX = WARP_LANES; /* a lane keeps one choice */

/* The NaN that ranks behind all scores. */
constexpr uint32_t TAKEN_BITS = 0xffffffffU;

/* Scores as integers of the same order, and the expert below, so that the greatest is the one to
 * choose. */
KREF_FUNCTION uint64_t rank_of(float score, int expert) {
    constexpr uint32_t sign = 0x80000000U;
    uint32_t bits = bits_of(score);
    if (bits == sign) {
        bits = 0; /* -0 equals 0 */
    }
    uint32_t ordered = (bits & sign) != 0 ? ~bits : bits | sign;
    return uint64_t{ordered} << 32 | ~static_cast<uint32_t>(expert);
}

KREF_FUNCTION f32 score_of(uint64_t rank) {
    constexpr uint32_t sign = 0x80000000U;
    auto ordered = static_cast<uint32_t>(rank >> 32);
    return float_of((ordered & sign) != 0 ? ordered ^ sign : ~ordered);
}

KREF_FUNCTION int expert_of(uint64_t rank) {
    return static_cast<int>(~static_cast<uint32_t>(rank));
}

/* The greatest rank of the warp. A lane looks at every 32nd score, and only that lane ever reads or
 * writes them. */
KREF_FUNCTION uint64_t find_first(const float *scores, int experts) {
    uint64_t first = 0;
    for (int expert = static_cast<int>(threadIdx.x) % WARP_LANES; expert < experts;
         expert += WARP_LANES) {
        uint64_t rank = rank_of(scores[expert], expert);
        first = rank > first ? rank : first;
    }
    KREF_UNROLL
    for (int pattern = WARP_LANES / 2; pattern > 0; pattern /= 2) {
        uint64_t other = __shfl_xor_sync(~0U, first, pattern);
        first = other > first ? other : first;
    }
    return first;
}

/* e^(score - highest) */
KREF_FUNCTION f32 weigh(f32 score, f32 highest) {
    return exp2((score - highest) * f32(LOG2_E));
}

__global__ void __launch_bounds__(THREADS) router_kernel(router_args args) {
    int warp = static_cast<int>(threadIdx.x) / WARP_LANES;
    int lane = static_cast<int>(threadIdx.x) % WARP_LANES;
    int64_t token = int64_t{blockIdx.x} * WARPS + warp;
    if (token >= args.tokens) {
        return;
    }
    auto *scores = reinterpret_cast<float *>(KREF_DYNAMIC_SHARED()) + warp * args.experts;
    for (int expert = lane; expert < args.experts; expert += WARP_LANES) {
        scores[expert] = args.scores.get(token * args.experts + expert);
    }

    uint64_t first = find_first(scores, args.experts);
    f32 highest = score_of(first);
    f32 sum = 0.0F;
    for (int expert = lane; expert < args.experts; expert += WARP_LANES) {
        sum += weigh(scores[expert], highest);
    }
    sum = sum_over_warp(sum);

    f32 sum_of_chosen = 0.0F;
    f32 own_weight = 0.0F;
    int own_expert = 0;
    for (int choice = 0; choice < args.top_k; choice++) {
        if (choice > 0) {
            first = find_first(scores, args.experts);
        }
        int expert = expert_of(first);
        f32 weight = weigh(score_of(first), highest);
        sum_of_chosen += weight;
        if (lane == choice) {
            own_weight = weight;
            own_expert = expert;
        }
        if (lane == expert % WARP_LANES) {
            scores[expert] = float_of(TAKEN_BITS);
        }
    }
    if (lane < args.top_k) {
        f32 share = own_weight / (args.is_normalised ? sum_of_chosen : sum);
        args.chosen.put(token * args.top_k + lane, own_expert);
        args.weights.put(token * args.top_k + lane, static_cast<float>(share));
    }
}

} // namespace

const char *router_refusal(const router_args &args) {
    if (args.tokens < 0) {
        return "router: tokens must not be negative";
    }
    if (args.experts < 1 || args.experts > EXPERTS_MAX) {
        return "router: there must be 1 to 1024 experts";
    }
    if (args.top_k < 1 || args.top_k > TOP_K_MAX || args.top_k > args.experts) {
        return "router: top_k must be 1 to 32, and not more than there are experts";
    }
    return nullptr;
}

const char *router(const router_args &args, void *stream) {
    const char *refusal = router_refusal(args);
    if (refusal != nullptr || args.tokens == 0) {
        return refusal;
    }
    auto blocks = static_cast<unsigned>((args.tokens - 1) / WARPS + 1);
    size_t shared_bytes = WARPS * static_cast<size_t>(args.experts) * sizeof(float);
    return launch("router", router_kernel, dim3{blocks}, dim3{THREADS}, shared_bytes, stream, args);
}

} // namespace kref
