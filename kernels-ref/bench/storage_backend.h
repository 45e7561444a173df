/*
 * A storage: a file in a folder, read and written past the page cache (O_DIRECT) through io_uring.
 *
 * The file is removed as soon as it is open, so nothing is left behind however the bench ends. Who
 * prepares a job asks for it with the size that it needs; it is filled once.
 */
#ifndef KREF_BENCH_STORAGE_BACKEND_H
#define KREF_BENCH_STORAGE_BACKEND_H

#include "bench/host_backend.h"

#include <memory>

namespace kref::bench {

class storage_backend : public host_backend {
  public:
    storage_backend(const identity &who, const std::string &folder);
    ~storage_backend() override;

    const char *name() const override {
        return "io_uring";
    }
    const char *cache(const sampling &) const override {
        return "bypassed";
    }

    /* The descriptor of a file that holds so many bytes; -1 if there is trouble. */
    int file_of(int64_t bytes);

  private:
    const char *make_file();
    const char *fill_to(int64_t bytes);

    std::string folder_;
    int file_ = -1;
    int64_t filled_bytes_ = 0;
};

/* Null, and why in *error, where there is no such folder. */
std::unique_ptr<backend> open_storage(const std::string &folder, std::string *error);

} // namespace kref::bench

#endif
