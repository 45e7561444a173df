#include "cuda/rope.h"

#include "cuda/kref.h"

namespace kref {

namespace {

constexpr int TURN_PACK = 4;
constexpr int THREADS = 128;
constexpr int HEAD_DIM_MAX = 512;

using half_pack = pack<bf16, PACK>;

struct pair_pack {
    half_pack first;
    half_pack second;
};

/* (x, y) becomes (x cos - y sin, y cos + x sin). */
KREF_FUNCTION pair_pack turn(pair_pack pairs, const f32 *cosines, const f32 *sines) {
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        f32 x = to_float(pairs.first.at[i]);
        f32 y = to_float(pairs.second.at[i]);
        f32 turned_x = fma(x, cosines[i], -(y * sines[i]));
        f32 turned_y = fma(y, cosines[i], x * sines[i]);
        pairs.first.at[i] = to_bf16(static_cast<float>(turned_x));
        pairs.second.at[i] = to_bf16(static_cast<float>(turned_y));
    }
    return pairs;
}

/* Turns `heads` heads that begin at `from` and lie one behind the other. */
KREF_FUNCTION void turn_heads(global<const bf16> source, int64_t from, global<bf16> target,
                              int64_t to, int heads, int head_dim, const f32 *turns) {
    int half = head_dim / 2;
    int packs = half / PACK;
    for (int at = static_cast<int>(threadIdx.x); at < heads * packs; at += THREADS) {
        int first = at / packs * head_dim + at % packs * PACK;
        const f32 *cosines = turns + at % packs * PACK;
        pair_pack pairs = {source.get_pack<PACK>(from + first),
                           source.get_pack<PACK>(from + first + half)};
        pairs = turn(pairs, cosines, cosines + half);
        target.put_pack<PACK>(to + first, pairs.first);
        target.put_pack<PACK>(to + first + half, pairs.second);
    }
}

/* One block a token. */
__global__ void __launch_bounds__(THREADS) rope_kernel(rope_args args) {
    KREF_SHARED(f32, turns, HEAD_DIM_MAX);
    int thread = static_cast<int>(threadIdx.x);
    int64_t token = blockIdx.x;
    int64_t position = args.positions.get(token);
    for (int at = thread * TURN_PACK; at < args.head_dim; at += THREADS * TURN_PACK) {
        auto some = args.turns.get_pack<TURN_PACK>(position * args.head_dim + at);
        KREF_UNROLL
        for (int i = 0; i < TURN_PACK; i++) {
            turns[at + i] = some.at[i];
        }
    }
    __syncthreads();

    int64_t query = token * args.query_heads * args.head_dim;
    turn_heads(args.queries.address(0), query, args.queries, query, args.query_heads, args.head_dim,
               turns);

    int64_t slot = args.slots.get(token);
    if (slot < 0) {
        return;
    }
    int width = args.kv_heads * args.head_dim;
    turn_heads(args.keys, token * width, args.key_cache, slot * width, args.kv_heads, args.head_dim,
               turns);
    for (int at = thread * PACK; at < width; at += THREADS * PACK) {
        args.value_cache.put_pack<PACK>(slot * width + at,
                                        args.values.get_pack<PACK>(token * width + at));
    }
}

} // namespace

const char *rope_refusal(const rope_args &args) {
    if (args.tokens < 0) {
        return "rope: tokens must not be negative";
    }
    if (args.head_dim < 16 || args.head_dim > HEAD_DIM_MAX || args.head_dim % 16 != 0) {
        return "rope: head_dim must be a multiple of 16 from 16 to 512";
    }
    if (args.query_heads < 1 || args.kv_heads < 1) {
        return "rope: there must be a query head and a key-value head at least";
    }
    return nullptr;
}

const char *rope(const rope_args &args, void *stream) {
    const char *refusal = rope_refusal(args);
    if (refusal != nullptr || args.tokens == 0) {
        return refusal;
    }
    return launch("rope", rope_kernel, dim3{static_cast<unsigned>(args.tokens)}, dim3{THREADS}, 0,
                  stream, args);
}

} // namespace kref
