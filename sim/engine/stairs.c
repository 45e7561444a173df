#include "engine/stairs.h"

#include "base/check.h"
#include "base/minmax.h"

#include <stdlib.h>

/* ---- Rings ---- */

/* For members that wait fewer steps than `size`. */
static sl_err ring_init(sli_stairs_ring *ring, int64_t size) {
    ring->size = size;
    ring->counts = calloc((size_t)ring->size, sizeof ring->counts[0]);
    return ring->counts != NULL ? SL_OK : SL_ERR_NOMEM;
}

static int64_t *ring_at(const sli_stairs_ring *ring, int64_t step) {
    return &ring->counts[step % ring->size];
}

/* ---- Life ---- */

/* Tokens from which on a member rises, and from which on it no longer does. */
static int64_t start_tokens(const sli_stairs *stairs) {
    return -stairs->offset;
}

static int64_t end_tokens(const sli_stairs *stairs) {
    return stairs->top == INT64_MAX ? INT64_MAX : stairs->top * stairs->width - stairs->offset;
}

sl_err sli_stairs_init(sli_stairs *stairs, int64_t width, int64_t offset, int64_t top) {
    SL_ASSERT(width >= 1 && top >= 0);
    *stairs = (sli_stairs){.width = width, .offset = offset, .top = top};
    stairs->rising = calloc((size_t)width, sizeof stairs->rising[0]);
    sl_err err = stairs->rising != NULL ? SL_OK : SL_ERR_NOMEM;
    if (err == SL_OK && start_tokens(stairs) > 1) {
        err = ring_init(&stairs->starts, start_tokens(stairs));
    }
    if (err == SL_OK && top != INT64_MAX && end_tokens(stairs) > 1) {
        err = ring_init(&stairs->ends, end_tokens(stairs));
    }
    if (err != SL_OK) {
        sli_stairs_fini(stairs);
    }
    return err;
}

void sli_stairs_fini(sli_stairs *stairs) {
    free(stairs->rising);
    free(stairs->starts.counts);
    free(stairs->ends.counts);
    *stairs = (sli_stairs){0};
}

/* ---- One member ---- */

int64_t sli_stairs_at(const sli_stairs *stairs, int64_t tokens) {
    return sli_min_i64(sli_max_i64(0, tokens + stairs->offset) / stairs->width, stairs->top);
}

int64_t sli_stairs_to_next(const sli_stairs *stairs, int64_t tokens) {
    int64_t next = sli_stairs_at(stairs, tokens) + 1;
    return next > stairs->top ? INT64_MAX : next * stairs->width - stairs->offset - tokens;
}

/* ---- All members ---- */

/* The count for a member that has `tokens` before the step. */
static int64_t *rising_of(const sli_stairs *stairs, int64_t step, int64_t tokens) {
    int64_t residue = (step - tokens - 1 - stairs->offset) % stairs->width;
    return &stairs->rising[residue < 0 ? residue + stairs->width : residue];
}

static void count(sli_stairs *stairs, int64_t step, int64_t tokens, int64_t members) {
    SL_ASSERT(tokens >= 1);
    if (tokens >= end_tokens(stairs)) {
        return;
    }
    if (tokens < start_tokens(stairs)) {
        *ring_at(&stairs->starts, step + start_tokens(stairs) - tokens) += members;
    } else {
        *rising_of(stairs, step, tokens) += members;
    }
    if (stairs->top != INT64_MAX) {
        *ring_at(&stairs->ends, step + end_tokens(stairs) - tokens) += members;
    }
}

void sli_stairs_add(sli_stairs *stairs, int64_t step, int64_t tokens) {
    count(stairs, step, tokens, 1);
}

void sli_stairs_remove(sli_stairs *stairs, int64_t step, int64_t tokens) {
    count(stairs, step, tokens, -1);
}

/* Who starts or ends at a step has the same tokens as all others who do, hence the same residue. */
void sli_stairs_advance(sli_stairs *stairs, int64_t step) {
    if (stairs->starts.size > 0) {
        int64_t *starting = ring_at(&stairs->starts, step);
        *rising_of(stairs, step, start_tokens(stairs)) += *starting;
        *starting = 0;
    }
    if (stairs->ends.size > 0) {
        int64_t *ending = ring_at(&stairs->ends, step);
        *rising_of(stairs, step, end_tokens(stairs)) -= *ending;
        *ending = 0;
    }
}
