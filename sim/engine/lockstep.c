#include "engine/lockstep.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/grow.h"
#include "base/minmax.h"

#include <stdlib.h>

/* ---- Windows and rows ---- */

/* What never rises, whoever comes. */
static sl_err stairs_init_flat(sli_stairs *stairs) {
    return sli_stairs_init(stairs, 1, 0, 0);
}

static bool never_adds(const sl_kept *kept) {
    return kept->drop_rows == 0 && kept->row_tokens == INT64_MAX;
}

/* Of a member with c > P computed tokens, ceil(min(c, cap) / B) blocks, or with S rows of the
 * prompt, ceil((S + floor((c - P) / r)) / B) = floor((r (S + B - 1) + c - P) / (r B)). */
static sl_err init_kept_taken(sli_stairs *taken, const sli_group *group) {
    const sl_kept *kept = group->kept;
    int64_t block_tokens = group->block_tokens;
    if (never_adds(kept)) {
        return stairs_init_flat(taken);
    }
    if (kept->drop_rows == 0) {
        return sli_stairs_init(taken, kept->row_tokens * block_tokens, 0, INT64_MAX);
    }
    int64_t top = sli_divide_up(kept->cap_rows, block_tokens);
    return sli_stairs_init(taken, block_tokens, block_tokens - 1, top);
}

/* What counts as the tokens of a member there. */
static int64_t taken_tokens(const sli_group *group, const sl_request *request, int64_t computed) {
    const sl_kept *kept = group->kept;
    if (group->kind != SLI_GROUP_KEPT || kept->drop_rows > 0 || never_adds(kept)) {
        return computed;
    }
    int64_t prompt_tokens = request->desc.prompt_tokens;
    return kept->row_tokens * (sli_kept_of_prompt(kept, prompt_tokens) + group->block_tokens - 1) +
           computed - prompt_tokens;
}

/* Blocks needed are ceil(c / B); those passed follow the rule of the group (kv/layout_held.h). */
static sl_err window_init(sli_lockstep_window *window, int number, const sli_group *group) {
    int64_t block_tokens = group->block_tokens;
    bool is_chunked = group->kind == SLI_GROUP_CHUNKED;
    int64_t kept_tokens = group->kind == SLI_GROUP_SLIDING ? group->span_tokens - 1 : 1;
    *window = (sli_lockstep_window){
        .group = group,
        .number = number,
        .passed_blocks = is_chunked ? group->span_tokens / block_tokens : 1,
    };
    if (group->kind == SLI_GROUP_KEPT) {
        SL_TRY(init_kept_taken(&window->taken, group));
        return stairs_init_flat(&window->passed);
    }
    SL_TRY(sli_stairs_init(&window->taken, block_tokens, block_tokens - 1, INT64_MAX));
    return sli_stairs_init(&window->passed, is_chunked ? group->span_tokens : block_tokens,
                           is_chunked ? 0 : -kept_tokens, INT64_MAX);
}

static sl_err init_windows(sli_lockstep *lockstep, const sli_layout *layout) {
    for (int i = 1; layout != NULL && i < layout->group_count; i++) {
        if (layout->groups[i].kind != SLI_GROUP_FIXED) {
            sli_lockstep_window *window = &lockstep->windows[lockstep->window_count++];
            SL_TRY(window_init(window, i - 1, &layout->groups[i]));
        }
    }
    return SL_OK;
}

/* Of rows that drop, T - d floor((T + d - 1 - cap) / d), the second term; of others floor((T - P) /
 * r) of S + floor((T - P) / r); T = c + 1. */
static sl_err init_kept_rows(sli_stairs *stairs, const sl_kept *kept) {
    if (never_adds(kept)) {
        return stairs_init_flat(stairs);
    }
    return kept->drop_rows > 0 ? sli_stairs_init(stairs, kept->drop_rows,
                                                 kept->drop_rows - kept->cap_rows, INT64_MAX)
                               : sli_stairs_init(stairs, kept->row_tokens, 0, INT64_MAX);
}

/* What counts as the tokens of a member there. */
static int64_t rows_tokens(const sli_growth *growth, const sl_request *request, int64_t computed) {
    bool counts_behind = growth->kind == SLI_GROWTH_KEPT && growth->kept->drop_rows == 0;
    return counts_behind ? computed + 1 - request->desc.prompt_tokens : computed;
}

/* Of min(floor(T / step), cap) the stairs are all, of ((T - 1) mod C) + 1 = T - C floor((T - 1) /
 * C) the second term; T = c + 1. */
static sl_err rows_init(sli_lockstep_rows *rows, const sli_growth *growth) {
    *rows = (sli_lockstep_rows){.growth = *growth};
    bool is_sawtooth = growth->kind == SLI_GROWTH_SAWTOOTH;
    bool is_constant = growth->kind == SLI_GROWTH_CONSTANT;
    if (growth->kind == SLI_GROWTH_KEPT) {
        return init_kept_rows(&rows->stairs, growth->kept);
    }
    return sli_stairs_init(&rows->stairs, growth->step_tokens, is_sawtooth ? 0 : 1,
                           is_constant   ? 0
                           : is_sawtooth ? INT64_MAX
                                         : growth->cap_rows);
}

static sl_err init_rows(sli_lockstep *lockstep, const sl_cost_model *cost) {
    for (int g = 0; cost != NULL && g < cost->growth_count; g++) {
        lockstep->rows_count++;
        SL_TRY(rows_init(&lockstep->rows[g], &cost->growths[g]));
    }
    return SL_OK;
}

/* The stairs of a member: it comes (`members` 1) or goes (-1) with so many computed tokens. */
static void count_member(sli_lockstep *lockstep, const sl_request *request, int64_t computed,
                         int64_t members) {
    void (*change)(sli_stairs *, int64_t, int64_t) = members > 0 ? sli_stairs_add
                                                                 : sli_stairs_remove;
    for (int i = 0; i < lockstep->window_count; i++) {
        sli_lockstep_window *window = &lockstep->windows[i];
        if (request->asks_for_blocks) {
            change(&window->taken, lockstep->step, taken_tokens(window->group, request, computed));
            change(&window->passed, lockstep->step, computed);
        }
    }
    for (int g = 0; g < lockstep->rows_count; g++) {
        sli_lockstep_rows *rows = &lockstep->rows[g];
        int64_t tokens = rows_tokens(&rows->growth, request, computed);
        change(&rows->stairs, lockstep->step, tokens);
        rows->sum += members * sli_stairs_at(&rows->stairs, tokens);
        if (rows->growth.kind == SLI_GROWTH_KEPT && rows->growth.kept->drop_rows == 0) {
            rows->prompts_rows += members * sli_kept_of_prompt(rows->growth.kept,
                                                               request->desc.prompt_tokens);
        }
    }
}

/* The step that ends now is the last that counts for the sums; the next one begins. */
static void advance_stairs(sli_lockstep *lockstep) {
    int64_t next_step = lockstep->step + 1;
    for (int i = 0; i < lockstep->window_count; i++) {
        sli_stairs_advance(&lockstep->windows[i].taken, next_step);
        sli_stairs_advance(&lockstep->windows[i].passed, next_step);
    }
    for (int g = 0; g < lockstep->rows_count; g++) {
        sli_lockstep_rows *rows = &lockstep->rows[g];
        rows->sum += sli_stairs_rises(&rows->stairs, lockstep->step);
        sli_stairs_advance(&rows->stairs, next_step);
    }
}

int64_t sli_lockstep_visible(const sli_lockstep *lockstep, int g) {
    const sli_lockstep_rows *rows = &lockstep->rows[g];
    switch (rows->growth.kind) {
    case SLI_GROWTH_CONSTANT:
        return lockstep->count * rows->growth.cap_rows;
    case SLI_GROWTH_STEPS:
        return rows->sum;
    case SLI_GROWTH_SAWTOOTH:
        return lockstep->computed_sum + lockstep->count - rows->growth.step_tokens * rows->sum;
    case SLI_GROWTH_KEPT:
        return rows->growth.kept->drop_rows > 0 ? lockstep->computed_sum + lockstep->count -
                                                      rows->growth.kept->drop_rows * rows->sum
                                                : rows->prompts_rows + rows->sum;
    }
    return 0; /* no other kind */
}

int64_t sli_lockstep_visible_growth(const sli_lockstep *lockstep, int g, int64_t ahead) {
    const sli_lockstep_rows *rows = &lockstep->rows[g];
    int64_t rises = sli_stairs_rises(&rows->stairs, lockstep->step + ahead);
    switch (rows->growth.kind) {
    case SLI_GROWTH_CONSTANT:
        return 0;
    case SLI_GROWTH_STEPS:
        return rises;
    case SLI_GROWTH_SAWTOOTH:
        return lockstep->count - rows->growth.step_tokens * rises;
    case SLI_GROWTH_KEPT:
        return rows->growth.kept->drop_rows > 0
                   ? lockstep->count - rows->growth.kept->drop_rows * rises
                   : rises;
    }
    return 0; /* no other kind */
}

/* ---- Life ---- */

sl_err sli_lockstep_init(sli_lockstep *lockstep, const sli_pool_config *pool,
                         const sl_cost_model *cost) {
    *lockstep = (sli_lockstep){
        .block_tokens = pool->block_tokens,
        .block_pages = pool->layout != NULL ? pool->layout->groups[0].block_pages : 1,
        .finish = {.kind = SLI_HEAP_FINISH},
        .longest = {.kind = SLI_HEAP_LONGEST},
        .due = {.kind = SLI_HEAP_DUE},
    };
    size_t phase_count = (size_t)pool->block_tokens;
    lockstep->block_phases = calloc(phase_count, sizeof lockstep->block_phases[0]);
    sl_err err = lockstep->block_phases != NULL ? SL_OK : SL_ERR_NOMEM;
    err = err == SL_OK ? init_windows(lockstep, pool->layout) : err;
    err = err == SL_OK ? init_rows(lockstep, cost) : err;
    lockstep->has_stairs = lockstep->window_count + lockstep->rows_count > 0;
    if (err != SL_OK) {
        sli_lockstep_fini(lockstep);
    }
    return err;
}

void sli_lockstep_fini(sli_lockstep *lockstep) {
    free(lockstep->block_phases);
    free(lockstep->cohorts);
    for (int i = 0; i < lockstep->window_count; i++) {
        sli_stairs_fini(&lockstep->windows[i].taken);
        sli_stairs_fini(&lockstep->windows[i].passed);
    }
    for (int g = 0; g < lockstep->rows_count; g++) {
        sli_stairs_fini(&lockstep->rows[g].stairs);
    }
    sli_heap_fini(&lockstep->finish);
    sli_heap_fini(&lockstep->longest);
    sli_heap_fini(&lockstep->due);
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

static bool is_settled(const sli_lockstep *lockstep, const sl_request *request) {
    for (int i = 0; i < lockstep->window_count; i++) {
        const sli_lockstep_window *window = &lockstep->windows[i];
        if (!sli_window_is_settled(&request->context.windows[window->number], window->group)) {
            return false;
        }
    }
    return true;
}

bool sli_lockstep_takes(const sli_lockstep *lockstep, const sl_request *request) {
    return grows(lockstep, request) ? reserved_tokens(lockstep, request) < request->computed_tokens
                                    : is_settled(lockstep, request);
}

static int64_t finish_step(const sli_lockstep *lockstep, const sl_request *request) {
    return lockstep->step + request->desc.output_tokens - request->record.generated_tokens;
}

/* The step in which a window passes the uppermost block that others may find: the next one in which
 * it passes anything. INT64_MAX if no window holds such blocks. */
static int64_t due_step(const sli_lockstep *lockstep, const sl_request *request) {
    int64_t steps = INT64_MAX;
    for (int i = 0; i < lockstep->window_count; i++) {
        const sli_lockstep_window *window = &lockstep->windows[i];
        if (request->context.windows[window->number].deepest != NULL) {
            steps = sli_min_i64(steps,
                                sli_stairs_to_next(&window->passed, request->computed_tokens));
        }
    }
    return steps == INT64_MAX ? INT64_MAX : lockstep->step + steps - 1;
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
    int64_t due = due_step(lockstep, request);
    request->is_due = due != INT64_MAX;
    if (request->is_due) {
        SL_TRY(sli_heap_add(&lockstep->due, due, request));
    }
    request->asks_for_blocks = grows(lockstep, request);
    if (request->asks_for_blocks) {
        ++*phase_of(lockstep, lockstep->step, request->computed_tokens);
    }
    if (lockstep->has_stairs) {
        count_member(lockstep, request, request->computed_tokens, 1);
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
    if (request->is_due) {
        sli_heap_remove(&lockstep->due, request);
    }
    bring_up_to_date(request, steps, token_ns);
    if (lockstep->has_stairs) {
        count_member(lockstep, request, request->computed_tokens, -1);
    }
    sli_own_add(&request->own, &lockstep->own);
    sli_own_subtract(&request->own, &request->joined_own);
    lockstep->count--;
    lockstep->computed_sum -= request->computed_tokens;
    sli_heap_remove(&lockstep->finish, request);
    sli_heap_remove(&lockstep->longest, request);
    request->is_in_lockstep = false;
    sli_context_grow(&request->context, pool, request->computed_tokens);
    (void)sli_context_slide(&request->context, pool, request->computed_tokens); /* given already */
    sli_context_publish(&request->context, pool, &request->content, request->computed_tokens);
}

int64_t sli_lockstep_member_need_of_windows(const sli_lockstep *lockstep,
                                            const sl_request *request) {
    int64_t computed = sli_lockstep_computed(lockstep, request);
    int64_t blocks = 0;
    if (!request->asks_for_blocks) {
        return 0;
    }
    for (int i = 0; i < lockstep->window_count; i++) {
        const sli_group *group = lockstep->windows[i].group;
        int64_t tokens = taken_tokens(group, request, computed);
        bool rises = sli_stairs_is_rising(&lockstep->windows[i].taken, tokens);
        blocks += rises ? group->block_pages : 0;
    }
    return blocks;
}

int64_t sli_lockstep_need_of_windows(const sli_lockstep *lockstep, int64_t ahead) {
    int64_t blocks = 0;
    for (int i = 0; i < lockstep->window_count; i++) {
        const sli_lockstep_window *window = &lockstep->windows[i];
        blocks += sli_stairs_rises(&window->taken, lockstep->step + ahead) *
                  window->group->block_pages;
    }
    return blocks;
}

int64_t sli_lockstep_passed_by_windows(const sli_lockstep *lockstep, int64_t ahead) {
    int64_t blocks = 0;
    for (int i = 0; i < lockstep->window_count; i++) {
        const sli_lockstep_window *window = &lockstep->windows[i];
        blocks += sli_stairs_rises(&window->passed, lockstep->step + ahead) *
                  window->passed_blocks * window->group->block_pages;
    }
    return blocks;
}

bool sli_lockstep_stairs_are_quiet(const sli_lockstep *lockstep, int64_t ahead) {
    int64_t step = lockstep->step + ahead;
    for (int i = 0; i < lockstep->window_count; i++) {
        const sli_lockstep_window *window = &lockstep->windows[i];
        if (!sli_stairs_is_quiet(&window->passed, step) ||
            !sli_stairs_is_quiet(&window->taken, step)) {
            return false;
        }
    }
    for (int g = 0; g < lockstep->rows_count; g++) {
        if (!sli_stairs_is_quiet(&lockstep->rows[g].stairs, step)) {
            return false;
        }
    }
    return true;
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
    if (lockstep->has_stairs) {
        advance_stairs(lockstep);
    }
    lockstep->step++;
    lockstep->computed_sum += lockstep->count;
}
