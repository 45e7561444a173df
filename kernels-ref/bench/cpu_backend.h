/*
 * The CPU of this machine, with all threads that OpenMP gives.
 */
#ifndef KREF_BENCH_CPU_BACKEND_H
#define KREF_BENCH_CPU_BACKEND_H

#include "bench/backend.h"

#include <memory>

namespace kref::bench {

std::unique_ptr<backend> open_cpu();

} // namespace kref::bench

#endif
