/*
 * Attention of prompt chunks over their past and themselves.
 *
 * A batch of sequences. Sequence s brings queries for its last c tokens, and keys and values of all
 * its k + c tokens; query i sees the keys 0 .. k + i, or of these the latest `window_tokens`. Query
 * head h reads key-value head h / (query_heads / kv_heads). Softmax in f32, its weights rounded to
 * bf16 for the product with the values.
 *
 * Tiling and online softmax as in FlashAttention-2 (Dao, 2023): a block holds 128 queries of one
 * head and walks over the keys in tiles of 32, or of 64
 * where heads are 64 wide. Whole tiles are computed; tiles that no query of the
 * block sees are not touched.
 */
#ifndef KREF_CUDA_PREFILL_ATTENTION_H
#define KREF_CUDA_PREFILL_ATTENTION_H

#include "cuda/global.h"

namespace kref {

struct prefill_attention_args {
    global<const bf16> queries; /* [query tokens][query_heads][head_dim] */
    global<const bf16> keys;    /* [key tokens][kv_heads][head_dim] */
    global<const bf16> values;  /* [key tokens][kv_heads][head_dim] */
    /* Where each sequence begins among the query tokens, and among the key tokens; one more entry
     * than sequences. A sequence has at least as many keys as queries; it may have none of both. */
    global<const int32_t> query_starts;
    global<const int32_t> key_starts;
    /* [query tokens][query_heads][head_dim]; one of the two, the other is null. */
    global<bf16> outputs;
    global<float> exact_outputs; /* not rounded, for tests */
    int sequences;
    int queries_max; /* of a sequence */
    int query_heads;
    int kv_heads;
    int head_dim;      /* 64 or 128 */
    int window_tokens; /* 0 = all */
    float scale;       /* of the scores: 1 / sqrt(head_dim), say */
};

/* Why the shape cannot be served, or null. */
const char *prefill_attention_refusal(const prefill_attention_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *prefill_attention(const prefill_attention_args &args, void *stream);

} // namespace kref

#endif
