/* The splits that attentions are measured with. */
#ifndef KREF_BENCH_OFFERED_SPLITS_H
#define KREF_BENCH_OFFERED_SPLITS_H

#include "figures/splits.h"

#include <cstdint>

namespace kref::bench {

/* As many as are wanted, 1 at least, and no more than are left with keys. */
inline int64_t offered_splits(int64_t wanted, int64_t tokens, int64_t grain) {
    return wanted > 1 ? kref_useful_splits(tokens, static_cast<int>(wanted), grain) : 1;
}

} // namespace kref::bench

#endif
