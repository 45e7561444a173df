/*
 * An architecture whose layers throw tokens out.
 *
 * Floor model. A method, a policy of kind keep, cuts the layers that would keep all keys and
 * values, that is of kind gqa without window, chunk or chosen blocks, and those that read what such
 * a layer keeps; windows, chunks and recurrent states stay as they are. What the layers keep, see
 * and compute is changed in their facts, so all figures that are sums over these follow. Must not
 * know policies, devices, pages or batches. O(layer runs x parts).
 *
 * All key and value heads of a layer keep equally many rows. Layers may differ; what lies in pages
 * and what a step costs goes by their mean, which is exact: a page has a slot of every layer, and
 * the cost of a row is the same in each.
 *
 * The work that a method does besides (derived from its description; d = width of a key, of q query
 * and k key heads):
 *
 *     rotation       3 d k FLOPs a row and decode step: 6 for each pair of elements
 *     scores         q FLOPs a row and decode step, and 4 k bytes that are read and written
 *     second look    2 d q FLOPs a pair of a query and a key of the prompt that is weighed again,
 *                    and q for the sum. The last W = observed_tokens queries see each key that does
 *                    not stand behind them: the i-th key from the end has min(i, W) pairs, counted
 *                    here at the i-th token; a prompt of P tokens has W P - W (W - 1) / 2, or
 *                    P (P + 1) / 2 if it is shorter than W
 *     pooling        q FLOPs a token of the prompt and token of the kernel
 *
 * The scores lie outside of the pages: they are small beside keys and values. Reading all keys of a
 * prompt once more and moving what stays together is done once a request and not counted.
 */
#ifndef SLUICE_MODEL_KEEP_H
#define SLUICE_MODEL_KEEP_H

#include "model/architecture.h"
#include "model/kept.h"

/* What a method says as plain data. */
typedef struct sli_keep {
    const char *name;
    sl_kept rule; /* in the mean of the layers */
    sl_keep_work work;
} sli_keep;

/*
 * What keeps a method from an architecture, as a clause for a message, goes to `why`
 * (SL_ERR_CONFIG): layers that would keep all tokens and are not of that kind, or none to cut.
 */
SL_NODISCARD sl_err sli_keep_can_cut(const sli_architecture *whole, char *why, size_t why_bytes);

/* Whether a method cuts the layers of a mixer, and how many layers of a model it cuts. */
bool sli_keep_cuts(const sli_layer_part *mixer);
int64_t sli_keep_layers(const sli_architecture *architecture);

/* The architecture with a method, in the arena; sli_keep_can_cut and sli_kept_is_valid hold. The
 * whole one outlives it, and so does the name. Fails only for lack of memory. */
SL_NODISCARD sl_err sli_keep_cut(sli_arena *arena, const sli_architecture *whole,
                                 const sli_keep *keep, const sli_architecture **cut);

#endif
