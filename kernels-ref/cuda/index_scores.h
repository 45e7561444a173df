/*
 * Scores of the keys of an index, by which a sparse layer chooses what it attends to: DeepSeek's
 * lightning indexer (DeepSeek-V3.2, 2025, section 2.1, equation 1).
 *
 * score[s][t] = sum over heads h of weight[s][h] max(0, query[s][h] . key[t]), for the tokens t of
 * sequence s. There is one key a token, 128 wide, which all heads share; token t lies in block
 * block_table[s][t / block size], row t % block size. A token of a chunk of prefill is a sequence
 * of its own here, with the tokens that it sees and the same row of the table.
 *
 * Keys are bf16, or codes of e4m3 with a scale each that is not negative: 132 bytes. The scale of a
 * query is best made part of its weights. Codes become bf16 on their way into shared memory, which
 * changes none of them, and the scale of a key goes to its score: max(0, .) lets it pass.
 */
#ifndef KREF_CUDA_INDEX_SCORES_H
#define KREF_CUDA_INDEX_SCORES_H

#include "cuda/global.h"

namespace kref {

struct index_scores_args {
    global<const bf16> queries;  /* [sequences][heads][128] */
    global<const float> weights; /* [sequences][heads] */
    /* [blocks][block_tokens][128]; one of the two, the other is null. */
    global<const bf16> keys;
    global<const e4m3> key_codes;
    global<const float> key_scales;    /* [blocks][block_tokens], of codes; else null */
    global<const int32_t> block_table; /* [sequences][blocks_max] */
    global<const int32_t> lengths;     /* [sequences], in tokens */
    global<float> scores;              /* [sequences][tokens_max]; behind a length nothing */
    int sequences;
    int heads; /* a multiple of 16, up to 64 */
    int block_tokens;
    int blocks_max; /* entries of a row of the table */
    int tokens_max; /* no length is greater */
};

/* Why the shape cannot be served, or null. */
const char *index_scores_refusal(const index_scores_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *index_scores(const index_scores_args &args, void *stream);

} // namespace kref

#endif
