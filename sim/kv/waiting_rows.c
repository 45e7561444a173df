#include "kv/waiting_rows.h"

#include "base/minmax.h"
#include "kv/layer_share.h"
#include "model/state.h"

/* Whether its rows come in the format of the cache; others never wait. */
static bool is_formatted(const sli_store *store) {
    return store->element_bytes == 0;
}

/* No more than there ever are. */
static int64_t buffer_rows(const sli_store *store, const sli_layout_options *options) {
    const sli_growth *kept = &store->kept;
    bool is_chunk = kept->kind == SLI_GROWTH_SAWTOOTH;
    int64_t most = sli_min_i64(is_chunk ? kept->step_tokens : kept->cap_rows,
                               options->max_model_tokens);
    return is_formatted(store)
               ? sli_min_i64(sli_format_residual_most(options->cache, store->sort), most)
               : 0;
}

int64_t sli_waiting_rows(const sli_store *store, const sli_layout_options *options,
                         int64_t tokens) {
    int64_t kept = sli_layer_rows_kept(store, tokens);
    return is_formatted(store)
               ? sli_min_i64(sli_format_residual_rows(options->cache, store->sort, tokens), kept)
               : 0;
}

int64_t sli_waiting_row_bytes(const sli_store *store, const sli_layout_options *options) {
    return sli_state_row_rank_bytes(store, &sli_cache_formats[0], options->tp);
}

int64_t sli_waiting_buffers_bytes(const sli_part_facts *facts, const sli_layout_options *options) {
    int64_t bytes = 0;
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        bytes += buffer_rows(store, options) * sli_waiting_row_bytes(store, options);
    }
    return bytes;
}
