/*
 * What a round of speculative decoding brings.
 *
 * Floor model. A draft proposes a block of k candidates; the target computes k + 1 positions in one
 * step, the token before the block among them, and so knows what it would have said at each. Those
 * in front that it agrees with are accepted; behind them stands one token of its own, and the rest
 * is given up (Leviathan et al., ICML 2023, section 2; with an acceptance of 1 that token is the
 * (k+1)-th). A position that was computed and is not confirmed leaves its slot in the cache.
 *
 * Must not know who drafts, nor devices. O(k).
 */
#ifndef SLUICE_MODEL_DRAFT_H
#define SLUICE_MODEL_DRAFT_H

#include <stddef.h>
#include <stdint.h>

enum { SLI_DRAFT_TOKENS_MAX = 256 };

typedef struct sli_draft_round {
    int64_t verified; /* positions that the target computes: k + 1 */
    int64_t accepted; /* candidates */
    int64_t replaced; /* the first that was not accepted: 1, or 0 when all were */
    int64_t dropped;  /* the candidates behind it */
    int64_t tokens;   /* that come out: the accepted, and one of the target */
    int64_t kept;     /* slots of the cache that stay: one of the last token, and the accepted */
    int64_t given_up; /* slots that are given back */
} sli_draft_round;

/* 0 <= accepted <= block. */
sli_draft_round sli_draft_round_of(int64_t block_tokens, int64_t accepted);

/* Tokens that a round brings on average: 1 + the sum of survival[i], the chance that candidate i
 * and all before it are accepted. */
double sli_draft_mean(const double *survival, size_t block_tokens);

/* Survival when each candidate is accepted with the same chance, whatever became of the others:
 * chance, chance^2 ...; sli_draft_mean of it is (1 - chance^(k+1)) / (1 - chance). */
void sli_draft_survival(double chance, double *survival, size_t block_tokens);

#endif
