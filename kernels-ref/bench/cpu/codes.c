#include "bench/cpu/codes.h"

#include "bench/cpu/number.h"

enum { GROUP = KREF_CPU_Q4_GROUP, GROUP_BYTES = GROUP / 2 };

/* Of the row of a token and head: where its codes begin, and its scales. */
static ptrdiff_t code_place(const kref_cpu_layout *it, ptrdiff_t row, int kv_head) {
    int row_bytes = it->format == KREF_CPU_Q4_0 ? it->head_dim / 2 : it->head_dim;
    return (row * it->kv_heads + kv_head) * row_bytes;
}

static ptrdiff_t scale_place(const kref_cpu_layout *it, ptrdiff_t row, int kv_head) {
    int row_scales = it->format == KREF_CPU_Q4_0 ? it->head_dim / GROUP : 1;
    return (row * it->kv_heads + kv_head) * row_scales;
}

/* ---- Reading ---- */

static float worth(float code, float scale) {
    return kref_cpu_widen(kref_cpu_narrow(code * scale));
}

static void read_fp8(const uint8_t *codes, float scale, int head_dim, float *to) {
#pragma omp simd
    for (int i = 0; i < head_dim; i++) {
        to[i] = worth(kref_cpu_widen_e4m3(codes[i]), scale);
    }
}

static void read_int8(const uint8_t *codes, float scale, int head_dim, float *to) {
#pragma omp simd
    for (int i = 0; i < head_dim; i++) {
        to[i] = worth((float)(int8_t)codes[i], scale);
    }
}

static void read_q4_group(const uint8_t *codes, float scale, float *to) {
#pragma omp simd
    for (int i = 0; i < GROUP_BYTES; i++) {
        to[i] = worth((float)((codes[i] & 15) - 8), scale);
        to[i + GROUP_BYTES] = worth((float)((codes[i] >> 4) - 8), scale);
    }
}

static void read_row(const kref_cpu_layout *layout, const kref_cpu_codes *of, ptrdiff_t row,
                     int kv_head, float *to) {
    const uint8_t *codes = of->codes + code_place(layout, row, kv_head);
    if (layout->format == KREF_CPU_FP8) {
        read_fp8(codes, of->head_scales[kv_head], layout->head_dim, to);
        return;
    }
    const uint16_t *scales = of->scales + scale_place(layout, row, kv_head);
    if (layout->format == KREF_CPU_INT8) {
        read_int8(codes, kref_cpu_widen_half(scales[0]), layout->head_dim, to);
        return;
    }
    for (int i = 0; i < layout->head_dim / GROUP; i++) {
        read_q4_group(codes + i * GROUP_BYTES, kref_cpu_widen_half(scales[i]), to + i * GROUP);
    }
}

static void load_coded(const void *of, ptrdiff_t row, int kv_head, float *key, float *value) {
    const kref_cpu_coded *it = of;
    read_row(&it->layout, &it->keys, row, kv_head, key);
    read_row(&it->layout, &it->values, row, kv_head, value);
}

kref_cpu_rows kref_cpu_coded_rows(const kref_cpu_coded *it) {
    return (kref_cpu_rows){load_coded, it, it->layout.head_dim, it->layout.head_dim};
}

/* ---- Writing ---- */

/* 1 / scale; 0 of 0, where all elements are. */
static float invert(uint16_t scale) {
    return (scale & 0x7fffU) == 0 ? 0.0F : 1.0F / kref_cpu_widen_half(scale);
}

static void write_fp8(const float *row, int head_dim, float scale, uint8_t *codes) {
    float inverse = 1.0F / scale;
#pragma omp simd
    for (int i = 0; i < head_dim; i++) {
        codes[i] = kref_cpu_narrow_e4m3(row[i] * inverse);
    }
}

static void write_int8(const float *row, int head_dim, uint8_t *codes, uint16_t *scale) {
    float greatest = 0.0F;
#pragma omp simd reduction(max : greatest)
    for (int i = 0; i < head_dim; i++) {
        greatest = fmaxf(greatest, fabsf(row[i]));
    }
    *scale = kref_cpu_narrow_half(greatest / 127.0F);
    float inverse = invert(*scale);
#pragma omp simd
    for (int i = 0; i < head_dim; i++) {
        float code = rintf(row[i] * inverse);
        codes[i] = (uint8_t)(int8_t)fminf(fmaxf(code, -127.0F), 127.0F);
    }
}

static void write_q4_group(const float *group, uint8_t *codes, uint16_t *scale) {
    float highest = group[0];
    float lowest = group[0];
    for (int i = 1; i < GROUP; i++) {
        highest = fmaxf(highest, group[i]);
        lowest = fminf(lowest, group[i]);
    }
    float greatest = -lowest > highest ? lowest : highest;
    *scale = kref_cpu_narrow_half(greatest * -0.125F);
    float inverse = invert(*scale);
    int its[GROUP];
    for (int i = 0; i < GROUP; i++) {
        /* A subnormal scale may be much less than an eighth of the greatest: limited both ways. */
        int code = (int)(group[i] * inverse + 8.5F);
        its[i] = code < 0 ? 0 : code < 15 ? code : 15;
    }
    for (int i = 0; i < GROUP_BYTES; i++) {
        codes[i] = (uint8_t)(its[i] | its[i + GROUP_BYTES] << 4);
    }
}

/* Row `from` of what is appended becomes row `to` of the cache. */
static void write_row(const kref_cpu_layout *layout, const kref_cpu_appended *it, ptrdiff_t from,
                      ptrdiff_t to, int kv_head) {
    int head_dim = layout->head_dim;
    uint8_t *codes = it->codes + code_place(layout, to, kv_head);
    float row[KREF_CPU_WIDTH_MAX];
    kref_cpu_widen_all(it->from + (from * layout->kv_heads + kv_head) * head_dim, row, head_dim);
    if (layout->format == KREF_CPU_FP8) {
        write_fp8(row, head_dim, it->head_scales[kv_head], codes);
        return;
    }
    uint16_t *scales = it->scales + scale_place(layout, to, kv_head);
    if (layout->format == KREF_CPU_INT8) {
        write_int8(row, head_dim, codes, scales);
        return;
    }
    for (int i = 0; i < head_dim / GROUP; i++) {
        write_q4_group(row + i * GROUP, codes + i * GROUP_BYTES, scales + i);
    }
}

void kref_cpu_append(const kref_cpu_layout *layout, const kref_cpu_appended *keys,
                     const kref_cpu_appended *values, const int32_t *slots, int tokens) {
#pragma omp parallel for schedule(static)
    for (int token = 0; token < tokens; token++) {
        for (int head = 0; head < layout->kv_heads && slots[token] >= 0; head++) {
            write_row(layout, keys, token, slots[token], head);
            write_row(layout, values, token, slots[token], head);
        }
    }
}
