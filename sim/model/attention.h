/*
 * What attention computes, and what a kernel needs beside the cache to do it.
 *
 * Floor model. A kernel is a row of data: whether it writes scores down, into how many parts it
 * splits the keys of a decode row, and the share of a device's peak that it reaches. Latents of MLA
 * can be attended to as they are or after they have been expanded; models say which way they take,
 * and a question may ask for the other. One layer works at a time, so workspace is that of the
 * layer that needs most. Must not know devices or time. O(layer runs).
 */
#ifndef SLUICE_MODEL_ATTENTION_H
#define SLUICE_MODEL_ATTENTION_H

#include "model/architecture.h"

typedef struct sli_attention_kernel {
    const char *name;
    const char *help;
    bool keeps_scores;  /* of all queries and keys, in 2 bytes */
    int64_t splits;     /* parts of the keys of a decode row, summed up apart in fp32; 1 = none */
    double flops_share; /* of the peak, in prefill of long prompts */
    const char *source; /* of the share */
    bool is_assumed;    /* the share was not measured */
} sli_attention_kernel;

/* Ends with a row whose name is NULL. */
extern const sli_attention_kernel sli_attention_kernels[];

/* The kernel of a name, or NULL. */
const sli_attention_kernel *sli_attention_kernel_find(const char *name);

/* Query heads that one of tp ranks has of a mixer; 0 where nothing is scored. */
int64_t sli_attention_heads(const sli_part_facts *mixer, int64_t tp);

/* What the heads of a rank have summed up for one query in fp32, each with the sum of its weights,
 * when it has to be merged with that of other keys. */
int64_t sli_attention_partial_bytes(const sli_part_facts *mixer, int64_t tp);

/* What a kernel works on at the same time, on one rank. */
typedef struct sli_attention_load {
    int64_t query_tokens;   /* of a prefill chunk */
    int64_t context_tokens; /* that the last of them sees, its own among them */
    int64_t decodes;        /* sequences that decode one token each, with as long a context */
    int64_t tp;
} sli_attention_load;

/*
 * Scores are queries x tokens of the context for each head of the rank: a kernel that writes them
 * down does not skip what a window masks. All kernels but such keep the logarithm of the sum of
 * weights of each query, in fp32 (FlashAttention, Dao et al. 2022, algorithm 1); split ones of each
 * part what has been summed up, besides (Flash-Decoding, Dao et al. 2023). No more than 2^60.
 */
int64_t sli_attention_workspace_bytes(const sli_architecture *architecture,
                                      const sli_attention_kernel *kernel,
                                      const sli_attention_load *load);

/* How queries are put to latents. */
typedef enum sli_latent_way {
    SLI_LATENT_AS_MODEL, /* says the model: decode absorbed, prefill as in its file */
    SLI_LATENT_ABSORBED,
    SLI_LATENT_EXPANDED,
} sli_latent_way;

/* What is asked of attention. Zeroed = nothing, everything is as it is known. */
typedef struct sli_attention_choice {
    const sli_attention_kernel *kernel; /* NULL = none: its workspace is part of the activations */
    sli_latent_way decode_way;          /* for models with latents */
    sli_latent_way prefill_way;         /* for models with latents */
    bool is_copied; /* what joins rows that are there goes with them into a longer tensor */
} sli_attention_choice;

bool sli_attention_has_latents(const sli_architecture *architecture);

/* The ways that the model takes itself, for models with latents. */
sli_latent_way sli_attention_decode_way(const sli_architecture *architecture, sli_latent_way asked);
sli_latent_way sli_attention_prefill_way(const sli_architecture *architecture,
                                         sli_latent_way asked);

/* Keys and values in 2 bytes that are made from the latents of so many tokens in a layer, for the
 * heads of a rank. No more than 2^60. */
int64_t sli_attention_expanded_bytes(const sli_architecture *architecture, int64_t tokens,
                                     int64_t tp);

/* FLOPs of one mixer, over all heads, the way of its latents being given: of a query and a row that
 * it sees in one of the works of a phase; to make keys and values of a token before, once for each
 * decode step, and for each chunk. */
double sli_attention_row_flops(const sli_part_facts *facts, const sli_core_work *works, int index,
                               sli_latent_way way);
double sli_attention_decode_remake_flops(const sli_part_facts *facts, sli_latent_way way);
double sli_attention_prefill_remake_flops(const sli_part_facts *facts, sli_latent_way way);

/*
 * FLOPs of all mixers beside their matrices, of one sequence and on all ranks, as
 * sli_opcount_decode_core and sli_opcount_prefill_core count them, the way of latents being given.
 * An expanded decode step makes keys and values of all tokens before it anew, and so does each
 * chunk of an expanded prefill: with n chunks of C tokens C n (n - 1) / 2 of them.
 */
double sli_attention_decode_flops(const sli_architecture *architecture, sli_latent_way way,
                                  int64_t tokens);
double sli_attention_prefill_flops(const sli_architecture *architecture, sli_latent_way way,
                                   int64_t tokens, int64_t chunk_tokens);

/* Tokens that the chunks of a prefill make anew together, C n (n - 1) / 2. */
int64_t sli_attention_remade_tokens(int64_t tokens, int64_t chunk_tokens);

#endif
