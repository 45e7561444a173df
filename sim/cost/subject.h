/*
 * What a cost model is made for: a model in its formats, cut over devices of one kind.
 *
 * Floor cost. Plain data. All that it points to outlives the cost model.
 */
#ifndef SLUICE_COST_SUBJECT_H
#define SLUICE_COST_SUBJECT_H

#include "hw/device.h"
#include "model/architecture.h"
#include "model/attention.h"
#include "model/format.h"

typedef struct sli_cost_subject {
    const sli_architecture *architecture;
    const sli_device *device;
    int64_t tp;                     /* sli_parallel_can_run(architecture, tp) holds */
    sli_weights weights;            /* of no formats while the architecture is unknown */
    const sli_cache_format *cache;  /* one of sli_cache_formats */
    sli_attention_choice attention; /* zeroed = nothing is asked for */
} sli_cost_subject;

#endif
