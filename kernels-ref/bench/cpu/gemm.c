#include "bench/cpu/gemm.h"

#include "bench/cpu/number.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum { COLUMNS = 32, ROWS = 4, DEPTH = 256, CODES = 256 };

/* The operands as floats. */
typedef struct widened {
    const kref_cpu_product *product;
    float values[CODES]; /* of e4m3 */
    float *left;         /* [m][k] */
} widened;

/* e4m3: a sign, four bits of exponent with bias 7, three of mantissa; 0x7f is no number. */
static float e4m3_value(int code) {
    int exponent = (code >> 3) & 15;
    int mantissa = code & 7;
    float value = exponent > 0 ? ldexpf((float)(8 + mantissa), exponent - 10)
                               : ldexpf((float)mantissa, -9);
    return code >= CODES / 2 ? -value : value;
}

static void widen(const widened *it, const void *from, ptrdiff_t first, float *to, int count) {
    if (it->product->element_bytes == 2) {
        kref_cpu_widen_all((const uint16_t *)from + first, to, count);
        return;
    }
    const uint8_t *codes = (const uint8_t *)from + first;
    for (int i = 0; i < count; i++) {
        to[i] = it->values[codes[i]];
    }
}

/* panel[i][column] = right[first_column + column][first + i]; columns that are not there are 0. */
static void pack(const widened *it, int first_column, int first, int depth,
                 float panel[DEPTH][COLUMNS]) {
    float row[DEPTH];
    for (int column = 0; column < COLUMNS; column++) {
        bool is_there = first_column + column < it->product->n;
        if (is_there) {
            widen(it, it->product->right,
                  (ptrdiff_t)(first_column + column) * it->product->k + first, row, depth);
        }
        for (int i = 0; i < depth; i++) {
            panel[i][column] = is_there ? row[i] : 0.0F;
        }
    }
}

/* Adds the products of `rows` rows, at most ROWS, with the panel. */
static void multiply(const float *left, ptrdiff_t stride, int rows, int depth,
                     float panel[DEPTH][COLUMNS], float sums[][COLUMNS]) {
    float kept[ROWS][COLUMNS];
    const float *from[ROWS];
    for (int r = 0; r < ROWS; r++) {
        from[r] = left + (r < rows ? r : 0) * stride;
        memcpy(kept[r], sums[r < rows ? r : 0], sizeof kept[r]);
    }
    for (int i = 0; i < depth; i++) {
#pragma omp simd
        for (int column = 0; column < COLUMNS; column++) {
            float right = panel[i][column];
            kept[0][column] += from[0][i] * right;
            kept[1][column] += from[1][i] * right;
            kept[2][column] += from[2][i] * right;
            kept[3][column] += from[3][i] * right;
        }
    }
    for (int r = 0; r < rows; r++) {
        memcpy(sums[r], kept[r], sizeof kept[r]);
    }
}

static void store(const kref_cpu_product *it, int first_column, float (*sums)[COLUMNS]) {
    int columns = it->n - first_column < COLUMNS ? it->n - first_column : COLUMNS;
    for (int row = 0; row < it->m; row++) {
        uint16_t *to = it->product + (ptrdiff_t)row * it->n + first_column;
        for (int column = 0; column < columns; column++) {
            to[column] = kref_cpu_narrow(it->scale * sums[row][column]);
        }
    }
}

/* `sums` holds m rows. */
static void compute_panel(const widened *it, int first_column, float (*sums)[COLUMNS]) {
    const kref_cpu_product *product = it->product;
    float panel[DEPTH][COLUMNS];
    memset(sums, 0, (size_t)product->m * sizeof *sums);
    for (int first = 0; first < product->k; first += DEPTH) {
        int depth = product->k - first < DEPTH ? product->k - first : DEPTH;
        pack(it, first_column, first, depth, panel);
        for (int row = 0; row < product->m; row += ROWS) {
            int rows = product->m - row < ROWS ? product->m - row : ROWS;
            multiply(it->left + (ptrdiff_t)row * product->k + first, product->k, rows, depth, panel,
                     sums + row);
        }
    }
    store(product, first_column, sums);
}

bool kref_cpu_gemm(const kref_cpu_product *product) {
    widened it = {.product = product};
    for (int code = 0; code < CODES; code++) {
        it.values[code] = e4m3_value(code);
    }
    size_t elements = (size_t)product->m * (size_t)product->k;
    it.left = malloc((elements + 1) * sizeof *it.left);
    if (it.left == NULL) {
        return false;
    }
    bool is_done = true;
#pragma omp parallel
    {
        float(*sums)[COLUMNS] = malloc(((size_t)product->m + 1) * sizeof *sums);
        if (sums == NULL) {
#pragma omp atomic write
            is_done = false;
        }
#pragma omp for schedule(static)
        for (int row = 0; row < product->m; row++) {
            ptrdiff_t at = (ptrdiff_t)row * product->k;
            widen(&it, product->left, at, it.left + at, product->k);
        }
#pragma omp for schedule(dynamic)
        for (int column = 0; column < product->n; column += COLUMNS) {
            if (sums != NULL) {
                compute_panel(&it, column, sums);
            }
        }
        free(sums);
    }
    free(it.left);
    return is_done;
}
