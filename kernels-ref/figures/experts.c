#include "figures/product.h"

enum { FLOAT_BYTES = 4, INDEX_BYTES = 4, ELEMENT_BYTES = 2, WARP_LANES = 32, WARP_STEPS = 5 };

static int64_t parts_of(int64_t count, int64_t part) {
    return (count + part - 1) / part;
}

kref_work kref_router_work(int64_t tokens, int64_t experts, int64_t top_k) {
    enum { WARPS = 4, WEIGH_FLOPS = 3 }; /* difference, product, summed up */
    /* Every lane follows the weights of the chosen; a division by each, though some have none. */
    int64_t lane_flops = WARP_STEPS + WEIGH_FLOPS * top_k;
    return (kref_work){
        .algorithmic_flops = tokens * (WEIGH_FLOPS * experts + top_k),
        .vector_flops = tokens * (WEIGH_FLOPS * experts + WARP_LANES * lane_flops + top_k),
        .specials = tokens * (experts + WARP_LANES * top_k),
        .algorithmic_bytes = tokens * (experts * FLOAT_BYTES + top_k * (FLOAT_BYTES + INDEX_BYTES)),
        .loaded_bytes = tokens * experts * FLOAT_BYTES,
        .stored_bytes = tokens * top_k * (FLOAT_BYTES + INDEX_BYTES),
        .shared_bytes = tokens > 0 ? WARPS * experts * FLOAT_BYTES : 0,
    };
}

/* ---- Sorted by expert ---- */

static int64_t tile_rows_of(const kref_expert_shape *shape) {
    enum { FEW_ROWS = 32, MANY_ROWS = 128 };
    return shape->pairs / FEW_ROWS <= shape->experts ? FEW_ROWS : MANY_ROWS;
}

static int64_t tiles_of(const kref_expert_shape *shape) {
    int64_t tiles = 0;
    for (int64_t i = 0; i < shape->experts; i++) {
        tiles += parts_of(shape->counts[i], tile_rows_of(shape));
    }
    return tiles;
}

kref_work kref_expert_order_work(const kref_expert_shape *shape) {
    enum { SLICE = 1024 };
    int64_t pairs = shape->pairs;
    int64_t counts = parts_of(pairs, SLICE) * shape->experts;
    return (kref_work){
        .algorithmic_bytes = INDEX_BYTES * (pairs + 2 * pairs),
        /* Pairs are read to be counted and to be placed; counts are written, summed, replaced by
         * places, and these are read. */
        .loaded_bytes = INDEX_BYTES * (2 * pairs + 3 * counts),
        .stored_bytes = INDEX_BYTES *
                        (2 * pairs + 2 * counts + (shape->experts + 1) + 1 + 2 * tiles_of(shape)),
        .shared_bytes = pairs > 0 ? INDEX_BYTES * SLICE : 2 * INDEX_BYTES * WARP_LANES,
    };
}

kref_work kref_expert_gemm_work(const kref_expert_shape *shape) {
    enum { THREADS = 256, ROW_THREADS = 8, TILE_INDEXES = 3 };
    int64_t rows = tile_rows_of(shape);
    int64_t across = parts_of(shape->n, KREF_PRODUCT_COLUMNS);
    kref_gemm_shape product = {
        .n = shape->n,
        .k = shape->k,
        .element_bytes = ELEMENT_BYTES,
        .output_bytes = shape->output_bytes,
    };
    kref_work work = {.shared_bytes = shape->pairs > 0 ? kref_product_shared(rows) : 0};
    int64_t distinct = 0;
    for (int64_t i = 0; i < shape->experts; i++) {
        kref_add_product(&work, shape->counts[i], rows, &product);
        distinct += shape->counts[i] > 0 ? 1 : 0;
    }
    int64_t sources = shape->top_k > 0 ? shape->pairs / shape->top_k : shape->pairs;
    work.algorithmic_flops = 2 * shape->pairs * shape->n * shape->k;
    work.algorithmic_bytes = ELEMENT_BYTES * shape->k * (sources + distinct * shape->n) +
                             shape->output_bytes * shape->pairs * shape->n;
    /* Each thread asks how many tiles there are, and if its own is one which and where it ends;
     * those that copy a row of a token ask which. */
    int64_t with_pairs = shape->pairs < shape->experts ? shape->pairs : shape->experts;
    int64_t blocks = shape->pairs > 0 ? shape->pairs / rows + with_pairs : 0;
    work.loaded_bytes = across * THREADS * INDEX_BYTES * (blocks + TILE_INDEXES * tiles_of(shape));
    if (shape->top_k > 0) {
        work.loaded_bytes += across * shape->pairs * ROW_THREADS * INDEX_BYTES;
    }
    return work;
}

kref_work kref_expert_sum_work(int64_t tokens, int64_t top_k, int64_t width, int output_bytes) {
    enum { PACK = 8 };
    int64_t elements = tokens * width;
    int64_t flops = 2 * elements * top_k;
    return (kref_work){
        .algorithmic_flops = flops,
        .vector_flops = flops,
        .algorithmic_bytes = elements * (ELEMENT_BYTES * top_k + output_bytes),
        .loaded_bytes = top_k *
                        (elements * ELEMENT_BYTES + elements / PACK * (FLOAT_BYTES + INDEX_BYTES)),
        .stored_bytes = elements * output_bytes,
    };
}
