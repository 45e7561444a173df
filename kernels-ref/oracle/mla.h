/*
 * Latent attention in double precision, from its definition: the oracles of mla_decode and
 * mla_prefill. What they compute stands in the headers of these kernels.
 *
 * Tolerances are those of oracle/attention.h, with the width that scores are made over as the head
 * dimension. Plain C; knows no kernel. The caller owns all memory. O(queries x keys x width).
 */
#ifndef KREF_ORACLE_MLA_H
#define KREF_ORACLE_MLA_H

#include "oracle/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_mla {
    int heads;
    int latent; /* width of the latent, which is the value of the absorbed form */
    int rope;   /* of the part of a key that all heads share */
    int nope;   /* of the rest of an expanded key */
    int value;  /* of an expanded value */
    double scale;
} kref_mla;

/* Absorbed. queries [sequences][heads][latent + rope], cache [blocks][block_tokens][latent + rope]:
 * outputs [sequences][heads][latent]. */
void kref_mla_decode(const kref_mla *mla, int sequences, const kref_paging *paging,
                     const double *queries, const double *cache, const kref_expected *expected);

/* Expanded. queries [query tokens][heads][nope + rope], expanded [key tokens][heads][nope + value],
 * rows [key tokens][latent + rope]: outputs [query tokens][heads][value]. */
void kref_mla_prefill(const kref_mla *mla, int sequences, const int32_t *query_starts,
                      const int32_t *key_starts, const double *queries, const double *expanded,
                      const double *rows, const kref_expected *expected);

#ifdef __cplusplus
}
#endif

#endif
