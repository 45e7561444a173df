#include "figures/product.h"

enum { FEW_ROWS = 32, BLOCK_ROWS = 128, STEP_BYTES = 128, STAGES = 3, PACK_BYTES = 16 };

static int64_t parts_of(int64_t count, int64_t part) {
    return (count + part - 1) / part;
}

void kref_add_product(kref_work *work, int64_t rows, int64_t block_rows,
                      const kref_gemm_shape *shape) {
    int64_t down = parts_of(rows, block_rows);
    int64_t across = parts_of(shape->n, KREF_PRODUCT_COLUMNS);
    int64_t step = STEP_BYTES / shape->element_bytes;
    int64_t depth = parts_of(shape->k, step) * step;
    work->matrix_flops += 2 * down * block_rows * across * KREF_PRODUCT_COLUMNS * depth;
    work->copied_bytes += shape->element_bytes * shape->k * (across * rows + down * shape->n);
    work->stored_bytes += shape->output_bytes * rows * shape->n;
}

int64_t kref_product_shared(int64_t block_rows) {
    return STAGES * (block_rows + KREF_PRODUCT_COLUMNS) * (STEP_BYTES + PACK_BYTES);
}

kref_work kref_gemm_work(const kref_gemm_shape *shape) {
    int64_t m = shape->m;
    int64_t block_rows = m <= FEW_ROWS ? FEW_ROWS : BLOCK_ROWS;
    kref_work work = {
        .algorithmic_flops = 2 * m * shape->n * shape->k,
        .algorithmic_bytes = shape->element_bytes * shape->k * (m + shape->n) +
                             shape->output_bytes * m * shape->n,
        .shared_bytes = m > 0 ? kref_product_shared(block_rows) : 0,
    };
    kref_add_product(&work, m, block_rows, shape);
    /* The scale, of all sums of all blocks. */
    work.vector_flops = parts_of(m, block_rows) * block_rows *
                        parts_of(shape->n, KREF_PRODUCT_COLUMNS) * KREF_PRODUCT_COLUMNS;
    return work;
}
