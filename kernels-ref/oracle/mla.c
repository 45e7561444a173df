#include "oracle/mla.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A test that has no memory left has nothing to tell. */
static void *allocate(ptrdiff_t count, size_t bytes) {
    void *memory = malloc(((size_t)count + 1) * bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void kref_mla_decode(const kref_mla *mla, int sequences, const kref_paging *paging,
                     const double *queries, const double *cache, const kref_expected *expected) {
    ptrdiff_t width = mla->latent + mla->rope;
    for (ptrdiff_t s = 0; s < sequences; s++) {
        int tokens = paging->lengths[s];
        const double **rows = allocate(tokens, sizeof *rows);
        for (int i = 0; i < tokens; i++) {
            ptrdiff_t entry = s * paging->blocks_max + i / paging->block_tokens;
            ptrdiff_t block = paging->block_table[entry];
            rows[i] = cache + (block * paging->block_tokens + i % paging->block_tokens) * width;
        }
        kref_visible visible = {rows, rows, tokens};
        for (ptrdiff_t head = s * mla->heads; head < (s + 1) * mla->heads; head++) {
            kref_uneven_attention_row(queries + head * width, &visible, (int)width, mla->latent,
                                      mla->scale, expected->outputs + head * mla->latent,
                                      expected->tolerances + head * mla->latent);
        }
        free(rows);
    }
}

/* Keys of one head and sequence, put together from what is theirs and what all heads share; values
 * stay where they are. */
typedef struct head_rows {
    double *joined;
    const double **keys;
    const double **values;
} head_rows;

static head_rows join_keys(const kref_mla *mla, ptrdiff_t first, int tokens, int head,
                           const double *expanded, const double *rows) {
    ptrdiff_t key_width = mla->nope + mla->rope;
    head_rows joined = {
        .joined = allocate(tokens * key_width, sizeof(double)),
        .keys = allocate(tokens, sizeof(double *)),
        .values = allocate(tokens, sizeof(double *)),
    };
    for (ptrdiff_t i = 0; i < tokens; i++) {
        ptrdiff_t token = first + i;
        const double *own = expanded + (token * mla->heads + head) * (mla->nope + mla->value);
        const double *shared = rows + token * (mla->latent + mla->rope) + mla->latent;
        double *key = joined.joined + i * key_width;
        memcpy(key, own, (size_t)mla->nope * sizeof *key);
        memcpy(key + mla->nope, shared, (size_t)mla->rope * sizeof *key);
        joined.keys[i] = key;
        joined.values[i] = own + mla->nope;
    }
    return joined;
}

static void free_rows(head_rows *it) {
    free(it->joined);
    free(it->keys);
    free(it->values);
}

void kref_mla_prefill(const kref_mla *mla, int sequences, const int32_t *query_starts,
                      const int32_t *key_starts, const double *queries, const double *expanded,
                      const double *rows, const kref_expected *expected) {
    ptrdiff_t key_width = mla->nope + mla->rope;
    for (int s = 0; s < sequences; s++) {
        int tokens = key_starts[s + 1] - key_starts[s];
        int chunk = query_starts[s + 1] - query_starts[s];
        for (int head = 0; head < mla->heads; head++) {
            head_rows its = join_keys(mla, key_starts[s], tokens, head, expanded, rows);
            for (int i = 0; i < chunk; i++) {
                ptrdiff_t query = ((ptrdiff_t)query_starts[s] + i) * mla->heads + head;
                kref_visible visible = {its.keys, its.values, tokens - chunk + i + 1};
                kref_uneven_attention_row(queries + query * key_width, &visible, (int)key_width,
                                          mla->value, mla->scale,
                                          expected->outputs + query * mla->value,
                                          expected->tolerances + query * mla->value);
            }
            free_rows(&its);
        }
    }
}
