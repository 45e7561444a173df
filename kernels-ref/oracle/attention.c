#include "oracle/attention.h"

#include "oracle/rounding.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* A test that has no memory left has nothing to tell. */
static void *allocate(int count, size_t bytes) {
    void *memory = malloc(((size_t)count + 1) * bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* Scores become weights that sum to 1. Returns the greatest scale sum |q k|. */
static double weigh(const double *query, const kref_visible *visible, int key_dim, double scale,
                    double *weights) {
    double highest = -INFINITY;
    double magnitude_max = 0.0;
    for (int i = 0; i < visible->count; i++) {
        double score = 0.0;
        double magnitude = 0.0;
        for (int j = 0; j < key_dim; j++) {
            double product = query[j] * visible->keys[i][j];
            score += product;
            magnitude += fabs(product);
        }
        weights[i] = score * scale;
        highest = fmax(highest, weights[i]);
        magnitude_max = fmax(magnitude_max, magnitude * scale);
    }
    double sum = 0.0;
    for (int i = 0; i < visible->count; i++) {
        weights[i] = exp(weights[i] - highest);
        sum += weights[i];
    }
    for (int i = 0; i < visible->count; i++) {
        weights[i] /= sum;
    }
    return magnitude_max;
}

void kref_uneven_attention_row(const double *query, const kref_visible *visible, int key_dim,
                               int value_dim, double scale, double *outputs, double *tolerances) {
    double *weights = allocate(visible->count, sizeof *weights);
    double score_magnitude = weigh(query, visible, key_dim, scale, weights);
    double share = KREF_BF16_UNIT + 4.0 * (key_dim + 8) * KREF_F32_UNIT * score_magnitude +
                   (4.0 * visible->count + 16.0) * KREF_F32_UNIT;
    for (int j = 0; j < value_dim; j++) {
        double sum = 0.0;
        double magnitude = 0.0;
        for (int i = 0; i < visible->count; i++) {
            sum += weights[i] * visible->values[i][j];
            magnitude += weights[i] * fabs(visible->values[i][j]);
        }
        outputs[j] = sum;
        tolerances[j] = magnitude * share;
    }
    free(weights);
}

void kref_attention_row(const double *query, const kref_visible *visible, int head_dim,
                        double scale, double *outputs, double *tolerances) {
    kref_uneven_attention_row(query, visible, head_dim, head_dim, scale, outputs, tolerances);
}

/* Rows of keys and values, as many as the longest sequence has. */
typedef struct rows {
    const double **keys;
    const double **values;
} rows;

static rows allocate_rows(int count) {
    return (rows){
        .keys = allocate(count, sizeof(double *)),
        .values = allocate(count, sizeof(double *)),
    };
}

static void free_rows(rows *it) {
    free(it->keys);
    free(it->values);
}

/* The first token that a query at `position` sees. */
static int first_seen(const kref_heads *heads, int position) {
    int first = position - heads->window_tokens + 1;
    return heads->window_tokens > 0 && first > 0 ? first : 0;
}

/* All heads of one query, whose keys are rows first .. end - 1 of the token rows of `table`. */
static void attend(const kref_heads *heads, const double *query, const rows *table, int first,
                   int end, double *outputs, double *tolerances) {
    rows of_head = allocate_rows(end - first);
    for (int head = 0; head < heads->query_heads; head++) {
        ptrdiff_t kv_head = head / (heads->query_heads / heads->kv_heads);
        for (int i = first; i < end; i++) {
            of_head.keys[i - first] = table->keys[i] + kv_head * heads->head_dim;
            of_head.values[i - first] = table->values[i] + kv_head * heads->head_dim;
        }
        kref_visible visible = {of_head.keys, of_head.values, end - first};
        ptrdiff_t at = (ptrdiff_t)head * heads->head_dim;
        kref_attention_row(query + at, &visible, heads->head_dim, heads->scale, outputs + at,
                           tolerances + at);
    }
    free_rows(&of_head);
}

void kref_prefill_attention(const kref_heads *heads, int sequences, const int32_t *query_starts,
                            const int32_t *key_starts, const double *queries, const double *keys,
                            const double *values, const kref_expected *expected) {
    ptrdiff_t query_width = (ptrdiff_t)heads->query_heads * heads->head_dim;
    ptrdiff_t key_width = (ptrdiff_t)heads->kv_heads * heads->head_dim;
    for (int s = 0; s < sequences; s++) {
        int tokens = key_starts[s + 1] - key_starts[s];
        int chunk = query_starts[s + 1] - query_starts[s];
        rows table = allocate_rows(tokens);
        for (int i = 0; i < tokens; i++) {
            table.keys[i] = keys + (key_starts[s] + i) * key_width;
            table.values[i] = values + (key_starts[s] + i) * key_width;
        }
        for (int i = 0; i < chunk; i++) {
            int position = tokens - chunk + i;
            ptrdiff_t at = (query_starts[s] + i) * query_width;
            attend(heads, queries + at, &table, first_seen(heads, position), position + 1,
                   expected->outputs + at, expected->tolerances + at);
        }
        free_rows(&table);
    }
}

void kref_decode_attention(const kref_heads *heads, int sequences, const kref_paging *paging,
                           const double *queries, const double *key_cache,
                           const double *value_cache, const kref_expected *expected) {
    ptrdiff_t query_width = (ptrdiff_t)heads->query_heads * heads->head_dim;
    ptrdiff_t key_width = (ptrdiff_t)heads->kv_heads * heads->head_dim;
    for (int s = 0; s < sequences; s++) {
        int tokens = paging->lengths[s];
        rows table = allocate_rows(tokens);
        for (int i = 0; i < tokens; i++) {
            ptrdiff_t entry = (ptrdiff_t)s * paging->blocks_max + i / paging->block_tokens;
            ptrdiff_t block = paging->block_table[entry];
            ptrdiff_t row = block * paging->block_tokens + i % paging->block_tokens;
            table.keys[i] = key_cache + row * key_width;
            table.values[i] = value_cache + row * key_width;
        }
        ptrdiff_t at = s * query_width;
        attend(heads, queries + at, &table, first_seen(heads, tokens - 1), tokens,
               expected->outputs + at, expected->tolerances + at);
        free_rows(&table);
    }
}
