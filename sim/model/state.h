/*
 * What a token leaves behind in the cache, in bytes.
 *
 * Floor model. Logical bytes: no paging, no alignment. 16-bit keys and values.
 */
#ifndef SLUICE_MODEL_STATE_H
#define SLUICE_MODEL_STATE_H

#include "model/architecture.h"

#define SLI_KV_ELEMENT_BYTES 2

/* Keys and values of one token over all layers of the whole model. */
int64_t sli_state_token_bytes(const sli_architecture *architecture);

/* The same on one rank; sli_parallel_divides(architecture, tp) must hold. */
int64_t sli_state_token_rank_bytes(const sli_architecture *architecture, int64_t tp);

#endif
