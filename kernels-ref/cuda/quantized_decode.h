/*
 * decode_attention over a quantised cache: codes are copied, and become bf16 in shared memory.
 *
 * The operation is that of decode_attention.h, with keys and values as cuda/cache_format.h has
 * them: what an element is worth, where codes and scales lie.
 */
#ifndef KREF_CUDA_QUANTIZED_DECODE_H
#define KREF_CUDA_QUANTIZED_DECODE_H

#include "cuda/cache_format.h"
#include "cuda/decode_attention.h"

namespace kref {

/* Keys or values. */
struct quantized_rows {
    global<const uint8_t> codes; /* [blocks][block_tokens][kv_heads][row_code_bytes] */
    global<const fp16> scales;   /* [blocks][block_tokens][kv_heads][row_scales]; null with fp8 */
    global<const float> head_scales; /* [kv_heads], of fp8; else null */
};

struct quantized_decode_args {
    decode_attention_args attention; /* its caches are null; its workspace as ever */
    quantized_rows keys;
    quantized_rows values;
    cache_format format;
};

/* Why the shape cannot be served, or null. */
const char *quantized_decode_refusal(const quantized_decode_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *quantized_decode(const quantized_decode_args &args, void *stream);

} // namespace kref

#endif
