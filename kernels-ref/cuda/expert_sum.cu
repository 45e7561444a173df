#include "cuda/expert_sum.h"

#include "cuda/kref.h"

namespace kref {

namespace {

constexpr int THREADS = 256;

KREF_FUNCTION void put_exact(global<float> target, int64_t index, const f32 (&values)[PACK]) {
    KREF_UNROLL
    for (int i = 0; i < PACK; i += 4) {
        pack<float, 4> some;
        KREF_UNROLL
        for (int j = 0; j < 4; j++) {
            some.at[j] = static_cast<float>(values[i + j]);
        }
        target.put_pack<4>(index + i, some);
    }
}

/* A thread for each pack of the output. */
__global__ void __launch_bounds__(THREADS) expert_sum_kernel(expert_sum_args args) {
    int packs = args.width / PACK;
    int64_t at = int64_t{blockIdx.x} * THREADS + threadIdx.x;
    int64_t token = at / packs;
    if (token >= args.tokens) {
        return;
    }
    int64_t column = at % packs * PACK;
    f32 sums[PACK] = {};
    for (int64_t pair = token * args.top_k; pair < (token + 1) * args.top_k; pair++) {
        f32 weight = args.weights.get(pair);
        int64_t place = args.places.get(pair);
        auto row = args.rows.get_pack<PACK>(place * args.width + column);
        KREF_UNROLL
        for (int i = 0; i < PACK; i++) {
            sums[i] = fma(weight, to_float(row.at[i]), sums[i]);
        }
    }
    int64_t to = token * args.width + column;
    if (args.sums.is_null()) {
        put_exact(args.exact_sums, to, sums);
        return;
    }
    pack<bf16, PACK> rounded;
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        rounded.at[i] = to_bf16(static_cast<float>(sums[i]));
    }
    args.sums.put_pack<PACK>(to, rounded);
}

} // namespace

const char *expert_sum_refusal(const expert_sum_args &args) {
    if (args.tokens < 0) {
        return "expert_sum: tokens must not be negative";
    }
    if (args.top_k < 1) {
        return "expert_sum: top_k must be positive";
    }
    if (args.width < PACK || args.width % PACK != 0) {
        return "expert_sum: width must be a positive multiple of 8";
    }
    if (args.sums.is_null() == args.exact_sums.is_null()) {
        return "expert_sum: exactly one of the sums must be given";
    }
    return nullptr;
}

const char *expert_sum(const expert_sum_args &args, void *stream) {
    const char *refusal = expert_sum_refusal(args);
    if (refusal != nullptr || args.tokens == 0) {
        return refusal;
    }
    int64_t packs = int64_t{args.tokens} * (args.width / PACK);
    auto blocks = static_cast<unsigned>((packs + THREADS - 1) / THREADS);
    return launch("expert_sum", expert_sum_kernel, dim3{blocks}, dim3{THREADS}, 0, stream, args);
}

} // namespace kref
