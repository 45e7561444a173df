/*
 * The gated delta rule on a CPU, token by token, the states in f32: the operation of
 * cuda/delta_rule.h for decode and prefill alike. Heads, and 64 columns of a state each, go to
 * threads (OpenMP), columns to vectors.
 *
 * Plain C; knows no kernel. Tests hold it against the oracle. The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_DELTA_H
#define KREF_BENCH_CPU_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays as in delta_rule_args. */
typedef struct kref_cpu_delta {
    const uint16_t *queries;
    const uint16_t *keys;
    const uint16_t *values;
    const float *log_decays;
    const float *strengths;
    const int32_t *starts;
    const int32_t *slots;
    float *states; /* changed */
    uint16_t *outputs;
    int sequences;
    int key_heads;
    int heads;
    int key_dim;
    int value_dim; /* a multiple of 64 */
    bool has_channel_decays;
    float scale;
} kref_cpu_delta;

void kref_cpu_delta_rule(const kref_cpu_delta *it);

#ifdef __cplusplus
}
#endif

#endif
