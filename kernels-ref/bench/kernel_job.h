/*
 * A job that calls a kernel with its arguments: on a device the kernel itself, on a CPU what
 * bench/cpu/ has in its place, by a function that takes the same arguments.
 */
#ifndef KREF_BENCH_KERNEL_JOB_H
#define KREF_BENCH_KERNEL_JOB_H

#include "bench/backend.h"
#include "cuda/global.h"

namespace kref::bench {

template <typename Args> using kernel_call = const char *(*)(const Args &args, void *stream);

/* The two ways to execute a kernel. */
template <typename Args> struct kernel_calls {
    kernel_call<Args> on_device;
    kernel_call<Args> on_cpu;
};

template <typename Args> class kernel_job : public job {
  public:
    kernel_job(const backend &on, const kernel_calls<Args> &calls)
        : call_(on.is_cuda() ? calls.on_device : calls.on_cpu) {
    }

    const char *run(void *stream) override {
        return call_(args_, stream);
    }

  protected:
    Args args_ = {};

  private:
    kernel_call<Args> call_;
};

/* An array of the host as plain C has it; null stays null. */
template <typename T> T *plain(global<T> of) {
    return of.address(0);
}

inline const uint16_t *plain(global<const bf16> of) {
    return reinterpret_cast<const uint16_t *>(of.address(0));
}

inline uint16_t *plain(global<bf16> of) {
    return reinterpret_cast<uint16_t *>(of.address(0));
}

inline const uint8_t *plain(global<const e4m3> of) {
    return reinterpret_cast<const uint8_t *>(of.address(0));
}

inline const uint16_t *plain(global<const fp16> of) {
    return reinterpret_cast<const uint16_t *>(of.address(0));
}

inline uint16_t *plain(global<fp16> of) {
    return reinterpret_cast<uint16_t *>(of.address(0));
}

} // namespace kref::bench

#endif
