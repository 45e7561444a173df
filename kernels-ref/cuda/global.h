/*
 * Global memory as the kernels see it: an array that knows only reads and writes.
 *
 * On a device a global<T> is a pointer and its accesses are plain ones. Under the emulation each is
 * counted, and there is no way to read past the count but by address(), which is for copy_async.
 * A pack is a group of elements that moves as one, its address a multiple of its size.
 *
 * Included by host code that calls a launcher, with or without the emulation around it.
 */
#ifndef KREF_CUDA_GLOBAL_H
#define KREF_CUDA_GLOBAL_H

#include "cuda/number.h"

#include <cstdint>

#if !defined(__CUDACC__)
#include "emulation/count.h"
#endif

namespace kref {

constexpr int PACK = 8; /* bf16 in the widest access, of 16 bytes */

template <typename Element, int Count> struct alignas(sizeof(Element) * Count) pack {
    Element at[Count];
};

template <typename T> class global {
  public:
    global() = default;
    KREF_BOTH global(T *first) : first_(first) {
    }

    KREF_BOTH T get(int64_t index) const {
        count_load(index, sizeof(T));
        return first_[index];
    }

    KREF_BOTH void put(int64_t index, T value) const {
        count_store(index, sizeof(T));
        first_[index] = value;
    }

    /* `index` counts elements, not packs. */
    template <int Count> KREF_BOTH auto get_pack(int64_t index) const {
        using its_pack = const pack<plain, Count>;
        count_load(index, sizeof(its_pack));
        return *reinterpret_cast<its_pack *>(first_ + index);
    }

    template <int Count> KREF_BOTH void put_pack(int64_t index, pack<T, Count> value) const {
        count_store(index, sizeof value);
        *reinterpret_cast<pack<T, Count> *>(first_ + index) = value;
    }

    KREF_BOTH T *address(int64_t index) const {
        return first_ + index;
    }

    KREF_BOTH bool is_null() const {
        return first_ == nullptr;
    }

  private:
    template <typename Any> struct without_const { using type = Any; };
    template <typename Any> struct without_const<const Any> { using type = Any; };
    using plain = typename without_const<T>::type;

    KREF_BOTH void count_load([[maybe_unused]] int64_t index,
                              [[maybe_unused]] uint64_t bytes) const {
#if !defined(__CUDACC__)
        emulation::count_loaded(first_ + index, bytes);
#endif
    }

    KREF_BOTH void count_store([[maybe_unused]] int64_t index,
                               [[maybe_unused]] uint64_t bytes) const {
#if !defined(__CUDACC__)
        emulation::count_stored(first_ + index, bytes);
#endif
    }

    T *first_ = nullptr;
};

} // namespace kref

#endif
