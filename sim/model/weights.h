/*
 * In which format the matrices of a model are stored, by sort.
 *
 * Floor model. Checkpoints mix formats: experts in four bits and all else in bf16, or all in fp8
 * but attention. Four sorts cover what is published: routed experts, the matrices of mixers,
 * embeddings with the head, and what is left (dense feed-forwards, shared experts, routers).
 * model/params.h says of which sort a matrix is. A model file says under `weights` how its
 * checkpoint stores them; who runs it may choose otherwise. Plain values, nothing to free. Must not
 * know layers or ranks.
 */
#ifndef SLUICE_MODEL_WEIGHTS_H
#define SLUICE_MODEL_WEIGHTS_H

#include "config/schema.h"
#include "model/format.h"

#include <stdbool.h>

typedef enum sli_weight_sort {
    SLI_WEIGHT_EXPERT,
    SLI_WEIGHT_ATTENTION,
    SLI_WEIGHT_EMBEDDING,
    SLI_WEIGHT_ELSE,
    SLI_WEIGHT_SORTS
} sli_weight_sort;

/* Each is one of sli_weight_formats. */
typedef struct sli_weights {
    const sli_weight_format *of[SLI_WEIGHT_SORTS];
} sli_weights;

/* Parameters by sort. */
typedef struct sli_weight_params {
    int64_t of[SLI_WEIGHT_SORTS];
} sli_weight_params;

/* `weights` in a model file, as it is read: of sli_weight_formats, or one more than that with 0 for
 * the same as SLI_WEIGHT_ELSE. */
typedef struct sli_weights_config {
    int of[SLI_WEIGHT_SORTS];
} sli_weights_config;

extern const sli_section sli_weights_section;

sli_weights sli_weights_read(const sli_weights_config *config);

/* All sorts in one format. */
sli_weights sli_weights_all(const sli_weight_format *format);

/* Whether all sorts have this format. */
bool sli_weights_are(const sli_weights *weights, const sli_weight_format *format);

/* `fp8`, or `mxfp4 experts, bf16 else`. */
typedef struct sli_weights_text {
    char text[80];
} sli_weights_text;

sli_weights_text sli_weights_say(const sli_weights *weights);

/* Sorts of one format lie together, in whole groups. */
int64_t sli_weights_bytes(const sli_weights *weights, const sli_weight_params *params);

/* What so many parameters of one sort weigh in the mean, groups being cut. */
double sli_weights_share_bytes(const sli_weights *weights, sli_weight_sort sort, double params);

#endif
