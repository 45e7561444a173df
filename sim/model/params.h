/*
 * How many parameters a model has, and what they weigh.
 *
 * Floor model. Counted are matrices and embeddings; norms and biases are left out (below 0.1 % of
 * the total for the models at hand).
 */
#ifndef SLUICE_MODEL_PARAMS_H
#define SLUICE_MODEL_PARAMS_H

#include "model/architecture.h"

#define SLI_WEIGHT_BYTES 2 /* bf16 */

/* All layers, embedding and head (once when they are tied). */
int64_t sli_params_total(const sli_architecture *architecture);

/* Those that a token is multiplied with: all but the embedding look-up. */
int64_t sli_params_matmul(const sli_architecture *architecture);

/* Bytes of weights on one rank, rounded up; embedding and head are cut like the rest. */
int64_t sli_params_rank_bytes(const sli_architecture *architecture, int64_t tp);

#endif
