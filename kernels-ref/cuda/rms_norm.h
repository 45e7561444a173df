/*
 * RMSNorm, with the residual addition in front of it.
 *
 * For each row x of `width` elements: x += update; y = x / sqrt(mean(x^2) + epsilon) * weight. The
 * sum is rounded to bf16 before it is squared, because that is what the next layer will read.
 * Without an update (null) x stays as it is: the norm of queries and keys.
 */
#ifndef KREF_CUDA_RMS_NORM_H
#define KREF_CUDA_RMS_NORM_H

#include "cuda/global.h"

namespace kref {

struct rms_norm_args {
    global<bf16> stream;       /* [rows][width], read, and written if there is an update */
    global<const bf16> update; /* [rows][width] or null */
    global<const bf16> weight; /* [width] */
    global<bf16> normed;       /* [rows][width] */
    int rows;
    int width;
    float epsilon;
};

/* Why the shape cannot be served, or null. */
const char *rms_norm_refusal(const rms_norm_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *rms_norm(const rms_norm_args &args, void *stream);

} // namespace kref

#endif
