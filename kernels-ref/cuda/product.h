/*
 * What a block computes of a matrix product: rows of the left operand by rows of the right one.
 *
 * Both operands lie with the depth along the row, the right one with a row for each column of the
 * product, as weights are stored. Eight warps, two of them down and four across, hold the sums in
 * registers: 128 x 128, or 32 x 128 where there are few rows. The operands come in steps of 128
 * bytes of depth through three stages in shared memory, so that two steps are on their way while
 * one is computed. Rows, columns and depth that do not exist are zeros.
 *
 * Elements are bf16 or e4m3; either way a row of a stage is 64 units of two bytes to the loads. The
 * depth is a multiple of 16 bytes. Once a kernel, by all threads of the block.
 */
#ifndef KREF_CUDA_PRODUCT_H
#define KREF_CUDA_PRODUCT_H

#include "cuda/outputs.h"
#include "cuda/softmax.h"
#include "cuda/tile.h"

namespace kref {

constexpr int PRODUCT_THREADS = 256;
constexpr int PRODUCT_COLUMNS = 128;
constexpr int PRODUCT_STAGES = 3;
constexpr int STEP_BYTES = 128;
constexpr int STEP_UNITS = STEP_BYTES / 2;
constexpr int STEP_STRIDE = STEP_UNITS + PACK; /* an odd multiple of 16 bytes: see tile.h */

/* Warps across, and what one holds: Row_tiles tiles of 16 rows by four of 8 columns. */
constexpr int WARPS_ACROSS = 4;
constexpr int WARPS_DOWN = 2;
constexpr int COLUMN_TILES = 4;

/* Row_tiles is 4, or 1 where there are few rows. */
template <int Row_tiles> constexpr int PRODUCT_ROWS = WARPS_DOWN *Row_tiles *TILE_ROWS;

template <int Row_tiles> using product_tiles = sum_tile[Row_tiles][COLUMN_TILES];

template <int Row_tiles> struct product_stage {
    bf16 left[PRODUCT_ROWS<Row_tiles> * STEP_STRIDE];
    bf16 right[PRODUCT_COLUMNS * STEP_STRIDE];
};

template <int Row_tiles> using product_stages = product_stage<Row_tiles>[PRODUCT_STAGES];

/* A thread copies the same 16 bytes of a step of every 32nd row. */
constexpr int ROW_THREADS = STEP_BYTES / 16;
constexpr int ROWS_AT_ONCE = PRODUCT_THREADS / ROW_THREADS;

KREF_FUNCTION int first_copied_row() {
    return static_cast<int>(threadIdx.x) / ROW_THREADS;
}

/* Where a thread finds its rows. Of those that do not exist any address will do. */
template <int Row_tiles, typename Element> struct product_sources {
    const Element *left[PRODUCT_ROWS<Row_tiles> / ROWS_AT_ONCE];
    const Element *right; /* the first of its rows; the others follow at `depth` x 32 */
    int rows;             /* of the block that exist; 0 or less = none */
    int columns;
    int depth;
};

/* Begins to copy the step that begins at `done`. */
template <int Row_tiles, typename Element>
KREF_FUNCTION void stage_step(product_stage<Row_tiles> *stage,
                              const product_sources<Row_tiles, Element> &from, int done) {
    constexpr int pack = 16 / static_cast<int>(sizeof(Element));
    int part = static_cast<int>(threadIdx.x) % ROW_THREADS;
    int row = first_copied_row();
    int depth = done + part * pack;
    int to = row * STEP_STRIDE + part * PACK;
    int bytes = depth < from.depth ? 16 : 0;
    KREF_UNROLL
    for (int first = 0; first < PRODUCT_ROWS<Row_tiles>; first += ROWS_AT_ONCE) {
        copy_async(stage->left + first * STEP_STRIDE + to, from.left[first / ROWS_AT_ONCE] + depth,
                   row + first < from.rows ? bytes : 0);
    }
    KREF_UNROLL
    for (int first = 0; first < PRODUCT_COLUMNS; first += ROWS_AT_ONCE) {
        copy_async(stage->right + first * STEP_STRIDE + to,
                   from.right + int64_t{first} * from.depth + depth,
                   row + first < from.columns ? bytes : 0);
    }
}

template <typename Element>
KREF_FUNCTION void multiply_tiles(sum_tile *sum, const left_tile &left, const right_tile &right) {
    if constexpr (sizeof(Element) == sizeof(bf16)) {
        multiply_add(sum, left, right);
    } else {
        multiply_add_e4m3(sum, left, right);
    }
}

/* The rows and columns of the block where a warp's begin. */
template <int Row_tiles> KREF_FUNCTION int first_row_of_warp() {
    return static_cast<int>(threadIdx.x) / 32 / WARPS_ACROSS * Row_tiles * TILE_ROWS;
}

KREF_FUNCTION int first_column_of_warp() {
    return static_cast<int>(threadIdx.x) / 32 % WARPS_ACROSS * COLUMN_TILES * TILE_COLUMNS;
}

template <int Row_tiles, typename Element>
KREF_FUNCTION void multiply_step(product_tiles<Row_tiles> &sums,
                                 const product_stage<Row_tiles> &stage) {
    const bf16 *left = stage.left + first_row_of_warp<Row_tiles>() * STEP_STRIDE;
    const bf16 *right = stage.right + first_column_of_warp() * STEP_STRIDE;
    KREF_UNROLL
    for (int depth = 0; depth < STEP_UNITS; depth += TILE_DEPTH) {
        left_tile rows[Row_tiles];
        KREF_UNROLL
        for (int tile = 0; tile < Row_tiles; tile++) {
            rows[tile] = load_left(left + tile * TILE_ROWS * STEP_STRIDE + depth, STEP_STRIDE);
        }
        KREF_UNROLL
        for (int column = 0; column < COLUMN_TILES; column += 2) {
            right_pair pair = load_right_by_column(
                right + column * TILE_COLUMNS * STEP_STRIDE + depth, STEP_STRIDE);
            KREF_UNROLL
            for (int i = 0; i < 2 * Row_tiles; i++) {
                multiply_tiles<Element>(&sums[i / 2][column + i % 2], rows[i / 2], pair.at[i % 2]);
            }
        }
    }
}

template <int Row_tiles, typename Element>
KREF_FUNCTION void multiply_block(product_tiles<Row_tiles> &sums, product_stages<Row_tiles> &stages,
                                  const product_sources<Row_tiles, Element> &from) {
    constexpr int step = STEP_BYTES / static_cast<int>(sizeof(Element));
    KREF_UNROLL
    for (int tile = 0; tile < Row_tiles; tile++) {
        clear_sums(sums[tile]);
    }
    for (int i = 0; i < PRODUCT_STAGES - 1; i++) {
        if (i * step < from.depth) {
            stage_step(&stages[i], from, i * step);
        }
        commit_copies();
    }
    int current = 0;
    for (int done = 0; done < from.depth; done += step) {
        wait_for_copies<PRODUCT_STAGES - 2>();
        __syncthreads(); /* the step is there, and nobody reads the one before any more */
        int ahead = done + (PRODUCT_STAGES - 1) * step;
        if (ahead < from.depth) {
            stage_step(&stages[(current + PRODUCT_STAGES - 1) % PRODUCT_STAGES], from, ahead);
        }
        commit_copies();
        multiply_step<Row_tiles, Element>(sums, stages[current]);
        current = (current + 1) % PRODUCT_STAGES;
    }
}

/* Writes what exists: row i of the block at first + i x width. */
template <int Row_tiles>
KREF_FUNCTION void write_block(const product_tiles<Row_tiles> &sums, const either_output &outputs,
                               int64_t first, int64_t width, int rows, int columns) {
    KREF_UNROLL
    for (int i = 0; i < Row_tiles * LANE_ROWS; i++) {
        int tile = i / LANE_ROWS;
        int row = first_row_of_warp<Row_tiles>() + tile * TILE_ROWS + row_of(i % LANE_ROWS);
        KREF_UNROLL
        for (int j = 0; j < COLUMN_TILES; j++) {
            int column = first_column_of_warp() + j * TILE_COLUMNS + column_of();
            if (row < rows && column < columns) {
                const f32 *pair = sums[tile][j].at[i % LANE_ROWS];
                put_pair(outputs, first + row * width + column, pair[0], pair[1]);
            }
        }
    }
}

} // namespace kref

#endif
