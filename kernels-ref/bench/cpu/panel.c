#include "bench/cpu/panel.h"

#include "bench/cpu/number.h"

#include <stdbool.h>

enum { COLUMNS = KREF_CPU_PANEL_COLUMNS, ROWS = 4, DEPTH = 256 };

void kref_cpu_widen_elements(const void *from, int element_bytes, ptrdiff_t first, float *to,
                             int count) {
    if (element_bytes == 2) {
        kref_cpu_widen_all((const uint16_t *)from + first, to, count);
        return;
    }
    const uint8_t *codes = (const uint8_t *)from + first;
#pragma omp simd
    for (int i = 0; i < count; i++) {
        to[i] = kref_cpu_widen_e4m3(codes[i]);
    }
}

/* packed[i][column] = right[first_column + column][first + i]; columns that are not there are 0. */
static void pack(const kref_cpu_panel *it, int first_column, int first, int depth,
                 float packed[DEPTH][COLUMNS]) {
    float row[DEPTH];
    for (int column = 0; column < COLUMNS; column++) {
        bool is_there = first_column + column < it->n;
        if (is_there) {
            kref_cpu_widen_elements(it->right, it->element_bytes,
                                    (ptrdiff_t)(first_column + column) * it->k + first, row, depth);
        }
        for (int i = 0; i < depth; i++) {
            packed[i][column] = is_there ? row[i] : 0.0F;
        }
    }
}

/* Element `first` of row `row` of the left side. */
static const float *left_row(const kref_cpu_panel *it, int row, int first) {
    ptrdiff_t at = it->left_rows != NULL ? it->left_rows[row] / it->left_share : row;
    return it->left + at * it->k + first;
}

/* Adds the products of `rows` rows from `row` on, at most ROWS, with the packed columns. */
static void multiply(const kref_cpu_panel *it, int row, int rows, int first, int depth,
                     float packed[DEPTH][COLUMNS], kref_cpu_sums *sums) {
    float kept[ROWS][COLUMNS];
    const float *from[ROWS];
    for (int r = 0; r < ROWS; r++) {
        int its = row + (r < rows ? r : 0);
        from[r] = left_row(it, its, first);
        memcpy(kept[r], sums[its], sizeof kept[r]);
    }
    for (int i = 0; i < depth; i++) {
#pragma omp simd
        for (int column = 0; column < COLUMNS; column++) {
            float right = packed[i][column];
            kept[0][column] += from[0][i] * right;
            kept[1][column] += from[1][i] * right;
            kept[2][column] += from[2][i] * right;
            kept[3][column] += from[3][i] * right;
        }
    }
    for (int r = 0; r < rows; r++) {
        memcpy(sums[row + r], kept[r], sizeof kept[r]);
    }
}

static void store(const kref_cpu_panel *it, int first_column, kref_cpu_sums *sums) {
    int columns = it->n - first_column < COLUMNS ? it->n - first_column : COLUMNS;
    for (int row = 0; row < it->m; row++) {
        uint16_t *to = it->product + (ptrdiff_t)row * it->n + first_column;
        for (int column = 0; column < columns; column++) {
            to[column] = kref_cpu_narrow(it->scale * sums[row][column]);
        }
    }
}

void kref_cpu_multiply_panel(const kref_cpu_panel *it, int first_column, kref_cpu_sums *sums) {
    float packed[DEPTH][COLUMNS];
    memset(sums, 0, (size_t)it->m * sizeof *sums);
    for (int first = 0; first < it->k; first += DEPTH) {
        int depth = it->k - first < DEPTH ? it->k - first : DEPTH;
        pack(it, first_column, first, depth, packed);
        for (int row = 0; row < it->m; row += ROWS) {
            int rows = it->m - row < ROWS ? it->m - row : ROWS;
            multiply(it, row, rows, first, depth, packed, sums);
        }
    }
    store(it, first_column, sums);
}
