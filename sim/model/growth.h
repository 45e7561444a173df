/*
 * How the rows that a layer keeps or sees grow with the tokens of a sequence.
 *
 * Floor model. A growth is a function of T, exact in integers; what grows in two ways (a window and
 * compressed entries behind it) has two of them. Values of a few words, passed by address, O(1) in
 * all functions. Must not know what the rows hold.
 */
#ifndef SLUICE_MODEL_GROWTH_H
#define SLUICE_MODEL_GROWTH_H

#include "model/kept.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sli_growth_kind {
    SLI_GROWTH_CONSTANT, /* cap, from the start */
    SLI_GROWTH_STEPS,    /* min(floor(T / step), cap) */
    SLI_GROWTH_SAWTOOTH, /* ((T - 1) mod step) + 1: the part of the chunk of the last token */
    SLI_GROWTH_KEPT,     /* what is left of them, which depends on the prompt too: model/kept.h */
} sli_growth_kind;

typedef struct sli_growth {
    sli_growth_kind kind;
    int64_t step_tokens; /* >= 1 */
    int64_t cap_rows;    /* INT64_MAX = none */
    const sl_kept *kept; /* kept, which outlives the growth; else NULL */
} sli_growth;

/* The longest sequence; sums over all shorter ones stay below 2^63. */
#define SLI_GROWTH_TOKENS_MAX (INT64_C(1) << 31)

sli_growth sli_growth_constant(int64_t rows);
sli_growth sli_growth_linear(void);
sli_growth sli_growth_capped(int64_t cap_rows);   /* min(T, cap) */
sli_growth sli_growth_steps(int64_t step_tokens); /* floor(T / step) */
sli_growth sli_growth_capped_steps(int64_t step_tokens,
                                   int64_t cap_rows); /* and no more than cap */
sli_growth sli_growth_sawtooth(int64_t chunk_tokens);
sli_growth sli_growth_kept(const sl_kept *kept);

/* Rows after `tokens`, 0 .. SLI_GROWTH_TOKENS_MAX. Not of kept rows, here and in the next. */
int64_t sli_growth_at(const sli_growth *growth, int64_t tokens);

/* Rows that the last of so many tokens sees, its own among them, when all before it are the prompt;
 * of kept ones too. 0 tokens see none of these. */
int64_t sli_growth_last(const sli_growth *growth, int64_t tokens);

/* The sum of sli_growth_at over prefix + 1 .. prefix + added: the pairs of queries and visible rows
 * when `added` tokens are computed on top of `prefix`. */
int64_t sli_growth_pairs(const sli_growth *growth, int64_t prefix_tokens, int64_t added_tokens);

/* The same of a request with a prompt of so many tokens, on which only kept rows depend. */
int64_t sli_growth_request_pairs(const sli_growth *growth, int64_t prompt_tokens,
                                 int64_t prefix_tokens, int64_t added_tokens);

/* Rows a token in the long run, of kept ones while the prompt is computed; 0 for all that is
 * bounded. The second is the same behind the prompt. */
double sli_growth_slope(const sli_growth *growth);
double sli_growth_slope_behind(const sli_growth *growth);

/* Whether it does not depend on T at all. */
bool sli_growth_is_constant(const sli_growth *growth);

#endif
