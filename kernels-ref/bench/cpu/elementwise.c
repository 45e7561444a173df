#include "bench/cpu/elementwise.h"

#include "bench/cpu/number.h"

#include <math.h>
#include <stddef.h>

static float add_up(uint16_t *stream, const uint16_t *update, int width) {
    float squares = 0.0F;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < width; i++) {
        uint16_t sum = kref_cpu_narrow(kref_cpu_widen(stream[i]) + kref_cpu_widen(update[i]));
        stream[i] = sum;
        squares += kref_cpu_widen(sum) * kref_cpu_widen(sum);
    }
    return squares;
}

static float square_up(const uint16_t *stream, int width) {
    float squares = 0.0F;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < width; i++) {
        squares += kref_cpu_widen(stream[i]) * kref_cpu_widen(stream[i]);
    }
    return squares;
}

void kref_cpu_rms_norm(const kref_cpu_norm *norm) {
#pragma omp parallel for schedule(static)
    for (int row = 0; row < norm->rows; row++) {
        ptrdiff_t at = (ptrdiff_t)row * norm->width;
        uint16_t *stream = norm->stream + at;
        uint16_t *normed = norm->normed + at;
        float squares = norm->update != NULL ? add_up(stream, norm->update + at, norm->width)
                                             : square_up(stream, norm->width);
        float factor = 1.0F / sqrtf(squares / (float)norm->width + norm->epsilon);
#pragma omp simd
        for (int i = 0; i < norm->width; i++) {
            normed[i] = kref_cpu_narrow(kref_cpu_widen(stream[i]) * factor *
                                        kref_cpu_widen(norm->weight[i]));
        }
    }
}

static void turn_head(const uint16_t *from, uint16_t *to, const float *turns, int head_dim) {
    int half = head_dim / 2;
#pragma omp simd
    for (int i = 0; i < half; i++) {
        float x = kref_cpu_widen(from[i]);
        float y = kref_cpu_widen(from[i + half]);
        to[i] = kref_cpu_narrow(x * turns[i] - y * turns[i + half]);
        to[i + half] = kref_cpu_narrow(y * turns[i] + x * turns[i + half]);
    }
}

static void turn_token(const kref_cpu_turn *turn, ptrdiff_t token) {
    const float *turns = turn->turns + (ptrdiff_t)turn->positions[token] * turn->head_dim;
    for (int head = 0; head < turn->query_heads; head++) {
        uint16_t *query = turn->queries + (token * turn->query_heads + head) * turn->head_dim;
        turn_head(query, query, turns, turn->head_dim);
    }
    ptrdiff_t slot = turn->slots[token];
    if (slot < 0) {
        return;
    }
    for (int head = 0; head < turn->kv_heads; head++) {
        ptrdiff_t from = (token * turn->kv_heads + head) * turn->head_dim;
        ptrdiff_t to = (slot * turn->kv_heads + head) * turn->head_dim;
        turn_head(turn->keys + from, turn->key_cache + to, turns, turn->head_dim);
        memcpy(turn->value_cache + to, turn->values + from,
               (size_t)turn->head_dim * sizeof(uint16_t));
    }
}

void kref_cpu_rope(const kref_cpu_turn *turn) {
#pragma omp parallel for schedule(static)
    for (int token = 0; token < turn->tokens; token++) {
        turn_token(turn, token);
    }
}

static inline float silu(float x) {
    return x / (1.0F + expf(-x));
}

/* tanh by the exponential, which compilers have as a vector: x/2 (1 + tanh(z)) = x / (1 + e^-2z) */
static inline float gelu(float x) {
    const float root = 0.7978845608F; /* sqrt(2 / pi) */
    return x / (1.0F + expf(-2.0F * root * (x + 0.044715F * x * x * x)));
}

static void activate_row(const uint16_t *input, uint16_t *output, int width, bool has_tanh) {
    if (has_tanh) {
#pragma omp simd
        for (int i = 0; i < width; i++) {
            output[i] = kref_cpu_narrow(gelu(kref_cpu_widen(input[i])));
        }
    } else {
#pragma omp simd
        for (int i = 0; i < width; i++) {
            output[i] = kref_cpu_narrow(silu(kref_cpu_widen(input[i])));
        }
    }
}

static void activate_gated_row(const uint16_t *input, uint16_t *output, int width, bool has_tanh) {
    const uint16_t *up = input + width;
    if (has_tanh) {
#pragma omp simd
        for (int i = 0; i < width; i++) {
            output[i] = kref_cpu_narrow(gelu(kref_cpu_widen(input[i])) * kref_cpu_widen(up[i]));
        }
    } else {
#pragma omp simd
        for (int i = 0; i < width; i++) {
            output[i] = kref_cpu_narrow(silu(kref_cpu_widen(input[i])) * kref_cpu_widen(up[i]));
        }
    }
}

void kref_cpu_activation(const uint16_t *input, uint16_t *output, int rows, int width,
                         bool has_tanh, bool is_gated) {
#pragma omp parallel for schedule(static)
    for (int row = 0; row < rows; row++) {
        uint16_t *its = output + (ptrdiff_t)row * width;
        if (is_gated) {
            activate_gated_row(input + 2 * (ptrdiff_t)row * width, its, width, has_tanh);
        } else {
            activate_row(input + (ptrdiff_t)row * width, its, width, has_tanh);
        }
    }
}
