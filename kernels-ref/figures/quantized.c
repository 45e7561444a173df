#include "figures/quantized.h"

#include "figures/splits.h"

enum {
    ELEMENT_BYTES = 2,
    FLOAT_BYTES = 4,
    WARPS = 4,
    WARP_LANES = 32,
    KEY_TILE = 16,
    STAGES = 3,
    HEAD_ROWS = 16,
    Q4_GROUP = 32,
    SCALE_BYTES = 2,
};

static int64_t scales_of(kref_cache_format format, int64_t head_dim) {
    switch (format) {
    case KREF_CACHE_FP8:
        break;
    case KREF_CACHE_INT8:
        return 1;
    case KREF_CACHE_Q4_0:
        return head_dim / Q4_GROUP;
    }
    return 0;
}

/* Of a block: for each warp three tiles as they are stored, with an even end, and one in bf16; or,
 * if that is more, what it has found. Rows in bf16 are 16 bytes longer. */
static int64_t shared_bytes(kref_cache_format format, int64_t head_dim) {
    int64_t scales = scales_of(format, head_dim);
    int64_t tile = KEY_TILE * kref_cache_row_bytes(format, head_dim);
    tile += scales == 0 ? KEY_TILE : 0;
    tile = (tile + 15) / 16 * 16;
    int64_t row = ELEMENT_BYTES * head_dim + 16;
    int64_t stages = 2 * (STAGES * tile + KEY_TILE * row);
    int64_t result = HEAD_ROWS * (head_dim + 2) * FLOAT_BYTES;
    return WARPS * (stages > result ? stages : result) + HEAD_ROWS * row;
}

/* What differs from a cache in bf16, for `keys` keys of a head: fewer bytes are copied; scales are
 * loaded, those of fp8 by each lane for each tile; each element of a tile is multiplied with one.
 */
static void narrow(kref_work *work, kref_cache_format format, int64_t head_dim, int64_t keys) {
    int64_t scale_bytes = SCALE_BYTES * scales_of(format, head_dim);
    int64_t code_bytes = kref_cache_row_bytes(format, head_dim) - scale_bytes;
    int64_t tiles = (keys + KEY_TILE - 1) / KEY_TILE;
    work->copied_bytes -= 2 * keys * (ELEMENT_BYTES * head_dim - code_bytes);
    work->loaded_bytes += 2 * keys * scale_bytes;
    work->loaded_bytes += format == KREF_CACHE_FP8 ? 2 * tiles * WARP_LANES * FLOAT_BYTES : 0;
    work->vector_flops += 2 * tiles * KEY_TILE * head_dim;
}

kref_work kref_quantized_decode_work(const kref_attention_shape *shape, kref_cache_format format) {
    int64_t head_dim = shape->head_dim;
    kref_work work = kref_decode_attention_work(shape);
    work.shared_bytes = shared_bytes(format, head_dim);
    for (int s = 0; s < shape->sequences; s++) {
        int64_t seen = shape->tokens[s];
        if (shape->window_tokens > 0 && seen > shape->window_tokens) {
            seen = shape->window_tokens;
        }
        int64_t saved_bytes = ELEMENT_BYTES * head_dim - kref_cache_row_bytes(format, head_dim);
        work.algorithmic_bytes -= 2 * shape->kv_heads * seen * saved_bytes;
        for (int split = 0; split < shape->splits; split++) {
            int64_t keys = kref_split_keys(seen, shape->splits, split, KREF_PAGED_GRAIN);
            for (int head = 0; head < shape->kv_heads; head++) {
                narrow(&work, format, head_dim, keys);
            }
        }
    }
    return work;
}
