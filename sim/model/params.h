/*
 * How many parameters a model has, and what they weigh.
 *
 * Floor model. Counted are matrices, convolutions and embeddings of the text backbone; norms and
 * biases are left out (below 0.1 % of the total for the models at hand), and so are vision towers
 * and the layers of multi-token prediction. Exact integers. O(runs) each.
 */
#ifndef SLUICE_MODEL_PARAMS_H
#define SLUICE_MODEL_PARAMS_H

#include "model/architecture.h"

#define SLI_WEIGHT_BYTES 2 /* bf16 */

/* One part of one layer; the active ones are those that a token is multiplied with. */
int64_t sli_params_part(const sli_part_facts *facts);
int64_t sli_params_part_active(const sli_part_facts *facts);

/* All layers, embedding and head (once when they are tied). */
int64_t sli_params_total(const sli_architecture *architecture);

/* Those that a token is multiplied with: the head and what the layers use, experts that it is not
 * routed to and embedding look-ups left out. Linear FLOPs a token are twice that. */
int64_t sli_params_matmul(const sli_architecture *architecture);

/* Parameters that a step with so many tokens is expected to touch, when tokens are routed evenly
 * and independently. At most sli_params_total. */
double sli_params_touched(const sli_architecture *architecture, int64_t tokens);

/* The layers of multi-token prediction, which sli_params_total does not count. */
int64_t sli_params_mtp(const sli_architecture *architecture);

/* Bytes of weights on one rank, rounded up; embedding and head are cut like the rest. */
int64_t sli_params_rank_bytes(const sli_architecture *architecture, int64_t tp);

#endif
