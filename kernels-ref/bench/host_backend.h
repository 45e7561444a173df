/*
 * What runs on the host: memory that is there, and samples by the steady clock.
 *
 * Caches are flushed by writing a buffer that is larger than they are. Memory is what the system
 * says is available: more is refused, and never swapped.
 */
#ifndef KREF_BENCH_HOST_BACKEND_H
#define KREF_BENCH_HOST_BACKEND_H

#include "bench/backend.h"

#include <map>

namespace kref::bench {

class host_backend : public backend {
  public:
    explicit host_backend(const identity &who);

    bool is_cuda() const override {
        return false;
    }
    const char *launch(const sampling &) const override {
        return "call";
    }
    const char *cache(const sampling &how) const override {
        return how.is_flushed ? "flushed" : "warm";
    }
    void *allocate(size_t bytes) override;
    void release(void *memory) override;
    void copy_in(void *to, const void *from, size_t bytes) override;
    const char *sample(job &it, const sampling &how, std::vector<double> *times_ns) override;

  private:
    void flush();

    size_t free_bytes_;
    std::map<void *, size_t> sizes_;
    std::vector<unsigned char> others_;
    unsigned char round_ = 0;
};

/* What follows `name` and a colon in a file of the system, or "". */
std::string read_fact(const char *path, const char *name);

/* What runs this machine, as "Linux 6.1.0". */
std::string system_name();

/* What compiled this program, as "gcc 12.2.0 -O3". */
std::string compiler_name();

} // namespace kref::bench

#endif
