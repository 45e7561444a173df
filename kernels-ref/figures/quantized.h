/*
 * Closed form of quantized_decode.
 */
#ifndef KREF_FIGURES_QUANTIZED_H
#define KREF_FIGURES_QUANTIZED_H

#include "figures/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The second kernel among it, if there are splits. */
kref_work kref_quantized_decode_work(const kref_attention_shape *shape, kref_cache_format format);

#ifdef __cplusplus
}
#endif

#endif
