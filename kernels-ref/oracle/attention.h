/*
 * Attention in double precision, from its definition: the scores of all keys, their softmax, the
 * weighted sum of the values. The oracle of prefill_attention and decode_attention.
 *
 * Beside each output stands how far a kernel may be from it that multiplies bf16, sums in f32 and
 * rounds its softmax weights to bf16. With u = 2^-24, w = 2^-8, n keys, head dimension d and
 * A = sum of weight |value|, to first order:
 *   a score is off by at most 2 (d + 8) u scale sum |q k|: d products and sums, rounding of scale
 * and of what the exponential gets, and twice that, because tensor cores may truncate where IEEE
 *   rounds. That makes a weight, and the sum of weights, wrong by that share.
 *   Exponentials, sums over n keys and rescaling add (4 n + 16) u.
 *   Weights rounded for the product with the values add w.
 *   So |error| <= A (w + 4 (d + 8) u max_keys(scale sum |q k|) + (4 n + 16) u).
 * A kernel that rounds its output adds w |output|.
 *
 * Plain C; knows no kernel. The caller owns all memory. O(n d) a row.
 */
#ifndef KREF_ORACLE_ATTENTION_H
#define KREF_ORACLE_ATTENTION_H

#include "oracle/expected.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_heads {
    int query_heads;
    int kv_heads;
    int head_dim;
    int window_tokens; /* 0 = all */
    double scale;
} kref_heads;

/* Keys and values of one head, row by row: row i begins at keys[i]. */
typedef struct kref_visible {
    const double *const *keys;
    const double *const *values;
    int count;
} kref_visible;

/* One query of one head; zeros if it sees nothing. `outputs` and `tolerances` have head_dim
 * elements. */
void kref_attention_row(const double *query, const kref_visible *visible, int head_dim,
                        double scale, double *outputs, double *tolerances);

/* The same where keys have another width than values, and outputs that of the values. */
void kref_uneven_attention_row(const double *query, const kref_visible *visible, int key_dim,
                               int value_dim, double scale, double *outputs, double *tolerances);

/* queries [query tokens][query_heads][head_dim], keys and values [key tokens][kv_heads][head_dim];
 * sequence s has rows query_starts[s] .. query_starts[s + 1] - 1, and so with keys. */
void kref_prefill_attention(const kref_heads *heads, int sequences, const int32_t *query_starts,
                            const int32_t *key_starts, const double *queries, const double *keys,
                            const double *values, const kref_expected *expected);

typedef struct kref_paging {
    const int32_t *block_table; /* [sequences][blocks_max] */
    const int32_t *lengths;     /* [sequences] */
    int blocks_max;
    int block_tokens;
} kref_paging;

/* queries [sequences][query_heads][head_dim], the caches [blocks][block_tokens][kv_heads]
 * [head_dim]. */
void kref_decode_attention(const kref_heads *heads, int sequences, const kref_paging *paging,
                           const double *queries, const double *key_cache,
                           const double *value_cache, const kref_expected *expected);

#ifdef __cplusplus
}
#endif

#endif
