/*
 * What the emulation tells the sanitizers, if there are any: that it changes stacks, which bytes
 * nobody may touch, and which threads wait for which.
 *
 * The files of the emulation itself are compiled without -fsanitize=thread, because what they do
 * between lanes is not what the kernel does; KREF_TSAN says that the program around them has it.
 */
#ifndef KREF_EMULATION_SANITIZER_H
#define KREF_EMULATION_SANITIZER_H

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(KREF_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

namespace kref::emulation {

/* ---- AddressSanitizer: bytes that must not be touched ---- */

inline void forbid([[maybe_unused]] const void *first, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(first, bytes);
#endif
}

inline void permit([[maybe_unused]] const void *first, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(first, bytes);
#endif
}

/* ---- ThreadSanitizer: what happens before what ---- */

/* All that this lane has done so far happens before what follows an acquire of the same address. */
inline void release([[maybe_unused]] void *address) {
#if defined(KREF_TSAN)
    __tsan_release(address);
#endif
}

inline void acquire([[maybe_unused]] void *address) {
#if defined(KREF_TSAN)
    __tsan_acquire(address);
#endif
}

/* While one is alive, accesses are nobody's: the emulation moves data for all lanes at once. */
class unobserved {
  public:
    unobserved() {
#if defined(KREF_TSAN)
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    }
    ~unobserved() {
#if defined(KREF_TSAN)
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
    }
    unobserved(const unobserved &) = delete;
    unobserved &operator=(const unobserved &) = delete;
};

} // namespace kref::emulation

#endif
