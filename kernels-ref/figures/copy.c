#include "figures/copy.h"

enum { INDEX_BYTES = 4, ELEMENT_BYTES = 2 };

kref_work kref_block_copy_work(int64_t blocks, int64_t block_bytes, int lists) {
    enum { THREADS = 128, PIECE_BYTES = 8192 };
    int64_t pieces = (block_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    return (kref_work){
        .algorithmic_bytes = 2 * blocks * block_bytes,
        .loaded_bytes = blocks * (block_bytes + pieces * THREADS * lists * INDEX_BYTES),
        .stored_bytes = blocks * block_bytes,
    };
}

kref_work kref_gather_rows_work(int64_t rows, int64_t found, int64_t width) {
    enum { WARP_LANES = 32 };
    return (kref_work){
        .algorithmic_bytes = ELEMENT_BYTES * width * (found + rows),
        /* Each lane reads what is chosen, and its block. */
        .loaded_bytes = ELEMENT_BYTES * width * found + INDEX_BYTES * WARP_LANES * (rows + found),
        .stored_bytes = ELEMENT_BYTES * width * rows,
    };
}

/* ---- Quantised rows ---- */

enum { Q4_GROUP = 32, Q4_GROUP_BYTES = 18, INT8_SCALE_BYTES = 2, FLOAT_BYTES = 4, PACK = 8 };

int64_t kref_cache_row_bytes(kref_cache_format format, int64_t head_dim) {
    switch (format) {
    case KREF_CACHE_FP8:
        break;
    case KREF_CACHE_INT8:
        return head_dim + INT8_SCALE_BYTES;
    case KREF_CACHE_Q4_0:
        return head_dim / Q4_GROUP * Q4_GROUP_BYTES;
    }
    return head_dim;
}

/* Of a lane, which holds 8 elements; `row_lanes` hold a row. */
static int64_t append_flops(kref_cache_format format, int64_t row_lanes) {
    int64_t steps = 0; /* of a maximum over the lanes */
    for (int64_t pattern = 1; pattern < row_lanes; pattern *= 2) {
        steps++;
    }
    switch (format) {
    case KREF_CACHE_FP8:
        break;
    case KREF_CACHE_INT8:
        return 2 * PACK + steps + 2 + PACK; /* magnitudes and maximum; scale, inverse; products */
    case KREF_CACHE_Q4_0:
        /* Both ends, over four lanes; which of them, scale, inverse; a product and a sum each. */
        return 2 * (PACK - 1) + 2 * 2 + 3 + 2 * PACK;
    }
    return 1 + PACK; /* inverse, products */
}

kref_work kref_kv_append_work(kref_cache_format format, int64_t tokens, int64_t written,
                              int64_t kv_heads, int64_t head_dim) {
    enum { THREADS = 128 };
    int64_t row_lanes = head_dim / PACK;
    int64_t block_rows = THREADS / row_lanes;
    int64_t rows = tokens * kv_heads;
    int64_t threads = (rows + block_rows - 1) / block_rows * THREADS;
    int64_t elements = 2 * written * kv_heads * head_dim;
    int64_t row_bytes = kref_cache_row_bytes(format, head_dim);
    int64_t scale_bytes = format == KREF_CACHE_FP8 ? FLOAT_BYTES : 0;
    return (kref_work){
        .algorithmic_flops = elements,
        .vector_flops = 2 * threads * append_flops(format, row_lanes),
        .algorithmic_bytes = ELEMENT_BYTES * elements + 2 * written * kv_heads * row_bytes,
        /* Each lane of a row reads the slot, and where it is one, the scale of fp8. */
        .loaded_bytes = ELEMENT_BYTES * elements + 2 * rows * row_lanes * INDEX_BYTES +
                        2 * written * kv_heads * row_lanes * scale_bytes,
        .stored_bytes = 2 * written * kv_heads * row_bytes,
    };
}
