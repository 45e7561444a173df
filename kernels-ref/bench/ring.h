/*
 * An io_uring by its system calls: operations go in, completions come out. Linux 5.6 or later.
 *
 * One thread. `depth` operations may be under way at once. The rings are shared with the kernel:
 * who writes an index releases it, who reads one acquires it.
 */
#ifndef KREF_BENCH_RING_H
#define KREF_BENCH_RING_H

#include <cstddef>
#include <cstdint>

struct io_uring_sqe;
struct io_uring_cqe;

namespace kref::bench {

class ring {
  public:
    ring() = default;
    ~ring();
    ring(const ring &) = delete;
    ring &operator=(const ring &) = delete;

    /* Null, or what went wrong; once an object. */
    const char *open(unsigned depth);

    /* Puts one operation in; it begins at the next submit. */
    void put(bool is_write, int file, void *memory, uint32_t bytes, int64_t offset, uint64_t tag);

    /* Begins what was put in and waits until one operation has ended. Null, or what went wrong. */
    const char *submit();

    /* Takes one completion; false if there is none. `result` is bytes, or an errno below 0. */
    bool take(uint64_t *tag, int32_t *result);

  private:
    int ring_ = -1;
    unsigned put_count_ = 0; /* since the last submit */
    void *entries_ = nullptr;
    size_t entries_bytes_ = 0;
    void *submissions_ = nullptr;
    size_t submissions_bytes_ = 0;
    void *completions_ = nullptr;
    size_t completions_bytes_ = 0;
    unsigned *submission_tail_ = nullptr;
    unsigned submission_mask_ = 0;
    unsigned *submission_array_ = nullptr;
    unsigned *completion_head_ = nullptr;
    unsigned *completion_tail_ = nullptr;
    unsigned completion_mask_ = 0;
    io_uring_cqe *completed_ = nullptr;
};

} // namespace kref::bench

#endif
