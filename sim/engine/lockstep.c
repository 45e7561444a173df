#include "engine/lockstep.h"

#include "base/check.h"
#include "base/grow.h"
#include "base/minmax.h"

#include <stdlib.h>

sl_err sli_lockstep_init(sli_lockstep *lockstep, int64_t block_tokens) {
    *lockstep = (sli_lockstep){
        .block_tokens = block_tokens,
        .finish = {.kind = SLI_HEAP_FINISH},
        .longest = {.kind = SLI_HEAP_LONGEST},
    };
    lockstep->block_phases = calloc((size_t)block_tokens, sizeof lockstep->block_phases[0]);
    return lockstep->block_phases != NULL ? SL_OK : SL_ERR_NOMEM;
}

void sli_lockstep_fini(sli_lockstep *lockstep) {
    free(lockstep->block_phases);
    free(lockstep->cohorts);
    sli_heap_fini(&lockstep->finish);
    sli_heap_fini(&lockstep->longest);
}

/* ---- Cohorts ---- */

static sl_err join_cohort(sli_lockstep *lockstep, int64_t token_ns) {
    size_t last = lockstep->cohort_count;
    if (last > 0 && lockstep->cohorts[last - 1].token_ns == token_ns) {
        lockstep->cohorts[last - 1].count++;
        return SL_OK;
    }
    SL_TRY(sli_grow(&lockstep->cohorts, &lockstep->cohort_capacity, last + 1,
                    sizeof lockstep->cohorts[0]));
    lockstep->cohorts[lockstep->cohort_count++] = (sli_cohort){.token_ns = token_ns, .count = 1};
    return SL_OK;
}

/* When the last token of a member came. */
static int64_t last_token_ns(const sli_lockstep *lockstep, const sl_request *request) {
    bool has_moved = request->joined_step < lockstep->step;
    return has_moved ? lockstep->cohorts[0].token_ns : request->previous_token_ns;
}

static void leave_cohort(sli_lockstep *lockstep, int64_t token_ns) {
    size_t i = 0;
    while (lockstep->cohorts[i].token_ns != token_ns) {
        i++;
        SL_ASSERT(i < lockstep->cohort_count);
    }
    lockstep->cohorts[i].count--;
}

/* ---- Members ---- */

int64_t sli_lockstep_computed(const sli_lockstep *lockstep, const sl_request *request) {
    return request->computed_tokens + (lockstep->step - request->joined_step);
}

/* The count for a member that has `computed` tokens at `step`: it needs a block when its computed
 * tokens are a multiple of the block. */
static int64_t *phase_of(const sli_lockstep *lockstep, int64_t step, int64_t computed) {
    int64_t phase = (step - computed) % lockstep->block_tokens;
    return &lockstep->block_phases[phase < 0 ? phase + lockstep->block_tokens : phase];
}

static int64_t reserved_tokens(const sli_lockstep *lockstep, const sl_request *request) {
    return request->context.reserved_blocks * lockstep->block_tokens;
}

/* A member whose blocks, reserved at its admission, last to the end never asks for one. */
static bool grows(const sli_lockstep *lockstep, const sl_request *request) {
    return reserved_tokens(lockstep, request) < sli_request_final_tokens(&request->desc);
}

bool sli_lockstep_takes(const sli_lockstep *lockstep, const sl_request *request) {
    return !grows(lockstep, request) ||
           reserved_tokens(lockstep, request) <= request->computed_tokens;
}

static int64_t finish_step(const sli_lockstep *lockstep, const sl_request *request) {
    return lockstep->step + request->desc.output_tokens - request->record.generated_tokens;
}

sl_err sli_lockstep_join(sli_lockstep *lockstep, sl_request *request) {
    SL_ASSERT(!request->is_in_lockstep);
    SL_ASSERT(request->known_tokens - request->computed_tokens == 1);
    SL_ASSERT(sli_lockstep_takes(lockstep, request));
    request->joined_step = lockstep->step;
    request->joined_own = lockstep->own;
    SL_TRY(sli_heap_add(&lockstep->finish, finish_step(lockstep, request), request));
    SL_TRY(sli_heap_add(&lockstep->longest, lockstep->step - request->computed_tokens, request));
    SL_TRY(join_cohort(lockstep, request->previous_token_ns));
    request->asks_for_blocks = grows(lockstep, request);
    if (request->asks_for_blocks) {
        ++*phase_of(lockstep, lockstep->step, request->computed_tokens);
    }
    lockstep->count++;
    lockstep->computed_sum += request->computed_tokens;
    request->is_in_lockstep = true;
    return SL_OK;
}

static void bring_up_to_date(sl_request *request, int64_t steps, int64_t token_ns) {
    request->computed_tokens += steps;
    request->known_tokens += steps;
    request->furthest_tokens = sli_max_i64(request->furthest_tokens, request->computed_tokens);
    request->previous_token_ns = token_ns;
    request->record.generated_tokens += steps;
    request->record.computed_tokens += steps;
    request->record.last_token_ns = token_ns;
}

void sli_lockstep_leave(sli_lockstep *lockstep, sl_request *request, sli_pool *pool) {
    SL_ASSERT(request->is_in_lockstep);
    int64_t token_ns = last_token_ns(lockstep, request);
    int64_t steps = lockstep->step - request->joined_step;
    leave_cohort(lockstep, token_ns);
    if (request->asks_for_blocks) {
        --*phase_of(lockstep, request->joined_step, request->computed_tokens);
    }
    bring_up_to_date(request, steps, token_ns);
    sli_own_add(&request->own, &lockstep->own);
    sli_own_subtract(&request->own, &request->joined_own);
    lockstep->count--;
    lockstep->computed_sum -= request->computed_tokens;
    sli_heap_remove(&lockstep->finish, request);
    sli_heap_remove(&lockstep->longest, request);
    request->is_in_lockstep = false;
    sli_context_grow(&request->context, pool, request->computed_tokens);
    sli_context_publish(&request->context, pool, &request->content, request->computed_tokens);
}

bool sli_lockstep_needs_block(const sli_lockstep *lockstep, const sl_request *request) {
    return request->asks_for_blocks &&
           sli_lockstep_computed(lockstep, request) % lockstep->block_tokens == 0;
}

int64_t sli_lockstep_need(const sli_lockstep *lockstep, int64_t ahead) {
    return lockstep->block_phases[(lockstep->step + ahead) % lockstep->block_tokens];
}

int64_t sli_lockstep_longest(const sli_lockstep *lockstep) {
    return lockstep->step - lockstep->longest.items[0].key;
}

int64_t sli_lockstep_steps_to_finish(const sli_lockstep *lockstep) {
    return lockstep->finish.items[0].key - lockstep->step;
}

sl_request *sli_lockstep_finished(const sli_lockstep *lockstep) {
    bool is_due = lockstep->finish.count > 0 && lockstep->finish.items[0].key == lockstep->step;
    return is_due ? lockstep->finish.items[0].request : NULL;
}

void sli_lockstep_advance(sli_lockstep *lockstep, const sli_world *world, int64_t now_ns,
                          const sli_own *own) {
    for (size_t i = 0; i < lockstep->cohort_count; i++) {
        const sli_cohort *cohort = &lockstep->cohorts[i];
        if (cohort->count > 0) {
            sli_world_gap(world, now_ns - cohort->token_ns, cohort->count);
        }
    }
    lockstep->cohorts[0] = (sli_cohort){.token_ns = now_ns, .count = lockstep->count};
    lockstep->cohort_count = 1;
    sli_own_add(&lockstep->own, own);
    lockstep->step++;
    lockstep->computed_sum += lockstep->count;
}
