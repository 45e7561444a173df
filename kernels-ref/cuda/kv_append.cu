#include "cuda/kv_append.h"

#include "cuda/kref.h"
#include "cuda/quantize.h"

namespace kref {

namespace {

constexpr int THREADS = 128;

/* A lane holds 8 neighbouring elements; the lanes of a row are neighbours too. Lanes without a row
 * work on zeros, because all of a warp take part in its shuffles. */
template <cache_format Format>
__global__ void __launch_bounds__(THREADS) kv_append_kernel(kv_append_args args) {
    append_target target = blockIdx.y == 0 ? args.keys : args.values;
    int row_lanes = args.head_dim / PACK;
    int lane = static_cast<int>(threadIdx.x) % row_lanes;
    int64_t row = int64_t{blockIdx.x} * (THREADS / row_lanes) +
                  static_cast<int>(threadIdx.x) / row_lanes;
    int64_t slot = row < int64_t{args.tokens} * args.kv_heads ? args.slots.get(row / args.kv_heads)
                                                              : -1;
    int64_t head = row % args.kv_heads;
    int64_t to = slot * args.kv_heads + head;
    lane_elements elements = {};
    if (slot >= 0) {
        elements = widen(target.rows.get_pack<PACK>(row * args.head_dim + lane * PACK));
    }

    if constexpr (Format == cache_format::fp8) {
        f32 scale = slot >= 0 ? target.head_scales.get(head) : 1.0F;
        pack<uint8_t, PACK> codes = to_fp8(elements, scale);
        if (slot >= 0) {
            target.codes.put_pack<PACK>(to * args.head_dim + lane * PACK, codes);
        }
    } else if constexpr (Format == cache_format::int8) {
        fp16 scale = find_int8_scale(elements, row_lanes);
        pack<uint8_t, PACK> codes = to_int8(elements, scale);
        if (slot >= 0) {
            target.codes.put_pack<PACK>(to * args.head_dim + lane * PACK, codes);
        }
        if (slot >= 0 && lane == 0) {
            target.scales.put(to, scale);
        }
    } else {
        fp16 scale = find_q4_scale(elements);
        pack<uint8_t, PACK> codes = join_halves(to_q4(elements, scale));
        int group = lane / Q4_LANES;
        int part = lane % Q4_LANES;
        int64_t groups = to * (args.head_dim / Q4_GROUP) + group;
        if (slot >= 0 && part < Q4_LANES / 2) {
            target.codes.put_pack<PACK>(groups * (Q4_GROUP / 2) + part * PACK, codes);
        }
        if (slot >= 0 && part == 0) {
            target.scales.put(groups, scale);
        }
    }
}

template <cache_format Format> const char *launch_format(const kv_append_args &args, void *stream) {
    int64_t rows = int64_t{args.tokens} * args.kv_heads;
    int64_t block_rows = THREADS / (args.head_dim / PACK);
    dim3 grid = {static_cast<unsigned>((rows + block_rows - 1) / block_rows), 2};
    return launch("kv_append", kv_append_kernel<Format>, grid, dim3{THREADS}, 0, stream, args);
}

bool has_its_arrays(const append_target &target, cache_format format) {
    bool is_fp8 = format == cache_format::fp8;
    return target.scales.is_null() == is_fp8 && target.head_scales.is_null() == !is_fp8;
}

} // namespace

const char *kv_append_refusal(const kv_append_args &args) {
    if (args.tokens < 0) {
        return "kv_append: tokens must not be negative";
    }
    if (args.head_dim != 32 && args.head_dim != 64 && args.head_dim != 128 &&
        args.head_dim != 256) {
        return "kv_append: head_dim must be 32, 64, 128 or 256";
    }
    if (args.kv_heads < 1) {
        return "kv_append: there must be a key-value head at least";
    }
    if (!has_its_arrays(args.keys, args.format) || !has_its_arrays(args.values, args.format)) {
        return "kv_append: fp8 takes head_scales and no scales, the others scales and no "
               "head_scales";
    }
    return nullptr;
}

const char *kv_append(const kv_append_args &args, void *stream) {
    const char *refusal = kv_append_refusal(args);
    if (refusal != nullptr || args.tokens == 0) {
        return refusal;
    }
    switch (args.format) {
    case cache_format::fp8:
        return launch_format<cache_format::fp8>(args, stream);
    case cache_format::int8:
        return launch_format<cache_format::int8>(args, stream);
    case cache_format::q4_0:
        break;
    }
    return launch_format<cache_format::q4_0>(args, stream);
}

} // namespace kref
