/*
 * A job of a kernel that has no version for a CPU: it calls the kernel with its arguments.
 */
#ifndef KREF_BENCH_DEVICE_JOB_H
#define KREF_BENCH_DEVICE_JOB_H

#include "bench/backend.h"

namespace kref::bench {

template <typename Args> class device_job : public job {
  public:
    using call = const char *(*)(const Args &args, void *stream);

    explicit device_job(call kernel) : kernel_(kernel) {
    }

    const char *run(void *stream) override {
        return kernel_(args_, stream);
    }

  protected:
    Args args_ = {};

  private:
    call kernel_;
};

} // namespace kref::bench

#endif
