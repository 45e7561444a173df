/*
 * A batch put together row by row and chunk by chunk, as the engine sums it up: for tests of what
 * is counted from a shape.
 */
#ifndef SLUICE_TESTS_MODEL_BATCH_SHAPE_H
#define SLUICE_TESTS_MODEL_BATCH_SHAPE_H

#include "model/batch_sums.h"
#include "sluice/cost.h"

/* A decode row of a sequence that has so many tokens, the new one among them. */
static inline void add_decode_row(sl_batch_shape *shape, const sli_growth_list *growths,
                                  int64_t tokens) {
    shape->tokens += 1;
    shape->sequences += 1;
    shape->emitting += 1;
    shape->decodes += 1;
    shape->decode_kv_tokens += tokens;
    shape->decode_kv_max = shape->decode_kv_max > tokens ? shape->decode_kv_max : tokens;
    for (int i = 0; i < growths->count; i++) {
        shape->decode_visible[i] += sli_growth_at(&growths->rows[i], tokens);
    }
}

/* A chunk over a computed prefix that draws a token. */
static inline void add_prefill_chunk(sl_batch_shape *shape, const sli_growth_list *growths,
                                     int64_t prefix_tokens, int64_t chunk_tokens) {
    int64_t tokens = prefix_tokens + chunk_tokens;
    shape->tokens += chunk_tokens;
    shape->sequences += 1;
    shape->emitting += 1;
    shape->prefills += 1;
    shape->prefill_tokens += chunk_tokens;
    shape->prefill_kv_tokens += tokens;
    shape->prefill_kv_max = shape->prefill_kv_max > tokens ? shape->prefill_kv_max : tokens;
    shape->prefill_pairs += chunk_tokens * prefix_tokens + chunk_tokens * (chunk_tokens + 1) / 2;
    shape->prefill_tile_pairs_x2 += (chunk_tokens + 127) / 128 * 128 *
                                    (2 * prefix_tokens + chunk_tokens + 128);
    for (int i = 0; i < growths->count; i++) {
        shape->prefill_visible[i] += sli_growth_pairs(&growths->rows[i], prefix_tokens,
                                                      chunk_tokens);
    }
}

#endif
