/*
 * Closed form of peer_sum: the share of one rank.
 *
 * Algorithmic are the additions of its part, and its part of every input and of every output, of
 * which all but its own cross a link. All ranks together move each input and each output once.
 */
#ifndef KREF_FIGURES_PEERS_H
#define KREF_FIGURES_PEERS_H

#include "figures/work.h"

#ifdef __cplusplus
extern "C" {
#endif

kref_work kref_peer_sum_work(int64_t ranks, int64_t rank, int64_t elements);

#ifdef __cplusplus
}
#endif

#endif
