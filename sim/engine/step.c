#include "engine/step.h"

#include "base/divide.h"
#include "base/grow.h"
#include "base/minmax.h"

#include <string.h>

static void add_decode(sl_batch_shape *shape, int64_t past_tokens) {
    shape->decodes++;
    shape->decode_kv_tokens += past_tokens + 1;
    shape->decode_kv_max = sli_max_i64(shape->decode_kv_max, past_tokens + 1);
}

static void add_prefill(sl_batch_shape *shape, int64_t chunk_tokens, int64_t past_tokens) {
    const int64_t tile_rows = 128; /* query rows of a FlashAttention tile, see sluice/cost.h */
    int64_t kv_tokens = past_tokens + chunk_tokens;
    int64_t padded_rows = sli_round_up(chunk_tokens, tile_rows);
    shape->prefills++;
    shape->prefill_tokens += chunk_tokens;
    shape->prefill_kv_tokens += kv_tokens;
    shape->prefill_kv_max = sli_max_i64(shape->prefill_kv_max, kv_tokens);
    shape->prefill_pairs += chunk_tokens * past_tokens + chunk_tokens * (chunk_tokens + 1) / 2;
    shape->prefill_tile_pairs_x2 += padded_rows * (2 * past_tokens + chunk_tokens + tile_rows);
}

static void add_lockstep(sl_batch_shape *shape, const sli_lockstep *lockstep) {
    shape->tokens += lockstep->count;
    shape->sequences += lockstep->count;
    shape->emitting += lockstep->count;
    shape->decodes += lockstep->count;
    shape->decode_kv_tokens += lockstep->computed_sum + lockstep->count;
    shape->decode_kv_max = sli_max_i64(shape->decode_kv_max, sli_lockstep_longest(lockstep) + 1);
    for (int g = 0; g < lockstep->rows_count; g++) {
        shape->decode_visible[g] += sli_lockstep_visible(lockstep, g);
    }
}

static bool is_decode_row(const sl_request *request) {
    return request->planned_tokens == 1 && request->computed_tokens > 0;
}

/* What the cost model asks for besides; apart from the rest, which is all that others need. */
static void add_visible(sl_batch_shape *shape, const sli_lockstep *lockstep,
                        const sl_request *request) {
    int64_t *sums = is_decode_row(request) ? shape->decode_visible : shape->prefill_visible;
    for (int g = 0; g < lockstep->rows_count; g++) {
        sums[g] += sli_growth_request_pairs(&lockstep->rows[g].growth, request->desc.prompt_tokens,
                                            request->computed_tokens, request->planned_tokens);
    }
}

static bool emits(const sl_request *request) {
    return request->computed_tokens + request->planned_tokens == request->known_tokens;
}

static void add_loose(sl_batch_shape *shape, const sl_request *request) {
    int64_t chunk_tokens = request->planned_tokens;
    shape->tokens += chunk_tokens;
    shape->sequences++;
    shape->emitting += emits(request);
    if (is_decode_row(request)) {
        add_decode(shape, request->computed_tokens);
    } else {
        add_prefill(shape, chunk_tokens, request->computed_tokens);
    }
}

static void add_visible_of_loose(sl_batch_shape *shape, const sli_core *core) {
    for (const sl_request *request = core->first_loose; request != NULL;
         request = request->next_loose) {
        if (request->planned_tokens > 0) {
            add_visible(shape, &core->lockstep, request);
        }
    }
}

void sli_core_shape(const sli_core *core, sli_step_shape *shape) {
    *shape = (sli_step_shape){0};
    if (core->state.lockstep_taken > 0) {
        add_lockstep(&shape->whole, &core->lockstep);
    }
    for (const sl_request *request = core->first_loose; request != NULL;
         request = request->next_loose) {
        if (request->planned_tokens > 0) {
            add_loose(&shape->whole, request);
            shape->emitting_chunks += emits(request) && !is_decode_row(request);
        }
    }
    if (core->lockstep.rows_count > 0) {
        add_visible_of_loose(&shape->whole, core);
    }
}

/* ---- What a step costs, and whom ---- */

/* A step without its chunks. */
static sl_batch_shape without_chunks(const sli_step_shape *shape) {
    const sl_batch_shape *whole = &shape->whole;
    sl_batch_shape decodes = {
        .tokens = whole->decodes,
        .sequences = whole->decodes,
        .emitting = whole->emitting - shape->emitting_chunks,
        .decodes = whole->decodes,
        .decode_kv_tokens = whole->decode_kv_tokens,
        .decode_kv_max = whole->decode_kv_max,
    };
    memcpy(decodes.decode_visible, whole->decode_visible, sizeof decodes.decode_visible);
    return decodes;
}

static void own_of_chunk(const sl_cost_model *model, const sli_lockstep *lockstep, int64_t step_ns,
                         sl_request *request) {
    sl_batch_shape alone = {0};
    sl_step_cost cost;
    add_loose(&alone, request);
    if (lockstep->rows_count > 0) {
        add_visible(&alone, lockstep, request);
    }
    model->ops->step(model->self, &alone, &cost);
    sli_own_split(&cost, step_ns, &request->step_own);
}

void sli_core_cost(sli_core *core, const sl_cost_model *model, const sli_step_shape *shape,
                   sl_step_cost *cost, sli_own *decode_own) {
    model->ops->step(model->self, &shape->whole, cost);
    sl_step_cost decodes = *cost;
    if (shape->whole.prefills > 0 && shape->whole.decodes > 0) {
        const sl_batch_shape alone = without_chunks(shape);
        model->ops->step(model->self, &alone, &decodes);
    }
    sli_own_split(&decodes, cost->total_ns, decode_own);
    for (sl_request *request = core->first_loose; request != NULL; request = request->next_loose) {
        if (request->planned_tokens == 0) {
            continue;
        }
        if (is_decode_row(request)) {
            request->step_own = *decode_own;
        } else {
            own_of_chunk(model, &core->lockstep, cost->total_ns, request);
        }
    }
}

/* A token comes out: the first, or one more with a gap to the one before. */
static void emit_token(sli_core *core, sl_request *request) {
    int64_t now_ns = core->world->loop.now_ns;
    sl_request_record *record = &request->record;
    record->generated_tokens++;
    request->known_tokens++;
    record->last_token_ns = now_ns;
    if (record->generated_tokens == 1) {
        record->first_token_ns = now_ns;
        record->first_own_ns = sli_own_total(&request->own);
        record->first_preempted_ns = record->phase_ns[SL_PHASE_PREEMPTED];
        sli_request_report(request, core->world, SL_FIRST, core->index, 1);
    } else {
        sli_world_gap(core->world, now_ns - request->previous_token_ns, 1);
    }
    request->previous_token_ns = now_ns;
}

/* Returns whether the request got further than it had ever been. */
static bool compute_planned(sl_request *request) {
    int64_t from_tokens = request->computed_tokens;
    int64_t to_tokens = from_tokens + request->planned_tokens;
    int64_t repeated_tokens = request->furthest_tokens - from_tokens;
    if (repeated_tokens > 0) {
        request->record.recomputed_tokens += sli_min_i64(repeated_tokens, request->planned_tokens);
    }
    request->record.computed_tokens += request->planned_tokens;
    sli_own_add(&request->own, &request->step_own);
    request->computed_tokens = to_tokens;
    request->planned_tokens = 0;
    bool is_further = to_tokens > request->furthest_tokens;
    request->furthest_tokens = sli_max_i64(request->furthest_tokens, to_tokens);
    return is_further;
}

static void update_phase(sl_request *request, int64_t now_ns) {
    sl_phase phase = request->phase;
    if (phase == SL_PHASE_RECOMPUTE && request->computed_tokens >= request->furthest_tokens) {
        phase = SL_PHASE_PREFILL;
    }
    if (phase == SL_PHASE_PREFILL && request->record.generated_tokens > 0) {
        phase = SL_PHASE_DECODE;
    }
    if (phase != request->phase) {
        sli_request_enter(request, phase, now_ns);
    }
}

static void leave(sli_core *core, sl_request *request, sl_outcome outcome,
                  const sli_listener *listener) {
    sl_transition_kind kind = outcome == SL_FINISHED ? SL_FINISH : SL_ABORT;
    sli_request_report(request, core->world, kind, core->index, request->record.generated_tokens);
    sli_core_unseat(core, request, false);
    sli_context_forget(&request->context);
    sli_request_end(request, core->world, outcome, core->index);
    core->has_ended = true;
    listener->ended(listener->self, request);
}

/* ---- The end of a step ---- */

/* Requests to look at one by one: those that emit outside the lockstep, have emitted their last
 * token, or were cancelled. */
static void ripen(sli_core *core, sl_request *request, size_t *count) {
    if (sli_grow(&core->ripe, &core->ripe_capacity, *count + 1, sizeof(sl_request *)) != SL_OK) {
        sli_world_fail(core->world, SL_ERR_NOMEM, "out of memory at the end of a step");
        return;
    }
    /* In the order of admission; they come nearly sorted. */
    size_t place = (*count)++;
    while (place > 0 && core->ripe[place - 1]->admit_order > request->admit_order) {
        core->ripe[place] = core->ripe[place - 1];
        place--;
    }
    core->ripe[place] = request;
}

/* Returns whether any got further. */
static bool compute_loose(sli_core *core, size_t *ripe_count, int64_t *passed_blocks) {
    bool is_further = false;
    for (sl_request *request = core->first_loose; request != NULL; request = request->next_loose) {
        if (request->planned_tokens > 0) {
            is_further = compute_planned(request) || is_further;
            *passed_blocks += sli_context_slide(&request->context, &core->pool,
                                                request->computed_tokens);
            update_phase(request, core->world->loop.now_ns);
        }
        if (request->computed_tokens == request->known_tokens || request->is_cancelled) {
            ripen(core, request, ripe_count);
        }
    }
    return is_further;
}

static void advance_lockstep(sli_core *core, const sli_own *own, size_t *ripe_count) {
    sli_lockstep_advance(&core->lockstep, core->world, core->world->loop.now_ns, own);
    sl_request *finished;
    while ((finished = sli_lockstep_finished(&core->lockstep)) != NULL) {
        sli_core_leave_lockstep(core, finished);
        ripen(core, finished, ripe_count);
    }
}

static void find_cancelled_members(sli_core *core, size_t *ripe_count) {
    for (sl_request *request = core->first_running; request != NULL; request = request->next) {
        if (request->is_in_lockstep && request->is_cancelled) {
            sli_core_leave_lockstep(core, request);
            ripen(core, request, ripe_count);
        }
    }
}

/* What a ripe request does: emits, ends, or goes on, in lockstep if it can. It may be gone then. */
static void pick(sli_core *core, sl_request *request, const sli_listener *listener) {
    if (request->computed_tokens == request->known_tokens) {
        emit_token(core, request);
        update_phase(request, core->world->loop.now_ns);
    }
    if (request->record.generated_tokens == request->desc.output_tokens) {
        leave(core, request, SL_FINISHED, listener);
    } else if (request->is_cancelled) {
        leave(core, request, SL_ABORTED, listener);
    } else if (sli_lockstep_takes(&core->lockstep, request) &&
               sli_core_join_lockstep(core, request) != SL_OK) {
        sli_world_fail(core->world, SL_ERR_NOMEM, "out of memory at the end of a step");
    }
}

void sli_core_advance(sli_core *core, const sli_own *decode_own, const sli_listener *listener) {
    size_t ripe_count = 0;
    int64_t passed_blocks = 0;
    bool is_further = compute_loose(core, &ripe_count, &passed_blocks);
    if (core->state.lockstep_taken > 0) {
        passed_blocks += sli_lockstep_passed(&core->lockstep, 0);
        advance_lockstep(core, decode_own, &ripe_count);
        is_further = true;
    }
    /* Behind all that others may find, whoever left it. */
    if (passed_blocks > 0) {
        sli_pool_give_blank(&core->pool, passed_blocks);
    }
    if (core->cancelled > 0) {
        find_cancelled_members(core, &ripe_count);
    }
    for (size_t i = 0; i < ripe_count; i++) {
        pick(core, core->ripe[i], listener);
    }
    core->stalled_steps = is_further ? 0 : core->stalled_steps + 1;
}
