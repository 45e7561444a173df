#include "bench/cpu/index.h"

#include "bench/cpu/number.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- Scores ---- */

enum { WIDTH = KREF_CPU_INDEX_WIDTH, KEYS = 32 };

/* Keys transposed, so that a vector holds one element of all of them. */
typedef struct key_tile {
    int count;
    float at[WIDTH][KEYS];
    float scales[KEYS];
} key_tile;

static void load_key(const kref_cpu_index *it, ptrdiff_t slot, int at, key_tile *keys) {
    bool has_codes = it->key_codes != NULL;
    keys->scales[at] = has_codes ? it->key_scales[slot] : 1.0F;
    for (int i = 0; i < WIDTH; i++) {
        ptrdiff_t from = slot * WIDTH + i;
        keys->at[i][at] = has_codes ? kref_cpu_widen_e4m3(it->key_codes[from])
                                    : kref_cpu_widen(it->keys[from]);
    }
}

static void load_keys(const kref_cpu_index *it, int sequence, int first, key_tile *keys) {
    const int32_t *blocks = it->block_table + (ptrdiff_t)sequence * it->blocks_max;
    int left = it->lengths[sequence] - first;
    keys->count = left < KEYS ? left : KEYS;
    for (int j = 0; j < keys->count; j++) {
        int token = first + j;
        ptrdiff_t slot = (ptrdiff_t)blocks[token / it->block_tokens] * it->block_tokens +
                         token % it->block_tokens;
        load_key(it, slot, j, keys);
    }
}

static void add_head(const float *query, float weight, const key_tile *keys, float *scores) {
    float products[KEYS] = {0.0F};
    for (int i = 0; i < WIDTH; i++) {
#pragma omp simd
        for (int j = 0; j < KEYS; j++) {
            products[j] += query[i] * keys->at[i][j];
        }
    }
#pragma omp simd
    for (int j = 0; j < KEYS; j++) {
        scores[j] += weight * (products[j] > 0.0F ? products[j] : 0.0F);
    }
}

static void score_tile(const kref_cpu_index *it, int sequence, int first, key_tile *keys) {
    float query[WIDTH];
    float scores[KEYS] = {0.0F};
    load_keys(it, sequence, first, keys);
    for (int head = 0; head < it->heads; head++) {
        ptrdiff_t row = (ptrdiff_t)sequence * it->heads + head;
        kref_cpu_widen_all(it->queries + row * WIDTH, query, WIDTH);
        add_head(query, it->weights[row], keys, scores);
    }
    for (int j = 0; j < keys->count; j++) {
        scores[j] *= keys->scales[j];
    }
    memcpy(it->scores + (ptrdiff_t)sequence * it->tokens_max + first, scores,
           (size_t)keys->count * sizeof *scores);
}

void kref_cpu_index_scores(const kref_cpu_index *it) {
#pragma omp parallel
    {
        key_tile keys = {0};
#pragma omp for collapse(2) schedule(dynamic, 8)
        for (int sequence = 0; sequence < it->sequences; sequence++) {
            for (int first = 0; first < it->tokens_max; first += KEYS) {
                if (first < it->lengths[sequence]) {
                    score_tile(it, sequence, first, &keys);
                }
            }
        }
    }
}

/* ---- The greatest: radix select, a byte at a time ---- */

enum { BITS = 8, DIGITS = 1 << BITS };

/* Of the same order as the numbers; -0 is 0. */
static uint32_t order_of(float number) {
    uint32_t word = kref_cpu_word_of(number);
    word = word == 0x80000000U ? 0U : word;
    return (word & 0x80000000U) != 0 ? ~word : word | 0x80000000U;
}

/* The last of the chosen, and how many of its equals are chosen. */
typedef struct threshold {
    uint32_t order;
    int equals;
} threshold;

/* `top` is less than `length`. */
static threshold find_threshold(const float *numbers, int length, int top) {
    threshold known = {0, top};
    for (int shift = 32 - BITS; shift >= 0; shift -= BITS) {
        int counts[DIGITS] = {0};
        for (int i = 0; i < length; i++) {
            uint32_t order = order_of(numbers[i]);
            /* In two steps, because nothing can be shifted by 32. */
            if (order >> shift >> BITS == known.order >> shift >> BITS) {
                counts[order >> shift & (DIGITS - 1)]++;
            }
        }
        int digit = DIGITS - 1;
        for (; known.equals > counts[digit]; digit--) {
            known.equals -= counts[digit];
        }
        known.order |= (uint32_t)digit << shift;
    }
    return known;
}

static void select_row(const float *numbers, int length, int32_t *chosen, int top) {
    int found = 0;
    if (length <= top) {
        for (; found < length; found++) {
            chosen[found] = found;
        }
    } else if (top > 0) {
        threshold last = find_threshold(numbers, length, top);
        for (int i = 0; found < top; i++) {
            uint32_t order = order_of(numbers[i]);
            if (order > last.order || (order == last.order && last.equals-- > 0)) {
                chosen[found++] = i;
            }
        }
    }
    for (; found < top; found++) {
        chosen[found] = -1;
    }
}

void kref_cpu_select_top(const float *numbers, const int32_t *lengths, int32_t *chosen, int rows,
                         int width, int top) {
#pragma omp parallel for schedule(dynamic)
    for (int row = 0; row < rows; row++) {
        select_row(numbers + (ptrdiff_t)row * width, lengths[row], chosen + (ptrdiff_t)row * top,
                   top);
    }
}
