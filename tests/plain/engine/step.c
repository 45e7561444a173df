#include "engine/step.h"

#include "model/growth.h"

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void add_decode(sl_batch_shape *shape, int64_t past_tokens) {
    shape->decodes++;
    shape->decode_kv_tokens += past_tokens + 1;
    shape->decode_kv_max = max_of(shape->decode_kv_max, past_tokens + 1);
}

static void add_prefill(sl_batch_shape *shape, int64_t chunk_tokens, int64_t past_tokens) {
    const int64_t tile_rows = 128; /* query rows of a FlashAttention tile, see sluice/cost.h */
    int64_t kv_tokens = past_tokens + chunk_tokens;
    int64_t padded_rows = (chunk_tokens + tile_rows - 1) / tile_rows * tile_rows;
    shape->prefills++;
    shape->prefill_tokens += chunk_tokens;
    shape->prefill_kv_tokens += kv_tokens;
    shape->prefill_kv_max = max_of(shape->prefill_kv_max, kv_tokens);
    shape->prefill_pairs += chunk_tokens * past_tokens + chunk_tokens * (chunk_tokens + 1) / 2;
    shape->prefill_tile_pairs_x2 += padded_rows * (2 * past_tokens + chunk_tokens + tile_rows);
}

static bool is_decode_row(const sl_request *request) {
    return request->planned_tokens == 1 && request->computed_tokens > 0;
}

static int64_t rows_seen(const sli_growth *growth, const sl_request *request, int64_t position) {
    return growth->kind == SLI_GROWTH_KEPT
               ? sli_kept_seen(growth->kept, request->desc.prompt_tokens, position)
               : sli_growth_at(growth, position);
}

/* What the cost model asks for besides, token by token. */
static void add_visible(sl_batch_shape *shape, const sl_cost_model *model,
                        const sl_request *request) {
    int64_t *sums = is_decode_row(request) ? shape->decode_visible : shape->prefill_visible;
    for (int g = 0; g < model->growth_count; g++) {
        for (int64_t i = 1; i <= request->planned_tokens; i++) {
            sums[g] += rows_seen(&model->growths[g], request, request->computed_tokens + i);
        }
    }
}

static void add_request(sl_batch_shape *shape, const sl_cost_model *model,
                        const sl_request *request) {
    int64_t chunk_tokens = request->planned_tokens;
    add_visible(shape, model, request);
    shape->tokens += chunk_tokens;
    shape->sequences++;
    shape->emitting += request->computed_tokens + chunk_tokens == request->known_tokens;
    if (is_decode_row(request)) {
        add_decode(shape, request->computed_tokens);
    } else {
        add_prefill(shape, chunk_tokens, request->computed_tokens);
    }
}

void sli_core_shape(const sli_core *core, const sl_cost_model *model, sl_batch_shape *shape) {
    *shape = (sl_batch_shape){0};
    for (const sl_request *request = core->first_running; request != NULL;
         request = request->next) {
        if (request->planned_tokens > 0) {
            add_request(shape, model, request);
        }
    }
}

static void own_of(const sl_cost_model *model, const sl_batch_shape *alone, int64_t step_ns,
                   sli_own *own) {
    sl_step_cost cost;
    model->ops->step(model->self, alone, &cost);
    sli_own_split(&cost, step_ns, own);
}

void sli_core_attribute(sli_core *core, const sl_cost_model *model, int64_t step_ns) {
    sl_batch_shape decodes = {0};
    sl_request *request;
    for (request = core->first_running; request != NULL; request = request->next) {
        if (is_decode_row(request)) {
            add_request(&decodes, model, request);
        }
    }
    sli_own decode_own;
    own_of(model, &decodes, step_ns, &decode_own);
    for (request = core->first_running; request != NULL; request = request->next) {
        if (is_decode_row(request)) {
            request->step_own = decode_own;
        } else if (request->planned_tokens > 0) {
            sl_batch_shape alone = {0};
            add_request(&alone, model, request);
            own_of(model, &alone, step_ns, &request->step_own);
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
        request->record.recomputed_tokens += repeated_tokens < request->planned_tokens
                                                 ? repeated_tokens
                                                 : request->planned_tokens;
    }
    request->record.computed_tokens += request->planned_tokens;
    sli_own_add(&request->own, &request->step_own);
    request->computed_tokens = to_tokens;
    request->planned_tokens = 0;
    bool is_further = to_tokens > request->furthest_tokens;
    request->furthest_tokens = max_of(request->furthest_tokens, to_tokens);
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
    sli_request_end(request, core->world, outcome, core->index);
    core->has_ended = true;
    listener->ended(listener->self, request);
}

/* Returns whether any got further. */
static bool compute_all(sli_core *core) {
    bool is_further = false;
    for (sl_request *request = core->first_running; request != NULL; request = request->next) {
        if (request->planned_tokens > 0) {
            is_further = compute_planned(request) || is_further;
            sli_context_slide(&request->context, &core->pool, &request->content,
                              request->computed_tokens, false);
        }
    }
    for (sl_request *request = core->first_running; request != NULL; request = request->next) {
        sli_context_slide(&request->context, &core->pool, &request->content,
                          request->computed_tokens, true);
    }
    return is_further;
}

/* It may be gone afterwards. */
static void finish_one(sli_core *core, sl_request *request, const sli_listener *listener) {
    if (request->computed_tokens == request->known_tokens) {
        emit_token(core, request);
    }
    update_phase(request, core->world->loop.now_ns);
    if (request->record.generated_tokens == request->desc.output_tokens) {
        leave(core, request, SL_FINISHED, listener);
    } else if (request->is_cancelled) {
        leave(core, request, SL_ABORTED, listener);
    }
}

void sli_core_advance(sli_core *core, const sli_listener *listener) {
    bool is_further = compute_all(core);
    sl_request *request = core->first_running;
    while (request != NULL) {
        sl_request *next = request->next;
        finish_one(core, request, listener);
        request = next;
    }
    core->stalled_steps = is_further ? 0 : core->stalled_steps + 1;
}
