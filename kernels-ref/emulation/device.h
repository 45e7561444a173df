/*
 * CUDA's words for a C++ compiler: what cuda/kref.h includes in the place of the toolkit.
 *
 * Only the words that the kernels use. Each barrier and warp operation carries its place in the
 * source, so they are macros.
 */
#ifndef KREF_EMULATION_DEVICE_H
#define KREF_EMULATION_DEVICE_H

#include "emulation/count.h"
#include "emulation/machine.h"
#include "emulation/tile.h"
#include "emulation/warp.h"

#include <cmath>
#include <type_traits>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

#define threadIdx (kref::emulation::here().thread)
#define blockIdx  (kref::emulation::here().block)
#define blockDim  (kref::emulation::here().block_extent)
#define gridDim   (kref::emulation::here().grid_extent)

#define __syncthreads()     kref::emulation::barrier(KREF_HERE("__syncthreads"))
#define __syncwarp()        kref::emulation::sync_warp(~0U, KREF_HERE("__syncwarp"))
#define __ballot_sync(m, v) kref::emulation::ballot(m, (v) != 0, KREF_HERE("__ballot_sync"))
#define __popc(x)           __builtin_popcount(x)
#define KREF_SHUFFLE(kind, what, ...)                                                              \
    kref::emulation::shuffle(kref::emulation::shuffle_kind::kind, KREF_HERE(what), __VA_ARGS__)
#define __shfl_sync(...)      KREF_SHUFFLE(from_lane, "__shfl_sync", __VA_ARGS__)
#define __shfl_up_sync(...)   KREF_SHUFFLE(from_below, "__shfl_up_sync", __VA_ARGS__)
#define __shfl_down_sync(...) KREF_SHUFFLE(from_above, "__shfl_down_sync", __VA_ARGS__)
#define __shfl_xor_sync(...)  KREF_SHUFFLE(crossed, "__shfl_xor_sync", __VA_ARGS__)

/* Atomic for a race checker too; like CUDA's it orders nothing else. */
#define atomicAdd(target, value) __atomic_fetch_add(target, value, __ATOMIC_RELAXED)

namespace kref {

namespace emulation {

/* Writes 16 bytes as the calling thread does, so that a race checker sees them. */
inline __attribute__((always_inline)) void write_16(void *to, const uint64_t words[2]) {
    auto *first = static_cast<volatile uint64_t *>(to);
    first[0] = words[0];
    first[1] = words[1];
}

/* The copy is done at the wait that it is due at. Until then its place holds NaNs, so that whoever
 * reads too early, or still reads what was there before, shows. The ends of the source are touched
 * at once, so that a sanitizer names this line. */
inline __attribute__((always_inline)) void begin_copy(void *to, const void *from, int bytes,
                                                      place where) {
    if (bytes < 0 || bytes > 16) {
        fault(where, "%d bytes, expected 0 to 16", bytes);
    }
    if (reinterpret_cast<uintptr_t>(to) % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0) {
        fault(where, "an address is not a multiple of 16 bytes");
    }
    if (!is_shared(to, 16)) {
        fault(where, "the target is not in shared memory");
    }
    if (bytes > 0) {
        const auto *source = static_cast<const volatile unsigned char *>(from);
        static_cast<void>(source[0]);
        static_cast<void>(source[bytes - 1]);
    }
    constexpr uint64_t nothing[2] = {~uint64_t{0}, ~uint64_t{0}};
    write_16(to, nothing);
    note_copy(copy{to, from, bytes, where});
}

inline __attribute__((always_inline)) void finish_copies(int kept) {
    copy due = {};
    while (next_due_copy(kept, &due)) {
        uint64_t words[2] = {0, 0};
        auto *bytes = reinterpret_cast<unsigned char *>(words);
        for (int i = 0; i < due.bytes; i++) {
            bytes[i] = static_cast<const unsigned char *>(due.from)[i];
        }
        write_16(due.to, words);
    }
}

/* A kernel with its arguments, for run(). */
template <typename Call> void invoke(const void *call) {
    (*static_cast<const Call *>(call))();
}

} // namespace emulation

#if defined(KREF_COUNTS)
using f32 = emulation::counted_float;
#else
using f32 = float;
#endif

/* Each thread gets the arguments by value, as on a device. */
template <typename... Parameters, typename... Arguments>
const char *launch(const char *name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                   size_t shared_bytes, void *, Arguments... arguments) {
    auto call = [=] { kernel(arguments...); };
    return emulation::run(name, grid, block, shared_bytes, emulation::invoke<decltype(call)>,
                          &call);
}

} // namespace kref

#endif
