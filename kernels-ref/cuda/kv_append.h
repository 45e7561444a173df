/*
 * Writes the keys and values of new tokens into a paged cache, quantised.
 *
 * Keys and values go to the slot of their token, a row for each head; a slot of -1 is not written:
 * padding. Formats and what lies where: cuda/cache_format.h. (Unquantised, rope does it.)
 */
#ifndef KREF_CUDA_KV_APPEND_H
#define KREF_CUDA_KV_APPEND_H

#include "cuda/cache_format.h"

namespace kref {

/* Keys or values. */
struct append_target {
    global<const bf16> rows;         /* [tokens][kv_heads][head_dim] */
    global<uint8_t> codes;           /* [slots][kv_heads][row_code_bytes] */
    global<fp16> scales;             /* [slots][kv_heads][row_scales]; null with fp8 */
    global<const float> head_scales; /* [kv_heads], of fp8; else null */
};

struct kv_append_args {
    append_target keys;
    append_target values;
    global<const int32_t> slots; /* [tokens] */
    cache_format format;
    int tokens;
    int kv_heads;
    int head_dim; /* 32, 64, 128 or 256 */
};

/* Why the shape cannot be served, or null. */
const char *kv_append_refusal(const kv_append_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *kv_append(const kv_append_args &args, void *stream);

} // namespace kref

#endif
