/*
 * All kinds of mixers and feed-forwards.
 *
 * Floor model. A kind's file defines its constant; the lists of kinds.c are the types that a model
 * file may name. The geometry of the two kinds that the engine runs is public, because the counts
 * of a step's operators need it; that of the others stays in their files.
 */
#ifndef SLUICE_MODEL_KINDS_H
#define SLUICE_MODEL_KINDS_H

#include "model/kind.h"

/* gqa.c: attention with keys and values for each key-value head. */
extern const sli_section sli_gqa_section;
extern const sli_layer_kind sli_gqa_kind;

/* mla.c: one latent a token, DeepSeek V2 to V3.2. */
extern const sli_section sli_mla_section;
extern const sli_layer_kind sli_mla_kind;

/* compressed.c: one entry for many tokens, DeepSeek V4. */
extern const sli_section sli_compressed_section;
extern const sli_layer_kind sli_compressed_kind;

/* recurrent.c: a state of fixed size. */
extern const sli_section sli_recurrent_section;
extern const sli_layer_kind sli_recurrent_kind;

/* dense.c: one feed-forward for all tokens. */
extern const sli_section sli_dense_section;
extern const sli_layer_kind sli_dense_kind;

/* moe.c: experts that tokens are routed to. */
extern const sli_section sli_moe_section;
extern const sli_layer_kind sli_moe_kind;

/* none.c: the layer lacks the part. */
extern const sli_layer_kind sli_none_kind;

/* For sli_field.types: the kinds of that role; the item of a type is its sli_layer_kind. */
const sli_named_type *sli_mixer_types(const void *context, size_t *count);
const sli_named_type *sli_ffn_types(const void *context, size_t *count);

typedef enum sli_kv_owner {
    SLI_KV_OWN,
    SLI_KV_SHARED, /* read from the nearest earlier layer of the same shape */
} sli_kv_owner;

typedef enum sli_k_eq_v {
    SLI_K_EQ_V_OFF,
    SLI_K_EQ_V_WEIGHTS, /* one projection, two tensors in the cache: Gemma 4 as engines serve it */
    SLI_K_EQ_V_CACHE,   /* one tensor in the cache too */
} sli_k_eq_v;

/* Top blocks of keys chosen for each query by small index keys; block_tokens 0 = all are read. */
typedef struct sli_block_sparsity {
    int64_t block_tokens;
    int64_t top_blocks;
    int64_t local_blocks;
    int64_t index_heads;
    int64_t index_dim;
} sli_block_sparsity;

typedef struct sli_gqa {
    int64_t q_heads;
    int64_t kv_heads;      /* divides q_heads */
    int64_t head_dim;      /* of queries and keys */
    int64_t value_dim;     /* 0 = head_dim */
    int64_t window_tokens; /* 0 = none */
    int64_t chunk_tokens;  /* 0 = none */
    bool has_qk_norm;      /* queries and keys are normalised a head */
    bool has_output_gate;  /* a second projection as wide as the queries */
    int k_eq_v;            /* sli_k_eq_v */
    int kv;                /* sli_kv_owner */
    sli_block_sparsity sparse;
} sli_gqa;

typedef struct sli_dense {
    int64_t width; /* of the inner layer */
    bool is_gated; /* down(act(gate x) * up x), else down(act(up x)) */
} sli_dense;

/* Whether the geometry is the plain one: all keys, all heads, two tensors of one width. */
bool sli_gqa_is_plain(const sli_gqa *gqa);

/* Expected different experts that n tokens are routed to, each to `top_k` of `experts`, all equally
 * likely: E (1 - (1 - k/E)^n). */
double sli_moe_distinct(int64_t experts, int64_t top_k, int64_t tokens);

#endif
