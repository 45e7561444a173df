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
 *   windows, visible rows         stairs (engine/stairs.h)
 *   kept rows                     stairs too, of the tokens behind the prompt, and a sum of what
 *                                 stays of the prompts
 *
 * What a member's window passes goes back to the pool as blank blocks, uncounted contents that
 * nobody else can find. A block that others may find has its place in the order of the pool, so in
 * the step in which a window passes one the request is not a member: it is due to leave before.
 */
#ifndef SLUICE_ENGINE_LOCKSTEP_H
#define SLUICE_ENGINE_LOCKSTEP_H

#include "engine/request.h"
#include "engine/stairs.h"
#include "model/growth.h"
#include "sluice/cost.h"

/* Members whose last token came at the same time. */
typedef struct sli_cohort {
    int64_t token_ns;
    int64_t count;
} sli_cohort;

/* Blocks of a group that come and go at a step, over all members. */
typedef struct sli_lockstep_window {
    const sli_group *group;
    int number;            /* in sli_context.windows */
    sli_stairs taken;      /* whose next token needs a block */
    sli_stairs passed;     /* whose window passes some blocks */
    int64_t passed_blocks; /* so many a rise */
} sli_lockstep_window;

/* Rows that members see of a growth, summed: g(k + 1) of a member that has computed k tokens. */
typedef struct sli_lockstep_rows {
    sli_growth growth;
    sli_stairs stairs;    /* of what is not linear in it */
    int64_t sum;          /* of the stairs, over members */
    int64_t prompts_rows; /* of kept rows that do not drop: of the prompts, over members */
} sli_lockstep_rows;

typedef struct sli_lockstep {
    int64_t step;         /* steps done, ever */
    int64_t count;        /* members */
    int64_t computed_sum; /* tokens, over members */
    int64_t block_tokens;
    int64_t block_pages;   /* that a block of the first group takes */
    int64_t *block_phases; /* members that need one at step s: [s mod block_tokens] */
    sli_lockstep_window windows[SLI_GROUP_MAX - 1]; /* of the other groups that change */
    int window_count;
    sli_lockstep_rows rows[SL_VISIBLE_MAX]; /* of the growths of the cost model */
    int rows_count;
    bool has_stairs; /* windows or rows: plain models must not pay for them */
    sli_own own;     /* of a member, summed over all steps; who joins remembers where it stood */
    sli_heap finish;
    sli_heap longest;
    sli_heap due;
    sli_cohort
        *cohorts; /* the first holds all that moved in the last step; the others joined since */
    size_t cohort_count;
    size_t cohort_capacity;
} sli_lockstep;

/* `cost` may be NULL: no growths. The layout and the growths outlive it. */
SL_NODISCARD sl_err sli_lockstep_init(sli_lockstep *lockstep, const sli_pool_config *pool,
                                      const sl_cost_model *cost);
void sli_lockstep_fini(sli_lockstep *lockstep);

/* Whether a request may join. One that still fills blocks reserved at its admission must not if
 * they will not do to the end, or if others have found a part of them: until it asks for the next
 * block nobody can count on it. O(windows). */
bool sli_lockstep_takes(const sli_lockstep *lockstep, const sl_request *request);

/* A request that has just emitted a token and computes the next alone. O(log members). */
SL_NODISCARD sl_err sli_lockstep_join(sli_lockstep *lockstep, sl_request *request);

/* Brings the request's own figures up to date and lets it go; its context counts the blocks that
 * were taken for it. O(log members). */
void sli_lockstep_leave(sli_lockstep *lockstep, sl_request *request, sli_pool *pool);

/* Computed tokens of a member. */
static inline int64_t sli_lockstep_computed(const sli_lockstep *lockstep,
                                            const sl_request *request) {
    return request->computed_tokens + (lockstep->step - request->joined_step);
}

/* Blocks of the pool that a member's next token needs. O(windows). */
int64_t sli_lockstep_member_need_of_windows(const sli_lockstep *lockstep,
                                            const sl_request *request);

static inline int64_t sli_lockstep_member_need(const sli_lockstep *lockstep,
                                               const sl_request *request) {
    bool is_at_end = request->asks_for_blocks &&
                     sli_lockstep_computed(lockstep, request) % lockstep->block_tokens == 0;
    int64_t blocks = is_at_end ? lockstep->block_pages : 0;
    return lockstep->has_stairs ? blocks + sli_lockstep_member_need_of_windows(lockstep, request)
                                : blocks;
}

/* Blocks of the pool that all members together need `ahead` steps from now, and blank ones that
 * their windows leave behind when that step ends. Ahead only as long as sli_lockstep_is_quiet.
 * O(windows). */
int64_t sli_lockstep_need_of_windows(const sli_lockstep *lockstep, int64_t ahead);

static inline int64_t sli_lockstep_need(const sli_lockstep *lockstep, int64_t ahead) {
    int64_t blocks = lockstep->block_phases[(lockstep->step + ahead) % lockstep->block_tokens] *
                     lockstep->block_pages;
    return lockstep->has_stairs ? blocks + sli_lockstep_need_of_windows(lockstep, ahead) : blocks;
}

int64_t sli_lockstep_passed_by_windows(const sli_lockstep *lockstep, int64_t ahead);

static inline int64_t sli_lockstep_passed(const sli_lockstep *lockstep, int64_t ahead) {
    return lockstep->has_stairs ? sli_lockstep_passed_by_windows(lockstep, ahead) : 0;
}

/* Whether needs change only from step to step `ahead` steps from now: no member comes to the length
 * of a window then. O(windows + rows). */
bool sli_lockstep_stairs_are_quiet(const sli_lockstep *lockstep, int64_t ahead);

static inline bool sli_lockstep_is_quiet(const sli_lockstep *lockstep, int64_t ahead) {
    return !lockstep->has_stairs || sli_lockstep_stairs_are_quiet(lockstep, ahead);
}

/* The sum of row g over members, and what it grows by between `ahead` steps from now and the next.
 * O(1). */
int64_t sli_lockstep_visible(const sli_lockstep *lockstep, int g);
int64_t sli_lockstep_visible_growth(const sli_lockstep *lockstep, int g, int64_t ahead);

/* Steps, including the coming one, before a member is due; INT64_MAX if none will be. O(1). */
static inline int64_t sli_lockstep_steps_to_due(const sli_lockstep *lockstep) {
    return lockstep->due.count > 0 ? lockstep->due.items[0].key - lockstep->step : INT64_MAX;
}

/* A member that must not be one in the coming step, or NULL. O(1). */
static inline sl_request *sli_lockstep_due(const sli_lockstep *lockstep) {
    return sli_lockstep_steps_to_due(lockstep) <= 0 ? lockstep->due.items[0].request : NULL;
}

/* Computed tokens of the longest member; there is one. */
static inline int64_t sli_lockstep_longest(const sli_lockstep *lockstep) {
    return lockstep->step - lockstep->longest.items[0].key;
}

/* Steps until the first member emits its last token; there is one; >= 1. */
static inline int64_t sli_lockstep_steps_to_finish(const sli_lockstep *lockstep) {
    return lockstep->finish.items[0].key - lockstep->step;
}

/* A member whose last token is out, or NULL; it is still a member. */
static inline sl_request *sli_lockstep_finished(const sli_lockstep *lockstep) {
    bool is_over = lockstep->finish.count > 0 && lockstep->finish.items[0].key == lockstep->step;
    return is_over ? lockstep->finish.items[0].request : NULL;
}

/* All members compute one token that comes out now, each with so much own time; tells the gaps to
 * the probes. O(cohorts). */
void sli_lockstep_advance(sli_lockstep *lockstep, const sli_world *world, int64_t now_ns,
                          const sli_own *own);

#endif
