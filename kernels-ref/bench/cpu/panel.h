/*
 * Rows times 32 columns of another matrix on a CPU, in f32: what cpu/gemm.h and cpu/experts.h are
 * made of. The panel is widened and transposed, and multiplied with four rows at a time, in
 * vectors.
 *
 * Plain C; knows no kernel. The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_PANEL_H
#define KREF_BENCH_CPU_PANEL_H

#include <stddef.h>
#include <stdint.h>

enum { KREF_CPU_PANEL_COLUMNS = 32 };

typedef float kref_cpu_sums[KREF_CPU_PANEL_COLUMNS];

/* product[i] = scale x left row i  right^T. */
typedef struct kref_cpu_panel {
    const float *left;        /* rows of k */
    const int32_t *left_rows; /* [m], which of them row i is, times left_share; NULL = row i */
    int left_share;
    const void *right; /* [n][k] */
    int element_bytes; /* of it: 2 = bf16, 1 = e4m3 */
    uint16_t *product; /* [m][n], bf16 */
    int m;
    int n;
    int k;
    float scale;
} kref_cpu_panel;

/* Columns first_column .. + 31, as far as they are there. `sums` holds m rows, of no meaning. */
void kref_cpu_multiply_panel(const kref_cpu_panel *it, int first_column, kref_cpu_sums *sums);

/* To floats, from elements of 2 or 1 bytes. */
void kref_cpu_widen_elements(const void *from, int element_bytes, ptrdiff_t first, float *to,
                             int count);

#endif
