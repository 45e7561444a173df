#include "bench/cpu/attention.h"

#include "bench/cpu/number.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { ROWS = 16, KEYS = 32, WIDTH = KREF_CPU_WIDTH_MAX };

/* Below every score; a finite number, because the compiler may assume that all are. */
#define LOWEST (-1e30F)

/* Rows of queries with what they have gathered so far. A row sees keys first .. end - 1. */
typedef struct tile {
    int rows;
    int key_width;
    int value_width;
    int first[ROWS];
    int end[ROWS];
    float highest[ROWS];
    float total[ROWS];
    float queries[ROWS][WIDTH]; /* scaled */
    float sums[ROWS][WIDTH];
} tile;

/* A stretch of keys: transposed, so that a vector holds one element of all of them. */
typedef struct stretch {
    int first;
    int count;
    float keys[WIDTH][KEYS];
    float values[KEYS][WIDTH];
} stretch;

static void begin_tile(tile *it, const kref_cpu_rows *rows, int count) {
    it->rows = count;
    it->key_width = rows->key_width;
    it->value_width = rows->value_width;
}

static void begin_row(tile *it, int row, const uint16_t *query, float scale, int first, int end) {
    it->first[row] = first;
    it->end[row] = end;
    it->highest[row] = LOWEST;
    it->total[row] = 0.0F;
    for (int i = 0; i < it->key_width; i++) {
        it->queries[row][i] = scale * kref_cpu_widen(query[i]);
    }
    memset(it->sums[row], 0, (size_t)it->value_width * sizeof it->sums[row][0]);
}

/* The place `at` of a stretch gets a row, as a head sees it. */
static void put_row(stretch *keys, int at, const kref_cpu_rows *rows, ptrdiff_t row, int kv_head) {
    float key[WIDTH];
    rows->load(rows->of, row, kv_head, key, keys->values[at]);
    for (int i = 0; i < rows->key_width; i++) {
        keys->keys[i][at] = key[i];
    }
}

/* Scores of a row; those that it does not see, or that are not there, are lowest. */
static float score(const tile *it, int row, const stretch *keys, float scores[KEYS]) {
    for (int j = 0; j < KEYS; j++) {
        scores[j] = 0.0F;
    }
    for (int i = 0; i < it->key_width; i++) {
        float query = it->queries[row][i];
#pragma omp simd
        for (int j = 0; j < KEYS; j++) {
            scores[j] += query * keys->keys[i][j];
        }
    }
    float highest = LOWEST;
    for (int j = 0; j < KEYS; j++) {
        int key = keys->first + j;
        bool is_seen = j < keys->count && it->first[row] <= key && key < it->end[row];
        scores[j] = is_seen ? scores[j] : LOWEST;
        highest = scores[j] > highest ? scores[j] : highest;
    }
    return highest;
}

static void take_row(tile *it, int row, const stretch *keys) {
    float weights[KEYS];
    float highest = score(it, row, keys, weights);
    if (highest <= LOWEST) {
        return;
    }
    highest = highest > it->highest[row] ? highest : it->highest[row];
    float kept = expf(it->highest[row] - highest);
    float total = 0.0F;
#pragma omp simd reduction(+ : total)
    for (int j = 0; j < KEYS; j++) {
        weights[j] = weights[j] > LOWEST ? expf(weights[j] - highest) : 0.0F;
        total += weights[j];
    }
    it->highest[row] = highest;
    it->total[row] = it->total[row] * kept + total;
    float *sums = it->sums[row];
#pragma omp simd
    for (int i = 0; i < it->value_width; i++) {
        sums[i] *= kept;
    }
    for (int j = 0; j < keys->count; j++) {
        float weight = weights[j];
#pragma omp simd
        for (int i = 0; i < it->value_width; i++) {
            sums[i] += weight * keys->values[j][i];
        }
    }
}

static void take(tile *it, const stretch *keys) {
    for (int row = 0; row < it->rows; row++) {
        take_row(it, row, keys);
    }
}

static void end_row(const tile *it, int row, uint16_t *output) {
    float factor = it->total[row] > 0.0F ? 1.0F / it->total[row] : 0.0F;
    for (int i = 0; i < it->value_width; i++) {
        output[i] = kref_cpu_narrow(it->sums[row][i] * factor);
    }
}

/* The first token that a query at `position` sees. */
static int first_seen(const kref_cpu_heads *heads, int position) {
    int first = position - heads->window_tokens + 1;
    return heads->window_tokens > 0 && first > 0 ? first : 0;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* ---- Prefill ---- */

/* Queries first .. first + ROWS - 1 of a sequence, of one head. */
static void prefill_tile(const kref_cpu_prefill *it, int sequence, int head, int first, tile *rows,
                         stretch *keys) {
    const kref_cpu_heads *heads = &it->heads;
    int tokens = it->key_starts[sequence + 1] - it->key_starts[sequence];
    int chunk = it->query_starts[sequence + 1] - it->query_starts[sequence];
    int kv_head = head / (heads->query_heads / heads->kv_heads);
    ptrdiff_t query = (ptrdiff_t)(it->query_starts[sequence] + first) * heads->query_heads + head;
    begin_tile(rows, &it->rows, least(ROWS, chunk - first));
    for (int row = 0; row < rows->rows; row++) {
        int position = tokens - chunk + first + row;
        ptrdiff_t at = query + (ptrdiff_t)row * heads->query_heads;
        begin_row(rows, row, it->queries + at * rows->key_width, heads->scale,
                  first_seen(heads, position), position + 1);
    }
    int end = rows->end[rows->rows - 1];
    for (int key = rows->first[0]; key < end; key += KEYS) {
        keys->first = key;
        keys->count = least(KEYS, end - key);
        for (int j = 0; j < keys->count; j++) {
            put_row(keys, j, &it->rows, (ptrdiff_t)it->key_starts[sequence] + key + j, kv_head);
        }
        take(rows, keys);
    }
    for (int row = 0; row < rows->rows; row++) {
        ptrdiff_t at = query + (ptrdiff_t)row * heads->query_heads;
        end_row(rows, row, it->outputs + at * rows->value_width);
    }
}

void kref_cpu_prefill_attention(const kref_cpu_prefill *it) {
    int tiles = (it->queries_max + ROWS - 1) / ROWS;
    int heads = it->heads.query_heads;
#pragma omp parallel
    {
        tile rows;
        stretch keys = {0};
#pragma omp for collapse(3) schedule(dynamic)
        for (int sequence = 0; sequence < it->sequences; sequence++) {
            for (int head = 0; head < heads; head++) {
                for (int at = 0; at < tiles; at++) {
                    int chunk = it->query_starts[sequence + 1] - it->query_starts[sequence];
                    if (at * ROWS < chunk) {
                        prefill_tile(it, sequence, head, at * ROWS, &rows, &keys);
                    }
                }
            }
        }
    }
}

/* ---- Decode ---- */

/* The heads of a sequence that share a key-value head, at most ROWS from `first` on. */
static void decode_tile(const kref_cpu_decode *it, int sequence, int kv_head, int first, int count,
                        tile *rows, stretch *keys) {
    const kref_cpu_heads *heads = &it->heads;
    int tokens = it->lengths[sequence];
    int start = first_seen(heads, tokens - 1);
    const int32_t *blocks = it->block_table + (ptrdiff_t)sequence * it->blocks_max;
    ptrdiff_t query = (ptrdiff_t)sequence * heads->query_heads + first;
    begin_tile(rows, &it->rows, count);
    for (int row = 0; row < count; row++) {
        begin_row(rows, row, it->queries + (query + row) * rows->key_width, heads->scale, start,
                  tokens);
    }
    for (int key = start; key < tokens; key += KEYS) {
        keys->first = key;
        keys->count = least(KEYS, tokens - key);
        for (int j = 0; j < keys->count; j++) {
            int token = key + j;
            ptrdiff_t slot = (ptrdiff_t)blocks[token / it->block_tokens] * it->block_tokens +
                             token % it->block_tokens;
            put_row(keys, j, &it->rows, slot, kv_head);
        }
        take(rows, keys);
    }
    for (int row = 0; row < count; row++) {
        end_row(rows, row, it->outputs + (query + row) * rows->value_width);
    }
}

void kref_cpu_decode_attention(const kref_cpu_decode *it) {
    int group = it->heads.query_heads / it->heads.kv_heads;
    int kv_heads = it->heads.kv_heads;
#pragma omp parallel
    {
        tile rows;
        stretch keys = {0};
#pragma omp for collapse(2) schedule(dynamic)
        for (int sequence = 0; sequence < it->sequences; sequence++) {
            for (int kv_head = 0; kv_head < kv_heads; kv_head++) {
                for (int at = 0; at < group; at += ROWS) {
                    decode_tile(it, sequence, kv_head, kv_head * group + at,
                                least(ROWS, group - at), &rows, &keys);
                }
            }
        }
    }
}
