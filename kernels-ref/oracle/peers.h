/*
 * The sum over ranks in double precision: the oracle of peer_sum.
 *
 * A kernel that sums in f32 is off by at most (ranks - 1) 2^-24 sum |x|, and by 2^-8 of the sum
 * more where it rounds to bf16. Plain C; knows no kernel. The caller owns all memory. O(ranks
 * elements).
 */
#ifndef KREF_ORACLE_PEERS_H
#define KREF_ORACLE_PEERS_H

#include "oracle/expected.h"

#ifdef __cplusplus
extern "C" {
#endif

/* inputs[rank] has `elements` elements, and so have the outputs. */
void kref_peer_sum(const double *const *inputs, int ranks, int elements,
                   const kref_expected *expected);

#ifdef __cplusplus
}
#endif

#endif
