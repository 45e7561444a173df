#include "figures/delta.h"

enum {
    ELEMENT_BYTES = 2, /* of queries, keys and values */
    FLOAT_BYTES = 4,
    INDEX_BYTES = 4,
    THREADS = 128,
    RULE_FLOPS = 7, /* an element: decay, and a multiply-add to predict, to correct, to read */
};

static void add_definition(kref_work *work, const kref_delta_shape *shape, int64_t tokens) {
    int64_t heads = shape->heads;
    int64_t elements = heads * shape->key_dim * shape->value_dim;
    int64_t decays = heads * (shape->has_channel_decays ? shape->key_dim : 1);
    work->algorithmic_flops += RULE_FLOPS * tokens * elements;
    work->algorithmic_bytes += tokens > 0 ? 2 * FLOAT_BYTES * elements : 0;
    work->algorithmic_bytes += tokens *
                               (ELEMENT_BYTES * (2 * (int64_t)shape->key_heads * shape->key_dim +
                                                 heads * shape->value_dim) +
                                shape->output_bytes * heads * shape->value_dim +
                                FLOAT_BYTES * (decays + heads));
}

/* ---- Token by token ---- */

enum {
    STEP_COLUMNS = 32,
    STEP_ROWS = 16, /* that the threads stand in */
    STEP_WARPS = 4,
    LANE_VALUES = 4,
};

static void add_step_block(kref_work *work, const kref_delta_shape *shape, int64_t tokens) {
    int64_t key_dim = shape->key_dim;
    int64_t decays = shape->has_channel_decays ? key_dim / STEP_ROWS : 1;
    work->loaded_bytes += THREADS * 2 * INDEX_BYTES;
    if (tokens == 0) {
        return;
    }
    /* Twice a sum over rows: two steps in the warp, and the parts of the warps. */
    int64_t thread_flops = 2 * LANE_VALUES * (2 + STEP_WARPS) + 2 * LANE_VALUES;
    work->vector_flops += tokens * (RULE_FLOPS * key_dim * STEP_COLUMNS + THREADS * thread_flops +
                                    STEP_COLUMNS); /* scale */
    work->specials += tokens * THREADS * decays;
    int64_t thread_bytes = FLOAT_BYTES * (decays + 1) +
                           ELEMENT_BYTES * (2 * key_dim / STEP_ROWS + LANE_VALUES);
    work->loaded_bytes += THREADS * INDEX_BYTES + tokens * THREADS * thread_bytes +
                          FLOAT_BYTES * key_dim * STEP_COLUMNS;
    work->stored_bytes += FLOAT_BYTES * key_dim * STEP_COLUMNS +
                          tokens * STEP_COLUMNS * shape->output_bytes;
}

kref_work kref_delta_step_work(const kref_delta_shape *shape) {
    kref_work work = {.shared_bytes = 2 * STEP_WARPS * STEP_COLUMNS * FLOAT_BYTES};
    int64_t blocks = (int64_t)shape->heads * shape->value_dim / STEP_COLUMNS;
    for (int s = 0; s < shape->sequences; s++) {
        add_definition(&work, shape, shape->tokens[s]);
        for (int64_t i = 0; i < blocks; i++) {
            add_step_block(&work, shape, shape->tokens[s]);
        }
    }
    return work;
}

/* ---- By chunks ---- */

enum {
    CHUNK = 16,
    COLUMNS = 64,
    WARPS = 4,
    PACK = 8,
    PRODUCT_FLOPS = 2 * 16 * 8 * 16, /* of a matrix instruction */
    LANE_SUMS = 8,                   /* of two neighbouring tiles */
    LANE_ROWS = 2,
};

/* Pairs of tokens of a whole chunk, the earlier one first. */
enum { PAIRS = CHUNK * (CHUNK - 1) / 2, PAIRS_WITH_SELF = PAIRS + CHUNK };

static int64_t chunk_products(int64_t key_dim) {
    int64_t depths = key_dim / 16;
    int64_t with_state = WARPS * depths * 6; /* K S, Q S, Q K^T, two tiles each */
    int64_t overlaps = depths * 2;
    int64_t outputs = WARPS * 2;
    int64_t update = depths * (COLUMNS / 8);
    return with_state + overlaps + outputs + update;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* What only one decay a head needs, or only a decay for each channel. Sums go up to the token
 * behind a whole chunk, as far as there are `left`. */
static void add_decays(kref_work *work, const kref_delta_shape *shape, int64_t count,
                       int64_t left) {
    int64_t key_dim = shape->key_dim;
    if (shape->has_channel_decays) {
        int64_t summed = least(left - 1, CHUNK);
        work->vector_flops += summed * key_dim;    /* sums */
        work->vector_flops += count * key_dim * 5; /* a difference, four products */
        work->specials += count * key_dim * 3;
        work->specials += THREADS * key_dim / 64 * LANE_ROWS; /* what becomes of the state */
        work->loaded_bytes += FLOAT_BYTES * summed * key_dim;
        return;
    }
    for (int64_t token = 1; token <= CHUNK; token++) {
        int64_t added = least(token, left - 1);
        work->vector_flops += added;
        work->loaded_bytes += FLOAT_BYTES * added;
    }
    int64_t packs = count * key_dim / PACK;
    work->vector_flops += packs * (1 + PACK);
    work->specials += packs;
    /* e^G for each lane's row, and for the state; pairs; what was read and predicted. */
    work->specials += THREADS * (LANE_ROWS + 1);
    work->specials += PAIRS + WARPS * PAIRS_WITH_SELF;
    work->vector_flops += 2 * (PAIRS + WARPS * PAIRS_WITH_SELF);
    work->vector_flops += (int64_t)THREADS * LANE_SUMS * (1 + 1);
}

static void add_chunk(kref_work *work, const kref_delta_shape *shape, int64_t count, int64_t left) {
    int64_t key_dim = shape->key_dim;
    work->matrix_flops += chunk_products(key_dim) * PRODUCT_FLOPS;
    add_decays(work, shape, count, left);
    work->vector_flops += (int64_t)THREADS * LANE_SUMS * 2; /* residuals: difference, strength */
    work->vector_flops += PAIRS;                            /* strengths of A */
    work->vector_flops += COLUMNS * PAIRS * 2;              /* the triangular system */
    work->vector_flops += count * COLUMNS;                  /* scale */
    work->vector_flops += key_dim * COLUMNS;                /* decay of the state */
    /* Keys and queries, values, and for each of four lanes a row and warp a strength. */
    work->loaded_bytes += ELEMENT_BYTES * count * (2 * key_dim + COLUMNS) +
                          FLOAT_BYTES * count * 4 * WARPS;
    work->stored_bytes += count * COLUMNS * shape->output_bytes;
}

static void add_prefill_block(kref_work *work, const kref_delta_shape *shape, int64_t tokens) {
    work->loaded_bytes += THREADS * 2 * INDEX_BYTES;
    if (tokens == 0) {
        return;
    }
    int64_t state_elements = (int64_t)shape->key_dim * COLUMNS;
    work->loaded_bytes += THREADS * INDEX_BYTES + FLOAT_BYTES * state_elements;
    work->stored_bytes += FLOAT_BYTES * state_elements;
    /* The decay of the first token, of each row of a lane or the same for all. */
    int64_t decays = THREADS *
                     (shape->has_channel_decays ? shape->key_dim / 64 * (int64_t)LANE_ROWS : 1);
    work->loaded_bytes += FLOAT_BYTES * decays;
    work->specials += decays;
    work->vector_flops += state_elements;
    int64_t chunk = shape->chunk_tokens > 0 ? shape->chunk_tokens : CHUNK;
    for (int64_t first = 0; first < tokens; first += chunk) {
        add_chunk(work, shape, least(tokens - first, chunk), tokens - first);
    }
}

static int64_t chunk_shared(const kref_delta_shape *shape) {
    int64_t key_row = shape->key_dim + PACK;
    int64_t rows = shape->has_channel_decays ? 3 * CHUNK : 2 * CHUNK;
    int64_t narrow = rows * key_row + (shape->has_channel_decays ? 0 : PACK) +
                     shape->key_dim * (CHUNK + PACK) +
                     (shape->key_dim + CHUNK) * (int64_t)(COLUMNS + PACK);
    int64_t sums = (CHUNK + 1) * (int64_t)(shape->has_channel_decays ? shape->key_dim : 1);
    int64_t wide = CHUNK * (COLUMNS + CHUNK) + sums;
    return ELEMENT_BYTES * narrow + FLOAT_BYTES * (wide + WARPS);
}

kref_work kref_delta_prefill_work(const kref_delta_shape *shape) {
    kref_work work = {.shared_bytes = chunk_shared(shape)};
    int64_t blocks = (int64_t)shape->heads * shape->value_dim / COLUMNS;
    for (int s = 0; s < shape->sequences; s++) {
        add_definition(&work, shape, shape->tokens[s]);
        for (int64_t i = 0; i < blocks; i++) {
            add_prefill_block(&work, shape, shape->tokens[s]);
        }
    }
    return work;
}
