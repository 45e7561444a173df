/*
 * Latent attention (MLA) of prompt chunks over their past and themselves, expanded: DeepSeek-V2
 * (2024), section 2.1.
 *
 * Each head has keys and values of its own, made from the latents by a matrix product that is not
 * done here, for the past anew with every chunk: of a token and head 128 of a key, then 128 of a
 * value. The key's other 64 are rotary and shared by all heads; they stand behind the latent in the
 * token's row, as in the cache. Score = query key x scale over all 192, softmax in f32, its weights
 * rounded to bf16 for the product with the values.
 *
 * Sequence s brings queries for its last c tokens, and rows for all k + c; query i sees the keys
 * 0 .. k + i. Tiling as in prefill_attention: see query_block.h.
 */
#ifndef KREF_CUDA_MLA_PREFILL_H
#define KREF_CUDA_MLA_PREFILL_H

#include "cuda/global.h"
#include "cuda/mla.h"

namespace kref {

struct mla_prefill_args {
    global<const bf16> queries;  /* [query tokens][heads][128 + 64] */
    global<const bf16> expanded; /* [key tokens][heads][128 + 128] */
    global<const bf16> rows;     /* [key tokens][512 + 64]; only the 64 are read */
    /* Where each sequence begins among the query tokens, and among the key tokens; one more entry
     * than sequences. A sequence has at least as many keys as queries; it may have none of both. */
    global<const int32_t> query_starts;
    global<const int32_t> key_starts;
    /* [query tokens][heads][128]; one of the two, the other is null. */
    global<bf16> outputs;
    global<float> exact_outputs; /* not rounded, for tests */
    int sequences;
    int queries_max; /* of a sequence */
    int heads;
    float scale; /* of the scores: 1 / sqrt(192), say */
};

/* Why the shape cannot be served, or null. */
const char *mla_prefill_refusal(const mla_prefill_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *mla_prefill(const mla_prefill_args &args, void *stream);

} // namespace kref

#endif
