/*
 * Closed forms of delta_step and delta_prefill.
 *
 * Algorithmic FLOPs are those of the rule for delta_step, 7 an element of the state and token. A
 * chunk of delta_prefill has another way to the same; what the model counts for it is in the tests.
 */
#ifndef KREF_FIGURES_DELTA_H
#define KREF_FIGURES_DELTA_H

#include "figures/work.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_delta_shape {
    int sequences;
    const int32_t *tokens; /* of each sequence */
    int key_heads;
    int heads;
    int key_dim;
    int value_dim;
    bool has_channel_decays;
    int output_bytes; /* of an element: 2 or 4 */
    /* Of delta_prefill: of a chunk, where fast decays of channels cut it; 0 = 16, whole ones. */
    int chunk_tokens;
} kref_delta_shape;

kref_work kref_delta_step_work(const kref_delta_shape *shape);
kref_work kref_delta_prefill_work(const kref_delta_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
