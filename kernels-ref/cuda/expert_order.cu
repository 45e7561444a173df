#include "cuda/expert_order.h"

#include "cuda/kref.h"
#include "cuda/reduce.h"

namespace kref {

namespace {

constexpr int SLICE = 1024; /* pairs */
constexpr int EXPERTS_MAX = 1024;
constexpr int FEW_ROWS = 32;
constexpr int MANY_ROWS = 128;

int slices_of(const expert_groups &groups) {
    return (groups.pairs + SLICE - 1) / SLICE;
}

/* The pairs of this block's slice, in shared memory; returns how many there are. */
KREF_FUNCTION int load_slice(const expert_order_args &args, int32_t *slice) {
    int64_t first = int64_t{blockIdx.x} * SLICE;
    int64_t left = args.groups.pairs - first;
    int pairs = left < SLICE ? static_cast<int>(left) : SLICE;
    for (int i = static_cast<int>(threadIdx.x); i < pairs; i += static_cast<int>(blockDim.x)) {
        slice[i] = args.chosen.get(first + i);
    }
    __syncthreads();
    return pairs;
}

/* A thread for each expert counts its pairs of a slice. */
__global__ void __launch_bounds__(EXPERTS_MAX) count_pairs_kernel(expert_order_args args) {
    KREF_SHARED(int32_t, slice, SLICE);
    int pairs = load_slice(args, slice);
    int expert = static_cast<int>(threadIdx.x);
    if (expert >= args.groups.experts) {
        return;
    }
    int count = 0;
    for (int i = 0; i < pairs; i++) {
        count += slice[i] == expert ? 1 : 0;
    }
    args.workspace.put(int64_t{blockIdx.x} * args.groups.experts + expert, count);
}

/* Pairs and tiles, summed at once. */
struct extent {
    int32_t pairs;
    int32_t tiles;
};

KREF_FUNCTION extent operator+(extent left, extent right) {
    return extent{left.pairs + right.pairs, left.tiles + right.tiles};
}

/* What the threads before this one have together. Once a kernel, by whole warps. */
KREF_FUNCTION extent sum_before(extent own) {
    KREF_SHARED(extent, of_warps, BLOCK_WARPS_MAX);
    int lane = static_cast<int>(threadIdx.x) % WARP_LANES;
    int warp = static_cast<int>(threadIdx.x) / WARP_LANES;
    extent sum = own;
    for (int distance = 1; distance < WARP_LANES; distance *= 2) {
        extent below = {__shfl_up_sync(~0U, sum.pairs, distance),
                        __shfl_up_sync(~0U, sum.tiles, distance)};
        if (lane >= distance) {
            sum = sum + below;
        }
    }
    if (lane == WARP_LANES - 1) {
        of_warps[warp] = sum;
    }
    __syncthreads();
    extent before = {sum.pairs - own.pairs, sum.tiles - own.tiles};
    for (int i = 0; i < warp; i++) {
        before = before + of_warps[i];
    }
    return before;
}

/* One block, a thread for each expert: where the expert begins, where its pairs of each slice do,
 * and its tiles. */
__global__ void __launch_bounds__(EXPERTS_MAX)
    place_groups_kernel(expert_order_args args, int slices, int tile_rows) {
    const expert_groups &groups = args.groups;
    int expert = static_cast<int>(threadIdx.x);
    int count = 0;
    for (int i = 0; i < slices && expert < groups.experts; i++) {
        count += args.workspace.get(int64_t{i} * groups.experts + expert);
    }
    extent own = {count, (count + tile_rows - 1) / tile_rows};
    extent before = sum_before(own);
    if (expert >= groups.experts) {
        return;
    }

    groups.starts.put(expert, before.pairs);
    if (expert == groups.experts - 1) {
        groups.starts.put(groups.experts, before.pairs + own.pairs);
        groups.tile_count.put(0, before.tiles + own.tiles);
    }
    for (int i = 0; i < own.tiles; i++) {
        pack<int32_t, 2> tile = {{expert, before.pairs + i * tile_rows}};
        groups.tiles.put_pack<2>(int64_t{before.tiles + i} * 2, tile);
    }
    int place = before.pairs;
    for (int i = 0; i < slices; i++) {
        int64_t at = int64_t{i} * groups.experts + expert;
        int its = args.workspace.get(at);
        args.workspace.put(at, place);
        place += its;
    }
}

/* A thread for each expert places its pairs of a slice, in their order. */
__global__ void __launch_bounds__(EXPERTS_MAX) place_pairs_kernel(expert_order_args args) {
    KREF_SHARED(int32_t, slice, SLICE);
    int pairs = load_slice(args, slice);
    int expert = static_cast<int>(threadIdx.x);
    if (expert >= args.groups.experts) {
        return;
    }
    int place = args.workspace.get(int64_t{blockIdx.x} * args.groups.experts + expert);
    for (int i = 0; i < pairs; i++) {
        if (slice[i] == expert) {
            int64_t pair = int64_t{blockIdx.x} * SLICE + i;
            args.groups.order.put(place, static_cast<int32_t>(pair));
            args.groups.places.put(pair, place);
            place++;
        }
    }
}

} // namespace

int expert_tile_rows(const expert_groups &groups) {
    return groups.pairs / FEW_ROWS <= groups.experts ? FEW_ROWS : MANY_ROWS;
}

int expert_tiles_max(const expert_groups &groups) {
    int with_pairs = groups.pairs < groups.experts ? groups.pairs : groups.experts;
    return groups.pairs / expert_tile_rows(groups) + with_pairs;
}

int64_t expert_order_workspace(const expert_groups &groups) {
    return int64_t{slices_of(groups)} * groups.experts;
}

const char *expert_order_refusal(const expert_order_args &args) {
    if (args.groups.pairs < 0) {
        return "expert_order: pairs must not be negative";
    }
    if (args.groups.experts < 1 || args.groups.experts > EXPERTS_MAX) {
        return "expert_order: there must be 1 to 1024 experts";
    }
    return nullptr;
}

const char *expert_order(const expert_order_args &args, void *stream) {
    const char *refusal = expert_order_refusal(args);
    if (refusal != nullptr) {
        return refusal;
    }
    int slices = slices_of(args.groups);
    dim3 grid = {static_cast<unsigned>(slices)};
    int warps = (args.groups.experts + WARP_LANES - 1) / WARP_LANES;
    dim3 block = {static_cast<unsigned>(warps * WARP_LANES)};
    const char *error = nullptr;
    if (slices > 0) {
        error = launch("count_pairs", count_pairs_kernel, grid, block, 0, stream, args);
    }
    if (error == nullptr) {
        error = launch("place_groups", place_groups_kernel, dim3{1}, block, 0, stream, args, slices,
                       expert_tile_rows(args.groups));
    }
    if (error == nullptr && slices > 0) {
        error = launch("place_pairs", place_pairs_kernel, grid, block, 0, stream, args);
    }
    return error;
}

} // namespace kref
