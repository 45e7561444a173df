/*
 * What a step has to compute and move, operator by operator, on one rank.
 *
 * Floor model. Turns an architecture, a tensor-parallel degree and the shape of a batch into
 * matrix sizes, FLOPs and bytes; knows nothing of devices and time. Doubles, exact up to 2^53.
 * A multiply-add is two FLOPs.
 *
 * Plain architectures are counted by the operators that were measured one by one, with 2-byte
 * activations, weights and cache. Any architecture, plain or not, is counted from the facts of its
 * parts (model/kind.h), in any formats.
 */
#ifndef SLUICE_MODEL_OPCOUNT_H
#define SLUICE_MODEL_OPCOUNT_H

#include "model/architecture.h"
#include "model/attention.h"
#include "model/batch_sums.h"
#include "sluice/cost.h"

/* ---- Plain architectures ---- */

/* C[m x n] = A[m x k] B[k x n] */
typedef struct sli_gemm {
    double m;
    double n;
    double k;
} sli_gemm;

double sli_gemm_flops(const sli_gemm *gemm);
double sli_gemm_bytes(const sli_gemm *gemm); /* both inputs read once, the output written once */

typedef enum sli_layer_gemm {
    SLI_GEMM_QKV,
    SLI_GEMM_OUT,
    SLI_GEMM_GATE_UP,
    SLI_GEMM_DOWN,
    SLI_GEMM_COUNT
} sli_layer_gemm;

typedef enum sli_elementwise {
    SLI_ELEMENTWISE_NORM_IN,  /* residual add and norm in front of the attention */
    SLI_ELEMENTWISE_NORM_MID, /* the same in front of the feed-forward */
    SLI_ELEMENTWISE_ROPE,     /* rotary embedding and the write into the cache */
    SLI_ELEMENTWISE_ACTIVATION,
    SLI_ELEMENTWISE_QK_NORM, /* only where the model has it */
    SLI_ELEMENTWISE_COUNT
} sli_elementwise;

/* One call over all chunks of the step. */
typedef struct sli_prefill_work {
    double tile_flops; /* of whole tiles of 128 query rows, what lies above the diagonal too */
    double
        critical_flops; /* one tile of rows over the longest chunk: the work of one thread block */
    double bytes;
} sli_prefill_work;

/* One call over all decode rows of the step. */
typedef struct sli_decode_work {
    double bytes;          /* cached keys and values */
    double longest_tokens; /* of the visible keys of a row */
    double row_heads;      /* rows x key-value heads of the rank */
} sli_decode_work;

/* One layer of a run. What a step does not have is zero. */
typedef struct sli_layer_work {
    sli_gemm gemms[SLI_GEMM_COUNT];
    sli_prefill_work prefill;
    sli_decode_work decode;
    double elementwise_bytes[SLI_ELEMENTWISE_COUNT]; /* 0 = the operator does not exist */
    double all_reduce_bytes; /* of each of the two a layer; 0 with one rank */
} sli_layer_work;

/* For architectures without sli_architecture_unplain; sli_parallel_is_even(architecture, tp) must
 * hold. O(1). */
void sli_opcount_layer(const sli_architecture *architecture, const sli_layer_run *run, int64_t tp,
                       const sl_batch_shape *shape, sli_layer_work *work);

/* The attention of sli_opcount_layer alone: the part that the tokens of the step do not determine,
 * so the only one that every step has to count. O(1). */
void sli_opcount_attention(const sli_architecture *architecture, const sli_layer_run *run,
                           int64_t tp, const sl_batch_shape *shape, sli_prefill_work *prefill,
                           sli_decode_work *decode);

/* The head, for the rows that a token is drawn from; m = 0 when there are none. */
sli_gemm sli_opcount_head(const sli_architecture *architecture, int64_t tp,
                          const sl_batch_shape *shape);

/* Exact FLOPs of all ranks for a step: matrices, and attention over causal pairs without padding.
 * Only of plain layers, from parameters and pairs alone: a second way to what the parts count. */
double sli_opcount_flops(const sli_architecture *architecture, const sl_batch_shape *shape);

/* ---- Any architecture ---- */

/*
 * FLOPs of all mixers beside their matrices, of one sequence and on all ranks, for any
 * architecture: scores and weighted values, index scores, recurrences. Decode is the step in which
 * the sequence has so many tokens, the new one among them; prefill puts tokens behind a cached
 * prefix. Matrices take 2 sli_params_matmul a token. O(runs).
 */
double sli_opcount_decode_core(const sli_architecture *architecture, int64_t tokens);
double sli_opcount_prefill_core(const sli_architecture *architecture, int64_t prefix_tokens,
                                int64_t added_tokens);

/* Products with a group of matrices on one rank. Activations are left out: what goes in and out
 * weighs less than the FLOPs wherever a matrix is wider than a few hundred. */
typedef struct sli_products {
    double flops;
    double weight_bytes; /* each matrix that is needed, read once; 0 without tokens */
} sli_products;

/* All matrices of a part. Routed experts: the FLOPs of those that the tokens use, the weights of as
 * many different ones as are expected (sli_moe_distinct). O(matrices). */
sli_products sli_opcount_part(const sli_part_facts *facts, const sli_weights *weights, int64_t tp,
                              int64_t tokens);

/* What a layer has beside its parts (sli_params_layer_extra), on every rank. O(1). */
sli_products sli_opcount_layer_extra(const sli_architecture *architecture,
                                     const sli_weights *weights, int64_t tokens);

/* The head, for so many rows that a token is drawn from. O(1). */
sli_products sli_opcount_head_products(const sli_architecture *architecture,
                                       const sli_weights *weights, int64_t tp, int64_t emitting);

/* The elementwise operators of a part, in bytes; both 0 without matrices. */
typedef struct sli_part_elementwise {
    double norm_bytes;  /* residual add and norm: 4 elements of the residual stream a token */
    double inner_bytes; /* what the matrices put out for use inside the part, read and written */
} sli_part_elementwise;

/* 2-byte activations. O(matrices). */
sli_part_elementwise sli_opcount_part_elementwise(const sli_part_facts *facts, int64_t hidden,
                                                  int64_t tp, int64_t tokens);

/*
 * What a mixer does on one rank beside its matrices with the decode rows of a batch, or with its
 * chunks: attention, recurrence, index scores. Factors of the sums of model/batch_sums.h.
 *
 * Decode rows read what they see. A chunk reads what any of its queries sees, once; a state is
 * read and written once a row or chunk. Where MLA expands latents, prefix and chunk alike, the
 * FLOPs for the prefix are here (those for the chunk or the row itself are the matrix kv_up), the
 * bytes of what it makes are not. Rows that a cache format holds back in bf16 count as at rest.
 */
typedef struct sli_core_count {
    sli_linear_count flops;
    sli_linear_count moved_bytes; /* rows that are read, state that is rewritten twice */
    sli_linear_count new_bytes;   /* rows that the tokens add; a window's, too, are all written */
} sli_core_count;

/* The growths that all mixers together need, with copies if `is_copied` is so; false if they are
 * more than SL_VISIBLE_MAX. O(runs). */
bool sli_opcount_growths(const sli_architecture *architecture, bool is_copied,
                         sli_growth_list *growths);

/* `growths` holds at least those of the part; `way` is that of latents. O(stores + works). */
sli_core_count sli_opcount_decodes(const sli_part_facts *facts, const sli_cache_format *cache,
                                   sli_latent_way way, int64_t tp, const sli_growth_list *growths);
sli_core_count sli_opcount_chunks(const sli_part_facts *facts, const sli_cache_format *cache,
                                  sli_latent_way way, int64_t tp, const sli_growth_list *growths);

/*
 * Adds what it takes to keep the rows of a sequence in one tensor, which is written anew whenever
 * rows join it, as torch.cat does in the caches of Hugging Face's transformers: all rows that are
 * kept then, the new ones among them, are read once and written once, besides what attention reads.
 * The first chunk of a prompt counts like others, though there is nothing that it joins. States are
 * not copied: they are rewritten in any case. `growths` holds those for copies. O(stores).
 */
void sli_opcount_add_copies(const sli_part_facts *facts, const sli_cache_format *cache, int64_t tp,
                            const sli_growth_list *growths, sli_core_count *decodes,
                            sli_core_count *chunks);

#endif
