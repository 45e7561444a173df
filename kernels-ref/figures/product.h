/*
 * The block of a matrix product, for gemm and expert_gemm: what cuda/product.h executes.
 */
#ifndef KREF_FIGURES_PRODUCT_H
#define KREF_FIGURES_PRODUCT_H

#include "figures/work.h"

enum { KREF_PRODUCT_COLUMNS = 128 };

/* Adds all blocks of `rows` rows of the left operand, `block_rows` a block. */
void kref_add_product(kref_work *work, int64_t rows, int64_t block_rows,
                      const kref_gemm_shape *shape);

/* Of a block. */
int64_t kref_product_shared(int64_t block_rows);

#endif
