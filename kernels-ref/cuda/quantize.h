/*
 * Eight elements of a row to codes of a cache format, by a lane; its scale by the lanes together.
 *
 * All lanes of a warp take part in what looks for a scale, and in join_halves.
 */
#ifndef KREF_CUDA_QUANTIZE_H
#define KREF_CUDA_QUANTIZE_H

#include "cuda/cache_format.h"
#include "cuda/kref.h"

namespace kref {

constexpr int Q4_LANES = Q4_GROUP / PACK; /* that share a scale */

struct lane_elements {
    f32 at[PACK];
};

KREF_FUNCTION lane_elements widen(pack<bf16, PACK> values) {
    lane_elements wide;
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        wide.at[i] = to_float(values.at[i]);
    }
    return wide;
}

/* To nearest, ties to even. */
KREF_FUNCTION int round_to_int(f32 value) {
#if defined(__CUDACC__)
    return __float2int_rn(value);
#else
    return static_cast<int>(lrintf(static_cast<float>(value)));
#endif
}

KREF_FUNCTION int limit(int value, int lowest, int highest) {
    int limited = value < lowest ? lowest : value;
    return limited > highest ? highest : limited;
}

/* 1 / scale, or 0 where that is 0: the row is, too. */
KREF_FUNCTION f32 invert(fp16 scale) {
    f32 inverse = f32(1.0F) / f32(to_float(scale));
    return (scale.bits & 0x7fffU) == 0 ? f32(0.0F) : inverse;
}

/* An fp16 that is not infinite. */
KREF_FUNCTION fp16 to_finite_fp16(f32 value) {
    fp16 rounded = to_fp16(static_cast<float>(value));
    bool is_finite = (rounded.bits & 0x7fffU) < 0x7c00U;
    return is_finite ? rounded : fp16{static_cast<uint16_t>((rounded.bits & 0x8000U) | 0x7bffU)};
}

/* ---- fp8 ---- */

KREF_FUNCTION pack<uint8_t, PACK> to_fp8(const lane_elements &elements, f32 scale) {
    f32 inverse = f32(1.0F) / scale;
    pack<uint8_t, PACK> codes;
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        codes.at[i] = to_e4m3(static_cast<float>(elements.at[i] * inverse)).bits;
    }
    return codes;
}

/* ---- int8 ---- */

KREF_FUNCTION fp16 find_int8_scale(const lane_elements &elements, int row_lanes) {
    f32 greatest = 0.0F;
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        greatest = max(greatest, max(elements.at[i], -elements.at[i]));
    }
    for (int pattern = 1; pattern < row_lanes; pattern *= 2) {
        greatest = max(greatest, __shfl_xor_sync(~0U, greatest, pattern));
    }
    return to_finite_fp16(greatest / f32(127.0F));
}

KREF_FUNCTION pack<uint8_t, PACK> to_int8(const lane_elements &elements, fp16 scale) {
    f32 inverse = invert(scale);
    pack<uint8_t, PACK> codes;
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        int code = limit(round_to_int(elements.at[i] * inverse), -127, 127);
        codes.at[i] = static_cast<uint8_t>(code);
    }
    return codes;
}

/* ---- q4_0 ---- */

KREF_FUNCTION fp16 find_q4_scale(const lane_elements &elements) {
    f32 highest = elements.at[0];
    f32 lowest = -elements.at[0]; /* its opposite */
    KREF_UNROLL
    for (int i = 1; i < PACK; i++) {
        highest = max(highest, elements.at[i]);
        lowest = max(lowest, -elements.at[i]);
    }
    KREF_UNROLL
    for (int pattern = 1; pattern < Q4_LANES; pattern *= 2) {
        highest = max(highest, __shfl_xor_sync(~0U, highest, pattern));
        lowest = max(lowest, __shfl_xor_sync(~0U, lowest, pattern));
    }
    f32 greatest = lowest > highest ? -lowest : highest;
    return to_finite_fp16(greatest * f32(-0.125F));
}

KREF_FUNCTION pack<uint8_t, PACK> to_q4(const lane_elements &elements, fp16 scale) {
    f32 inverse = invert(scale);
    pack<uint8_t, PACK> codes;
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        f32 shifted = fma(elements.at[i], inverse, 8.5F);
        codes.at[i] = static_cast<uint8_t>(
            limit(static_cast<int>(static_cast<float>(shifted)), 0, 15));
    }
    return codes;
}

/* For the lanes of the first half of a group: their codes, with those of the second half above. */
KREF_FUNCTION pack<uint8_t, PACK> join_halves(pack<uint8_t, PACK> codes) {
    struct words {
        uint32_t at[2];
    };
    words mine;
    memcpy(&mine, &codes, sizeof mine);
    words other;
    other.at[0] = __shfl_down_sync(~0U, mine.at[0], Q4_LANES / 2);
    other.at[1] = __shfl_down_sync(~0U, mine.at[1], Q4_LANES / 2);
    mine.at[0] |= other.at[0] << 4;
    mine.at[1] |= other.at[1] << 4;
    memcpy(&codes, &mine, sizeof codes);
    return codes;
}

} // namespace kref

#endif
