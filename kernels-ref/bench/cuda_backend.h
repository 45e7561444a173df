/*
 * A CUDA device, in a program that was built with one of the toolkits.
 *
 * Samples are taken by events around the replay of a graph, or around launches into a stream. The
 * L2 cache is flushed by writing a buffer of twice its size before each sample.
 */
#ifndef KREF_BENCH_CUDA_BACKEND_H
#define KREF_BENCH_CUDA_BACKEND_H

#include "bench/backend.h"

#include <memory>

namespace kref::bench {

/* The first device; null, and why in *error, if there is none or the program knows no CUDA. */
std::unique_ptr<backend> open_cuda(std::string *error);

#if defined(KREF_ON_DEVICE)

/* What the first device says of itself. */
identity look_at_device();

#endif

} // namespace kref::bench

#endif
