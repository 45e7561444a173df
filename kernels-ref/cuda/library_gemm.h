/*
 * The product of gemm.h by cuBLASLt: what a device can do, beside what gemm does.
 *
 * A shape is prepared once, which takes memory and asks the library for its best algorithm; running
 * it does neither, so that it can be captured into a graph. Where the program was built without
 * cuBLASLt, under the emulation for one, preparing says so.
 */
#ifndef KREF_CUDA_LIBRARY_GEMM_H
#define KREF_CUDA_LIBRARY_GEMM_H

#include "cuda/gemm.h"

namespace kref {

class library_gemm {
  public:
    library_gemm() = default;
    ~library_gemm();
    library_gemm(const library_gemm &) = delete;
    library_gemm &operator=(const library_gemm &) = delete;

    /* Null, or what went wrong; once an object. The memory of the operands need not be there yet.
     */
    const char *prepare(const gemm_args<bf16> &args);
    const char *prepare(const gemm_args<e4m3> &args);

    /* Null, or what went wrong. The arguments have the shape and the scale that were prepared. */
    const char *run(const gemm_args<bf16> &args, void *stream) const;
    const char *run(const gemm_args<e4m3> &args, void *stream) const;

  private:
    struct plan;
    plan *plan_ = nullptr;
};

} // namespace kref

#endif
