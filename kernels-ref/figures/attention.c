#include "figures/query_block.h"
#include "figures/splits.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t tiles_of(int64_t count, int64_t tile) {
    return (count + tile - 1) / tile;
}

enum {
    ELEMENT_BYTES = 2, /* of queries, keys and values */
    FLOPS_A_PAIR = 4,  /* and element of a head: a multiply-add each for score and value */
    INDEX_BYTES = 4,
};

/* In shared memory, where rows are 16 bytes longer. */
static int64_t row_bytes(int64_t head_dim) {
    return ELEMENT_BYTES * head_dim + 16;
}

static int64_t first_seen(const kref_attention_shape *shape, int64_t position) {
    return shape->window_tokens > 0 ? most(position - shape->window_tokens + 1, 0) : 0;
}

/* ---- Prefill ---- */

enum { KEY_TILE_ELEMENTS = 4096 };

static kref_query_shape block_shape(const kref_attention_shape *shape) {
    return (kref_query_shape){
        .key_tile = KEY_TILE_ELEMENTS / shape->head_dim,
        .key_dim = shape->head_dim,
        .value_dim = shape->head_dim,
        .output_bytes = shape->output_bytes,
    };
}

/* One block: `rows` queries from `position` on, of one head. */
static void add_prefill_block(kref_work *work, const kref_attention_shape *shape, int64_t position,
                              int64_t rows) {
    kref_query_shape block = block_shape(shape);
    int64_t first_key = first_seen(shape, position) / block.key_tile * block.key_tile;
    kref_add_query_block(work, &block, rows, position + rows - first_key);
}

static void add_prefill_definition(kref_work *work, const kref_attention_shape *shape,
                                   int64_t queries, int64_t tokens) {
    int64_t past = tokens - queries;
    int64_t pairs = 0;
    for (int64_t i = past; i < tokens; i++) {
        pairs += i + 1 - first_seen(shape, i);
    }
    int64_t head_dim = shape->head_dim;
    work->algorithmic_flops += FLOPS_A_PAIR * shape->query_heads * head_dim * pairs;
    int64_t seen = queries > 0 ? tokens - first_seen(shape, past) : 0;
    work->algorithmic_bytes += ELEMENT_BYTES * 2 * shape->kv_heads * head_dim * seen;
    work->algorithmic_bytes += (ELEMENT_BYTES + shape->output_bytes) * shape->query_heads *
                               head_dim * queries;
}

kref_work kref_prefill_attention_work(const kref_attention_shape *shape) {
    kref_work work = {0};
    for (int s = 0; s < shape->sequences; s++) {
        int64_t queries = shape->queries[s];
        int64_t past = shape->tokens[s] - queries;
        add_prefill_definition(&work, shape, queries, shape->tokens[s]);
        for (int head = 0; head < shape->query_heads; head++) {
            for (int64_t first = 0; first < queries; first += KREF_QUERY_TILE) {
                add_prefill_block(&work, shape, past + first,
                                  least(KREF_QUERY_TILE, queries - first));
            }
        }
    }
    kref_add_query_lookups(&work, shape->queries_max, shape->query_heads, shape->sequences);
    kref_query_shape block = block_shape(shape);
    work.shared_bytes = kref_query_shared(&block);
    return work;
}

/* ---- Decode ---- */

enum {
    DECODE_THREADS = 128,
    DECODE_WARPS = 4,
    DECODE_KEY_TILE = 16,
    DECODE_STAGES = 3,
    HEAD_ROWS = 16, /* query heads of a tile, whether they exist or not */
    FLOAT_BYTES = 4,
};

static void add_decode_block(kref_work *work, const kref_attention_shape *shape, int64_t keys) {
    int64_t head_dim = shape->head_dim;
    int64_t heads = shape->query_heads / shape->kv_heads;
    bool is_alone = shape->splits == 1;
    work->loaded_bytes += DECODE_THREADS * INDEX_BYTES; /* the length */
    if (keys == 0 && !is_alone) {
        return;
    }
    int64_t tiles = tiles_of(keys, DECODE_KEY_TILE);
    work->matrix_flops += tiles * FLOPS_A_PAIR * HEAD_ROWS * DECODE_KEY_TILE * head_dim;
    for (int64_t i = 0; i < tiles; i++) {
        kref_add_softmax(work, HEAD_ROWS, DECODE_KEY_TILE, head_dim);
    }
    work->loaded_bytes += heads * head_dim * ELEMENT_BYTES;
    work->loaded_bytes += 2 * keys * INDEX_BYTES; /* two lanes look a key's block up */
    work->copied_bytes += ELEMENT_BYTES * head_dim * 2 * keys;
    /* The end: weights summed over lanes; then each element takes in the parts of the warps, after
     * their maximum and the question whether there is any. */
    work->vector_flops += (int64_t)DECODE_WARPS * HEAD_ROWS * KREF_ROW_LANES * 2;
    work->vector_flops += heads * head_dim * (DECODE_WARPS * (1 + KREF_PART_FLOPS) + 1);
    work->specials += heads * head_dim * DECODE_WARPS;
    if (is_alone) {
        work->vector_flops += heads * head_dim * (keys > 0 ? 2 : 1);
        work->stored_bytes += heads * head_dim * shape->output_bytes;
    } else {
        work->stored_bytes += heads * (head_dim + 2) * FLOAT_BYTES;
    }
}

kref_work kref_decode_attention_work(const kref_attention_shape *shape) {
    int64_t head_dim = shape->head_dim;
    int64_t rows = DECODE_WARPS * DECODE_STAGES * 2 * DECODE_KEY_TILE + HEAD_ROWS;
    kref_work work = {.shared_bytes = rows * row_bytes(head_dim)};
    for (int s = 0; s < shape->sequences; s++) {
        int64_t tokens = shape->tokens[s];
        int64_t seen = tokens > 0 ? tokens - first_seen(shape, tokens - 1) : 0;
        work.algorithmic_flops += FLOPS_A_PAIR * shape->query_heads * head_dim * seen;
        work.algorithmic_bytes += ELEMENT_BYTES * 2 * shape->kv_heads * head_dim * seen;
        work.algorithmic_bytes += (ELEMENT_BYTES + shape->output_bytes) * shape->query_heads *
                                  head_dim;
        int64_t parts = 0;
        for (int split = 0; split < shape->splits; split++) {
            int64_t keys = kref_split_keys(seen, shape->splits, split, KREF_PAGED_GRAIN);
            parts += keys > 0 ? 1 : 0;
            for (int head = 0; head < shape->kv_heads; head++) {
                add_decode_block(&work, shape, keys);
            }
        }
        for (int head = 0; head < shape->query_heads && shape->splits > 1; head++) {
            kref_add_combine(&work, head_dim, parts, shape->output_bytes);
        }
    }
    return work;
}
