/*
 * bf16, fp16 and e4m3 for the CPU backend: plain words that a compiler can keep in vectors.
 *
 * Plain C. Finite numbers only; to nearest, ties to even.
 */
#ifndef KREF_BENCH_CPU_NUMBER_H
#define KREF_BENCH_CPU_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float kref_cpu_float_of(uint32_t word) {
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline uint32_t kref_cpu_word_of(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* Takes the lowest `bits` away. */
static inline uint32_t kref_cpu_round_off(uint32_t word, int bits) {
    uint32_t half = (1U << (bits - 1)) - 1U;
    return (word + half + ((word >> bits) & 1U)) >> bits;
}

/* ---- bf16 ---- */

static inline float kref_cpu_widen(uint16_t bits) {
    return kref_cpu_float_of((uint32_t)bits << 16);
}

static inline uint16_t kref_cpu_narrow(float value) {
    return (uint16_t)kref_cpu_round_off(kref_cpu_word_of(value), 16);
}

static inline void kref_cpu_widen_all(const uint16_t *from, float *to, int count) {
#pragma omp simd
    for (int i = 0; i < count; i++) {
        to[i] = kref_cpu_widen(from[i]);
    }
}

/* ---- e4m3: a sign, four bits of exponent with bias 7, three of mantissa ---- */

enum { KREF_CPU_E4M3_SIGN = 0x80, KREF_CPU_E4M3_LARGEST = 0x7e };

static inline float kref_cpu_widen_e4m3(uint8_t code) {
    uint32_t magnitude = code & 0x7fU;
    float normal = kref_cpu_float_of((magnitude << 20) + (120U << 23));
    float value = magnitude < 8 ? (float)magnitude * 0x1p-9F : normal;
    return (code & KREF_CPU_E4M3_SIGN) != 0 ? -value : value;
}

/* Beyond the largest, which is 448, the largest. */
static inline uint8_t kref_cpu_narrow_e4m3(float value) {
    float magnitude = fabsf(value);
    magnitude = magnitude < 448.0F ? magnitude : 448.0F;
    uint32_t normal = kref_cpu_round_off(kref_cpu_word_of(magnitude) - (120U << 23), 20);
    /* The last bit of a float from 2^14 on is worth 2^-9, as that of a number below 2^-6. */
    uint32_t small = kref_cpu_word_of(magnitude + 0x1p14F) - kref_cpu_word_of(0x1p14F);
    uint32_t code = magnitude < 0x1p-6F ? small : normal;
    return (uint8_t)(code | (kref_cpu_word_of(value) >> 24 & KREF_CPU_E4M3_SIGN));
}

/* ---- fp16 ---- */

static inline float kref_cpu_widen_half(uint16_t bits) {
    uint32_t magnitude = bits & 0x7fffU;
    float normal = kref_cpu_float_of((magnitude << 13) + (112U << 23));
    float value = magnitude < 0x400 ? (float)magnitude * 0x1p-24F : normal;
    return (bits & 0x8000U) != 0 ? -value : value;
}

/* Beyond the largest, which is 65504, the largest. */
static inline uint16_t kref_cpu_narrow_half(float value) {
    float magnitude = fabsf(value);
    magnitude = magnitude < 65504.0F ? magnitude : 65504.0F;
    uint32_t normal = kref_cpu_round_off(kref_cpu_word_of(magnitude) - (112U << 23), 13);
    /* The last bit of a float from 2^-1 on is worth 2^-24, as that of a number below 2^-14. */
    uint32_t small = kref_cpu_word_of(magnitude + 0.5F) - kref_cpu_word_of(0.5F);
    uint32_t bits = magnitude < 0x1p-14F ? small : normal;
    return (uint16_t)(bits | (kref_cpu_word_of(value) >> 16 & 0x8000U));
}

#endif
