#include "engine/plan.h"

#include "base/check.h"
#include "base/minmax.h"
#include "kernel/time.h"

#include <stdio.h>

static sli_core *core_of(sl_plan *plan) {
    return (sli_core *)plan;
}

/* ---- Faults ---- */

/* `request` may be NULL: a rule about none. */
static sl_answer break_rule(sli_core *core, const sl_request *request, const char *rule) {
    const sli_world *world = core->world;
    char whose[48] = "";
    if (request != NULL) {
        snprintf(whose, sizeof whose, " (request %u:%llu)", SL_REQUEST_SOURCE(request->id),
                 (unsigned long long)SL_REQUEST_INDEX(request->id));
    }
    sli_world_fail(
        core->world, SL_ERR_POLICY, "policy '%s' on replica %u at %.9f s broke a rule: %s%s",
        core->policy->policy.name, core->index, (double)world->loop.now_ns / 1e9, rule, whose);
    return (sl_answer){.code = SL_ANSWER_NOT_ELIGIBLE};
}

static sl_answer out_of_memory(sli_core *core) {
    sli_world_fail(core->world, SL_ERR_NOMEM, "out of memory while planning a step");
    return (sl_answer){.code = SL_ANSWER_NOT_ELIGIBLE};
}

/* ---- Requests, in lockstep or loose ---- */

static bool is_taken(const sli_core *core, const sl_request *request) {
    bool is_in_bulk = request->is_in_lockstep && core->state.lockstep_bulk;
    return is_in_bulk || request->planned_tokens > 0;
}

static int64_t planned_tokens(const sli_core *core, const sl_request *request) {
    return request->is_in_lockstep ? is_taken(core, request) : request->planned_tokens;
}

static int64_t need_blocks(const sli_core *core, const sl_request *request, int64_t tokens) {
    if (request->is_in_lockstep) {
        return tokens > 0 ? sli_lockstep_member_need(&core->lockstep, request) : 0;
    }
    return sli_context_need(&request->context, &core->pool, request->computed_tokens + tokens);
}

/* ---- Reserving ---- */

static void book(sli_core *core, int64_t requests, int64_t tokens) {
    core->state.planned_tokens += tokens;
    core->state.planned_requests += requests;
    if (core->state.budget_left != INT64_MAX) {
        core->state.budget_left -= tokens;
    }
}

/* Takes slots for tokens that fit; full blocks are findable from now on, before the step runs. */
static void reserve_loose(sli_core *core, sl_request *request, int64_t tokens) {
    int64_t end_tokens = request->computed_tokens + tokens;
    if (end_tokens > request->context.tokens) {
        sli_context_extend(&request->context, &core->pool, end_tokens);
    }
    sli_context_publish(&request->context, &core->pool, &request->content, end_tokens);
    request->planned_tokens = tokens;
    book(core, 1, tokens);
}

static void reserve_member(sli_core *core, sl_request *request, int64_t blocks) {
    sli_pool_take(&core->pool, blocks);
    request->planned_tokens = 1;
    core->state.lockstep_taken++;
    book(core, 1, 1);
}

static void reserve_lockstep(sli_core *core) {
    sli_pool_take(&core->pool, sli_lockstep_need(&core->lockstep, 0));
    core->state.lockstep_bulk = true;
    core->state.lockstep_taken = core->lockstep.count;
    book(core, core->lockstep.count, core->lockstep.count);
}

static sl_answer granted(int64_t tokens) {
    return (sl_answer){.code = SL_ANSWER_OK, .tokens = tokens};
}

static sl_answer short_of(int64_t missing_blocks) {
    return (sl_answer){.code = SL_ANSWER_SHORT, .missing_blocks = missing_blocks};
}

/* ---- Where states are saved ---- */

/*
 * Cuts a chunk of a prompt to end with a block, so that the state behind it can be found again, and
 * so that the last full block of what is known ends a chunk (vLLM, _mamba_block_aligned_split). A
 * chunk within one block is left alone: vLLM would wait for a larger budget.
 */
static int64_t cut_chunk(const sl_request *request, int64_t computed_tokens, int64_t tokens,
                         int64_t block_tokens) {
    int64_t last_tokens = request->known_tokens - request->known_tokens % block_tokens;
    int64_t end_tokens = computed_tokens + tokens;
    if (end_tokens < last_tokens) {
        int64_t cut_tokens = end_tokens - end_tokens % block_tokens - computed_tokens;
        return cut_tokens > 0 ? cut_tokens : tokens;
    }
    bool passes_last = computed_tokens < last_tokens && last_tokens < end_tokens;
    return passes_last ? last_tokens - computed_tokens : tokens;
}

static int64_t cut_to_state(const sli_core *core, const sl_request *request,
                            int64_t computed_tokens, int64_t tokens) {
    bool is_cut = core->state_block_tokens > 0 && request->known_tokens - computed_tokens > 1;
    return is_cut ? cut_chunk(request, computed_tokens, tokens, core->state_block_tokens) : tokens;
}

/* ---- Taking for many at once ---- */

/* What each running request is offered. */
typedef struct offer {
    int64_t cap_tokens; /* most for one request, >= 1 */
    bool only_decoding; /* pass over the others */
} offer;

static int64_t want_tokens(const sli_core *core, const sl_request *request, offer each) {
    if (request->is_in_lockstep) {
        return 1;
    }
    if (each.only_decoding && !sli_request_is_decoding(request)) {
        return 0;
    }
    return cut_to_state(core, request, request->computed_tokens,
                        sli_min_i64(sli_request_pending(request), each.cap_tokens));
}

/* The last in order that wants anything: the only one that may be cut. */
static sl_request *last_wanting(const sli_core *core, offer each) {
    sl_request *request = core->last_running;
    while (request != NULL && want_tokens(core, request, each) == 0) {
        request = request->previous;
    }
    return request;
}

static int64_t sum_of_wants(const sli_core *core, offer each) {
    int64_t tokens = core->lockstep.count;
    for (const sl_request *request = core->first_loose; request != NULL;
         request = request->next_loose) {
        tokens += want_tokens(core, request, each);
    }
    return tokens;
}

/* What the last one gets; -1 when somebody before it would have to be cut too. */
static int64_t tokens_of_last(const sli_core *core, offer each, const sl_request *last) {
    int64_t over_tokens = sum_of_wants(core, each) - core->state.budget_left;
    int64_t tokens = want_tokens(core, last, each);
    if (over_tokens <= 0) {
        return tokens;
    }
    if (over_tokens > tokens) {
        return -1;
    }
    tokens -= over_tokens;
    return last->is_in_lockstep ? tokens : cut_to_state(core, last, last->computed_tokens, tokens);
}

static int64_t sum_of_needs(const sli_core *core, offer each, const sl_request *last,
                            int64_t last_tokens) {
    int64_t blocks = sli_lockstep_need(&core->lockstep, 0);
    for (const sl_request *request = core->first_loose; request != NULL;
         request = request->next_loose) {
        blocks += need_blocks(core, request, want_tokens(core, request, each));
    }
    int64_t wanted_tokens = want_tokens(core, last, each);
    return last_tokens == wanted_tokens ? blocks
                                        : blocks - need_blocks(core, last, wanted_tokens) +
                                              need_blocks(core, last, last_tokens);
}

static const sl_request *first_taken(const sli_core *core) {
    const sl_request *request = core->first_running;
    while (!is_taken(core, request)) {
        request = request->next;
    }
    return request;
}

/* Looks before anything is taken, so that a refusal changes nothing. */
static sl_answer take_offered(sli_core *core, offer each) {
    if (core->state.planned_requests > 0) {
        return break_rule(core, first_taken(core), "a request was taken twice in one plan");
    }
    sl_request *last = last_wanting(core, each);
    if (last == NULL) {
        return granted(0);
    }
    int64_t last_tokens = tokens_of_last(core, each, last);
    if (last_tokens < 0) {
        return (sl_answer){.code = SL_ANSWER_BUDGET};
    }
    int64_t missing_blocks = sum_of_needs(core, each, last, last_tokens) - core->pool.free_blocks;
    if (missing_blocks > 0) {
        return short_of(missing_blocks);
    }
    if (last->is_in_lockstep && last_tokens == 0) {
        sli_core_leave_lockstep(core, last);
    }
    if (core->lockstep.count > 0) {
        reserve_lockstep(core);
    }
    for (sl_request *request = core->first_loose; request != NULL; request = request->next_loose) {
        int64_t tokens = request == last ? last_tokens : want_tokens(core, request, each);
        if (tokens > 0) {
            reserve_loose(core, request, tokens);
        }
    }
    return granted(core->state.planned_tokens);
}

static sl_answer take_all(sl_plan *plan, int64_t cap_tokens) {
    offer all = {.cap_tokens = cap_tokens > 0 ? cap_tokens : INT64_MAX};
    return take_offered(core_of(plan), all);
}

static sl_answer decode_all(sl_plan *plan, int64_t tokens_each) {
    offer decoding = {.cap_tokens = tokens_each > 0 ? tokens_each : 1, .only_decoding = true};
    return take_offered(core_of(plan), decoding);
}

/* ---- Taking for one ---- */

static int64_t pending_tokens(const sl_request *request) {
    return request->is_in_lockstep ? 1 : sli_request_pending(request);
}

static sl_answer take(sl_plan *plan, sl_request *request, int64_t tokens) {
    sli_core *core = core_of(plan);
    if (request == NULL || request->state != SLI_REQUEST_RUNNING) {
        return break_rule(core, request, "only a running request can be taken");
    }
    if (is_taken(core, request)) {
        return break_rule(core, request, "a request was taken twice in one plan");
    }
    if (tokens < 1) {
        return break_rule(core, request, "less than one token was taken");
    }
    tokens = sli_min_i64(sli_min_i64(tokens, pending_tokens(request)), core->state.budget_left);
    if (tokens == 0) {
        return (sl_answer){.code = SL_ANSWER_BUDGET};
    }
    if (!request->is_in_lockstep) {
        tokens = cut_to_state(core, request, request->computed_tokens, tokens);
    }
    int64_t blocks = need_blocks(core, request, tokens);
    if (blocks > core->pool.free_blocks) {
        return short_of(blocks - core->pool.free_blocks);
    }
    if (request->is_in_lockstep) {
        reserve_member(core, request, blocks);
    } else {
        reserve_loose(core, request, tokens);
    }
    return granted(tokens);
}

/* ---- Admission ---- */

/* Tokens that an admission may compute in this step; 0 = the budget is too small. */
static int64_t admissible_tokens(const sli_core *core, const sl_admission *admission,
                                 int64_t pending_tokens) {
    int64_t tokens = admission->tokens > 0 ? sli_min_i64(pending_tokens, admission->tokens)
                                           : pending_tokens;
    if (tokens <= core->state.budget_left) {
        return tokens;
    }
    return admission->all_or_nothing ? 0 : core->state.budget_left;
}

static void note_admission(sli_core *core, sl_request *request, int64_t hit_tokens) {
    int64_t now_ns = core->world->loop.now_ns;
    sl_request_record *record = &request->record;
    if (record->admit_ns < 0) {
        record->admit_ns = now_ns;
        record->hit_tokens = hit_tokens;
    } else {
        record->rehit_tokens += hit_tokens;
    }
    sl_phase phase = record->generated_tokens > 0 ? SL_PHASE_DECODE : SL_PHASE_PREFILL;
    if (hit_tokens < request->furthest_tokens) {
        phase = SL_PHASE_RECOMPUTE;
    }
    sli_request_enter(request, phase, now_ns);
    sli_request_report(request, core->world, SL_ADMIT, core->index, hit_tokens);
}

static bool is_visible(const sli_core *core, const sl_request *request) {
    return request != NULL && (request->home == &core->queue || request->home == core->shared);
}

static bool is_admission(const sl_admission *admission) {
    return admission != NULL && admission->tokens >= 0 && admission->reserve_tokens >= 0 &&
           admission->keep_free_blocks >= 0;
}

/* No request is longer, and the pool has no slots for more. Fewer must not be cut: groups that keep
 * little have room for more tokens than the pool has blocks. */
static int64_t most_reserved_tokens(const sli_pool_config *pool) {
    int64_t largest_tokens = pool->layout != NULL ? pool->layout->align_tokens : pool->block_tokens;
    return sli_max_i64(SLI_GROWTH_TOKENS_MAX, (pool->block_count + 1) * largest_tokens);
}

/* More than the pool has is never granted, and the same whatever it is. */
static sli_acquisition acquisition_of(const sli_core *core, const sl_request *request,
                                      const sl_admission *admission, sli_hit hit, int64_t tokens) {
    const sli_pool_config *pool = &core->pool.config;
    return (sli_acquisition){
        .hit = hit,
        .tokens = hit.blocks * pool->block_tokens + tokens,
        .reserve_tokens = sli_min_i64(admission->reserve_tokens, most_reserved_tokens(pool)),
        .fit_tokens = admission->whole_prompt_fits ? request->known_tokens : 0,
        .known_tokens = request->known_tokens,
        .keep_free_blocks = sli_min_i64(admission->keep_free_blocks, pool->block_count + 1),
    };
}

static sl_answer admit(sl_plan *plan, sl_request *request, const sl_admission *admission) {
    sli_core *core = core_of(plan);
    if (!is_visible(core, request) || request->state != SLI_REQUEST_WAITING) {
        return break_rule(core, request, "only a waiting request can be admitted");
    }
    if (!is_admission(admission)) {
        return break_rule(core, request, "an admission asked for less than nothing");
    }
    if (core->running >= core->config->max_seqs) {
        return (sl_answer){.code = SL_ANSWER_SEATS};
    }
    sli_hit hit = sli_core_hit(core, request);
    int64_t hit_tokens = hit.blocks * core->pool.config.block_tokens;
    int64_t tokens = admissible_tokens(core, admission, request->known_tokens - hit_tokens);
    if (tokens == 0) {
        return (sl_answer){.code = SL_ANSWER_BUDGET};
    }
    if (!admission->all_or_nothing) {
        tokens = cut_to_state(core, request, hit_tokens, tokens);
    }
    const sli_acquisition acquisition = acquisition_of(core, request, admission, hit, tokens);
    int64_t missing_blocks = sli_context_acquire(&request->context, &core->pool, &request->content,
                                                 &acquisition);
    if (missing_blocks > 0) {
        return short_of(missing_blocks);
    }
    sli_queue_remove(request->home, request);
    sli_core_seat(core, request);
    core->state.admitted++;
    request->computed_tokens = hit_tokens;
    core->state.decoding += sli_request_is_decoding(request);
    reserve_loose(core, request, tokens);
    note_admission(core, request, hit_tokens);
    return granted(tokens);
}

/* ---- Preemption ---- */

/* Gives what the plan took for it back; its own figures are up to date afterwards. */
static void refund(sli_core *core, sl_request *request) {
    int64_t tokens = planned_tokens(core, request);
    if (request->is_in_lockstep) {
        core->state.lockstep_taken -= tokens;
        sli_core_leave_lockstep(core, request);
        sli_context_grow(&request->context, &core->pool, request->computed_tokens + tokens);
    }
    if (tokens > 0) {
        book(core, -1, -tokens);
    }
    /* What the step would have computed is not there: nobody may find it. */
    sli_context_retract(&request->context, &core->pool, request->computed_tokens);
}

static sl_answer preempt(sl_plan *plan, sl_request *request, sl_preempt_mode mode) {
    sli_core *core = core_of(plan);
    if (request == NULL || request->state != SLI_REQUEST_RUNNING) {
        return break_rule(core, request, "only a running request can be preempted");
    }
    if (mode != SL_PREEMPT_RECOMPUTE) {
        return break_rule(core, request, "a request was preempted in a way that does not exist");
    }
    if (is_taken(core, request) && core->state.admitted > 0) {
        return break_rule(core, request,
                          "after an admission, a request with tokens in the plan was preempted");
    }
    refund(core, request);
    core->state.decoding -= sli_request_is_decoding(request);
    sli_request_report(request, core->world, SL_PREEMPT, core->index, request->computed_tokens);
    sli_core_unseat(core, request, true);
    request->computed_tokens = 0;
    request->record.preemption_count++;
    sli_request_enter(request, SL_PHASE_PREEMPTED, core->world->loop.now_ns);
    core->state.preempted++;
    if (sli_queue_return(request->home, request) != SL_OK) {
        return out_of_memory(core);
    }
    return granted(0);
}

/* ---- The rest of the conversation ---- */

static void limit_tokens(sl_plan *plan, int64_t tokens) {
    sli_core *core = core_of(plan);
    if (core->state.planned_requests > 0 || tokens < 0) {
        break_rule(core, NULL, "a budget below 0, or limited after something was taken");
        return;
    }
    core->state.budget_left = sli_min_i64(core->state.budget_left, tokens);
}

static void repeat(sl_plan *plan, int64_t steps, uint32_t disturbances) {
    sli_core *core = core_of(plan);
    if (steps < 0 || (disturbances & ~(uint32_t)SL_ON_ARRIVAL) != 0) {
        break_rule(core, NULL, "a promise of less than 0 steps, or of a disturbance not known");
        return;
    }
    core->state.repeat_steps = steps;
    core->state.repeat_disturbances = disturbances;
}

static void wake(sl_plan *plan, int64_t at_ns) {
    sli_core *core = core_of(plan);
    if (at_ns <= core->world->loop.now_ns) {
        break_rule(core, NULL, "a wake-up call for a time that is not ahead");
        return;
    }
    core->state.wake_ns = at_ns;
}

const sl_plan_ops sli_plan_ops = {
    .view = sli_plan_view,
    .request = sli_plan_request,
    .cached_tokens = sli_plan_cached_tokens,
    .first_running = sli_plan_first_running,
    .next_running = sli_plan_next_running,
    .last_running = sli_plan_last_running,
    .first_waiting = sli_plan_first_waiting,
    .next_waiting = sli_plan_next_waiting,
    .victim = sli_plan_victim,
    .take_all = take_all,
    .decode_all = decode_all,
    .take = take,
    .admit = admit,
    .preempt = preempt,
    .limit_tokens = limit_tokens,
    .repeat = repeat,
    .wake = wake,
};

/* ---- Making a plan ---- */

/* What windows pass in the coming step goes back in running order, so these step alone. */
static void release_due(sli_core *core) {
    sl_request *request;
    while ((request = sli_lockstep_due(&core->lockstep)) != NULL) {
        sli_core_leave_lockstep(core, request);
    }
}

static void begin(sli_core *core) {
    release_due(core);
    bool has_budget = (core->policy->policy.capabilities & SL_CAP_NO_TOKEN_BUDGET) == 0;
    core->state = (sli_plan_state){
        .budget_left = has_budget ? core->config->max_batched_tokens : INT64_MAX,
        .decoding = core->lockstep.count,
        .wake_ns = SLI_NEVER,
    };
    for (const sl_request *request = core->first_loose; request != NULL;
         request = request->next_loose) {
        core->state.decoding += sli_request_is_decoding(request);
    }
}

/* Members that a walk left out fall out of step; the others are taken, as a whole from now on. */
static void settle_lockstep(sli_core *core) {
    bool is_walked = core->state.lockstep_taken > 0 && !core->state.lockstep_bulk;
    sl_request *request = is_walked ? core->first_running : NULL;
    for (; request != NULL; request = request->next) {
        if (!request->is_in_lockstep) {
            continue;
        }
        if (request->planned_tokens == 0) {
            sli_core_leave_lockstep(core, request);
        }
        request->planned_tokens = 0;
    }
    core->state.lockstep_bulk = core->state.lockstep_taken > 0;
    SL_ASSERT(core->state.lockstep_taken == 0 ||
              core->state.lockstep_taken == core->lockstep.count);
}

static bool takes_only_decodes(const sli_core *core) {
    const sli_plan_state *state = &core->state;
    return state->planned_requests > 0 && state->planned_requests == core->running &&
           state->planned_tokens == core->running && state->decoding == core->running;
}

static uint64_t arrivals_seen(const sli_core *core) {
    return core->queue.arrival_count + core->shared->arrival_count;
}

bool sli_core_promise_holds(const sli_core *core) {
    const sli_promise *promise = &core->promise;
    bool has_arrival = promise->arrival_count != arrivals_seen(core);
    return promise->steps_left > 0 && !core->has_ended &&
           promise->head_count == core->shared->head_count &&
           !(has_arrival && (promise->disturbances & SL_ON_ARRIVAL) != 0);
}

/* A promise is worth something only for plans that are the same until something happens. */
static void note_promise(sli_core *core) {
    core->promise = (sli_promise){
        .steps_left = core->config->keeps_promises && core->state.only_decodes &&
                              core->state.preempted == 0
                          ? core->state.repeat_steps
                          : 0,
        .disturbances = core->state.repeat_disturbances,
        .arrival_count = arrivals_seen(core),
        .head_count = core->shared->head_count,
        .free_blocks = core->pool.free_blocks,
    };
    core->has_ended = false;
}

bool sli_core_may_admit(const sli_core *core, int64_t free_blocks, bool takes_blocks) {
    const sli_pool *pool = &core->pool;
    bool has_room = free_blocks > core->promise.free_blocks;
    bool may_forget = takes_blocks && pool->cached_blocks > 0;
    return pool->window_count > 0 && (has_room || may_forget) && sli_core_waiting(core) > 0;
}

static bool plan_by_promise(sli_core *core) {
    if (!sli_core_promise_holds(core) || sli_core_may_admit(core, core->pool.free_blocks, true)) {
        return false;
    }
    begin(core);
    if (take_all(&core->plan, 0).code != SL_ANSWER_OK) {
        return false; /* a shortage ends the promise; nothing has changed */
    }
    core->promise.steps_left--;
    core->state.only_decodes = true;
    return true;
}

/* Each empty plan that preempted leaves fewer running requests, so this ends. */
static void plan_by_asking(sli_core *core) {
    bool is_asked_again;
    do {
        begin(core);
        core->policy->plan(core->policy_self, &core->plan);
        is_asked_again = core->state.planned_requests == 0 && core->state.preempted > 0;
    } while (is_asked_again && core->world->fault == SL_OK);
    settle_lockstep(core);
    core->state.only_decodes = takes_only_decodes(core);
    note_promise(core);
}

void sli_core_plan(sli_core *core) {
    if (!plan_by_promise(core)) {
        plan_by_asking(core);
    }
    if (core->pool.is_out_of_memory) {
        out_of_memory(core);
    }
}
