#include "cuda/peer_sum.h"

#include "cuda/kref.h"

namespace kref {

namespace {

constexpr int THREADS = 256;
constexpr int64_t ELEMENTS_MAX = int64_t{1} << 40;

using row_pack = pack<bf16, PACK>;

/* The packs of a part; the last parts may have fewer, or none. */
KREF_BOTH int64_t part_packs(const peer_sum_args &args) {
    return (args.elements / PACK + args.ranks - 1) / args.ranks;
}

/* A thread for each pack of the part. Ranks are walked over with a constant bound, because an array
 * of parameters that is indexed at run time would be copied into local memory. */
__global__ void __launch_bounds__(THREADS) peer_sum_kernel(peer_sum_args args) {
    int64_t part = part_packs(args);
    int64_t in_part = int64_t{blockIdx.x} * THREADS + threadIdx.x;
    int64_t at = (args.rank * part + in_part) * PACK;
    if (in_part >= part || at >= args.elements) {
        return;
    }
    f32 sums[PACK];
    KREF_UNROLL
    for (int rank = 0; rank < PEERS_MAX; rank++) {
        if (rank < args.ranks) {
            auto values = args.inputs[rank].get_pack<PACK>(at);
            KREF_UNROLL
            for (int i = 0; i < PACK; i++) {
                f32 value = to_float(values.at[i]);
                sums[i] = rank > 0 ? sums[i] + value : value;
            }
        }
    }
    row_pack rounded;
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        rounded.at[i] = to_bf16(static_cast<float>(sums[i]));
    }
    KREF_UNROLL
    for (int rank = 0; rank < PEERS_MAX; rank++) {
        if (rank < args.ranks) {
            args.outputs[rank].put_pack<PACK>(at, rounded);
        }
    }
}

} // namespace

const char *peer_sum_refusal(const peer_sum_args &args) {
    if (args.ranks < 1 || args.ranks > PEERS_MAX || args.rank < 0 || args.rank >= args.ranks) {
        return "peer_sum: ranks must be 1 to 8, and rank one of them";
    }
    if (args.elements < 0 || args.elements > ELEMENTS_MAX || args.elements % PACK != 0) {
        return "peer_sum: elements must be a multiple of 8 up to 2^40";
    }
    return nullptr;
}

const char *peer_sum(const peer_sum_args &args, void *stream) {
    const char *refusal = peer_sum_refusal(args);
    if (refusal != nullptr || args.elements == 0) {
        return refusal;
    }
    auto blocks = static_cast<unsigned>((part_packs(args) + THREADS - 1) / THREADS);
    return launch("peer_sum", peer_sum_kernel, dim3{blocks}, dim3{THREADS}, 0, stream, args);
}

} // namespace kref
