#include "cuda/index_scores.h"

#include "cuda/kref.h"
#include "cuda/tile.h"

namespace kref {

namespace {

constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
/* Whose registers a multiprocessor has: 128 a thread. The host has no use for it. */
[[maybe_unused]] constexpr int RESIDENT_BLOCKS = 4;
constexpr int WIDTH = 128;
constexpr int HEADS_MAX = 64;
constexpr int KEY_TILE = 16; /* of a warp */
constexpr int BLOCK_KEYS = WARPS * KEY_TILE;

/* Rows in shared memory are 16 bytes longer, an odd multiple of 16: see tile.h. */
constexpr int STRIDE = WIDTH + PACK;
constexpr int ROW_PACKS = WIDTH / PACK;
constexpr int CODE_PACK = 16; /* codes in the widest access */
constexpr int ROW_CODE_PACKS = WIDTH / CODE_PACK;

struct staging {
    bf16 queries[HEADS_MAX * STRIDE];
    bf16 keys[BLOCK_KEYS * STRIDE];
    f32 weights[HEADS_MAX];
};

KREF_FUNCTION void stage_queries(staging *shared, const index_scores_args &args) {
    int64_t first = int64_t{blockIdx.y} * args.heads;
    for (int at = static_cast<int>(threadIdx.x); at < args.heads * ROW_PACKS; at += THREADS) {
        int column = at % ROW_PACKS * PACK;
        copy_async(shared->queries + at / ROW_PACKS * STRIDE + column,
                   args.queries.address(first * WIDTH + at * PACK), 16);
    }
    if (static_cast<int>(threadIdx.x) < args.heads) {
        shared->weights[threadIdx.x] = args.weights.get(first + threadIdx.x);
    }
}

/* Where this lane's key lies in the cache. Of a warp's 16 keys two lanes have each; behind the end
 * it is the first row, which is there. */
KREF_FUNCTION int64_t find_lane_row(const index_scores_args &args, int first_key, int end) {
    int key = first_key + static_cast<int>(threadIdx.x) % KEY_TILE;
    if (key >= end) {
        return 0;
    }
    int64_t table_row = int64_t{blockIdx.y} * args.blocks_max;
    int64_t block = args.block_table.get(table_row + key / args.block_tokens);
    return block * args.block_tokens + key % args.block_tokens;
}

/* The first `count` keys of this warp; those behind become zeros. */
KREF_FUNCTION void stage_keys(bf16 *target, const index_scores_args &args, int64_t lane_row,
                              int count) {
    int lane = static_cast<int>(threadIdx.x) % 32;
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE * ROW_PACKS / 32; i++) {
        int at = i * 32 + lane;
        int row = at / ROW_PACKS;
        int column = at % ROW_PACKS * PACK;
        int64_t from = __shfl_sync(~0U, lane_row, row) * WIDTH + column;
        copy_async(target + row * STRIDE + column, args.keys.address(from), row < count ? 16 : 0);
    }
}

/* The same of codes. */
KREF_FUNCTION void stage_codes(bf16 *target, const index_scores_args &args, int64_t lane_row,
                               int count) {
    int lane = static_cast<int>(threadIdx.x) % 32;
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE * ROW_CODE_PACKS / 32; i++) {
        int at = i * 32 + lane;
        int row = at / ROW_CODE_PACKS;
        int column = at % ROW_CODE_PACKS * CODE_PACK;
        int64_t from = __shfl_sync(~0U, lane_row, row) * WIDTH + column;
        pack<e4m3, CODE_PACK> codes = {};
        if (row < count) {
            codes = args.key_codes.get_pack<CODE_PACK>(from);
        }
        KREF_UNROLL
        for (int half = 0; half < CODE_PACK; half += PACK) {
            pack<bf16, PACK> wide;
            KREF_UNROLL
            for (int j = 0; j < PACK; j++) {
                wide.at[j] = to_bf16(to_float(codes.at[half + j]));
            }
            *reinterpret_cast<pack<bf16, PACK> *>(target + row * STRIDE + column + half) = wide;
        }
    }
}

/* Over the lanes that share columns of a tile: each of them gets the sum. */
KREF_FUNCTION f32 sum_over_column(f32 value) {
    KREF_UNROLL
    for (int pattern = ROW_LANES; pattern < 32; pattern *= 2) {
        value = value + __shfl_xor_sync(~0U, value, pattern);
    }
    return value;
}

/* Of a warp's 16 keys, two tiles of columns; the heads are the rows. A lane sums its two rows of
 * each tile apart, so that it does not matter which of them is the first. */
struct key_scores {
    sum_tile at[KEY_TILE / TILE_COLUMNS];
};

using key_operands = right_pair[WIDTH / TILE_DEPTH];

KREF_FUNCTION void take_heads(key_scores *scores, const staging &shared, const key_operands &keys,
                              int first_head) {
    sum_tile products[KEY_TILE / TILE_COLUMNS] = {};
    KREF_UNROLL
    for (int i = 0; i < WIDTH / TILE_DEPTH; i++) {
        left_tile left = load_left(shared.queries + first_head * STRIDE + i * TILE_DEPTH, STRIDE);
        multiply_add(&products[0], left, keys[i].at[0]);
        multiply_add(&products[1], left, keys[i].at[1]);
    }
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        f32 weight = shared.weights[first_head + row_of(row)];
        KREF_UNROLL
        for (int i = 0; i < KEY_TILE / TILE_COLUMNS * LANE_COLUMNS; i++) {
            f32 &score = scores->at[i / LANE_COLUMNS].at[row][i % LANE_COLUMNS];
            f32 product = products[i / LANE_COLUMNS].at[row][i % LANE_COLUMNS];
            score = fma(max(product, 0.0F), weight, score);
        }
    }
}

/* All lanes of a column have its sum; the one with row 0 writes it. */
template <bool Has_codes>
KREF_FUNCTION void put_scores(const index_scores_args &args, const key_scores &scores,
                              int64_t lane_row, int first_key, int count) {
    bool is_first = row_of(0) == 0 || row_of(1) == 0;
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE / TILE_COLUMNS * LANE_COLUMNS; i++) {
        const sum_tile &its = scores.at[i / LANE_COLUMNS];
        f32 score = sum_over_column(its.at[0][i % LANE_COLUMNS] + its.at[1][i % LANE_COLUMNS]);
        int key = i / LANE_COLUMNS * TILE_COLUMNS + column_of() + i % LANE_COLUMNS;
        int64_t row = Has_codes ? __shfl_sync(~0U, lane_row, key) : 0;
        if (is_first && key < count) {
            if constexpr (Has_codes) {
                score *= args.key_scales.get(row);
            }
            args.scores.put(int64_t{blockIdx.y} * args.tokens_max + first_key + key,
                            static_cast<float>(score));
        }
    }
}

/* A block for 64 keys of a sequence, a warp for 16 of them. */
template <bool Has_codes>
__global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    index_scores_kernel(index_scores_args args) {
    auto *shared = reinterpret_cast<staging *>(KREF_DYNAMIC_SHARED());
    int end = args.lengths.get(blockIdx.y);
    int warp_key = static_cast<int>(threadIdx.x) / 32 * KEY_TILE;
    int first_key = static_cast<int>(blockIdx.x) * BLOCK_KEYS + warp_key;
    if (first_key - warp_key >= end) {
        return;
    }
    int count = end - first_key; /* of the warp; may be more than it has, or less than none */
    bf16 *staged_keys = shared->keys + warp_key * STRIDE;
    stage_queries(shared, args);
    int64_t lane_row = find_lane_row(args, first_key, end);
    if constexpr (Has_codes) {
        stage_codes(staged_keys, args, lane_row, count);
    } else {
        stage_keys(staged_keys, args, lane_row, count);
    }
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();

    key_operands keys;
    KREF_UNROLL
    for (int i = 0; i < WIDTH / TILE_DEPTH; i++) {
        keys[i] = load_right_by_column(staged_keys + i * TILE_DEPTH, STRIDE);
    }
    key_scores scores = {};
    for (int head = 0; head < args.heads; head += TILE_ROWS) {
        take_heads(&scores, *shared, keys, head);
    }
    put_scores<Has_codes>(args, scores, lane_row, first_key, count);
}

template <bool Has_codes> const char *launch_as(const index_scores_args &args, void *stream) {
    dim3 grid = {static_cast<unsigned>((args.tokens_max + BLOCK_KEYS - 1) / BLOCK_KEYS),
                 static_cast<unsigned>(args.sequences)};
    return launch("index_scores", index_scores_kernel<Has_codes>, grid, dim3{THREADS},
                  sizeof(staging), stream, args);
}

} // namespace

const char *index_scores_refusal(const index_scores_args &args) {
    if (args.sequences < 0 || args.sequences > 65535) {
        return "index_scores: at most 65535 sequences";
    }
    if (args.heads < TILE_ROWS || args.heads > HEADS_MAX || args.heads % TILE_ROWS != 0) {
        return "index_scores: heads must be a multiple of 16 from 16 to 64";
    }
    if (args.block_tokens < 1 || args.blocks_max < 0 || args.tokens_max < 0) {
        return "index_scores: block_tokens must be positive, and blocks_max and tokens_max not "
               "negative";
    }
    if (args.keys.is_null() == args.key_codes.is_null()) {
        return "index_scores: exactly one of keys and key_codes must be given";
    }
    if (args.key_codes.is_null() != args.key_scales.is_null()) {
        return "index_scores: key_codes take key_scales, and keys none";
    }
    return nullptr;
}

const char *index_scores(const index_scores_args &args, void *stream) {
    const char *refusal = index_scores_refusal(args);
    if (refusal != nullptr || args.sequences == 0 || args.tokens_max == 0) {
        return refusal;
    }
    return args.key_codes.is_null() ? launch_as<false>(args, stream)
                                    : launch_as<true>(args, stream);
}

} // namespace kref
