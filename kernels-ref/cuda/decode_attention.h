/*
 * Attention of one new token a sequence over a paged cache.
 *
 * The query of sequence s stands at the last of its tokens, whose key is in the cache already, and
 * sees all of them, or the latest `window_tokens`. Token t lies in block block_table[s][t / block
 * size], row t % block size. Query head h reads key-value head h / (query_heads / kv_heads). A
 * sequence without tokens gets zeros.
 *
 * What a sequence sees is cut into `splits` parts, so that a few long sequences keep a whole device
 * busy (Dao et al., "Flash-Decoding", 2023); a second kernel combines their results if there are
 * several. In a block each of four warps takes tiles of 16 keys in turn, with an online softmax and
 * a pipeline of copies of its own. The query heads that share a key-value head are the rows of a
 * matrix product, so keys and values are read once for all of them.
 */
#ifndef KREF_CUDA_DECODE_ATTENTION_H
#define KREF_CUDA_DECODE_ATTENTION_H

#include "cuda/global.h"

namespace kref {

struct decode_attention_args {
    global<const bf16> queries;        /* [sequences][query_heads][head_dim] */
    global<const bf16> key_cache;      /* [blocks][block_tokens][kv_heads][head_dim] */
    global<const bf16> value_cache;    /* the same */
    global<const int32_t> block_table; /* [sequences][blocks_max] */
    global<const int32_t> lengths;     /* [sequences], in tokens */
    /* [sequences][query_heads][head_dim]; one of the two, the other is null. */
    global<bf16> outputs;
    global<float> exact_outputs; /* not rounded, for tests */
    /* With several splits: decode_attention_workspace() floats; else null. */
    global<float> workspace;
    int sequences;
    int query_heads;
    int kv_heads; /* at most 16 query heads share one */
    int head_dim; /* 64 or 128 */
    int block_tokens;
    int blocks_max;    /* entries of a row of the table */
    int window_tokens; /* 0 = all */
    int splits;
    float scale; /* of the scores: 1 / sqrt(head_dim), say */
};

/* Why the shape cannot be served, or null. */
const char *decode_attention_refusal(const decode_attention_args &args);

/* Floats of the workspace for this shape; 0 with one split. */
int64_t decode_attention_workspace(const decode_attention_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *decode_attention(const decode_attention_args &args, void *stream);

} // namespace kref

#endif
