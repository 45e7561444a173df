/*
 * Where the parts of a model lie: ranks that share layers, stages, copies.
 *
 * Floor model. A replica has tp x pp x dp x cp ranks. What the fullest of them holds is counted
 * matrix by matrix and store by store, as vLLM lays them out:
 *
 *     tp  a rank has ceil(pieces / tp) heads, columns or rows of the vocabulary; what comes in
 *         fewer pieces than ranks is copied, and so is what has one piece: a latent, a router
 *     pp  stages of whole layers, vLLM's get_pp_indices (distributed/utils.py): what does not
 *         divide goes to the stages before the last one, the latest first. The embedding lies on
 *         the first, the head on the last; tied ones on both
 *     dp  attention and all that is not an expert exists dp times, each copy for its own requests
 *     cp  the same for parts of the context: rows that grow with the tokens are shared out, windows
 *         and state are copied
 *     ep  routed experts lie on all tp x dp x cp ranks of a stage: in ep groups of
 *         ceil(experts / ep) whole ones, each cut by columns over the ranks of its group (vLLM's
 *         FusedMoEParallelConfig, where ep is 1 or all ranks)
 *
 * Embedding of layers (Gemma 4 E) lies on the first stage. A layer that reads what another one
 * keeps (kv: shared) is taken to find it on its own stage: no copy is counted. Must not know
 * devices, formats of the cache or time. Exact integers, O(layer runs). Which placements are
 * possible: model/parallel.h.
 */
#ifndef SLUICE_MODEL_PLACEMENT_H
#define SLUICE_MODEL_PLACEMENT_H

#include "model/architecture.h"

typedef struct sli_placement {
    int64_t tp;
    int64_t pp; /* at most the layers of the model */
    int64_t dp;
    int64_t cp;
    int64_t ep; /* divides tp x dp x cp; 1 = experts are cut over all of these like any matrix */
} sli_placement;

/* One rank of everything. */
extern const sli_placement sli_placement_alone;

/* Ranks that share every layer, as a run has them. */
sli_placement sli_placement_of_tp(int64_t tp);

int64_t sli_placement_ranks(const sli_placement *placement);

/* Layers first .. end - 1. */
typedef struct sli_stage {
    int64_t first_layer;
    int64_t end_layer;
} sli_stage;

sli_stage sli_placement_stage(const sli_architecture *architecture, const sli_placement *placement,
                              int64_t stage);

/* Layers of a run that a stage has; `begin` is the first layer of the run. */
int64_t sli_stage_layers(const sli_stage *stage, const sli_layer_run *run, int64_t begin);

/* Parameters on a rank of a stage, by sort, and what they weigh. For {1, 1, 1, 1, 1} they are
 * sli_params_total. */
sli_weight_params sli_placement_params(const sli_architecture *architecture,
                                       const sli_placement *placement, int64_t stage);
int64_t sli_placement_weights_bytes(const sli_architecture *architecture,
                                    const sli_weights *weights, const sli_placement *placement,
                                    int64_t stage);

/* What sli_params_touched weighs, of one rank of each stage together: a step passes all stages one
 * after another. `tokens` are those of all dp copies. */
double sli_placement_touched_bytes(const sli_architecture *architecture, const sli_weights *weights,
                                   const sli_placement *placement, int64_t tokens);

/* A part as the fullest rank has it when a sequence has so many tokens: fewer heads, and fewer of
 * the rows that are shared out. What it keeps and reads must not be asked for other lengths. */
sli_part_facts sli_placement_part(const sli_part_facts *whole, const sli_placement *placement,
                                  int64_t tokens);

/* Rows of a store on the fullest rank of cp, of so many in all. */
int64_t sli_placement_rows(const sli_store *store, const sli_placement *placement, int64_t rows);

/*
 * Buffers for communication on a rank, for steps of so many tokens a copy; 2-byte activations.
 * Assumed, after vLLM (November 2026):
 *
 *     tp > 1   the result of an all-reduce apart from its input, and two buffers of 8 MiB that
 *              ranks write to each other (device_communicators/custom_all_reduce.py)
 *     pp > 1   what comes from the stage before: stream and residual
 *     experts on more than one copy: the tokens of all copies gathered, and their results
 *              (the all-gather and reduce-scatter backend of its expert parallelism)
 *     cp > 1   outputs of attention of a rank before they are merged, in fp32 with one sum a head
 */
int64_t sli_placement_buffers_bytes(const sli_architecture *architecture,
                                    const sli_placement *placement, int64_t step_tokens);

#endif
