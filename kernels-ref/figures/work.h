/*
 * How much a kernel has to do, and how much it does: closed forms, beside what the emulation
 * counts.
 *
 * Three FLOP figures must not be mixed. Algorithmic is what the definition asks for: no padding, no
 * pair that nobody sees, softmax and other small change aside for attention. Matrix is what matrix
 * instructions execute, in whole tiles, padding and hidden pairs too. Vector is what is executed
 * beside them; a maximum or a comparison is one FLOP, a fused multiply-add two. Specials are
 * exponentials, roots and hyperbolic tangents. Executed is matrix + vector.
 *
 * Algorithmic bytes are tensors in and out, each element once; tables of indices, cosines and
 * weights of norms aside. Loaded, copied (asynchronously, into shared memory) and stored are what
 * the threads ask for; a value that 128 threads read counts 128 times.
 *
 * Plain C; knows shapes, no device and no data. The forms follow from the kernels' texts, and the
 * tests hold the emulation's counts against them, to the last FLOP. O(sequences + tiles).
 */
#ifndef KREF_FIGURES_WORK_H
#define KREF_FIGURES_WORK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_work {
    int64_t algorithmic_flops;
    int64_t matrix_flops;
    int64_t vector_flops;
    int64_t specials;
    int64_t algorithmic_bytes;
    int64_t loaded_bytes;
    int64_t copied_bytes;
    int64_t stored_bytes;
    int64_t shared_bytes; /* of a block */
} kref_work;

typedef struct kref_attention_shape {
    int sequences;
    const int32_t *queries; /* of each sequence; for decode not used, it is 1 */
    const int32_t *tokens;  /* of each sequence, those of the queries among them */
    int queries_max;        /* prefill: what the grid is made for */
    int query_heads;
    int kv_heads;
    int head_dim;
    int window_tokens; /* 0 = all */
    int splits;        /* decode */
    int output_bytes;  /* of an element: 2 or 4 */
} kref_attention_shape;

kref_work kref_prefill_attention_work(const kref_attention_shape *shape);

/* The second kernel among it, if there are splits. */
kref_work kref_decode_attention_work(const kref_attention_shape *shape);

kref_work kref_rms_norm_work(int64_t rows, int64_t width, bool has_update);

/* `written` of the tokens have a slot in the cache. */
kref_work kref_rope_work(int64_t tokens, int64_t written, int64_t query_heads, int64_t kv_heads,
                         int64_t head_dim);

/* has_tanh: GELU in its tanh form; else SiLU. */
kref_work kref_activation_work(int64_t rows, int64_t width, bool has_tanh, bool is_gated);

typedef struct kref_gemm_shape {
    int64_t m;
    int64_t n;
    int64_t k;
    int element_bytes; /* of both operands: 2 or 1 */
    int output_bytes;
} kref_gemm_shape;

kref_work kref_gemm_work(const kref_gemm_shape *shape);

kref_work kref_router_work(int64_t tokens, int64_t experts, int64_t top_k);

typedef struct kref_expert_shape {
    const int32_t *counts; /* pairs of each expert */
    int64_t experts;
    int64_t pairs; /* of token and expert */
    int64_t top_k; /* experts of a token; 0 = rows lie at their places */
    int64_t n;
    int64_t k;
    int output_bytes;
} kref_expert_shape;

/* All three kernels; of the shape only counts, experts and pairs matter. */
kref_work kref_expert_order_work(const kref_expert_shape *shape);

kref_work kref_expert_gemm_work(const kref_expert_shape *shape);

kref_work kref_expert_sum_work(int64_t tokens, int64_t top_k, int64_t width, int output_bytes);

typedef struct kref_mla_shape {
    int sequences;
    const int32_t *queries; /* prefill: of each sequence */
    const int32_t *tokens;  /* of each sequence, those of the queries among them */
    int queries_max;        /* prefill: what the grid is made for */
    int heads;
    int splits; /* decode */
    int output_bytes;
} kref_mla_shape;

/* The second kernel among it, if there are splits. */
kref_work kref_mla_decode_work(const kref_mla_shape *shape);

/* Keys and values are there already: expanding them is a gemm. */
kref_work kref_mla_prefill_work(const kref_mla_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
