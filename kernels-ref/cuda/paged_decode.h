/*
 * The block of a decode over a paged cache, whatever the cache is stored in: decode_attention and
 * quantized_decode, whose headers have the operation.
 *
 * Stages say how a warp gets at its tiles of 16 keys and values, STAGES of them at a time:
 *   begin(i, args, cache, range, first_key)  begins to copy a tile to place i; rows at the range's
 *                                            end or behind it become zeros
 *   finish(i, cache)                         what lies there, in bf16, once all lanes' copies are
 *                                            there; valid until the next call
 * Only lanes of the warp read or write its stages.
 */
#ifndef KREF_CUDA_PAGED_DECODE_H
#define KREF_CUDA_PAGED_DECODE_H

#include "cuda/combine_splits.h"
#include "cuda/decode_attention.h"
#include "cuda/kref.h"
#include "cuda/outputs.h"
#include "cuda/splits.h"
#include "cuda/tile.h"

namespace kref {

namespace paged_decode {

constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int KEY_TILE = 16; /* of a warp */
constexpr int STAGES = 3;    /* tiles of a warp on their way */
constexpr int GRAIN = WARPS * KEY_TILE;

/* Rows in shared memory are 16 bytes longer, an odd multiple of 16: see tile.h. */
template <int Head_dim> struct key_stage {
    static constexpr int stride = Head_dim + PACK;
    bf16 keys[KEY_TILE * stride];
    bf16 values[KEY_TILE * stride];
};

/* What a warp has found, for the others to combine; it takes the place of its stages. */
template <int Head_dim> struct warp_result {
    f32 sums[TILE_ROWS * Head_dim];
    f32 highest[TILE_ROWS];
    f32 weights[TILE_ROWS];
};

template <typename Stages, int Head_dim> struct staging {
    union {
        Stages stages;
        warp_result<Head_dim> result;
    } of_warp[WARPS];
    bf16 queries[TILE_ROWS * key_stage<Head_dim>::stride];
};

template <int Head_dim> using output_tiles = sum_tile[Head_dim / TILE_COLUMNS];
using score_tiles = sum_tile[KEY_TILE / TILE_COLUMNS];

/* ---- Copies of one warp ---- */

/* The rows of a tile in the cache, one a lane: lanes 16 to 31 know the same as 0 to 15. */
KREF_FUNCTION int64_t find_row(const decode_attention_args &args, key_range range, int first_key) {
    int key = first_key + static_cast<int>(threadIdx.x) % KEY_TILE;
    if (key >= range.end) {
        return 0;
    }
    int64_t table_row = int64_t{blockIdx.z} * args.blocks_max;
    int64_t block = args.block_table.get(table_row + key / args.block_tokens);
    return block * args.block_tokens + key % args.block_tokens;
}

/* ---- The work of one warp ---- */

template <int Head_dim> struct warp_state {
    left_tile queries[Head_dim / TILE_DEPTH];
    output_tiles<Head_dim> sums;
    softmax_rows rows;
};

template <int Head_dim>
KREF_FUNCTION void multiply_keys(score_tiles &scores, const warp_state<Head_dim> &state,
                                 const bf16 *keys) {
    KREF_UNROLL
    for (int i = 0; i < Head_dim / TILE_DEPTH; i++) {
        right_pair right = load_right_by_column(keys + i * TILE_DEPTH, key_stage<Head_dim>::stride);
        multiply_add(&scores[0], state.queries[i], right.at[0]);
        multiply_add(&scores[1], state.queries[i], right.at[1]);
    }
}

template <int Head_dim>
KREF_FUNCTION void multiply_values(warp_state<Head_dim> *state, const score_tiles &weights,
                                   const bf16 *values) {
    left_tile left = left_from_sums(weights[0], weights[1]);
    KREF_UNROLL
    for (int i = 0; i < Head_dim / TILE_COLUMNS; i += 2) {
        right_pair right = load_right_by_depth(values + i * TILE_COLUMNS,
                                               key_stage<Head_dim>::stride);
        multiply_add(&state->sums[i], left, right.at[0]);
        multiply_add(&state->sums[i + 1], left, right.at[1]);
    }
}

template <int Head_dim>
KREF_FUNCTION void take_tile(warp_state<Head_dim> *state, const key_stage<Head_dim> &stage,
                             f32 scale_log2, int first_key, int last_key) {
    score_tiles scores;
    clear_sums(scores);
    multiply_keys(scores, *state, stage.keys);
    if (first_key + KEY_TILE - 1 > last_key) {
        KREF_UNROLL
        for (int i = 0; i < KEY_TILE / TILE_COLUMNS * LANE_ROWS; i++) {
            int tile = i / LANE_ROWS;
            hide_unseen(&scores[tile], i % LANE_ROWS, first_key + tile * TILE_COLUMNS, -1,
                        last_key);
        }
    }
    f32 shrink[LANE_ROWS];
    take_scores(&state->rows, scores, scale_log2, shrink);
    shrink_sums(state->sums, shrink);
    multiply_values(state, scores, stage.values);
}

/* Tiles first_key, first_key + 64, ...: while one is computed the next two are on their way. Only
 * lanes of this warp read or write its stages, so no other warp has to wait. */
template <int Head_dim, typename Stages, typename Cache>
KREF_FUNCTION void take_range(warp_state<Head_dim> *state, Stages *stages,
                              const decode_attention_args &args, const Cache &cache,
                              key_range range) {
    constexpr int step = WARPS * KEY_TILE;
    f32 scale_log2 = args.scale * LOG2_E;
    int key = range.first + static_cast<int>(threadIdx.x) / 32 * KEY_TILE;
    for (int i = 0; i < STAGES - 1; i++) {
        if (key + i * step < range.end) {
            stages->begin(i, args, cache, range, key + i * step);
        }
        commit_copies();
    }
    for (int stage = 0; key < range.end; key += step) {
        wait_for_copies<STAGES - 2>();
        __syncwarp(); /* all lanes' copies are there, and nobody reads the stage before any more */
        int ahead = key + (STAGES - 1) * step;
        if (ahead < range.end) {
            stages->begin((stage + STAGES - 1) % STAGES, args, cache, range, ahead);
        }
        commit_copies();
        take_tile(state, stages->finish(stage, cache), scale_log2, key, range.end - 1);
        stage = (stage + 1) % STAGES;
    }
}

template <int Head_dim>
KREF_FUNCTION void leave_result(const warp_state<Head_dim> &state, warp_result<Head_dim> *result) {
    __syncwarp(); /* nobody reads the stages any more */
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        f32 weight = sum_over_row(state.rows.weights[row]);
        int at = row_of(row);
        if (column_of() == 0) {
            result->highest[at] = state.rows.highest[row];
            result->weights[at] = weight;
        }
        KREF_UNROLL
        for (int i = 0; i < Head_dim / TILE_COLUMNS; i++) {
            f32 *to = result->sums + at * Head_dim + i * TILE_COLUMNS + column_of();
            to[0] = state.sums[i].at[row][0];
            to[1] = state.sums[i].at[row][1];
        }
    }
}

/* ---- The block ---- */

/* Rows without a query head become zeros. */
template <int Head_dim>
KREF_FUNCTION void stage_queries(bf16 *target, const decode_attention_args &args, int heads) {
    constexpr int row_packs = Head_dim / PACK;
    int64_t first = int64_t{blockIdx.z} * args.query_heads + int64_t{blockIdx.y} * heads;
    for (int at = static_cast<int>(threadIdx.x); at < TILE_ROWS * row_packs; at += THREADS) {
        int row = at / row_packs;
        int column = at % row_packs * PACK;
        pack<bf16, PACK> some = {};
        if (row < heads) {
            some = args.queries.get_pack<PACK>((first + row) * Head_dim + column);
        }
        *reinterpret_cast<pack<bf16, PACK> *>(target + row * key_stage<Head_dim>::stride +
                                              column) = some;
    }
}

/* Element `column` of a query head, from the results of the warps. */
template <typename Stages, int Head_dim>
KREF_FUNCTION merged merge_warps(const staging<Stages, Head_dim> &shared, int row, int column) {
    merged all = {float_of(NEGATIVE_INFINITY_BITS), 0.0F, 0.0F};
    KREF_UNROLL
    for (int i = 0; i < WARPS; i++) {
        all.highest = max(all.highest, shared.of_warp[i].result.highest[row]);
    }
    f32 highest = all.highest;
    all.highest = finite_highest(highest);
    KREF_UNROLL
    for (int i = 0; i < WARPS; i++) {
        const warp_result<Head_dim> &part = shared.of_warp[i].result;
        take_part(&all, part.highest[row], part.weights[row], part.sums[row * Head_dim + column]);
    }
    return merged{highest, all.weights, all.sum};
}

/* A block for a split of the keys of one key-value head, and the query heads that share it. */
template <typename Stages, int Head_dim, typename Cache>
KREF_FUNCTION void attend(const decode_attention_args &args, const Cache &cache) {
    either_output outputs = {args.outputs, args.exact_outputs};
    auto *shared = reinterpret_cast<staging<Stages, Head_dim> *>(KREF_DYNAMIC_SHARED());
    int split = static_cast<int>(blockIdx.x);
    int heads = args.query_heads / args.kv_heads;
    key_range range = split_keys(args.lengths.get(blockIdx.z), args.window_tokens, args.splits,
                                 split, GRAIN);
    bool is_alone = args.splits == 1;
    if (range.first >= range.end && !is_alone) {
        return;
    }

    stage_queries<Head_dim>(shared->queries, args, heads);
    __syncthreads();
    warp_state<Head_dim> state;
    KREF_UNROLL
    for (int i = 0; i < Head_dim / TILE_DEPTH; i++) {
        state.queries[i] = load_left(shared->queries + i * TILE_DEPTH, key_stage<Head_dim>::stride);
    }
    clear_sums(state.sums);
    state.rows = empty_softmax();

    auto &mine = shared->of_warp[threadIdx.x / 32];
    take_range(&state, &mine.stages, args, cache, range);
    leave_result(state, &mine.result);
    __syncthreads();

    int64_t first_head = int64_t{blockIdx.z} * args.query_heads + int64_t{blockIdx.y} * heads;
    for (int at = static_cast<int>(threadIdx.x); at < heads * Head_dim; at += THREADS) {
        int row = at / Head_dim;
        int column = at % Head_dim;
        merged all = merge_warps(*shared, row, column);
        if (is_alone) {
            f32 value = all.weights > f32(0.0F) ? all.sum / all.weights : f32(0.0F);
            put_one(outputs, (first_head + row) * Head_dim + column, value);
            continue;
        }
        int64_t to = ((first_head + row) * args.splits + split) * part_floats(Head_dim);
        put_one(args.workspace, to + column, all.sum);
        if (column == 0) {
            put_one(args.workspace, to + Head_dim, all.highest);
            put_one(args.workspace, to + Head_dim + 1, all.weights);
        }
    }
}

inline dim3 grid_of(const decode_attention_args &args) {
    return {static_cast<unsigned>(args.splits), static_cast<unsigned>(args.kv_heads),
            static_cast<unsigned>(args.sequences)};
}

/* What follows if there are splits. */
inline const char *combine(const decode_attention_args &args, void *stream) {
    combine_splits_args combining = {};
    combining.parts = args.workspace.address(0);
    combining.lengths = args.lengths;
    combining.outputs = args.outputs;
    combining.exact_outputs = args.exact_outputs;
    combining.sequences = args.sequences;
    combining.heads = args.query_heads;
    combining.width = args.head_dim;
    combining.splits = args.splits;
    combining.grain = GRAIN;
    combining.window_tokens = args.window_tokens;
    return combine_splits(combining, stream);
}

} // namespace paged_decode

} // namespace kref

#endif
