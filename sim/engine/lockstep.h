/*
 * The lockstep: all requests of a replica that decode one token a step, as one.
 *
 * Floor engine. Most of a simulation is decoding with an unchanged batch, so a step of these
 * requests must not touch them one by one. The lockstep counts its own steps; a member stores the
 * step at which it joined and how far it was; sums, block needs and the next finish follow from
 * counters that one step changes in O(1).
 *
 *   computed tokens of a member   those when it joined + steps since
 *   sum of computed tokens        += members a step
 *   blocks needed in a step       members whose computed tokens are a multiple of the block then:
 *                                 one count for each residue of (joined step - computed tokens)
 *   next finish, longest member   heaps whose keys do not change from step to step
 */
#ifndef SLUICE_ENGINE_LOCKSTEP_H
#define SLUICE_ENGINE_LOCKSTEP_H

#include "engine/request.h"

/* Members whose last token came at the same time. */
typedef struct sli_cohort {
    int64_t token_ns;
    int64_t count;
} sli_cohort;

typedef struct sli_lockstep {
    int64_t step;         /* steps done, ever */
    int64_t count;        /* members */
    int64_t computed_sum; /* tokens, over members */
    int64_t block_tokens;
    int64_t *block_phases; /* members that need a block at step s: [s mod block_tokens] */
    sli_own own; /* of a member, summed over all steps; who joins remembers where it stood */
    sli_heap finish;
    sli_heap longest;
    sli_cohort
        *cohorts; /* the first holds all that moved in the last step; the others joined since */
    size_t cohort_count;
    size_t cohort_capacity;
} sli_lockstep;

SL_NODISCARD sl_err sli_lockstep_init(sli_lockstep *lockstep, int64_t block_tokens);
void sli_lockstep_fini(sli_lockstep *lockstep);

/* Whether a request may join. One that still fills blocks reserved at its admission must not if
 * they will not do to the end: until it asks for the next block nobody can count on it. O(1). */
bool sli_lockstep_takes(const sli_lockstep *lockstep, const sl_request *request);

/* A request that has just emitted a token and computes the next alone. O(log members). */
SL_NODISCARD sl_err sli_lockstep_join(sli_lockstep *lockstep, sl_request *request);

/* Brings the request's own figures up to date and lets it go; its context counts the blocks that
 * were taken for it. O(log members). */
void sli_lockstep_leave(sli_lockstep *lockstep, sl_request *request, sli_pool *pool);

/* Computed tokens of a member. */
int64_t sli_lockstep_computed(const sli_lockstep *lockstep, const sl_request *request);

/* Whether a member's next token needs a block. */
bool sli_lockstep_needs_block(const sli_lockstep *lockstep, const sl_request *request);

/* Blocks that all members together need `ahead` steps from now. O(1). */
int64_t sli_lockstep_need(const sli_lockstep *lockstep, int64_t ahead);

/* Computed tokens of the longest member; there is one. */
int64_t sli_lockstep_longest(const sli_lockstep *lockstep);

/* Steps until the first member emits its last token; there is one; >= 1. */
int64_t sli_lockstep_steps_to_finish(const sli_lockstep *lockstep);

/* A member whose last token is out, or NULL; it is still a member. */
sl_request *sli_lockstep_finished(const sli_lockstep *lockstep);

/* All members compute one token that comes out now, each with so much own time; tells the gaps to
 * the probes. O(cohorts). */
void sli_lockstep_advance(sli_lockstep *lockstep, const sli_world *world, int64_t now_ns,
                          const sli_own *own);

#endif
