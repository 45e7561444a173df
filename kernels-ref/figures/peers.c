#include "figures/peers.h"

kref_work kref_peer_sum_work(int64_t ranks, int64_t rank, int64_t elements) {
    enum { ELEMENT_BYTES = 2, PACK = 8 };
    int64_t part = (elements / PACK + ranks - 1) / ranks * PACK;
    int64_t left = elements - rank * part;
    int64_t its = left < 0 ? 0 : left < part ? left : part;
    int64_t bytes = ELEMENT_BYTES * ranks * its;
    return (kref_work){
        .algorithmic_flops = (ranks - 1) * its,
        .vector_flops = (ranks - 1) * its,
        .algorithmic_bytes = 2 * bytes,
        .loaded_bytes = bytes,
        .stored_bytes = bytes,
    };
}
