/*
 * The words that the kernels are written in, on a device and under the emulation.
 *
 * A kernel is CUDA C++ with these rules, which make it countable and testable on a host:
 *   - floats that are computed with are f32, and functions of them come from here (fma, max, exp2);
 *   - global memory is reached through global<T> (cuda/global.h) and copy_async;
 *   - shared memory is declared by KREF_SHARED, or is KREF_DYNAMIC_SHARED;
 *   - matrix instructions are those of cuda/tile.h.
 * On a device all of that is what one would have written by hand; nothing is added.
 *
 * launch() returns null, or what went wrong in words: of the runtime on a device, of the emulation
 * on a host, valid until the next launch. A stream is a cudaStream_t; null is the default one.
 */
#ifndef KREF_CUDA_KREF_H
#define KREF_CUDA_KREF_H

#include "cuda/global.h"
#include "cuda/number.h"

#include <cstdint>

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#define KREF_FUNCTION __device__ __forceinline__
#define KREF_UNROLL   _Pragma("unroll")
#define KREF_CALLER
#define KREF_WHERE

#define KREF_SHARED(type, name, count) __shared__ type name[count]
#define KREF_DYNAMIC_SHARED()          (kref::dynamic_shared())

namespace kref {

using f32 = float;

KREF_FUNCTION unsigned char *dynamic_shared() {
    extern __shared__ __align__(128) unsigned char kref_dynamic_shared[];
    return kref_dynamic_shared;
}

KREF_FUNCTION float fma(float a, float b, float c) {
    return fmaf(a, b, c);
}

KREF_FUNCTION float max(float a, float b) {
    return fmaxf(a, b);
}

KREF_FUNCTION float exp2(float x) {
    return exp2f(x);
}

KREF_FUNCTION float exp(float x) {
    return expf(x);
}

KREF_FUNCTION float tanh(float x) {
    return tanhf(x);
}

KREF_FUNCTION float rsqrt(float x) {
    return rsqrtf(x);
}

/* Copies `bytes` (0 to 16) into shared memory and fills up to 16 with zeros. Both addresses are
 * multiples of 16. The copy belongs to the group that the next commit closes. */
KREF_FUNCTION void copy_async(void *to, const void *from, int bytes) {
    auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(bytes)
                 : "memory");
}

KREF_FUNCTION void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for this thread's own copies, but for those of the latest Kept groups. */
template <int Kept> KREF_FUNCTION void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Kept) : "memory");
}

template <typename... Parameters, typename... Arguments>
const char *launch(const char *, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                   size_t shared_bytes, void *stream, Arguments... arguments) {
    static_assert((sizeof(Parameters) + ... + 0) <= 4096, "parameters of a kernel are 4 KiB");
    constexpr size_t granted_bytes = size_t{48} * 1024;
    cudaError_t error = cudaSuccess;
    if (shared_bytes > granted_bytes) {
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes));
    }
    if (error == cudaSuccess) {
        kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(stream)>>>(arguments...);
        error = cudaGetLastError();
    }
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

} // namespace kref

#else

#include "emulation/device.h"

#define KREF_FUNCTION inline
#define KREF_UNROLL

#define KREF_SHARED(type, name, count)                                                             \
    static const char name##_key = 0;                                                              \
    type(&name)[count] = *static_cast<type(*)[count]>(                                             \
        kref::emulation::static_shared(&name##_key, sizeof(type[count]), KREF_HERE(#name)))
#define KREF_DYNAMIC_SHARED()                                                                      \
    static_cast<unsigned char *>(                                                                  \
        kref::emulation::dynamic_shared(KREF_HERE("dynamic shared memory")))

#define copy_async(to, from, bytes)                                                                \
    kref::emulation::begin_copy(to, from, bytes, KREF_HERE("copy_async"))

/* A last parameter by which a function knows the line that it is called from, and its name. */
#define KREF_CALLER , kref::emulation::place where = {"", __builtin_FILE(), __builtin_LINE(), -1}
#define KREF_WHERE  , where

namespace kref {

KREF_FUNCTION f32 fma(f32 a, f32 b, f32 c) {
#if defined(KREF_COUNTS)
    emulation::counted.vector_flops += 2;
    return {fmaf(a.value, b.value, c.value)};
#else
    return fmaf(a, b, c);
#endif
}

KREF_FUNCTION f32 max(f32 a, f32 b) {
#if defined(KREF_COUNTS)
    return emulation::flop(fmaxf(a.value, b.value));
#else
    return fmaxf(a, b);
#endif
}

#if defined(KREF_COUNTS)
#define KREF_SPECIAL(x) emulation::special(x)
#else
#define KREF_SPECIAL(x) (x)
#endif

KREF_FUNCTION f32 exp2(f32 x) {
    return KREF_SPECIAL(exp2f(static_cast<float>(x)));
}

KREF_FUNCTION f32 exp(f32 x) {
    return KREF_SPECIAL(expf(static_cast<float>(x)));
}

KREF_FUNCTION f32 tanh(f32 x) {
    return KREF_SPECIAL(tanhf(static_cast<float>(x)));
}

KREF_FUNCTION f32 rsqrt(f32 x) {
    return KREF_SPECIAL(1.0F / sqrtf(static_cast<float>(x)));
}

KREF_FUNCTION void commit_copies() {
    emulation::close_group();
}

template <int Kept> KREF_FUNCTION __attribute__((always_inline)) void wait_for_copies() {
    emulation::finish_copies(Kept);
}

} // namespace kref

#endif
#endif
