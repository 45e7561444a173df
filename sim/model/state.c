#include "model/state.h"

#include "base/check.h"
#include "model/parallel.h"

/* A key and a value vector for each of `kv_heads` heads. */
static int64_t layer_bytes(const sli_architecture *architecture, int64_t kv_heads) {
    return 2 * kv_heads * architecture->full.head_dim * SLI_KV_ELEMENT_BYTES;
}

int64_t sli_state_token_bytes(const sli_architecture *architecture) {
    return sli_architecture_layers(architecture) *
           layer_bytes(architecture, architecture->full.kv_heads);
}

int64_t sli_state_token_rank_bytes(const sli_architecture *architecture, int64_t tp) {
    SL_ASSERT(sli_parallel_divides(architecture, tp));
    return sli_architecture_layers(architecture) *
           layer_bytes(architecture, architecture->full.kv_heads / tp);
}
