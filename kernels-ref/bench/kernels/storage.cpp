/* Reads and writes of a storage: every piece of a file once, in order or scattered. */
#include "bench/array.h"
#include "bench/kernel.h"
#include "bench/ring.h"
#include "bench/storage_backend.h"

#include <cstring>

namespace kref::bench {

namespace {

constexpr int64_t SECTOR_BYTES = 4096; /* a multiple of what O_DIRECT asks of any disk */
constexpr int64_t PIECE_BYTES_MAX = 1073741824;
constexpr int64_t FILE_BYTES_MAX = 8589934592;
constexpr int64_t DEPTH_MAX = 4096;

shape shape_of(const char *variant, int64_t pieces, int64_t piece_bytes, int64_t queue_depth) {
    shape its = sli_no_measurement;
    its.variant = variant;
    its.pieces = pieces;
    its.piece_bytes = piece_bytes;
    its.queue_depth = queue_depth;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    constexpr int64_t mib = 1048576;
    if (is_quick) {
        return {shape_of("sequential", 16, 65536, 4), shape_of("random", 256, 4096, 8)};
    }
    std::vector<shape> all;
    for (int64_t depth : {1, 4, 16, 64}) {
        for (int64_t bytes : {int64_t{4096}, int64_t{65536}, mib}) {
            int64_t file_bytes = bytes < mib ? 64 * mib : 512 * mib;
            all.push_back(shape_of("sequential", file_bytes / bytes, bytes, depth));
            all.push_back(shape_of("random", file_bytes / bytes, bytes, depth));
        }
    }
    return all;
}

bool is_random(const shape &its) {
    return strcmp(its.variant, "random") == 0;
}

const char *refusal(const shape &its) {
    if (!is_random(its) && strcmp(its.variant, "sequential") != 0) {
        return "storage: variant must be sequential or random";
    }
    if (its.piece_bytes < SECTOR_BYTES || its.piece_bytes > PIECE_BYTES_MAX ||
        its.piece_bytes % SECTOR_BYTES != 0) {
        return "storage: piece_bytes must be a multiple of 4096 up to 2^30";
    }
    if (its.queue_depth < 1 || its.queue_depth > DEPTH_MAX) {
        return "storage: queue_depth must be 1 to 4096";
    }
    if (its.pieces < 1 || count_of({its.pieces, its.piece_bytes}) > FILE_BYTES_MAX) {
        return "storage: pieces must be positive, and at most 8 GiB together";
    }
    return nullptr;
}

kref_work work(const shape &its) {
    kref_work all = {};
    all.algorithmic_bytes = its.pieces * its.piece_bytes;
    return all;
}

int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

class storage_job : public job {
  public:
    storage_job(const shape &its, storage_backend &on, bool is_write)
        : is_write_(is_write), pieces_(its.pieces), piece_bytes_(its.piece_bytes),
          depth_(least(its.queue_depth, its.pieces)),
          memory_(on, count_of({depth_, its.piece_bytes})),
          file_(on.file_of(its.pieces * its.piece_bytes)),
          step_(is_random(its) ? far_step(its.pieces) : 1),
          error_(ring_.open(static_cast<unsigned>(depth_))) {
    }

    const char *run(void *) override {
        const char *error = error_;
        int64_t begun = 0;
        int64_t ended = 0;
        for (; begun < depth_ && error == nullptr; begun++) {
            put(begun, static_cast<uint64_t>(begun));
        }
        while (ended < begun) { /* after a failure too: what is under way writes into memory */
            const char *refused = ring_.submit();
            if (refused != nullptr) {
                return refused;
            }
            uint64_t place = 0;
            int32_t result = 0;
            while (ring_.take(&place, &result)) {
                ended++;
                if (result != static_cast<int32_t>(piece_bytes_)) {
                    error = "an operation of the storage failed or fell short";
                } else if (error == nullptr && begun < pieces_) {
                    put(begun++, place);
                }
            }
        }
        return error;
    }

  private:
    /* The i-th operation, with the memory of a place in the queue. */
    void put(int64_t i, uint64_t place) {
        ring_.put(is_write_, file_, memory_.data() + place * static_cast<uint64_t>(piece_bytes_),
                  static_cast<uint32_t>(piece_bytes_), i * step_ % pieces_ * piece_bytes_, place);
    }

    bool is_write_;
    int64_t pieces_;
    int64_t piece_bytes_;
    int64_t depth_;
    array<unsigned char> memory_;
    int file_;
    int64_t step_;
    ring ring_;
    const char *error_;
};

/* The rows below name no other backend. */
storage_backend &storage_of(backend &on) {
    return static_cast<storage_backend &>(on);
}

std::unique_ptr<job> prepare_read(const shape &its, backend &on) {
    return std::make_unique<storage_job>(its, storage_of(on), false);
}

std::unique_ptr<job> prepare_write(const shape &its, backend &on) {
    return std::make_unique<storage_job>(its, storage_of(on), true);
}

} // namespace

extern const kernel storage_read_kernel;
const kernel storage_read_kernel = {
    "storage_read",
    "reads of a file past the page cache",
    "variant pieces piece_bytes queue_depth",
    "io_uring",
    false,
    shapes,
    refusal,
    work,
    prepare_read,
};

extern const kernel storage_write_kernel;
const kernel storage_write_kernel = {
    "storage_write",
    "writes into a file past the page cache, not flushed out of the disk's own",
    "variant pieces piece_bytes queue_depth",
    "io_uring",
    false,
    shapes,
    refusal,
    work,
    prepare_write,
};

} // namespace kref::bench
