/*
 * Keys and values as a CPU reads them, whatever they are kept in: bf16, latents, or codes.
 *
 * A row is what a token has; load() widens the key and the value that a key-value head sees of it.
 * Plain C; knows no kernel. What a function makes rows of stays the caller's, and has to live as
 * long as they are used.
 */
#ifndef KREF_BENCH_CPU_ROWS_H
#define KREF_BENCH_CPU_ROWS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KREF_CPU_WIDTH_MAX = 576 }; /* of a key, or of a value */

typedef struct kref_cpu_rows {
    void (*load)(const void *of, ptrdiff_t row, int kv_head, float *key, float *value);
    const void *of;
    int key_width;
    int value_width;
} kref_cpu_rows;

/* Keys and values of each head, side by side in bf16. */
typedef struct kref_cpu_plain {
    const uint16_t *keys; /* [rows][kv_heads][head_dim] */
    const uint16_t *values;
    int kv_heads;
    int head_dim;
} kref_cpu_plain;

kref_cpu_rows kref_cpu_plain_rows(const kref_cpu_plain *it);

/* Latents with a rotary key, for all heads: the value is the latent. */
typedef struct kref_cpu_latent {
    const uint16_t *rows; /* [rows][latent + rope] */
    int latent;
    int rope;
} kref_cpu_latent;

kref_cpu_rows kref_cpu_latent_rows(const kref_cpu_latent *it);

/* The same expanded: a head has most of its key, and its value, to itself. */
typedef struct kref_cpu_expanded {
    kref_cpu_latent shared;   /* whose rotary keys are read */
    const uint16_t *expanded; /* [rows][kv_heads][nope + value] */
    int kv_heads;
    int nope;
    int value;
} kref_cpu_expanded;

kref_cpu_rows kref_cpu_expanded_rows(const kref_cpu_expanded *it);

#ifdef __cplusplus
}
#endif

#endif
