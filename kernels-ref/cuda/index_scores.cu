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

/* The keys of this warp: two lanes know the row of each. Keys behind the end become zeros. */
KREF_FUNCTION void stage_keys(bf16 *target, const index_scores_args &args, int first_key, int end) {
    int lane = static_cast<int>(threadIdx.x) % 32;
    int key = first_key + lane % KEY_TILE;
    int64_t lane_row = 0;
    if (key < end) {
        int64_t table_row = int64_t{blockIdx.y} * args.blocks_max;
        int64_t block = args.block_table.get(table_row + key / args.block_tokens);
        lane_row = block * args.block_tokens + key % args.block_tokens;
    }
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE * ROW_PACKS / 32; i++) {
        int at = i * 32 + lane;
        int row = at / ROW_PACKS;
        int column = at % ROW_PACKS * PACK;
        int64_t from = __shfl_sync(~0U, lane_row, row) * WIDTH + column;
        copy_async(target + row * STRIDE + column, args.keys.address(from),
                   first_key + row < end ? 16 : 0);
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

/* A block for 64 keys of a sequence. */
__global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    index_scores_kernel(index_scores_args args) {
    auto *shared = reinterpret_cast<staging *>(KREF_DYNAMIC_SHARED());
    int end = args.lengths.get(blockIdx.y);
    int warp_key = static_cast<int>(threadIdx.x) / 32 * KEY_TILE;
    int first_key = static_cast<int>(blockIdx.x) * BLOCK_KEYS + warp_key;
    if (first_key - warp_key >= end) {
        return;
    }
    bf16 *staged_keys = shared->keys + warp_key * STRIDE;
    stage_queries(shared, args);
    stage_keys(staged_keys, args, first_key, end);
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();

    /* All lanes of a column have its sum; the one with row 0 writes it. */
    bool is_first = row_of(0) == 0 || row_of(1) == 0;
    key_scores scores = {};
    key_operands keys;
    KREF_UNROLL
    for (int i = 0; i < WIDTH / TILE_DEPTH; i++) {
        keys[i] = load_right_by_column(staged_keys + i * TILE_DEPTH, STRIDE);
    }
    for (int head = 0; head < args.heads; head += TILE_ROWS) {
        take_heads(&scores, *shared, keys, head);
    }
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE / TILE_COLUMNS * LANE_COLUMNS; i++) {
        const sum_tile &its = scores.at[i / LANE_COLUMNS];
        f32 score = sum_over_column(its.at[0][i % LANE_COLUMNS] + its.at[1][i % LANE_COLUMNS]);
        int key = first_key + i / LANE_COLUMNS * TILE_COLUMNS + column_of() + i % LANE_COLUMNS;
        if (is_first && key < end) {
            args.scores.put(int64_t{blockIdx.y} * args.tokens_max + key, static_cast<float>(score));
        }
    }
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
    return nullptr;
}

const char *index_scores(const index_scores_args &args, void *stream) {
    const char *refusal = index_scores_refusal(args);
    if (refusal != nullptr || args.sequences == 0 || args.tokens_max == 0) {
        return refusal;
    }
    dim3 grid = {static_cast<unsigned>((args.tokens_max + BLOCK_KEYS - 1) / BLOCK_KEYS),
                 static_cast<unsigned>(args.sequences)};
    return launch("index_scores", index_scores_kernel, grid, dim3{THREADS}, sizeof(staging), stream,
                  args);
}

} // namespace kref
