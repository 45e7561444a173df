#include "run/request_state.h"

#include "base/minmax.h"
#include "model/state.h"

/* Of the rows that a sequence keeps, those that do not stem from its first `shared_tokens`, the
 * latest. State that is there from the start is left out: it is never shared. */
static int64_t own_rows(const sli_growth *kept, int64_t tokens, int64_t shared_tokens) {
    if (sli_growth_is_constant(kept)) {
        return 0;
    }
    int64_t came = kept->kind == SLI_GROWTH_SAWTOOTH
                       ? tokens - shared_tokens
                       : tokens / kept->step_tokens - shared_tokens / kept->step_tokens;
    return sli_min_i64(came, sli_growth_last(kept, tokens));
}

/* The part of the rank, keeping those rows and nothing else. */
static sli_part_facts own_of(const sli_part_facts *whole, const sli_part_facts *rank,
                             const sli_request_query *query) {
    sli_part_facts own = *rank;
    for (int i = 0; i < own.store_count; i++) {
        const sli_store *store = &whole->stores[i];
        int64_t rows = own_rows(&store->kept, query->tokens, query->shared_tokens);
        own.stores[i].kept = sli_growth_constant(sli_placement_rows(store, query->placement, rows));
    }
    return own;
}

static void add_part(const sli_part_facts *whole, const sli_request_query *query, int64_t layers,
                     sli_request_state *sum) {
    sli_part_facts rank = sli_placement_part(whole, query->placement, query->tokens);
    sli_part_facts own = own_of(whole, &rank, query);
    sli_state_bytes state = sli_state_part(&rank, query->cache, query->tokens);
    int64_t own_bytes = sli_state_part(&own, query->cache, query->tokens).fixed;
    sum->growing_bytes += layers * state.cached;
    sum->fixed_bytes += layers * state.fixed;
    sum->prefix_bytes += layers * (state.cached - own_bytes);
    sum->read_bytes += layers * sli_state_part_read(&rank, query->cache, query->tokens);
}

sli_request_state sli_request_state_count(const sli_request_query *query) {
    const sli_layer_run *runs = query->architecture->layers.rows;
    sli_request_state sum = {0};
    int64_t begin = 0;
    for (size_t i = 0; i < query->architecture->layers.count; begin += runs[i].count, i++) {
        int64_t layers = sli_stage_layers(&query->layers, &runs[i], begin);
        if (layers > 0) {
            add_part(&runs[i].mixer->facts, query, layers, &sum);
        }
    }
    return sum;
}

sli_stage sli_request_all_layers(const sli_architecture *architecture) {
    return (sli_stage){.first_layer = 0, .end_layer = sli_architecture_layers(architecture)};
}
