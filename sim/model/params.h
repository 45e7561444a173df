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

/* One part of one layer; the active ones are those that a token is multiplied with. */
int64_t sli_params_part(const sli_part_facts *facts);
int64_t sli_params_part_active(const sli_part_facts *facts);

/* A routed expert is one of a matrix that a token does not use all copies of. */
bool sli_matrix_is_routed(const sli_matrix *matrix);

/* Which weights of a model a matrix is one of. */
sli_weight_sort sli_matrix_sort(const sli_part_facts *facts, const sli_matrix *matrix);

/* Routed experts of the layer that has fewest of them; 0 when no layer has any. */
int64_t sli_params_fewest_experts(const sli_architecture *architecture);

/* Of the head, and again of the embedding when it is another matrix. */
int64_t sli_params_vocab(const sli_architecture *architecture);

/* What each layer has beside its parts: the gate and the projection of Gemma 4 E, the mixing of
 * residual streams of DeepSeek V4. */
int64_t sli_params_layer_extra(const sli_architecture *architecture);

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

#endif
