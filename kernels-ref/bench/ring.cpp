#include "bench/ring.h"

#include <cerrno>
#include <cstring>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kref::bench {

namespace {

const char *open_error(int error) {
    switch (error) {
    case ENOSYS:
        return "io_uring is not in this kernel";
    case EPERM:
    case EACCES:
        return "io_uring is forbidden here";
    default:
        return "io_uring cannot be set up";
    }
}

void *map(int ring, size_t bytes, uint64_t offset) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                static_cast<off_t>(offset));
}

void unmap(void *memory, size_t bytes) {
    if (memory != nullptr && memory != MAP_FAILED) {
        munmap(memory, bytes);
    }
}

template <typename T> T *at(void *memory, uint32_t offset) {
    return reinterpret_cast<T *>(static_cast<unsigned char *>(memory) + offset);
}

} // namespace

ring::~ring() {
    unmap(entries_, entries_bytes_);
    unmap(submissions_, submissions_bytes_);
    unmap(completions_, completions_bytes_);
    if (ring_ >= 0) {
        close(ring_);
    }
}

const char *ring::open(unsigned depth) {
    io_uring_params params = {};
    ring_ = static_cast<int>(syscall(SYS_io_uring_setup, depth, &params));
    if (ring_ < 0) {
        return open_error(errno);
    }
    entries_bytes_ = params.sq_entries * sizeof(io_uring_sqe);
    submissions_bytes_ = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    completions_bytes_ = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
    entries_ = map(ring_, entries_bytes_, IORING_OFF_SQES);
    submissions_ = map(ring_, submissions_bytes_, IORING_OFF_SQ_RING);
    completions_ = map(ring_, completions_bytes_, IORING_OFF_CQ_RING);
    if (entries_ == MAP_FAILED || submissions_ == MAP_FAILED || completions_ == MAP_FAILED) {
        return "io_uring cannot be mapped";
    }
    submission_tail_ = at<unsigned>(submissions_, params.sq_off.tail);
    submission_mask_ = *at<unsigned>(submissions_, params.sq_off.ring_mask);
    submission_array_ = at<unsigned>(submissions_, params.sq_off.array);
    completion_head_ = at<unsigned>(completions_, params.cq_off.head);
    completion_tail_ = at<unsigned>(completions_, params.cq_off.tail);
    completion_mask_ = *at<unsigned>(completions_, params.cq_off.ring_mask);
    completed_ = at<io_uring_cqe>(completions_, params.cq_off.cqes);
    return nullptr;
}

void ring::put(bool is_write, int file, void *memory, uint32_t bytes, int64_t offset,
               uint64_t tag) {
    unsigned tail = *submission_tail_; /* nobody else writes it */
    unsigned index = tail & submission_mask_;
    auto *entry = static_cast<io_uring_sqe *>(entries_) + index;
    memset(entry, 0, sizeof *entry);
    entry->opcode = is_write ? IORING_OP_WRITE : IORING_OP_READ;
    entry->fd = file;
    entry->addr = reinterpret_cast<uint64_t>(memory);
    entry->len = bytes;
    entry->off = static_cast<uint64_t>(offset);
    entry->user_data = tag;
    submission_array_[index] = index;
    __atomic_store_n(submission_tail_, tail + 1, __ATOMIC_RELEASE);
    put_count_++;
}

const char *ring::submit() {
    long begun = 0;
    do {
        begun = syscall(SYS_io_uring_enter, ring_, put_count_, 1U, IORING_ENTER_GETEVENTS, nullptr,
                        size_t{0});
    } while (begun < 0 && errno == EINTR);
    if (begun < 0) {
        return "io_uring does not take operations";
    }
    put_count_ -= static_cast<unsigned>(begun);
    return nullptr;
}

bool ring::take(uint64_t *tag, int32_t *result) {
    unsigned head = *completion_head_; /* nobody else writes it */
    if (head == __atomic_load_n(completion_tail_, __ATOMIC_ACQUIRE)) {
        return false;
    }
    const io_uring_cqe *done = &completed_[head & completion_mask_];
    *tag = done->user_data;
    *result = done->res;
    __atomic_store_n(completion_head_, head + 1, __ATOMIC_RELEASE);
    return true;
}

} // namespace kref::bench
