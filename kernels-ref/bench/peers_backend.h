/*
 * All CUDA devices of a node together, for collectives: peers that read and write each other's
 * memory, or ranks of NCCL.
 *
 * One thread drives all devices, each with a stream of its own. A sample is by the host's clock:
 * collectives one after another in the streams, and at the end a wait for all of them.
 */
#ifndef KREF_BENCH_PEERS_BACKEND_H
#define KREF_BENCH_PEERS_BACKEND_H

#include "bench/host_backend.h"

#include <memory>

namespace kref::bench {

class peers_backend : public host_backend {
  public:
    peers_backend(const char *name, const identity &who, int devices);
    ~peers_backend() override;

    /* Null, or what went wrong; once an object. With peers, that they reach each other. */
    const char *open();

    const char *name() const override {
        return name_;
    }
    bool is_cuda() const override {
        return true;
    }
    const char *launch(const sampling &) const override {
        return "stream";
    }
    const char *cache(const sampling &) const override {
        return "warm";
    }

    int devices() const {
        return devices_;
    }
    /* Memory of a device, filled with zeros; null if there is not enough, and trouble() says so. */
    void *allocate_at(int device, size_t bytes);
    static void release_at(void *memory);

    void use(int device);
    void *stream(int device) const {
        return streams_[static_cast<size_t>(device)];
    }
    /* What a stream does next waits for what the others have been given. */
    const char *meet(int ranks);
    const char *wait(int ranks);

    void note_lack_of_devices();

  private:
    const char *name_;
    int devices_;
    std::vector<void *> streams_;
    std::vector<void *> events_;
};

/* `name` is peers or nccl. Null, and why in *error, where there are no two devices, or no NCCL. */
std::unique_ptr<backend> open_peers(const std::string &name, std::string *error);

} // namespace kref::bench

#endif
