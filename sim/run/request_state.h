/*
 * What a request of one length keeps in the cache of a rank.
 *
 * Floor run. Logical bytes, without pages: model/state.h for some layers on the fullest rank of a
 * placement, and how much of it stems from a prefix that other requests can share. Must not know
 * devices. Exact integers, no memory; O(layer runs).
 */
#ifndef SLUICE_RUN_REQUEST_STATE_H
#define SLUICE_RUN_REQUEST_STATE_H

#include "model/placement.h"

typedef struct sli_request_query {
    const sli_architecture *architecture;
    const sli_cache_format *cache;
    const sli_placement *placement;
    sli_stage layers;
    int64_t tokens;
    int64_t shared_tokens; /* at its beginning; fewer than tokens */
} sli_request_query;

typedef struct sli_request_state {
    int64_t growing_bytes; /* what has come with its tokens */
    int64_t fixed_bytes;   /* what was there from the start; never shared */
    int64_t prefix_bytes;  /* of the growing ones: of the shared tokens, as far as still kept */
    int64_t read_bytes;    /* by a decode step */
} sli_request_state;

sli_request_state sli_request_state_count(const sli_request_query *query);

/* Of all layers. */
sli_stage sli_request_all_layers(const sli_architecture *architecture);

#endif
