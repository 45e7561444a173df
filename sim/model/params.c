#include "model/params.h"

#include "base/check.h"

static int64_t attention_params(const sli_architecture *architecture) {
    const sli_full_attention *full = &architecture->full;
    int64_t in = architecture->hidden * (full->q_heads + 2 * full->kv_heads) * full->head_dim;
    int64_t out = full->q_heads * full->head_dim * architecture->hidden;
    return in + out;
}

static int64_t ffn_params(const sli_architecture *architecture) {
    return 3 * architecture->hidden * architecture->dense.width; /* gate, up, down */
}

int64_t sli_params_matmul(const sli_architecture *architecture) {
    int64_t layer = attention_params(architecture) + ffn_params(architecture);
    int64_t head = architecture->vocab_tokens * architecture->hidden;
    return sli_architecture_layers(architecture) * layer + head;
}

int64_t sli_params_total(const sli_architecture *architecture) {
    int64_t embedding = architecture->has_tied_embeddings
                            ? 0
                            : architecture->vocab_tokens * architecture->hidden;
    return sli_params_matmul(architecture) + embedding;
}

int64_t sli_params_rank_bytes(const sli_architecture *architecture, int64_t tp) {
    SL_ASSERT(tp >= 1);
    int64_t bytes = SLI_WEIGHT_BYTES * sli_params_total(architecture);
    return (bytes + tp - 1) / tp;
}
