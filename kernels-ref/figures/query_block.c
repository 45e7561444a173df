#include "figures/query_block.h"

enum {
    THREADS = 128,
    ELEMENT_BYTES = 2, /* of queries, keys and values */
    INDEX_BYTES = 4,
    LONGER_BYTES = 16, /* rows in shared memory */
    SCORE_FLOPS = 4,   /* an element: its part in the maximum, scaling (2), summing */
    ROW_FLOPS = 6,     /* a lane's row: the rest of the maximum over lanes and with earlier
                          tiles, -infinity or not, base and sum */
};

static int64_t parts_of(int64_t count, int64_t part) {
    return (count + part - 1) / part;
}

void kref_add_softmax(kref_work *work, int64_t rows, int64_t keys, int64_t value_dim) {
    int64_t lane_rows = rows * KREF_ROW_LANES;
    int64_t scores = keys / KREF_ROW_LANES;
    int64_t sums = value_dim / KREF_ROW_LANES;
    work->vector_flops += lane_rows * (SCORE_FLOPS * scores + ROW_FLOPS + sums);
    work->specials += lane_rows * (scores + 1);
}

void kref_add_query_block(kref_work *work, const kref_query_shape *shape, int64_t rows,
                          int64_t keys) {
    int64_t tiles = parts_of(keys, shape->key_tile);
    int64_t width = shape->key_dim + shape->value_dim;
    work->matrix_flops += tiles * 2 * KREF_QUERY_TILE * shape->key_tile * width;
    for (int64_t i = 0; i < tiles; i++) {
        kref_add_softmax(work, KREF_QUERY_TILE, shape->key_tile, shape->value_dim);
    }
    /* The end: weights summed over the lanes of each row, rows that exist divided and written. */
    work->vector_flops += (int64_t)KREF_QUERY_TILE * KREF_ROW_LANES * 2;
    work->vector_flops += rows * KREF_ROW_LANES * (1 + shape->value_dim / KREF_ROW_LANES);
    work->copied_bytes += ELEMENT_BYTES * (rows * shape->key_dim + keys * width);
    work->stored_bytes += rows * shape->value_dim * shape->output_bytes;
}

void kref_add_query_lookups(kref_work *work, int64_t queries_max, int64_t heads,
                            int64_t sequences) {
    int64_t blocks = parts_of(queries_max, KREF_QUERY_TILE) * heads * sequences;
    work->loaded_bytes += blocks * THREADS * 4 * INDEX_BYTES; /* where it begins and ends */
}

int64_t kref_query_shared(const kref_query_shape *shape) {
    int64_t key_bytes = ELEMENT_BYTES * shape->key_dim + LONGER_BYTES;
    int64_t value_bytes = ELEMENT_BYTES * shape->value_dim + LONGER_BYTES;
    return (KREF_QUERY_TILE + shape->key_tile) * key_bytes + shape->key_tile * value_bytes;
}
