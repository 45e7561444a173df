#include "cuda/rms_norm.h"

#include "cuda/kref.h"
#include "cuda/reduce.h"

namespace kref {

namespace {

constexpr int THREADS_MAX = 512;
constexpr int WIDTH_MAX = 32768; /* a row lies in shared memory */

using row_pack = pack<bf16, PACK>;

KREF_FUNCTION row_pack add_update(row_pack kept, row_pack update) {
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        f32 sum = f32(to_float(kept.at[i])) + f32(to_float(update.at[i]));
        kept.at[i] = to_bf16(static_cast<float>(sum));
    }
    return kept;
}

KREF_FUNCTION f32 add_squares(f32 sum, row_pack values) {
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        f32 value = to_float(values.at[i]);
        sum = fma(value, value, sum);
    }
    return sum;
}

KREF_FUNCTION row_pack scale(row_pack values, row_pack weights, f32 factor) {
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        f32 scaled = f32(to_float(values.at[i])) * factor * f32(to_float(weights.at[i]));
        values.at[i] = to_bf16(static_cast<float>(scaled));
    }
    return values;
}

/* One block a row. Each thread comes back to its own elements, so it keeps them in shared memory
 * without waiting for others: global memory is read once. */
__global__ void __launch_bounds__(THREADS_MAX) rms_norm_kernel(rms_norm_args args) {
    auto *kept = reinterpret_cast<row_pack *>(KREF_DYNAMIC_SHARED());
    int64_t row = int64_t{blockIdx.x} * args.width;
    int packs = args.width / PACK;
    int threads = static_cast<int>(blockDim.x);

    f32 squares = 0.0F;
    for (int at = static_cast<int>(threadIdx.x); at < packs; at += threads) {
        row_pack values = args.stream.get_pack<PACK>(row + at * PACK);
        if (!args.update.is_null()) {
            values = add_update(values, args.update.get_pack<PACK>(row + at * PACK));
            args.stream.put_pack<PACK>(row + at * PACK, values);
        }
        squares = add_squares(squares, values);
        kept[at] = values;
    }

    f32 mean = sum_over_block(squares) / f32(static_cast<float>(args.width));
    f32 factor = rsqrt(mean + f32(args.epsilon));
    for (int at = static_cast<int>(threadIdx.x); at < packs; at += threads) {
        row_pack normed = scale(kept[at], args.weight.get_pack<PACK>(at * PACK), factor);
        args.normed.put_pack<PACK>(row + at * PACK, normed);
    }
}

} // namespace

const char *rms_norm_refusal(const rms_norm_args &args) {
    if (args.rows < 0) {
        return "rms_norm: rows must not be negative";
    }
    if (args.width < PACK || args.width > WIDTH_MAX || args.width % PACK != 0) {
        return "rms_norm: width must be a multiple of 8 from 8 to 32768";
    }
    return nullptr;
}

const char *rms_norm(const rms_norm_args &args, void *stream) {
    const char *refusal = rms_norm_refusal(args);
    if (refusal != nullptr || args.rows == 0) {
        return refusal;
    }
    int packs = args.width / PACK;
    int warps = (packs + WARP_LANES - 1) / WARP_LANES;
    int threads = warps * WARP_LANES < THREADS_MAX ? warps * WARP_LANES : THREADS_MAX;
    return launch("rms_norm", rms_norm_kernel, dim3{static_cast<unsigned>(args.rows)},
                  dim3{static_cast<unsigned>(threads)},
                  static_cast<size_t>(args.width) * sizeof(bf16), stream, args);
}

} // namespace kref
