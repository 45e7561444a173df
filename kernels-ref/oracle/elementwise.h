/*
 * RMSNorm, rotary embedding and activations in double precision. The oracles of rms_norm, rope and
 * activation; their definitions and sources stand in the headers of these kernels.
 *
 * A tolerance is what a kernel may be off that computes in f32 (u = 2^-24) and rounds its result to
 * bf16 (w = 2^-8), to first order. Plain C; knows no kernel. The caller owns all memory.
 * O(elements).
 */
#ifndef KREF_ORACLE_ELEMENTWISE_H
#define KREF_ORACLE_ELEMENTWISE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One row. With an update the stream becomes stream + update, rounded to bf16; that is exact,
 * because f32 holds the sum of two bf16 wherever it matters to the rounding. The normed value is
 * off by at most |y| (w + (width + 16) u): the sum of squares, a root, three products.
 */
void kref_rms_norm_row(double *stream, const double *update, const double *weight, int width,
                       double epsilon, double *normed, double *tolerances);

/*
 * One head at a position: pairs i and i + head_dim / 2 turn by position x base^(-2 i / head_dim).
 * Cosine and sine come as floats, three roundings follow: off by w |y| + 8 u (|x| + |x'|).
 */
void kref_rope_head(const double *head, int head_dim, int position, double base, double *turned,
                    double *tolerances);

typedef enum kref_activation { KREF_SILU, KREF_GELU_TANH } kref_activation;

/* f(x) times `up`: off by w |y| + 16 u |x up|, because 1 + tanh loses what is small beside 1. */
double kref_activate(kref_activation kind, double x, double up, double *tolerance);

#ifdef __cplusplus
}
#endif

#endif
