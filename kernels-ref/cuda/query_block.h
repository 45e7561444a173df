/*
 * 128 queries of one head against tiles of keys: what prefill_attention and mla_prefill have in
 * common.
 *
 * Four warps hold 32 queries each, as two tiles of rows, so that each operand that is loaded serves
 * two products; scores, softmax and sums of values stay in registers (Dao, "FlashAttention-2",
 * 2023). Queries, keys and values come through shared memory, where a row is 16 bytes longer than
 * it is wide: an odd multiple of 16, see tile.h.
 */
#ifndef KREF_CUDA_QUERY_BLOCK_H
#define KREF_CUDA_QUERY_BLOCK_H

#include "cuda/outputs.h"
#include "cuda/softmax.h"
#include "cuda/tile.h"

namespace kref {

constexpr int QUERY_WARPS = 4;
constexpr int QUERY_THREADS = QUERY_WARPS * 32;
constexpr int QUERY_ROW_TILES = 2; /* of a warp */
constexpr int WARP_QUERIES = QUERY_ROW_TILES * TILE_ROWS;
constexpr int QUERY_TILE = QUERY_WARPS * WARP_QUERIES;

/* From one row in shared memory to the next. */
template <int Width> constexpr int ROW_STRIDE = Width + PACK;

/* What a warp holds of a tile of scores, and of its outputs. */
template <int Keys> using score_tiles = sum_tile[QUERY_ROW_TILES][Keys / TILE_COLUMNS];
template <int Width> using output_tiles = sum_tile[QUERY_ROW_TILES][Width / TILE_COLUMNS];

/* What a block works on: queries of one sequence, and the keys that they see. */
struct query_piece {
    int64_t query_token; /* the first, among those of all sequences */
    int64_t key_token;   /* where the sequence begins */
    int queries;         /* of the block; 0 or less = nothing to do */
    int position;        /* of the first query in its sequence */
    int first_key;
    int keys_end;
};

/* By blockIdx: x counts blocks of queries, z sequences. */
KREF_FUNCTION query_piece find_piece(global<const int32_t> query_starts,
                                     global<const int32_t> key_starts, int window_tokens,
                                     int key_tile) {
    int sequence = static_cast<int>(blockIdx.z);
    int query_start = query_starts.get(sequence);
    int key_start = key_starts.get(sequence);
    int queries = query_starts.get(sequence + 1) - query_start;
    int keys = key_starts.get(sequence + 1) - key_start;
    /* The last tiles see the most keys, so they begin first. */
    int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * QUERY_TILE;

    query_piece it;
    it.query_token = query_start + first;
    it.key_token = key_start;
    it.queries = queries - first < QUERY_TILE ? queries - first : QUERY_TILE;
    it.position = keys - queries + first;
    it.keys_end = it.position + it.queries;
    int seen_from = window_tokens > 0 ? it.position - window_tokens + 1 : 0;
    it.first_key = seen_from > 0 ? seen_from / key_tile * key_tile : 0;
    return it;
}

/* The first query of a warp in its block. */
KREF_FUNCTION int first_query_of_warp() {
    return static_cast<int>(threadIdx.x) / 32 * WARP_QUERIES;
}

/* Begins to copy Width columns of `rows` rows into shared memory, where a row is Stride long; those
 * of Rows that do not exist become zeros. `step` is the distance of two rows in global memory, in
 * elements. */
template <int Width, int Stride, int Rows>
KREF_FUNCTION void stage_rows(bf16 *target, const bf16 *source, int64_t step, int rows) {
    constexpr int row_packs = Width / PACK;
    constexpr int rows_at_once = QUERY_THREADS / row_packs;
    int row = static_cast<int>(threadIdx.x) / row_packs;
    int column = static_cast<int>(threadIdx.x) % row_packs * PACK;
    target += row * Stride + column;
    source += row * step + column;
    KREF_UNROLL
    for (int done = 0; done < Rows; done += rows_at_once) {
        copy_async(target + done * Stride, source, row + done < rows ? 16 : 0);
        source += rows_at_once * step;
    }
}

/* The scores of a warp's queries against a tile of keys. */
template <int Width, int Keys>
KREF_FUNCTION void multiply_keys(score_tiles<Keys> &scores, const bf16 *queries, const bf16 *keys) {
    constexpr int stride = ROW_STRIDE<Width>;
    KREF_UNROLL
    for (int tile = 0; tile < QUERY_ROW_TILES; tile++) {
        clear_sums(scores[tile]);
    }
    KREF_UNROLL
    for (int depth = 0; depth < Width; depth += TILE_DEPTH) {
        left_tile left[QUERY_ROW_TILES];
        KREF_UNROLL
        for (int tile = 0; tile < QUERY_ROW_TILES; tile++) {
            left[tile] = load_left(queries + tile * TILE_ROWS * stride + depth, stride);
        }
        KREF_UNROLL
        for (int key = 0; key < Keys; key += 2 * TILE_COLUMNS) {
            right_pair right = load_right_by_column(keys + key * stride + depth, stride);
            KREF_UNROLL
            for (int i = 0; i < 2 * QUERY_ROW_TILES; i++) {
                multiply_add(&scores[i / 2][key / TILE_COLUMNS + i % 2], left[i / 2],
                             right.at[i % 2]);
            }
        }
    }
}

/* The weighted values of a tile of keys, on top of the sums. */
template <int Width, int Keys>
KREF_FUNCTION void multiply_values(output_tiles<Width> &sums, const score_tiles<Keys> &weights,
                                   const bf16 *values) {
    constexpr int stride = ROW_STRIDE<Width>;
    KREF_UNROLL
    for (int key = 0; key < Keys; key += TILE_DEPTH) {
        left_tile left[QUERY_ROW_TILES];
        KREF_UNROLL
        for (int tile = 0; tile < QUERY_ROW_TILES; tile++) {
            left[tile] = left_from_sums(weights[tile][key / TILE_COLUMNS],
                                        weights[tile][key / TILE_COLUMNS + 1]);
        }
        KREF_UNROLL
        for (int column = 0; column < Width; column += 2 * TILE_COLUMNS) {
            right_pair right = load_right_by_depth(values + key * stride + column, stride);
            KREF_UNROLL
            for (int i = 0; i < 2 * QUERY_ROW_TILES; i++) {
                multiply_add(&sums[i / 2][column / TILE_COLUMNS + i % 2], left[i / 2],
                             right.at[i % 2]);
            }
        }
    }
}

/* Hides what a warp's queries do not see, the first of them at `position`. Only tiles at the
 * diagonal and at the lower end of the window have such pairs. */
template <int Keys>
KREF_FUNCTION void hide_pairs(score_tiles<Keys> &scores, int position, int key, int window_tokens) {
    bool has_hidden = key + Keys - 1 > position;
    has_hidden |= window_tokens > 0 && key <= position + WARP_QUERIES - 1 - window_tokens;
    if (!has_hidden) {
        return;
    }
    KREF_UNROLL
    for (int i = 0; i < QUERY_ROW_TILES * LANE_ROWS; i++) {
        int tile = i / LANE_ROWS;
        int row = i % LANE_ROWS;
        int last = position + tile * TILE_ROWS + row_of(row);
        int after = window_tokens > 0 ? last - window_tokens : -1;
        KREF_UNROLL
        for (int j = 0; j < Keys / TILE_COLUMNS; j++) {
            hide_unseen(&scores[tile][j], row, key + j * TILE_COLUMNS, after, last);
        }
    }
}

/* Writes the means of the values: of query i of the block at first + i x step. */
template <int Width>
KREF_FUNCTION void write_rows(const output_tiles<Width> &sums,
                              const softmax_rows (&rows)[QUERY_ROW_TILES],
                              const either_output &outputs, int64_t first, int64_t step,
                              int queries) {
    KREF_UNROLL
    for (int i = 0; i < QUERY_ROW_TILES * LANE_ROWS; i++) {
        int tile = i / LANE_ROWS;
        int row = i % LANE_ROWS;
        f32 weight = sum_over_row(rows[tile].weights[row]);
        int query = first_query_of_warp() + tile * TILE_ROWS + row_of(row);
        if (query >= queries) {
            continue;
        }
        f32 share = f32(1.0F) / weight;
        int64_t to = first + query * step + column_of();
        KREF_UNROLL
        for (int j = 0; j < Width / TILE_COLUMNS; j++) {
            const f32 *pair = sums[tile][j].at[row];
            put_pair(outputs, to + j * TILE_COLUMNS, pair[0] * share, pair[1] * share);
        }
    }
}

} // namespace kref

#endif
