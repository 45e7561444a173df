/*
 * Rows of a cache in fewer bits: a row is the key or the value of one token and head.
 *
 * - fp8: an e4m3 an element; a scale a head, or one for all, chosen beforehand, weighs nothing.
 * - int8: a byte an element, and an fp16 scale a row, which is the greatest magnitude / 127.
 * - q4_0: 4 bits an element, and an fp16 scale for each 32, as in ggml: d = m / -8, where m is the
 *   element of the greatest magnitude, and the code is the least of 15 and x / d + 8.5 cut off.
 *   Byte j of 16 holds element j in its lower half and element j + 16 in its upper one. Where both
 *   signs reach the greatest magnitude ggml takes the first, this the positive one.
 *
 * An element is worth code x scale, of q4_0 (code - 8) x d, rounded to bf16. Codes and scales lie
 * in arrays of their own, so that codes are read 16 bytes at a time; together they weigh what
 * sim/model/format.h says of a row. A scale is as precise as fp16 is: rows beyond its range, above
 * 65504 x 127, saturate, and rows below 2^-25 x 127 become zeros.
 */
#ifndef KREF_CUDA_CACHE_FORMAT_H
#define KREF_CUDA_CACHE_FORMAT_H

#include "cuda/global.h"

namespace kref {

enum class cache_format { fp8, int8, q4_0 };

constexpr int Q4_GROUP = 32; /* elements that share a scale */

/* Of a row: bytes of codes, and scales of its own. */
KREF_BOTH constexpr int row_code_bytes(cache_format format, int elements) {
    return format == cache_format::q4_0 ? elements / 2 : elements;
}

KREF_BOTH constexpr int row_scales(cache_format format, int elements) {
    return format == cache_format::fp8 ? 0 : format == cache_format::int8 ? 1 : elements / Q4_GROUP;
}

} // namespace kref

#endif
