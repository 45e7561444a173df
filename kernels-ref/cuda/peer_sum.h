/*
 * An all-reduce over devices that reach each other's memory: the sum of one array of each rank, in
 * one array of each rank.
 *
 * Rank r sums part r of all inputs and writes it into all outputs, so that each element crosses a
 * link twice a rank: the two-shot scheme of serving engines for messages that are not small. All
 * ranks get the same bits, summed in f32 in the order of ranks and rounded once.
 *
 * A call is the share of one rank. No rank may begin before all inputs are there, and outputs are
 * whole when all ranks have ended; the caller orders that by events, the kernel waits for nobody.
 */
#ifndef KREF_CUDA_PEER_SUM_H
#define KREF_CUDA_PEER_SUM_H

#include "cuda/global.h"

namespace kref {

constexpr int PEERS_MAX = 8;

struct peer_sum_args {
    global<const bf16> inputs[PEERS_MAX]; /* [elements], of each rank */
    global<bf16> outputs[PEERS_MAX];      /* [elements], of each rank; no input */
    int ranks;
    int rank;
    int64_t elements; /* a multiple of 8, up to 2^40 */
};

/* Why the shape cannot be served, or null. */
const char *peer_sum_refusal(const peer_sum_args &args);

/* Null, or what went wrong. The memory is the caller's, the stream one of the rank's device. */
const char *peer_sum(const peer_sum_args &args, void *stream);

} // namespace kref

#endif
