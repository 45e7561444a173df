#include "engine/plan.h"

#include "base/check.h"
#include "kernel/time.h"

static sli_core *core_of(sl_plan *plan) {
    return (sli_core *)plan;
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Faults ---- */

static sl_answer break_rule(sli_core *core, const sl_request *request, const char *rule) {
    const sli_world *world = core->world;
    sli_world_fail(core->world, SL_ERR_POLICY,
                   "policy '%s' on replica %u at %.9f s broke a rule: %s (request %u:%llu)",
                   core->policy->policy.name, core->index, (double)world->loop.now_ns / 1e9, rule,
                   SL_REQUEST_SOURCE(request->id),
                   (unsigned long long)SL_REQUEST_INDEX(request->id));
    return (sl_answer){.code = SL_ANSWER_NOT_ELIGIBLE};
}

static sl_answer out_of_memory(sli_core *core) {
    sli_world_fail(core->world, SL_ERR_NOMEM, "out of memory while planning a step");
    return (sl_answer){.code = SL_ANSWER_NOT_ELIGIBLE};
}

/* ---- Reserving ---- */

static int64_t need_blocks(const sli_core *core, const sl_request *request, int64_t tokens) {
    return sli_context_need(&request->context, &core->pool, request->computed_tokens + tokens);
}

static void book(sli_core *core, sl_request *request, int64_t tokens) {
    request->planned_tokens = tokens;
    core->state.planned_tokens += tokens;
    core->state.planned_requests++;
    if (core->state.budget_left != INT64_MAX) {
        core->state.budget_left -= tokens;
    }
}

/* Takes slots for tokens that fit; full blocks are findable from now on, before the step runs. */
static void reserve(sli_core *core, sl_request *request, int64_t tokens) {
    int64_t end_tokens = request->computed_tokens + tokens;
    if (end_tokens > request->context.tokens &&
        sli_context_extend(&request->context, &core->pool, end_tokens) != SL_OK) {
        out_of_memory(core);
        return;
    }
    sli_context_publish(&request->context, &core->pool, &request->content, end_tokens);
    book(core, request, tokens);
}

static sl_answer granted(int64_t tokens) {
    return (sl_answer){.code = SL_ANSWER_OK, .tokens = tokens};
}

static sl_answer short_of(int64_t missing_blocks) {
    return (sl_answer){.code = SL_ANSWER_SHORT, .missing_blocks = missing_blocks};
}

/* ---- Where states are saved ---- */

/* The block of the group that keeps states which can be found again; 0 = there is none. */
static int64_t state_block_tokens(const sli_pool *pool) {
    for (int i = 0; i < sli_pool_window_count(pool) && pool->config.has_index; i++) {
        const sli_group *group = sli_pool_window_group(pool, i);
        if (group->kind == SLI_GROUP_STATE) {
            return group->block_tokens;
        }
    }
    return 0;
}

/* Cuts a chunk of a prompt so that it ends with a block, and so that the last full block of what is
 * known ends a chunk (vLLM, _mamba_block_aligned_split). A chunk within a block is left alone. */
static int64_t cut_to_state(const sli_core *core, const sl_request *request,
                            int64_t computed_tokens, int64_t tokens) {
    int64_t block_tokens = state_block_tokens(&core->pool);
    if (block_tokens == 0 || request->known_tokens - computed_tokens <= 1) {
        return tokens;
    }
    int64_t last_tokens = request->known_tokens / block_tokens * block_tokens;
    int64_t end_tokens = computed_tokens + tokens;
    if (end_tokens < last_tokens) {
        int64_t cut = end_tokens / block_tokens * block_tokens - computed_tokens;
        return cut > 0 ? cut : tokens;
    }
    bool passes_last = computed_tokens < last_tokens && last_tokens < end_tokens;
    return passes_last ? last_tokens - computed_tokens : tokens;
}

/* ---- Taking for many at once ---- */

/* What each running request is offered. */
typedef struct offer {
    int64_t cap_tokens; /* most for one request */
    bool only_decoding; /* pass over the others */
} offer;

static int64_t want_tokens(const sli_core *core, const sl_request *request, offer each) {
    if (each.only_decoding && !sli_request_is_decoding(request)) {
        return 0;
    }
    return cut_to_state(core, request, request->computed_tokens,
                        min_of(sli_request_pending(request), each.cap_tokens));
}

/* What it gets out of a budget. */
static int64_t offered_tokens(const sli_core *core, const sl_request *request, offer each,
                              int64_t budget_tokens) {
    int64_t tokens = want_tokens(core, request, each);
    return tokens <= budget_tokens
               ? tokens
               : cut_to_state(core, request, request->computed_tokens, budget_tokens);
}

static bool is_last_wanting(const sli_core *core, const sl_request *request, offer each) {
    for (request = request->next; request != NULL; request = request->next) {
        if (want_tokens(core, request, each) > 0) {
            return false;
        }
    }
    return true;
}

/* Looks before anything is taken, so that a refusal changes nothing. */
static sl_answer check_all(sli_core *core, offer each) {
    int64_t budget_left = core->state.budget_left;
    int64_t missing_blocks = -core->pool.free_blocks;
    for (sl_request *request = core->first_running; request != NULL; request = request->next) {
        if (request->planned_tokens > 0) {
            return break_rule(core, request, "a request was taken twice in one plan");
        }
        int64_t tokens = offered_tokens(core, request, each, budget_left);
        if (tokens < want_tokens(core, request, each) && !is_last_wanting(core, request, each)) {
            return (sl_answer){.code = SL_ANSWER_BUDGET};
        }
        budget_left -= core->state.budget_left == INT64_MAX ? 0 : tokens;
        missing_blocks += need_blocks(core, request, tokens);
    }
    return missing_blocks > 0 ? short_of(missing_blocks) : granted(0);
}

static sl_answer take_offered(sli_core *core, offer each) {
    sl_answer answer = check_all(core, each);
    if (answer.code != SL_ANSWER_OK) {
        return answer;
    }
    for (sl_request *request = core->first_running; request != NULL; request = request->next) {
        int64_t tokens = offered_tokens(core, request, each, core->state.budget_left);
        if (tokens > 0) {
            reserve(core, request, tokens);
            answer.tokens += tokens;
        }
    }
    return answer;
}

static sl_answer take_all(sl_plan *plan, int64_t cap_tokens) {
    offer all = {.cap_tokens = cap_tokens > 0 ? cap_tokens : INT64_MAX};
    return take_offered(core_of(plan), all);
}

static sl_answer decode_all(sl_plan *plan, int64_t tokens_each) {
    offer decoding = {.cap_tokens = tokens_each, .only_decoding = true};
    return take_offered(core_of(plan), decoding);
}

/* ---- Taking for one ---- */

static sl_answer take(sl_plan *plan, sl_request *request, int64_t tokens) {
    sli_core *core = core_of(plan);
    if (request->state != SLI_REQUEST_RUNNING) {
        return break_rule(core, request, "only a running request can be taken");
    }
    if (request->planned_tokens > 0) {
        return break_rule(core, request, "a request was taken twice in one plan");
    }
    if (tokens < 1) {
        return break_rule(core, request, "less than one token was taken");
    }
    tokens = min_of(min_of(tokens, sli_request_pending(request)), core->state.budget_left);
    tokens = cut_to_state(core, request, request->computed_tokens, tokens);
    if (tokens == 0) {
        return (sl_answer){.code = SL_ANSWER_BUDGET};
    }
    int64_t missing_blocks = need_blocks(core, request, tokens) - core->pool.free_blocks;
    if (missing_blocks > 0) {
        return short_of(missing_blocks);
    }
    reserve(core, request, tokens);
    return granted(tokens);
}

/* ---- Admission ---- */

/* Tokens that an admission may compute in this step; 0 = the budget is too small. */
static int64_t admissible_tokens(const sli_core *core, const sl_admission *admission,
                                 int64_t pending_tokens) {
    int64_t tokens = admission->tokens > 0 ? min_of(pending_tokens, admission->tokens)
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

static sl_answer admit(sl_plan *plan, sl_request *request, const sl_admission *admission) {
    sli_core *core = core_of(plan);
    bool is_visible = request->home == &core->queue || request->home == core->shared;
    if (request->state != SLI_REQUEST_WAITING || !is_visible) {
        return break_rule(core, request, "only a waiting request can be admitted");
    }
    if (core->running >= core->config->max_seqs) {
        return (sl_answer){.code = SL_ANSWER_SEATS};
    }
    int64_t hit_tokens = sli_plan_cached_tokens(plan, request);
    int64_t tokens = admissible_tokens(core, admission, request->known_tokens - hit_tokens);
    if (tokens == 0) {
        return (sl_answer){.code = SL_ANSWER_BUDGET};
    }
    if (!admission->all_or_nothing) {
        tokens = cut_to_state(core, request, hit_tokens, tokens);
    }
    sli_acquisition acquisition = {
        .hit_tokens = hit_tokens,
        .tokens = hit_tokens + tokens,
        .reserve_tokens = admission->reserve_tokens,
        .fit_tokens = admission->whole_prompt_fits ? request->known_tokens : 0,
        .known_tokens = request->known_tokens,
        .keep_free_blocks = admission->keep_free_blocks,
        .final_tokens = sli_request_final_tokens(&request->desc),
    };
    int64_t missing_blocks;
    if (sli_context_acquire(&request->context, &core->pool, &request->content, &acquisition,
                            &missing_blocks) != SL_OK) {
        return out_of_memory(core);
    }
    if (missing_blocks > 0) {
        return short_of(missing_blocks);
    }
    sli_queue_remove(request->home, request);
    sli_core_seat(core, request);
    core->state.admitted++;
    request->computed_tokens = hit_tokens;
    reserve(core, request, tokens);
    note_admission(core, request, hit_tokens);
    return granted(tokens);
}

/* ---- Preemption ---- */

static void refund(sli_core *core, sl_request *request) {
    if (request->planned_tokens == 0) {
        return;
    }
    core->state.planned_tokens -= request->planned_tokens;
    core->state.planned_requests--;
    if (core->state.budget_left != INT64_MAX) {
        core->state.budget_left += request->planned_tokens;
    }
    /* What the step would have computed is not there: nobody may find it. */
    sli_context_retract(&request->context, &core->pool, request->computed_tokens);
}

static sl_answer preempt(sl_plan *plan, sl_request *request, sl_preempt_mode mode) {
    sli_core *core = core_of(plan);
    SL_ASSERT(mode == SL_PREEMPT_RECOMPUTE);
    if (request == NULL || request->state != SLI_REQUEST_RUNNING) {
        static const sl_request nobody = {0};
        return break_rule(core, request != NULL ? request : &nobody,
                          "only a running request can be preempted");
    }
    if (request->planned_tokens > 0 && core->state.admitted > 0) {
        return break_rule(core, request,
                          "after an admission, a request with tokens in the plan was preempted");
    }
    refund(core, request);
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
    if (core->state.planned_tokens == 0) {
        core->state.budget_left = min_of(core->state.budget_left, tokens > 0 ? tokens : 0);
    }
}

static void repeat(sl_plan *plan, int64_t steps, uint32_t disturbances) {
    sli_core *core = core_of(plan);
    core->state.repeat_steps = steps;
    core->state.repeat_disturbances = disturbances;
}

static void wake(sl_plan *plan, int64_t at_ns) {
    core_of(plan)->state.wake_ns = at_ns;
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

static void begin(sli_core *core) {
    bool has_budget = (core->policy->policy.capabilities & SL_CAP_NO_TOKEN_BUDGET) == 0;
    core->state = (sli_plan_state){
        .budget_left = has_budget ? core->config->max_batched_tokens : INT64_MAX,
        .wake_ns = SLI_NEVER,
    };
}

static bool takes_only_decodes(const sli_core *core) {
    if (core->state.planned_requests == 0 || core->state.planned_requests != core->running ||
        core->state.planned_tokens != core->running) {
        return false;
    }
    for (sl_request *request = core->first_running; request != NULL; request = request->next) {
        if (!sli_request_is_decoding(request)) {
            return false;
        }
    }
    return true;
}

static uint64_t arrivals_seen(const sli_core *core) {
    return core->queue.arrival_count + core->shared->arrival_count;
}

static bool promise_holds(const sli_core *core) {
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
    };
    core->has_ended = false;
}

/* With windows and states blocks come free and hits are lost while only decoding goes on, so who
 * waits may find room. */
static bool may_admit(const sli_core *core) {
    return sli_pool_window_count(&core->pool) > 0 && core->queue.count + core->shared->count > 0;
}

static bool plan_by_promise(sli_core *core) {
    if (!promise_holds(core) || may_admit(core)) {
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
    core->state.only_decodes = takes_only_decodes(core);
    note_promise(core);
}

void sli_core_plan(sli_core *core) {
    if (!plan_by_promise(core)) {
        plan_by_asking(core);
    }
}
