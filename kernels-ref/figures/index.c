#include "figures/index.h"

enum { INDEX_BYTES = 4, ELEMENT_BYTES = 2, FLOAT_BYTES = 4 };

/* ---- Scores ---- */

enum {
    WIDTH = 128,
    THREADS = 128,
    BLOCK_KEYS = 64,
    HEADS_MAX = 64,
    HEAD_TILE = 16,
    PRODUCT_FLOPS = 2, /* of a head, a key and an element */
};

static int64_t key_bytes(bool has_codes) {
    return has_codes ? WIDTH + FLOAT_BYTES : ELEMENT_BYTES * WIDTH;
}

static void add_score_block(kref_work *work, int64_t heads, int64_t keys, bool has_codes) {
    work->loaded_bytes += THREADS * INDEX_BYTES; /* the length */
    if (keys <= 0) {
        return;
    }
    keys = keys < BLOCK_KEYS ? keys : BLOCK_KEYS;
    work->matrix_flops += PRODUCT_FLOPS * heads * BLOCK_KEYS * WIDTH;
    /* A thread has 8 products of each tile of heads: a maximum and a multiply-add; then 4 sums of
     * two rows and over 8 lanes. */
    work->vector_flops += THREADS * (heads / HEAD_TILE * 8 * 3 + 4 * (1 + 3));
    work->loaded_bytes += heads * FLOAT_BYTES + 2 * keys * INDEX_BYTES;
    work->copied_bytes += ELEMENT_BYTES * WIDTH * heads;
    work->stored_bytes += keys * FLOAT_BYTES;
    if (has_codes) {
        work->loaded_bytes += keys * key_bytes(true);
        work->vector_flops += keys; /* the scale of each score */
    } else {
        work->copied_bytes += keys * key_bytes(false);
    }
}

kref_work kref_index_scores_work(int sequences, const int32_t *lengths, int64_t tokens_max,
                                 int64_t heads, bool has_codes) {
    int64_t rows = HEADS_MAX + BLOCK_KEYS;
    kref_work work = {.shared_bytes = ELEMENT_BYTES * rows * (WIDTH + 8) + HEADS_MAX * FLOAT_BYTES};
    for (int s = 0; s < sequences; s++) {
        work.algorithmic_flops += PRODUCT_FLOPS * heads * WIDTH * lengths[s];
        work.algorithmic_bytes += heads * (ELEMENT_BYTES * WIDTH + FLOAT_BYTES) +
                                  lengths[s] * (key_bytes(has_codes) + FLOAT_BYTES);
        for (int64_t first = 0; first < tokens_max; first += BLOCK_KEYS) {
            add_score_block(&work, heads, lengths[s] - first, has_codes);
        }
    }
    return work;
}

/* ---- Selection ---- */

kref_work kref_select_top_work(int rows, const int32_t *lengths, int64_t top) {
    enum { SELECT_THREADS = 256, PASSES = 5, WARPS = 8 };
    kref_work work = {.shared_bytes = FLOAT_BYTES * (256 + WARPS + 2 + 2 * WARPS)};
    for (int row = 0; row < rows; row++) {
        int64_t passes = lengths[row] > top ? PASSES : 0;
        work.algorithmic_bytes += (lengths[row] + top) * INDEX_BYTES;
        work.loaded_bytes += SELECT_THREADS * INDEX_BYTES + passes * lengths[row] * FLOAT_BYTES;
        work.stored_bytes += top * INDEX_BYTES;
    }
    return work;
}
