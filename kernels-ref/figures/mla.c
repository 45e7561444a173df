#include "figures/query_block.h"
#include "figures/splits.h"

enum { LATENT = 512, ROPE = 64, ROW = LATENT + ROPE, NOPE = 128, VALUE = 128 };

enum {
    ROW_LANES = KREF_ROW_LANES,
    ELEMENT_BYTES = 2,
    INDEX_BYTES = 4,
    FLOAT_BYTES = 4,
    PACK = 8,
};

static int64_t parts_of(int64_t count, int64_t part) {
    return (count + part - 1) / part;
}

/* ---- Decode ---- */

enum { THREADS = 256, WARPS = 8, KEY_TILE = 32, KEY_PARTS = 2, FEW_HEADS = 16, MANY_HEADS = 64 };

static int64_t rows_of(const kref_mla_shape *shape) {
    return shape->heads <= FEW_HEADS ? FEW_HEADS : MANY_HEADS;
}

/* One tile, `rows` heads: of each half of the keys a lane has four scores of a row. */
static void add_decode_tile(kref_work *work, int64_t rows) {
    enum {
        SCORES = KEY_TILE / KEY_PARTS / ROW_LANES,
        MAXIMUM_FLOPS = SCORES - 1 + 2 + 1, /* own, over the lanes, with the other half */
        ROW_FLOPS = 5,                      /* scale, maximum, -infinity or not, base, old sum */
        SCORE_FLOPS = 3,                    /* scaled and taken off, summed up */
    };
    int64_t lane_rows = rows * KEY_PARTS * ROW_LANES;
    work->matrix_flops += 2 * rows * KEY_TILE * (ROW + LATENT);
    work->vector_flops += lane_rows * (MAXIMUM_FLOPS + ROW_FLOPS + SCORES * SCORE_FLOPS);
    work->vector_flops += rows * LATENT; /* earlier sums shrink */
    work->specials += lane_rows * (SCORES + 1);
}

static void add_decode_block(kref_work *work, const kref_mla_shape *shape, int64_t heads,
                             int64_t keys) {
    int64_t rows = rows_of(shape);
    bool is_alone = shape->splits == 1;
    work->loaded_bytes += THREADS * INDEX_BYTES; /* the length */
    if (keys == 0 && !is_alone) {
        return;
    }
    for (int64_t i = 0; i < parts_of(keys, KEY_TILE); i++) {
        add_decode_tile(work, rows);
    }
    work->loaded_bytes += heads * ROW * ELEMENT_BYTES;
    work->loaded_bytes += WARPS * keys * INDEX_BYTES; /* each warp looks a key's block up */
    work->copied_bytes += keys * ROW * ELEMENT_BYTES;
    /* The end: weights summed over the lanes of a row. */
    work->vector_flops += rows * KEY_PARTS * ROW_LANES * 2;
    if (is_alone) {
        /* The halves added up, anything there or not, its inverse: by each lane of each warp. */
        work->vector_flops += rows * ROW_LANES * WARPS * (keys > 0 ? 3 : 2);
        work->vector_flops += rows * LATENT;
        work->stored_bytes += heads * LATENT * shape->output_bytes;
    } else {
        work->vector_flops += heads;
        work->stored_bytes += heads * (LATENT + 2) * FLOAT_BYTES;
    }
}

static int64_t decode_shared(int64_t rows) {
    int64_t row_bytes = (ROW + PACK) * ELEMENT_BYTES;
    int64_t head_bytes = row_bytes + (KEY_TILE + PACK) * ELEMENT_BYTES +
                         (2 * KEY_PARTS + 1) * FLOAT_BYTES;
    return rows * head_bytes + 2 * KEY_TILE * row_bytes;
}

kref_work kref_mla_decode_work(const kref_mla_shape *shape) {
    int64_t rows = rows_of(shape);
    kref_work work = {.shared_bytes = shape->sequences > 0 ? decode_shared(rows) : 0};
    for (int s = 0; s < shape->sequences; s++) {
        int64_t tokens = shape->tokens[s];
        work.algorithmic_flops += 2 * shape->heads * (ROW + LATENT) * tokens;
        work.algorithmic_bytes += ELEMENT_BYTES * ROW * (tokens + shape->heads);
        work.algorithmic_bytes += shape->output_bytes * LATENT * shape->heads;
        int64_t parts = 0;
        for (int split = 0; split < shape->splits; split++) {
            int64_t keys = kref_split_keys(tokens, shape->splits, split, KREF_LATENT_GRAIN);
            parts += keys > 0 ? 1 : 0;
            for (int64_t head = 0; head < shape->heads; head += rows) {
                int64_t left = shape->heads - head;
                add_decode_block(&work, shape, left < rows ? left : rows, keys);
            }
        }
        for (int64_t head = 0; head < shape->heads && shape->splits > 1; head++) {
            kref_add_combine(&work, LATENT, parts, shape->output_bytes);
        }
    }
    return work;
}

/* ---- Prefill ---- */

static const kref_query_shape prefill_block = {
    .key_tile = 32,
    .key_dim = NOPE + ROPE,
    .value_dim = VALUE,
};

static void add_prefill_definition(kref_work *work, const kref_mla_shape *shape, int64_t queries,
                                   int64_t tokens) {
    int64_t pairs = queries * (tokens - queries) + queries * (queries + 1) / 2;
    int64_t heads = shape->heads;
    work->algorithmic_flops += 2 * heads * (NOPE + ROPE + VALUE) * pairs;
    int64_t keys = queries > 0 ? tokens : 0;
    work->algorithmic_bytes += ELEMENT_BYTES * keys * (heads * (NOPE + VALUE) + ROPE);
    work->algorithmic_bytes += queries * heads *
                               (ELEMENT_BYTES * (NOPE + ROPE) + shape->output_bytes * VALUE);
}

kref_work kref_mla_prefill_work(const kref_mla_shape *shape) {
    kref_query_shape block = prefill_block;
    block.output_bytes = shape->output_bytes;
    kref_work work = {.shared_bytes = kref_query_shared(&block)};
    for (int s = 0; s < shape->sequences; s++) {
        int64_t queries = shape->queries[s];
        int64_t past = shape->tokens[s] - queries;
        add_prefill_definition(&work, shape, queries, shape->tokens[s]);
        for (int64_t first = 0; first < queries; first += KREF_QUERY_TILE) {
            int64_t left = queries - first;
            int64_t rows = left < KREF_QUERY_TILE ? left : KREF_QUERY_TILE;
            for (int head = 0; head < shape->heads; head++) {
                kref_add_query_block(&work, &block, rows, past + first + rows);
            }
        }
    }
    kref_add_query_lookups(&work, shape->queries_max, shape->heads, shape->sequences);
    return work;
}
