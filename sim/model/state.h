/*
 * What a sequence leaves behind in the cache, in bytes, and what a decode step reads of it.
 *
 * Floor model. Logical bytes: no paging, no alignment. Exact integers; O(runs) each. Cached rows
 * grow with the tokens and take the cache format; fixed state does not and has its own type. Where
 * a method throws tokens out, all tokens but the last are taken to be the prompt.
 */
#ifndef SLUICE_MODEL_STATE_H
#define SLUICE_MODEL_STATE_H

#include "model/architecture.h"

typedef struct sli_state_bytes {
    int64_t cached; /* rows that come with the tokens: keys and values, latents, entries, indexes */
    int64_t fixed;  /* there from the first token on: recurrent, convolution, compressor states */
} sli_state_bytes;

/* A row of the heads that one of tp ranks holds, at rest. */
int64_t sli_state_row_rank_bytes(const sli_store *store, const sli_cache_format *format,
                                 int64_t tp);

/* Which sorts of rows in the format of the cache its layers keep; none where all is state. */
void sli_state_sorts(const sli_architecture *architecture, bool kept[SLI_ROW_COUNT]);

/* `kv kivi2 changes nothing: ...`, or `does no more than fp8`, where rows that the format is for
 * are not kept; empty where it does what its name says. */
typedef struct sli_format_remark {
    char text[160];
} sli_format_remark;

sli_format_remark sli_state_remark(const sli_architecture *architecture,
                                   const sli_cache_format *format);

/* One part of one layer after so many tokens. */
sli_state_bytes sli_state_part(const sli_part_facts *facts, const sli_cache_format *format,
                               int64_t tokens);

/* All layers of the backbone; those of multi-token prediction apart. */
sli_state_bytes sli_state_kept(const sli_architecture *architecture, const sli_cache_format *format,
                               int64_t tokens);
sli_state_bytes sli_state_mtp(const sli_architecture *architecture, const sli_cache_format *format,
                              int64_t tokens);

/* Bytes that a token adds in the long run, behind the prompt and when all windows are full. */
double sli_state_growth(const sli_architecture *architecture, const sli_cache_format *format);

/* Bytes that a decode step of one sequence moves when it has so many tokens: rows that it looks at,
 * and fixed state that it rewrites, twice. */
int64_t sli_state_part_read(const sli_part_facts *facts, const sli_cache_format *format,
                            int64_t tokens);
int64_t sli_state_read(const sli_architecture *architecture, const sli_cache_format *format,
                       int64_t tokens);

/* One part on the fullest of tp ranks: whole heads, copied where there are fewer than ranks. */
sli_state_bytes sli_state_part_rank(const sli_part_facts *facts, const sli_cache_format *format,
                                    int64_t tokens, int64_t tp);
sli_state_bytes sli_state_rank(const sli_architecture *architecture, const sli_cache_format *format,
                               int64_t tokens, int64_t tp);

#endif
