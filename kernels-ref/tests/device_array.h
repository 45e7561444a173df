/*
 * An array in the memory that kernels see: of the host under the emulation, of a device where
 * KREF_ON_DEVICE is defined.
 *
 * On a host it ends exactly where it should, so that AddressSanitizer sees what lies behind it. New
 * arrays are filled with 0xff, a NaN in each of the number formats. No memory ends the program.
 */
#ifndef KREF_TESTS_DEVICE_ARRAY_H
#define KREF_TESTS_DEVICE_ARRAY_H

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#if defined(KREF_ON_DEVICE)
#include <cuda_runtime_api.h>
#endif

namespace kref::tests {

inline void require(bool is_done, const char *what) {
    if (!is_done) {
        fprintf(stderr, "%s failed\n", what);
        abort();
    }
}

#if defined(KREF_ON_DEVICE)

inline void *allocate(size_t bytes) {
    void *memory = nullptr;
    require(cudaMalloc(&memory, bytes) == cudaSuccess, "cudaMalloc");
    require(cudaMemset(memory, 0xff, bytes) == cudaSuccess, "cudaMemset");
    return memory;
}

inline void release(void *memory) {
    cudaFree(memory);
}

inline void copy(void *to, const void *from, size_t bytes) {
    require(cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess, "cudaMemcpy");
}

#else

inline void *allocate(size_t bytes) {
    constexpr size_t alignment = 256; /* as cudaMalloc gives it */
    void *memory = nullptr;
    require(posix_memalign(&memory, alignment, bytes) == 0, "posix_memalign");
    memset(memory, 0xff, bytes);
    return memory;
}

inline void release(void *memory) {
    free(memory);
}

inline void copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

#endif

template <typename T> class device_array {
  public:
    explicit device_array(size_t count)
        : first_(static_cast<T *>(allocate((count > 0 ? count : 1) * sizeof(T)))), count_(count) {
    }
    explicit device_array(const std::vector<T> &values) : device_array(values.size()) {
        write(values);
    }
    ~device_array() {
        release(first_);
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    T *data() const {
        return first_;
    }

    void write(const std::vector<T> &values) {
        if (count_ > 0) {
            copy(first_, values.data(), count_ * sizeof(T));
        }
    }

    std::vector<T> read() const {
        std::vector<T> values(count_);
        if (count_ > 0) {
            copy(values.data(), first_, count_ * sizeof(T));
        }
        return values;
    }

  private:
    T *first_;
    size_t count_;
};

} // namespace kref::tests

#endif
