/*
 * Stairs: a sum of step functions over the members of a lockstep, in O(1) a step.
 *
 * Floor engine. All members gain one token a step. A member of c tokens stands at
 *
 *     f(c) = min(max(0, floor((c + offset) / width)), top)
 *
 * so it rises when c + 1 + offset is a multiple of the width, between its first stair and the top.
 * Members are counted by the residue of the steps at which they rise; who has not come to the first
 * stair yet, or will come to the top, waits in a ring for the step at which that happens. Windows,
 * chunks, blocks and compressed entries are all of this form.
 */
#ifndef SLUICE_ENGINE_STAIRS_H
#define SLUICE_ENGINE_STAIRS_H

#include "sluice/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Members that change at a step: [step mod size]. Empty where nobody ever does. */
typedef struct sli_stairs_ring {
    int64_t *counts;
    int64_t size;
} sli_stairs_ring;

typedef struct sli_stairs {
    int64_t width;   /* >= 1 */
    int64_t offset;  /* may be below 0 */
    int64_t top;     /* INT64_MAX = none */
    int64_t *rising; /* members between first stair and top that rise at step s: [s mod width] */
    sli_stairs_ring starts; /* who comes to the first stair */
    sli_stairs_ring ends;   /* who comes to the top */
} sli_stairs;

/* O(width + |offset| + width x top) memory. */
SL_NODISCARD sl_err sli_stairs_init(sli_stairs *stairs, int64_t width, int64_t offset, int64_t top);
void sli_stairs_fini(sli_stairs *stairs);

/* f(c). */
int64_t sli_stairs_at(const sli_stairs *stairs, int64_t tokens);

/* Tokens that a member of c >= 1 tokens needs to gain to rise, >= 1; INT64_MAX at the top. */
int64_t sli_stairs_to_next(const sli_stairs *stairs, int64_t tokens);

/* Whether a member of c >= 1 tokens rises with the next one. Inline: shortages ask for each member.
 */
static inline bool sli_stairs_is_rising(const sli_stairs *stairs, int64_t tokens) {
    int64_t height = tokens + 1 + stairs->offset;
    return height > 0 && height % stairs->width == 0 && height / stairs->width <= stairs->top;
}

/* A member that has so many tokens, at least 1, before the step comes or goes. O(1). */
void sli_stairs_add(sli_stairs *stairs, int64_t step, int64_t tokens);
void sli_stairs_remove(sli_stairs *stairs, int64_t step, int64_t tokens);

/* Members that rise in a step, now or ahead; ahead only as long as sli_stairs_is_quiet. O(1).
 * Inline, as is the next: jumps ask for each step. */
static inline int64_t sli_stairs_rises(const sli_stairs *stairs, int64_t step) {
    return stairs->rising[step % stairs->width];
}

static inline int64_t sli_stairs_waiting(const sli_stairs_ring *ring, int64_t step) {
    return ring->size > 0 ? ring->counts[step % ring->size] : 0;
}

/* Whether nobody comes to the first stair or to the top when a step begins. O(1). */
static inline bool sli_stairs_is_quiet(const sli_stairs *stairs, int64_t step) {
    return sli_stairs_waiting(&stairs->starts, step) == 0 &&
           sli_stairs_waiting(&stairs->ends, step) == 0;
}

/* A new step has begun. O(1). */
void sli_stairs_advance(sli_stairs *stairs, int64_t step);

#endif
