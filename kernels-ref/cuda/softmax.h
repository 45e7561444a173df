/*
 * The running softmax of the rows that a lane holds: highest score, and sum of weights.
 *
 * Scores come tile by tile (Milakov and Gimelshein, "Online normalizer calculation for softmax",
 * 2018). Weights are powers of two, 2^(s - highest), with the scores scaled by log2(e) before: that
 * is what devices compute. A row that has seen nothing yet has the highest score -infinity, and
 * keeps weights of 0. Each lane sums its own columns; only the end adds them up over the row.
 */
#ifndef KREF_CUDA_SOFTMAX_H
#define KREF_CUDA_SOFTMAX_H

#include "cuda/tile.h"

namespace kref {

constexpr uint32_t NEGATIVE_INFINITY_BITS = 0xff800000U;
constexpr float LOG2_E = 1.4426950408889634F;

struct softmax_rows {
    f32 highest[LANE_ROWS]; /* scaled */
    f32 weights[LANE_ROWS]; /* of this lane's columns, as if the highest had always been so high */
};

KREF_FUNCTION softmax_rows empty_softmax() {
    softmax_rows rows;
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        rows.highest[row] = float_of(NEGATIVE_INFINITY_BITS);
        rows.weights[row] = 0.0F;
    }
    return rows;
}

/* What to subtract from scores, so that -infinity less itself does not come up. */
KREF_FUNCTION f32 finite_highest(f32 highest) {
    return highest == f32(float_of(NEGATIVE_INFINITY_BITS)) ? f32(0.0F) : highest;
}

/* The greatest of the scores of a row; each of the lanes that share it gets the result. */
template <int Tiles> KREF_FUNCTION f32 find_highest(const sum_tile (&scores)[Tiles], int row) {
    f32 highest = scores[0].at[row][0];
    KREF_UNROLL
    for (int i = 1; i < Tiles * LANE_COLUMNS; i++) {
        highest = max(highest, scores[i / LANE_COLUMNS].at[row][i % LANE_COLUMNS]);
    }
    return max_over_row(highest);
}

/* The scores of a row become weights, and the row takes them in; none of the tile is greater than
 * `highest`. Returns what everything that was summed with earlier weights has to be multiplied
 * with. */
template <int Tiles>
KREF_FUNCTION f32 take_row(softmax_rows *rows, sum_tile (&scores)[Tiles], int row, f32 highest,
                           f32 scale_log2) {
    highest = max(rows->highest[row], highest * scale_log2);
    f32 base = finite_highest(highest);
    f32 shrink = exp2(rows->highest[row] - base);
    rows->highest[row] = highest;

    f32 sum = rows->weights[row] * shrink;
    KREF_UNROLL
    for (int i = 0; i < Tiles * LANE_COLUMNS; i++) {
        f32 &score = scores[i / LANE_COLUMNS].at[row][i % LANE_COLUMNS];
        score = exp2(fma(score, scale_log2, -base));
        sum += score;
    }
    rows->weights[row] = sum;
    return shrink;
}

/* Both rows of a lane, where the lanes that share them have all scores of the tile. */
template <int Tiles>
KREF_FUNCTION void take_scores(softmax_rows *rows, sum_tile (&scores)[Tiles], f32 scale_log2,
                               f32 shrink[LANE_ROWS]) {
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        shrink[row] = take_row(rows, scores, row, find_highest(scores, row), scale_log2);
    }
}

/* Takes the place of the columns that a row does not see: key `first_key` + column is seen if it is
 * behind `after` and not behind `last`. */
KREF_FUNCTION void hide_unseen(sum_tile *scores, int row, int first_key, int after, int last) {
    KREF_UNROLL
    for (int column = 0; column < LANE_COLUMNS; column++) {
        int key = first_key + column_of() + column;
        if (key <= after || key > last) {
            scores->at[row][column] = float_of(NEGATIVE_INFINITY_BITS);
        }
    }
}

template <int Tiles>
KREF_FUNCTION void shrink_sums(sum_tile (&sums)[Tiles], const f32 factor[LANE_ROWS]) {
    KREF_UNROLL
    for (int i = 0; i < Tiles; i++) {
        KREF_UNROLL
        for (int j = 0; j < LANE_ROWS * LANE_COLUMNS; j++) {
            sums[i].at[j / LANE_COLUMNS][j % LANE_COLUMNS] *= factor[j / LANE_COLUMNS];
        }
    }
}

template <int Tiles> KREF_FUNCTION void clear_sums(sum_tile (&sums)[Tiles]) {
    KREF_UNROLL
    for (int i = 0; i < Tiles; i++) {
        KREF_UNROLL
        for (int j = 0; j < LANE_ROWS * LANE_COLUMNS; j++) {
            sums[i].at[j / LANE_COLUMNS][j % LANE_COLUMNS] = 0.0F;
        }
    }
}

} // namespace kref

#endif
