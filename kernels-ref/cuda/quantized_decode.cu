#include "cuda/quantized_decode.h"

#include "cuda/kref.h"
#include "cuda/paged_decode.h"

namespace kref {

namespace {

using namespace paged_decode;

constexpr int VECTOR_BYTES = 16;

/* Sixteen keys or values as they are stored. */
template <int Head_dim, cache_format Format> struct coded_tile {
    static constexpr int row_bytes = row_code_bytes(Format, Head_dim);
    static constexpr int scales_a_row = row_scales(Format, Head_dim);
    alignas(VECTOR_BYTES) uint8_t codes[KEY_TILE * row_bytes];
    fp16 scales[KEY_TILE * scales_a_row + (scales_a_row > 0 ? 0 : 1)];
};

/* `cache_row` is the lane's row; lanes 16 to 31 know the same as 0 to 15. */
template <int Head_dim, cache_format Format>
KREF_FUNCTION void begin_tile(coded_tile<Head_dim, Format> *tile, const quantized_rows &rows,
                              int kv_heads, int64_t cache_row, int count) {
    using its_tile = coded_tile<Head_dim, Format>;
    constexpr int row_vectors = its_tile::row_bytes / VECTOR_BYTES;
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t lane_row = cache_row * kv_heads + blockIdx.y;
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE * row_vectors / 32; i++) {
        int row = (i * 32 + lane) / row_vectors;
        int column = (i * 32 + lane) % row_vectors * VECTOR_BYTES;
        int64_t from = __shfl_sync(~0U, lane_row, row) * its_tile::row_bytes + column;
        copy_async(tile->codes + row * its_tile::row_bytes + column, rows.codes.address(from),
                   row < count ? VECTOR_BYTES : 0);
    }
    if (lane < KEY_TILE) {
        KREF_UNROLL
        for (int i = 0; i < its_tile::scales_a_row; i++) {
            fp16 scale = {0};
            if (lane < count) {
                scale = rows.scales.get(lane_row * its_tile::scales_a_row + i);
            }
            tile->scales[lane * its_tile::scales_a_row + i] = scale;
        }
    }
}

/* Element `part` of the eight that begin at `column` of a row. */
template <int Head_dim, cache_format Format>
KREF_FUNCTION f32 value_of(const uint8_t *row, int column, int part) {
    if constexpr (Format == cache_format::fp8) {
        return to_float(e4m3{row[column + part]});
    } else if constexpr (Format == cache_format::int8) {
        return static_cast<float>(static_cast<int8_t>(row[column + part]));
    } else {
        int in_group = column % Q4_GROUP;
        int pair = row[column / Q4_GROUP * (Q4_GROUP / 2) + in_group % (Q4_GROUP / 2) + part];
        int code = in_group < Q4_GROUP / 2 ? pair & 15 : pair >> 4;
        return static_cast<float>(code - 8);
    }
}

/* Codes become bf16, eight elements a lane at a time. */
template <int Head_dim, cache_format Format>
KREF_FUNCTION void widen_tile(bf16 *target, const coded_tile<Head_dim, Format> &tile,
                              f32 head_scale) {
    using its_tile = coded_tile<Head_dim, Format>;
    constexpr int row_packs = Head_dim / PACK;
    int lane = static_cast<int>(threadIdx.x) % 32;
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE * row_packs / 32; i++) {
        int row = (i * 32 + lane) / row_packs;
        int column = (i * 32 + lane) % row_packs * PACK;
        f32 scale = head_scale;
        if constexpr (its_tile::scales_a_row > 0) {
            constexpr int scale_elements = Head_dim / its_tile::scales_a_row;
            scale = to_float(tile.scales[row * its_tile::scales_a_row + column / scale_elements]);
        }
        pack<bf16, PACK> wide;
        KREF_UNROLL
        for (int part = 0; part < PACK; part++) {
            f32 value = value_of<Head_dim, Format>(tile.codes + row * its_tile::row_bytes, column,
                                                   part);
            wide.at[part] = to_bf16(static_cast<float>(value * scale));
        }
        *reinterpret_cast<pack<bf16, PACK> *>(target + row * key_stage<Head_dim>::stride +
                                              column) = wide;
    }
}

template <cache_format Format> KREF_FUNCTION f32 head_scale_of(const quantized_rows &rows) {
    if constexpr (Format == cache_format::fp8) {
        return rows.head_scales.get(blockIdx.y);
    } else {
        return 1.0F;
    }
}

/* Tiles on their way as they are stored, and the one that is computed with in bf16. */
template <int Head_dim, cache_format Format> struct coded_stages {
    struct {
        coded_tile<Head_dim, Format> keys;
        coded_tile<Head_dim, Format> values;
    } at[STAGES];
    key_stage<Head_dim> wide;

    KREF_FUNCTION void begin(int place, const decode_attention_args &args,
                             const quantized_decode_args &cache, key_range range, int first_key) {
        int64_t row = find_row(args, range, first_key);
        begin_tile(&at[place].keys, cache.keys, args.kv_heads, row, range.end - first_key);
        begin_tile(&at[place].values, cache.values, args.kv_heads, row, range.end - first_key);
    }

    KREF_FUNCTION const key_stage<Head_dim> &finish(int place, const quantized_decode_args &cache) {
        widen_tile(wide.keys, at[place].keys, head_scale_of<Format>(cache.keys));
        widen_tile(wide.values, at[place].values, head_scale_of<Format>(cache.values));
        __syncwarp(); /* each lane computes with what the others have widened */
        return wide;
    }
};

template <int Head_dim, cache_format Format>
__global__ void __launch_bounds__(THREADS) quantized_decode_kernel(quantized_decode_args args) {
    attend<coded_stages<Head_dim, Format>, Head_dim>(args.attention, args);
}

template <int Head_dim, cache_format Format>
const char *launch_format(const quantized_decode_args &args, void *stream) {
    using shared = staging<coded_stages<Head_dim, Format>, Head_dim>;
    const char *error = launch("quantized_decode", quantized_decode_kernel<Head_dim, Format>,
                               grid_of(args.attention), dim3{THREADS}, sizeof(shared), stream,
                               args);
    return error != nullptr || args.attention.splits == 1 ? error : combine(args.attention, stream);
}

template <int Head_dim> const char *launch_width(const quantized_decode_args &args, void *stream) {
    switch (args.format) {
    case cache_format::fp8:
        return launch_format<Head_dim, cache_format::fp8>(args, stream);
    case cache_format::int8:
        return launch_format<Head_dim, cache_format::int8>(args, stream);
    case cache_format::q4_0:
        break;
    }
    return launch_format<Head_dim, cache_format::q4_0>(args, stream);
}

bool has_its_arrays(const quantized_rows &rows, cache_format format) {
    bool is_fp8 = format == cache_format::fp8;
    return rows.scales.is_null() == is_fp8 && rows.head_scales.is_null() == !is_fp8;
}

} // namespace

const char *quantized_decode_refusal(const quantized_decode_args &args) {
    const char *refusal = decode_attention_refusal(args.attention);
    if (refusal != nullptr) {
        return refusal;
    }
    if (!has_its_arrays(args.keys, args.format) || !has_its_arrays(args.values, args.format)) {
        return "quantized_decode: fp8 takes head_scales and no scales, the others scales and no "
               "head_scales";
    }
    return nullptr;
}

const char *quantized_decode(const quantized_decode_args &args, void *stream) {
    const char *refusal = quantized_decode_refusal(args);
    if (refusal != nullptr || args.attention.sequences == 0) {
        return refusal;
    }
    return args.attention.head_dim == 64 ? launch_width<64>(args, stream)
                                         : launch_width<128>(args, stream);
}

} // namespace kref
