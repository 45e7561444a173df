/*
 * The gated delta rule in double precision, token by token: the oracle of delta_step and
 * delta_prefill, whose header has the rule.
 *
 * Beside outputs and state stands how far a kernel may be from them whose roundings are within
 * `unit`. For one column of S with length m, errors of length n, and e the correction b (v - S'^T
 * k): a decay shortens both, by its greatest channel a. What is added has the errors of the
 * prediction, at most 2 unit |k| a m (state and key are rounded, and the products of a chunk take
 * the same apart), and of the correction, 2 unit |e| (it and its key are rounded). The map 1 - b k
 * k^T that a token applies stretches nothing by more than c = max(1, |1 - b |k|^2|). So
 *     m' = a m + |k| |e|,   n' = c a n + 2 unit |k| (b |k| a m + |e|) + 2^-20 a m,
 * the last term for f32 itself, and an output is off by at most scale |q| (n' + 4 unit m'): four
 * factors of it are rounded. A kernel that rounds its output adds 2^-8 of it.
 *
 * Plain C; knows no kernel. The caller owns all memory. O(tokens heads key_dim value_dim).
 */
#ifndef KREF_ORACLE_DELTA_H
#define KREF_ORACLE_DELTA_H

#include "oracle/expected.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_delta_rule {
    int key_heads;
    int heads;
    int key_dim;
    int value_dim;
    bool has_channel_decays;
    double scale;
    double unit;
} kref_delta_rule;

/* Units: sums of key_dim products in f32, as they may be cut off, with what precedes them; and one
 * rounding to bf16, with a sixteenth for f32 and for products of roundings. */
#define KREF_STEP_UNIT(key_dim) (2.0 * ((key_dim) + 16) * 0x1p-24)
#define KREF_CHUNK_UNIT         0x1.1p-8

/* One sequence; arrays as in delta_rule_args. `state` [heads][key_dim][value_dim] is changed;
 * `state_errors`, of that shape, are set. */
void kref_delta_tokens(const kref_delta_rule *rule, int tokens, const double *queries,
                       const double *keys, const double *values, const double *log_decays,
                       const double *strengths, double *state, double *state_errors,
                       const kref_expected *expected);

#ifdef __cplusplus
}
#endif

#endif
