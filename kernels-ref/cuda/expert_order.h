/*
 * Tokens sorted by the experts that they go to, so that each expert finds its rows side by side.
 *
 * A pair is a choice of a token: pair p belongs to token p / top_k. Pairs are sorted by expert, and
 * keep their order within one: a counting sort without atomics, which gives the same order every
 * time. Slices of pairs are counted by one thread an expert, the counts are summed up, and the same
 * threads then place the pairs of their slice.
 *
 * Also cuts the rows of each expert into tiles, for expert_gemm: few rows a tile where experts get
 * few. An expert without tokens has no tile.
 */
#ifndef KREF_CUDA_EXPERT_ORDER_H
#define KREF_CUDA_EXPERT_ORDER_H

#include "cuda/global.h"

namespace kref {

/* What comes out, in memory of the caller. */
struct expert_groups {
    global<int32_t> starts;     /* [experts + 1]: the first place of each expert, and the end */
    global<int32_t> order;      /* [pairs]: which pair stands at a place */
    global<int32_t> places;     /* [pairs]: where a pair stands */
    global<int32_t> tiles;      /* [expert_tiles_max()][2]: expert and first place of a tile */
    global<int32_t> tile_count; /* [1] */
    int pairs;
    int experts; /* at most 1024 */
};

struct expert_order_args {
    global<const int32_t> chosen; /* [pairs]: an expert each */
    global<int32_t> workspace;    /* expert_order_workspace() numbers */
    expert_groups groups;
};

/* Rows of a tile: 32 or 128. */
int expert_tile_rows(const expert_groups &groups);

/* So many tiles there are at most, however the pairs are distributed. */
int expert_tiles_max(const expert_groups &groups);

/* Numbers of the workspace. */
int64_t expert_order_workspace(const expert_groups &groups);

/* Why the shape cannot be served, or null. */
const char *expert_order_refusal(const expert_order_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *expert_order(const expert_order_args &args, void *stream);

} // namespace kref

#endif
