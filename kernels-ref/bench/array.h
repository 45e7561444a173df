/*
 * Arrays in the memory of a backend, and what they are filled with.
 *
 * An array that found no memory is null and says so through the backend; whoever prepares a job
 * goes on and lets it be asked for at the end.
 */
#ifndef KREF_BENCH_ARRAY_H
#define KREF_BENCH_ARRAY_H

#include "bench/backend.h"

#include <initializer_list>

namespace kref::bench {

/* A product of sizes; the largest number where it overflows, which no memory holds. */
inline int64_t count_of(std::initializer_list<int64_t> sizes) {
    int64_t count = 1;
    for (int64_t size : sizes) {
        if (__builtin_mul_overflow(count, size, &count)) {
            return INT64_MAX;
        }
    }
    return count;
}

/* A step of about 0.6 of the count that comes by each of `count` places: it shares no factor with
 * it. So i * step % count scatters, and repeats nothing. */
int64_t far_step(int64_t count);

enum class memory { device, host };

template <typename T> class array {
  public:
    array(backend &on, int64_t count, memory where = memory::device) : on_(on) {
        int64_t bytes = count_of({count, static_cast<int64_t>(sizeof(T))});
        auto size = static_cast<size_t>(bytes > 0 ? bytes : 1);
        memory_ = where == memory::host ? on.allocate_on_host(size) : on.allocate(size);
    }
    array(backend &on, const std::vector<T> &values, memory where = memory::device)
        : array(on, static_cast<int64_t>(values.size()), where) {
        if (memory_ != nullptr) {
            on.copy_in(memory_, values.data(), values.size() * sizeof(T));
        }
    }
    ~array() {
        on_.release(memory_);
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;

    T *data() const {
        return static_cast<T *>(memory_);
    }

  private:
    backend &on_;
    void *memory_;
};

/* Uniform numbers in [-amplitude, amplitude), the same for the same count. Elements of 2 bytes are
 * bf16, of 1 byte e4m3, of 4 bytes f32. */
void fill(backend &on, void *to, int64_t count, size_t element_bytes, float amplitude = 1.0F);

/* The same element again and again. */
void repeat(backend &on, void *to, int64_t count, const void *element, size_t element_bytes);

/* A filled array. */
template <typename T> class filled : public array<T> {
  public:
    filled(backend &on, int64_t count, float amplitude = 1.0F) : array<T>(on, count) {
        fill(on, this->data(), count, sizeof(T), amplitude);
    }
};

/* An array of one number. */
template <typename T> class repeated : public array<T> {
  public:
    repeated(backend &on, int64_t count, T value) : array<T>(on, count) {
        repeat(on, this->data(), count, &value, sizeof value);
    }
};

/* Each of `count` places once, far from its neighbours: as the blocks of a cache lie after hours of
 * service. */
std::vector<int32_t> scattered(int64_t count);

/* Where `count` stretches of one length begin, and where the last one ends. */
std::vector<int32_t> starts_of_equals(int64_t count, int64_t length);

/* 0, step, 2 step, ... modulo `limit`. */
std::vector<int32_t> numbers(int64_t count, int64_t limit, int64_t step = 1);

} // namespace kref::bench

#endif
