/*
 * Linear attention with a gated delta rule: Gated DeltaNet (Yang et al., 2024) and Kimi Delta
 * Attention (Kimi Linear, 2025).
 *
 * Each head of a sequence keeps a matrix S of key_dim x value_dim. A token with key k, value v,
 * query q, decay a = e^g and strength b makes of it
 *     S' = diag(a) S;   e = b (v - S'^T k);   S = S' + k e^T;   output scale S^T q.
 * The decay is one number a head (Gated DeltaNet) or one for each key channel (KDA). Keys should
 * have a length of 1 at most and 0 <= b <= 1, g <= 0. Head h has the key and query of head
 * h / (heads / key_heads).
 *
 * delta_step goes token by token, with the state in registers: what decode does, for one token or
 * the few of a draft. It reads and writes the state once, and is bound by that.
 *
 * delta_prefill takes 16 tokens at a time on tensor cores. With S0 the state as the first token of
 * a chunk finds it, decayed for that, and G the sums of g from the second token on (Yang et al.,
 * "Parallelizing Linear Transformers with the Delta Rule", 2024, section 3.2),
 *     (1 + A) U = b (V - e^G K S0),   A_ts = b_t sum_i k_ti k_si e^(G_ti - G_si) for s < t,
 *     outputs scale (e^G Q S0 + P U), P_ts = sum_i q_ti k_si e^(G_ti - G_si) for s <= t,
 *     S = e^G_end S0 + (e^(G_end - G) K)^T U,
 * where G_end is that of the token behind the chunk, so that S is what this one finds. State, K, Q
 * and U are rounded to bf16 for the products, and summed in f32.
 *
 * With a decay for each channel A and P are products of e^G K, e^G Q and e^-G K, which has to be a
 * number: a chunk ends before a token whose G falls below -80 in some channel. Decays may be as
 * fast as they like; the faster, the less of the tensor cores is used, down to a token a chunk. A
 * gate that is bounded from below by -5, as implementations bound it, never cuts: 15 x 5 = 75.
 */
#ifndef KREF_CUDA_DELTA_RULE_H
#define KREF_CUDA_DELTA_RULE_H

#include "cuda/global.h"

namespace kref {

struct delta_rule_args {
    global<const bf16> queries;     /* [tokens][key_heads][key_dim] */
    global<const bf16> keys;        /* the same */
    global<const bf16> values;      /* [tokens][heads][value_dim] */
    global<const float> log_decays; /* g: [tokens][heads], with channels [tokens][heads][key_dim] */
    global<const float> strengths;  /* b: [tokens][heads] */
    global<const int32_t> starts;   /* [sequences + 1]: first token of each */
    global<const int32_t> slots;    /* [sequences]: where its state is */
    global<float> states;           /* [slots][heads][key_dim][value_dim], changed in place */
    /* [tokens][heads][value_dim]; one of the two, the other is null. */
    global<bf16> outputs;
    global<float> exact_outputs; /* not rounded, for tests */
    int sequences;
    int key_heads;
    int heads;
    int key_dim;   /* 64 or 128 */
    int value_dim; /* a multiple of 64 */
    bool has_channel_decays;
    float scale;
};

/* Why the shape cannot be served, or null. */
const char *delta_rule_refusal(const delta_rule_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *delta_step(const delta_rule_args &args, void *stream);
const char *delta_prefill(const delta_rule_args &args, void *stream);

} // namespace kref

#endif
