/*
 * What executes kernels and times them: this machine's CPU, or a CUDA device.
 *
 * A job is a kernel with its arguments and its memory, which is the backend's. Nothing is locked:
 * clocks move as they do in service, and the spread of the samples says how much.
 */
#ifndef KREF_BENCH_BACKEND_H
#define KREF_BENCH_BACKEND_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kref::bench {

class job {
  public:
    job() = default;
    job(const job &) = delete;
    job &operator=(const job &) = delete;
    virtual ~job() = default;

    /* Null, or what went wrong. The same work each time. */
    virtual const char *run(void *stream) = 0;

    /* Whether a graph can hold it. */
    virtual bool can_be_captured() const {
        return true;
    }

    /* Waits for what earlier runs have begun, where they do not wait themselves. */
    virtual const char *finish() {
        return nullptr;
    }
};

struct sampling {
    int samples = 50;        /* at most */
    double seconds = 2.0;    /* after which no more samples are taken */
    bool is_flushed = false; /* caches are filled with something else before each sample */
    bool is_graph = true;    /* CUDA: launched from a graph */
};

/* Peaks are NaN where nobody told them. */
struct identity {
    std::string device;
    std::string driver;
    std::string toolkit;
    double clock_hz = NAN;
    double peak_bytes_per_s = NAN;
    double peak_bf16_flops_per_s = NAN; /* of matrix instructions, dense */
    double peak_e4m3_flops_per_s = NAN;
    int threads = 0; /* of the host; 0 = they do not matter */
};

class backend {
  public:
    explicit backend(const identity &who) : who_(who) {
    }
    backend(const backend &) = delete;
    backend &operator=(const backend &) = delete;
    virtual ~backend() = default;

    virtual const char *name() const = 0; /* as in the column `backend` */
    virtual bool is_cuda() const = 0;
    virtual const char *launch(const sampling &how) const = 0; /* as in the column `launch` */
    virtual const char *cache(const sampling &how) const = 0;  /* as in the column `cache` */
    const identity &who() const {
        return who_;
    }

    /* Puts peaks in the place of what the device says, but for those that are NaN; fp8 is as many
     * times faster than bf16 as it was. */
    void set_peaks(double bf16_flops_per_s, double bytes_per_s);

    /* Memory on a boundary of 256 bytes, null if there is not enough; then trouble() says so. */
    virtual void *allocate(size_t bytes) = 0;
    /* The same of the host's memory, pinned, where the device reaches it over its link. */
    virtual void *allocate_on_host(size_t bytes) {
        return allocate(bytes);
    }
    virtual void release(void *memory) = 0;
    virtual void copy_in(void *to, const void *from, size_t bytes) = 0;

    /* Times of one execution each. Null, or what went wrong. */
    virtual const char *sample(job &it, const sampling &how, std::vector<double> *times_ns) = 0;

    /* What went wrong first while memory was prepared, or null; forgets it. */
    const char *take_trouble() {
        const char *trouble = trouble_;
        trouble_ = nullptr;
        return trouble;
    }

  protected:
    void note_trouble(const char *what) {
        trouble_ = trouble_ == nullptr ? what : trouble_;
    }

  private:
    identity who_;
    const char *trouble_ = nullptr;
};

extern const char *const not_enough_memory;
extern const char *const not_enough_devices;

/* How often to execute in one sample, so that the clock does not matter. */
int calls_of(double call_ns, double sample_ns, int calls_max);

} // namespace kref::bench

#endif
