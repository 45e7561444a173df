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
