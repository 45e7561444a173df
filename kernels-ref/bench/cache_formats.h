/*
 * The formats of a quantised cache, by the names that shapes give them: as the kernels, the closed
 * forms and the CPU call them.
 */
#ifndef KREF_BENCH_CACHE_FORMATS_H
#define KREF_BENCH_CACHE_FORMATS_H

#include "bench/cpu/codes.h"
#include "cuda/cache_format.h"
#include "figures/copy.h"

#include <cstring>

namespace kref::bench {

struct named_format {
    const char *name;
    cache_format of;
    kref_cache_format form;
    kref_cpu_format on_cpu;
};

constexpr named_format cache_formats[] = {
    {"fp8", cache_format::fp8, KREF_CACHE_FP8, KREF_CPU_FP8},
    {"int8", cache_format::int8, KREF_CACHE_INT8, KREF_CPU_INT8},
    {"q4_0", cache_format::q4_0, KREF_CACHE_Q4_0, KREF_CPU_Q4_0},
};

/* Null if there is none of the name. */
inline const named_format *find_format(const char *name) {
    for (const named_format &it : cache_formats) {
        if (strcmp(it.name, name) == 0) {
            return &it;
        }
    }
    return nullptr;
}

/* All formats are there. */
inline kref_cpu_format cpu_format(cache_format of) {
    const named_format *it = cache_formats;
    while (it->of != of) {
        it++;
    }
    return it->on_cpu;
}

} // namespace kref::bench

#endif
