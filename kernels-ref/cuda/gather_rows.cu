#include "cuda/gather_rows.h"

#include "cuda/kref.h"

namespace kref {

namespace {

constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;

/* One warp a row. */
__global__ void __launch_bounds__(THREADS) gather_rows_kernel(gather_rows_args args) {
    int at = static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.x) / 32;
    if (at >= args.top) {
        return;
    }
    int64_t sequence = blockIdx.y;
    int token = args.chosen.get(sequence * args.top + at);
    int64_t from = -1;
    if (token >= 0) {
        int64_t entry = sequence * args.blocks_max + token / args.block_tokens;
        int64_t block = args.block_table.get(entry);
        from = (block * args.block_tokens + token % args.block_tokens) * args.width;
    }
    int64_t to = (sequence * args.top + at) * args.width;
    for (int i = static_cast<int>(threadIdx.x) % 32 * PACK; i < args.width; i += 32 * PACK) {
        pack<bf16, PACK> some = {};
        if (from >= 0) {
            some = args.cache.get_pack<PACK>(from + i);
        }
        args.rows.put_pack<PACK>(to + i, some);
    }
}

} // namespace

const char *gather_rows_refusal(const gather_rows_args &args) {
    if (args.sequences < 0 || args.sequences > 65535 || args.top < 0) {
        return "gather_rows: at most 65535 sequences, and top must not be negative";
    }
    if (args.width < PACK || args.width % PACK != 0) {
        return "gather_rows: width must be a multiple of 8";
    }
    if (args.block_tokens < 1 || args.blocks_max < 0) {
        return "gather_rows: block_tokens must be positive, and blocks_max not negative";
    }
    return nullptr;
}

const char *gather_rows(const gather_rows_args &args, void *stream) {
    const char *refusal = gather_rows_refusal(args);
    if (refusal != nullptr || args.sequences == 0 || args.top == 0) {
        return refusal;
    }
    dim3 grid = {static_cast<unsigned>((args.top + WARPS - 1) / WARPS),
                 static_cast<unsigned>(args.sequences)};
    return launch("gather_rows", gather_rows_kernel, grid, dim3{THREADS}, 0, stream, args);
}

} // namespace kref
