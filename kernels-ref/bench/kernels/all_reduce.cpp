/* All-reduces over the devices of a node: by peer_sum, and by NCCL where it is installed. Bytes are
 * those of one rank: what it puts in and what it gets. */
#include "bench/array.h"
#include "bench/kernel.h"
#include "bench/peers_backend.h"
#include "cuda/peer_sum.h"
#include "figures/peers.h"

#if defined(KREF_NCCL)
#include <nccl.h>
#endif

namespace kref::bench {

namespace {

shape shape_of(int64_t ranks, int64_t width) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.ranks = ranks;
    its.width = width;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    if (is_quick) {
        return {shape_of(2, 4096)};
    }
    std::vector<shape> all;
    for (int64_t ranks : {2, 4, 8}) {
        for (int64_t width = 4096; width <= 4096 * 16384; width *= 4) {
            all.push_back(shape_of(ranks, width));
        }
    }
    return all;
}

const char *refusal(const shape &its) {
    peer_sum_args args = {};
    args.ranks = to_int(its.ranks);
    args.elements = its.width;
    return peer_sum_refusal(args);
}

kref_work work(const shape &its) {
    return kref_peer_sum_work(its.ranks, 0, its.width);
}

#if defined(KREF_ON_DEVICE)

/* An input and an output on each device. */
class collective_job : public job {
  public:
    collective_job(const shape &its, peers_backend &on)
        : on_(on), ranks_(to_int(its.ranks)), elements_(its.width) {
        if (ranks_ > on.devices()) {
            on.note_lack_of_devices();
            return;
        }
        for (int rank = 0; rank < ranks_; rank++) {
            auto bytes = static_cast<size_t>(elements_) * sizeof(bf16);
            inputs_.push_back(static_cast<bf16 *>(on.allocate_at(rank, bytes)));
            outputs_.push_back(static_cast<bf16 *>(on.allocate_at(rank, bytes)));
        }
    }
    ~collective_job() override {
        for (size_t rank = 0; rank < inputs_.size(); rank++) {
            peers_backend::release_at(inputs_[rank]);
            peers_backend::release_at(outputs_[rank]);
        }
    }

    const char *finish() override {
        return on_.wait(ranks_);
    }

  protected:
    peers_backend &on_;
    int ranks_;
    int64_t elements_;
    std::vector<bf16 *> inputs_;
    std::vector<bf16 *> outputs_;
};

/* The ranks meet before each sum, when all inputs are there, and so behind the one before. */
class peer_sum_job : public collective_job {
  public:
    using collective_job::collective_job;

    const char *run(void *) override {
        const char *error = on_.meet(ranks_);
        peer_sum_args args = {};
        args.ranks = ranks_;
        args.elements = elements_;
        for (int rank = 0; rank < ranks_; rank++) {
            args.inputs[rank] = inputs_[static_cast<size_t>(rank)];
            args.outputs[rank] = outputs_[static_cast<size_t>(rank)];
        }
        for (args.rank = 0; args.rank < ranks_ && error == nullptr; args.rank++) {
            on_.use(args.rank);
            error = peer_sum(args, on_.stream(args.rank));
        }
        return error;
    }
};

#if defined(KREF_NCCL)

const char *text_of(ncclResult_t result) {
    return result == ncclSuccess ? nullptr : ncclGetErrorString(result);
}

class nccl_job : public collective_job {
  public:
    nccl_job(const shape &its, peers_backend &on)
        : collective_job(its, on), ranks_of_nccl_(inputs_.size(), nullptr) {
        if (!inputs_.empty()) {
            error_ = text_of(ncclCommInitAll(ranks_of_nccl_.data(), ranks_, nullptr));
        }
    }
    ~nccl_job() override {
        for (ncclComm_t rank : ranks_of_nccl_) {
            if (rank != nullptr) {
                ncclCommDestroy(rank);
            }
        }
    }

    const char *run(void *) override {
        if (error_ != nullptr) {
            return error_;
        }
        ncclResult_t result = ncclGroupStart();
        for (size_t rank = 0; rank < inputs_.size() && result == ncclSuccess; rank++) {
            result = ncclAllReduce(inputs_[rank], outputs_[rank], static_cast<size_t>(elements_),
                                   ncclBfloat16, ncclSum, ranks_of_nccl_[rank],
                                   static_cast<cudaStream_t>(on_.stream(static_cast<int>(rank))));
        }
        ncclResult_t ended = ncclGroupEnd();
        return text_of(result != ncclSuccess ? result : ended);
    }

  private:
    std::vector<ncclComm_t> ranks_of_nccl_;
    const char *error_ = nullptr;
};

#endif

/* The rows below name no other backends. */
peers_backend &peers_of(backend &on) {
    return static_cast<peers_backend &>(on);
}

#endif

std::unique_ptr<job> prepare_peers([[maybe_unused]] const shape &its,
                                   [[maybe_unused]] backend &on) {
#if defined(KREF_ON_DEVICE)
    return std::make_unique<peer_sum_job>(its, peers_of(on));
#else
    return nullptr; /* no such backend opens */
#endif
}

std::unique_ptr<job> prepare_nccl([[maybe_unused]] const shape &its, [[maybe_unused]] backend &on) {
#if defined(KREF_ON_DEVICE) && defined(KREF_NCCL)
    return std::make_unique<nccl_job>(its, peers_of(on));
#else
    return nullptr; /* no such backend opens */
#endif
}

} // namespace

extern const kernel peer_sum_kernel;
const kernel peer_sum_kernel = {
    "peer_sum",
    "an all-reduce over peers by this house's kernel; width is the elements of a rank",
    "element width ranks",
    "peers",
    false,
    shapes,
    refusal,
    work,
    prepare_peers,
};

extern const kernel nccl_all_reduce_kernel;
const kernel nccl_all_reduce_kernel = {
    "nccl_all_reduce",
    "the same by NCCL",
    "element width ranks",
    "nccl",
    false,
    shapes,
    refusal,
    work,
    prepare_nccl,
};

} // namespace kref::bench
