/*
 * Rotary embedding of queries and keys, and the write of keys and values into a paged cache.
 *
 * Of each head the elements i and i + d/2 are a pair, turned by position x base^(-2i/d) (Su et al.,
 * "RoFormer", 2021, in the half-split order of GPT-NeoX). Cosines and sines come from a table, as
 * in serving engines. Queries are turned in place. Keys and values go to the slot of their token, a
 * row of [slots][kv_heads][head_dim]; a slot of -1 is not written: padding.
 */
#ifndef KREF_CUDA_ROPE_H
#define KREF_CUDA_ROPE_H

#include "cuda/global.h"

namespace kref {

struct rope_args {
    global<bf16> queries;            /* [tokens][query_heads][head_dim] */
    global<const bf16> keys;         /* [tokens][kv_heads][head_dim] */
    global<const bf16> values;       /* [tokens][kv_heads][head_dim] */
    global<bf16> key_cache;          /* [slots][kv_heads][head_dim] */
    global<bf16> value_cache;        /* [slots][kv_heads][head_dim] */
    global<const int32_t> positions; /* [tokens] */
    global<const int32_t> slots;     /* [tokens] */
    global<const float> turns;       /* [positions][head_dim]: d/2 cosines, then d/2 sines */
    int tokens;
    int query_heads;
    int kv_heads;
    int head_dim;
};

/* Why the shape cannot be served, or null. */
const char *rope_refusal(const rope_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *rope(const rope_args &args, void *stream);

} // namespace kref

#endif
