/*
 * bf16 and e4m3 for the CPU backend: plain words that a compiler can keep in vectors.
 *
 * Plain C. Finite numbers only; to nearest, ties to even.
 */
#ifndef KREF_BENCH_CPU_NUMBER_H
#define KREF_BENCH_CPU_NUMBER_H

#include <stdint.h>
#include <string.h>

static inline float kref_cpu_widen(uint16_t bits) {
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline uint16_t kref_cpu_narrow(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return (uint16_t)((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
}

static inline void kref_cpu_widen_all(const uint16_t *from, float *to, int count) {
#pragma omp simd
    for (int i = 0; i < count; i++) {
        to[i] = kref_cpu_widen(from[i]);
    }
}

#endif
