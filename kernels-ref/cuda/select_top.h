/*
 * The places of the greatest numbers of each row: which tokens a sparse layer attends to.
 *
 * Of row s the first lengths[s] numbers count. The `top` greatest of them are chosen, all if there
 * are no more; among equals the first. Places come in rising order, and -1 in what is left over.
 * No number may be a NaN.
 *
 * Radix select (Alabi et al., "Fast k-Selection Algorithms for Graphics Processing Units", 2012):
 * numbers become integers of the same order; four passes count how often each byte occurs among
 * those that share the bytes before it, and narrow down where the last chosen one lies; a fifth
 * writes the places.
 */
#ifndef KREF_CUDA_SELECT_TOP_H
#define KREF_CUDA_SELECT_TOP_H

#include "cuda/global.h"

namespace kref {

struct select_top_args {
    global<const float> numbers;   /* [rows][width] */
    global<const int32_t> lengths; /* [rows] */
    global<int32_t> chosen;        /* [rows][top] */
    int rows;
    int width; /* no length is greater */
    int top;
};

/* Why the shape cannot be served, or null. */
const char *select_top_refusal(const select_top_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *select_top(const select_top_args &args, void *stream);

} // namespace kref

#endif
