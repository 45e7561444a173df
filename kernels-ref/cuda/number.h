/*
 * The narrow numbers of the kernels: bf16, fp8 as e4m3 and e5m2, and fp16, which scales are kept
 * in.
 *
 * The same structs on host and device: bits and nothing else, so that memory can be copied as it
 * is. Conversion rounds to nearest, ties to even. A bf16 or fp16 that is too large becomes
 * infinite; an fp8 saturates at its largest value, infinities too, as serving engines ask for. A
 * NaN becomes the format's NaN without a sign: 0x7fff, 0x7f, 0x7f, 0x7fff. That is what the
 * toolkit's conversions do, and tests/test_numbers_toolkit.cpp holds every code and millions of
 * floats against it.
 *
 * On a device the conversions are the toolkit's, which become single instructions where the
 * architecture has them.
 *
 * Formats: e4m3 has no infinity, its largest value is 448; e5m2 is the upper byte of an IEEE half
 * (OCP 8-bit Floating Point Specification 1.0, 2023).
 */
#ifndef KREF_CUDA_NUMBER_H
#define KREF_CUDA_NUMBER_H

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define KREF_BOTH __host__ __device__ inline
#else
#define KREF_BOTH inline
#endif

namespace kref {

struct bf16 {
    uint16_t bits;
};

struct fp16 {
    uint16_t bits;
};

struct e4m3 {
    uint8_t bits;
};

struct e5m2 {
    uint8_t bits;
};

/* The pattern of a NaN that comes out of an fp8. */
constexpr uint32_t decoded_nan = 0x7fffffffU;

KREF_BOTH uint32_t bits_of(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

KREF_BOTH float float_of(uint32_t bits) {
    float value = 0.0F;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* How an fp8 format divides its byte. */
struct fp8_layout {
    int mantissa_bits;
    int bias;
    uint8_t largest; /* code of the largest finite value, without its sign */
};

constexpr fp8_layout e4m3_layout = {3, 7, 0x7e};
constexpr fp8_layout e5m2_layout = {2, 15, 0x7b};

namespace portable {

/* Adds just under half of the last kept place, and one more if that place is odd. */
KREF_BOTH uint16_t bf16_code(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U) {
        return 0x7fff;
    }
    return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/* As above, with the exponent's bias changed; below 2^-14 the places are fixed, 2^-24 each. */
KREF_BOTH uint16_t fp16_code(float value) {
    uint32_t bits = bits_of(value);
    uint32_t magnitude = bits & 0x7fffffffU;
    auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
    if (magnitude > 0x7f800000U) {
        return 0x7fff;
    }
    if (magnitude >= 0x477ff000U) { /* 65520, half a place above the largest */
        return static_cast<uint16_t>(sign | 0x7c00U);
    }
    if (magnitude < 0x38800000U) {
        /* Beside 1/2 the last place of a float is 2^-24: the addition rounds. */
        float rounded = float_of(magnitude) + 0.5F;
        return static_cast<uint16_t>(sign | (bits_of(rounded) - 0x3f000000U));
    }
    uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

KREF_BOTH float fp16_value(uint16_t code) {
    uint32_t magnitude = code & 0x7fffU;
    uint32_t sign = (code & 0x8000U) << 16;
    if (magnitude >= 0x7c00U) {
        return float_of(magnitude > 0x7c00U ? 0x7fffffffU : sign | 0x7f800000U);
    }
    float value = magnitude < 0x400U ? static_cast<float>(magnitude) * 0x1p-24F
                                     : float_of((magnitude << 13) + 0x38000000U);
    return sign != 0 ? -value : value;
}

/* The value is cut off behind the last place that the format keeps at this exponent, and rounded by
 * what was cut. Codes are consecutive, so a carry out of the mantissa is right as it is. */
KREF_BOTH uint8_t fp8_code(float value, fp8_layout layout) {
    uint32_t bits = bits_of(value);
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
        return 0x7f;
    }
    auto sign = static_cast<uint8_t>((bits >> 24) & 0x80U);
    int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent > 15) {
        return static_cast<uint8_t>(sign | layout.largest);
    }
    uint32_t mantissa = (magnitude & 0x7fffffU) | (exponent == -127 ? 0U : 0x800000U);
    int cut = 23 - layout.mantissa_bits;
    int code_exponent = exponent + layout.bias;
    if (code_exponent < 1) {
        cut += 1 - code_exponent;
        code_exponent = 1;
    }
    if (cut > 24) {
        return sign;
    }
    uint32_t kept = mantissa >> cut;
    uint32_t lost = mantissa & ((1U << cut) - 1U);
    uint32_t half = 1U << (cut - 1);
    if (lost > half || (lost == half && (kept & 1U) != 0)) {
        kept++;
    }
    /* `kept` holds the leading one of a normal number, which the exponent's field counts once. */
    uint32_t code = (static_cast<uint32_t>(code_exponent - 1) << layout.mantissa_bits) + kept;
    return static_cast<uint8_t>(sign | (code > layout.largest ? layout.largest : code));
}

/* The value of a code that is neither NaN nor infinite. */
KREF_BOTH float fp8_value(uint8_t code, fp8_layout layout) {
    uint32_t exponent = (code & 0x7fU) >> layout.mantissa_bits;
    uint32_t mantissa = code & ((1U << layout.mantissa_bits) - 1U);
    int scale = 1 - layout.bias - layout.mantissa_bits;
    if (exponent > 0) {
        mantissa |= 1U << layout.mantissa_bits;
        scale += static_cast<int>(exponent) - 1;
    }
    float unit = float_of(static_cast<uint32_t>(scale + 127) << 23);
    float value = static_cast<float>(mantissa) * unit;
    return (code & 0x80U) != 0 ? -value : value;
}

} // namespace portable

KREF_BOTH float to_float(bf16 value) {
    return float_of(static_cast<uint32_t>(value.bits) << 16);
}

KREF_BOTH float to_float(fp16 value) {
    return portable::fp16_value(value.bits);
}

KREF_BOTH float to_float(e4m3 value) {
    if ((value.bits & 0x7fU) == 0x7fU) {
        return float_of(decoded_nan);
    }
    return portable::fp8_value(value.bits, e4m3_layout);
}

KREF_BOTH float to_float(e5m2 value) {
    uint32_t magnitude = value.bits & 0x7fU;
    if (magnitude > 0x7cU) {
        return float_of(decoded_nan);
    }
    if (magnitude == 0x7cU) {
        return float_of((value.bits & 0x80U) != 0 ? 0xff800000U : 0x7f800000U);
    }
    return portable::fp8_value(value.bits, e5m2_layout);
}

KREF_BOTH bf16 to_bf16(float value) {
#if defined(__CUDA_ARCH__)
    return bf16{__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
    return bf16{portable::bf16_code(value)};
#endif
}

KREF_BOTH fp16 to_fp16(float value) {
#if defined(__CUDA_ARCH__)
    return fp16{__half_as_ushort(__float2half_rn(value))};
#else
    return fp16{portable::fp16_code(value)};
#endif
}

KREF_BOTH e4m3 to_e4m3(float value) {
#if defined(__CUDA_ARCH__)
    return e4m3{__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
#else
    return e4m3{portable::fp8_code(value, e4m3_layout)};
#endif
}

KREF_BOTH e5m2 to_e5m2(float value) {
#if defined(__CUDA_ARCH__)
    return e5m2{__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2)};
#else
    return e5m2{portable::fp8_code(value, e5m2_layout)};
#endif
}

} // namespace kref

#endif
