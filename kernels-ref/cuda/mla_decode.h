/*
 * Latent attention (MLA) of one new token a sequence over a paged cache, absorbed: DeepSeek-V2
 * (2024), section 2.1.
 *
 * The cache has one row a token for all heads: a latent of 512, and 64 of a rotary key. The
 * up-projections of keys have gone into the query, those of values go into what comes out, so that
 * a head's query is as wide as a row; score = query row x scale, output = weighted sum of the
 * latents. The projections themselves are matrix products, and not done here.
 *
 * Token t lies in block block_table[s][t / block_tokens], row t % block_tokens. The query stands at
 * the last token and sees all. A sequence without tokens gets zeros.
 *
 * A block takes 64 heads of a sequence, or 16 where there are no more, and a part of the keys, in
 * tiles of 32. Each row is read once for all its heads. Scores are shared out over warps by heads
 * and keys; then, through shared memory, each warp sums an eighth of the latent for all heads,
 * since a whole one does not fit into the registers of a warp. Softmax in f32, its weights rounded
 * to bf16 for the sums.
 */
#ifndef KREF_CUDA_MLA_DECODE_H
#define KREF_CUDA_MLA_DECODE_H

#include "cuda/global.h"
#include "cuda/mla.h"

namespace kref {

struct mla_decode_args {
    global<const bf16> queries;        /* [sequences][heads][512 + 64] */
    global<const bf16> cache;          /* [blocks][block_tokens][512 + 64] */
    global<const int32_t> block_table; /* [sequences][blocks_max] */
    global<const int32_t> lengths;     /* [sequences], in tokens */
    /* [sequences][heads][512]; one of the two, the other is null. */
    global<bf16> outputs;
    global<float> exact_outputs; /* not rounded, for tests */
    /* With several splits: mla_decode_workspace() floats; else null. */
    global<float> workspace;
    int sequences;
    int heads;
    int block_tokens;
    int blocks_max; /* entries of a row of the table */
    int splits;
    float scale; /* of the scores: 1 / sqrt(192), say */
};

/* Why the shape cannot be served, or null. */
const char *mla_decode_refusal(const mla_decode_args &args);

/* Floats of the workspace for this shape; 0 with one split. */
int64_t mla_decode_workspace(const mla_decode_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *mla_decode(const mla_decode_args &args, void *stream);

} // namespace kref

#endif
