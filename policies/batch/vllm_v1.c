/*
 * The scheduler of vLLM v1: one token budget for prefill and decode alike.
 *
 * A request has computed tokens chasing its known ones; a step gives budget to the running requests
 * in order, then admits waiting ones while budget, seats and blocks last. A prompt that exceeds
 * what is left is cut (chunked prefill). When blocks run out a running request is preempted by
 * recompute and nobody is admitted in that step. Follows vllm/v1/core/sched/scheduler.py,
 * schedule().
 */
#include "sluice/policy.h"

typedef struct vllm_v1 {
    int64_t long_prefill_tokens;
    bool chunks_prefill;
    bool reserves_full_prompt;
    sl_policy_env env;
} vllm_v1;

static const sl_param params[] = {
    {.name = "long_prefill_threshold",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .words = (const sl_word[]){{"none", 0}, {NULL, 0}},
     .fallback = "none",
     .help = "most tokens of one prompt in a step (vLLM: --long-prefill-token-threshold)",
     .offset = offsetof(vllm_v1, long_prefill_tokens)},
    {.name = "chunked_prefill",
     .type = SL_TYPE_BOOL,
     .fallback = "on",
     .help = "cut a prompt that exceeds the budget left (vLLM: --enable-chunked-prefill)",
     .offset = offsetof(vllm_v1, chunks_prefill)},
    {.name = "full_prompt_fits",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "admit only when blocks for the whole prompt are free "
             "(vLLM: --scheduler-reserve-full-isl)",
     .offset = offsetof(vllm_v1, reserves_full_prompt)},
};

static sl_err init(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
    vllm_v1 *policy = self;
    policy->env = *env;
    return SL_OK;
}

static int64_t chunk_cap(const vllm_v1 *policy) {
    return policy->long_prefill_tokens > 0 ? policy->long_prefill_tokens : INT64_MAX;
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Preempts until the request has its blocks; false when it had to give itself up. What it asks for
 * is settled before: it does not grow with the budget that a victim gives back. */
static bool take_or_preempt(const vllm_v1 *policy, sl_plan *plan, sl_request *request) {
    int64_t tokens = chunk_cap(policy);
    while (sl_plan_take(plan, request, tokens).code == SL_ANSWER_SHORT) {
        tokens = min_of(tokens, sl_plan_look(plan).budget_left);
        sl_request *victim = sl_plan_victim(plan);
        sl_plan_preempt(plan, victim, SL_PREEMPT_RECOMPUTE);
        if (victim == request) {
            return false;
        }
    }
    return true;
}

/* The irregular step. One that gets no budget is passed over, the next may still get some. */
static void walk_running(const vllm_v1 *policy, sl_plan *plan) {
    sl_request *request = sl_plan_first_running(plan);
    while (request != NULL && take_or_preempt(policy, plan, request)) {
        request = sl_plan_next_running(plan, request);
    }
}

static void admit_waiting(const vllm_v1 *policy, sl_plan *plan) {
    sl_request *request = sl_plan_first_waiting(plan);
    while (request != NULL) {
        sl_plan_view view = sl_plan_look(plan);
        if (view.budget_left <= 0 || view.seats_left <= 0) {
            return;
        }
        sl_request *next = sl_plan_next_waiting(plan, request);
        sl_admission admission = {
            .tokens = policy->long_prefill_tokens,
            .all_or_nothing = !policy->chunks_prefill,
            /* The watermark guards those that run; alone in the step nobody needs guarding. */
            .keep_free_blocks = view.planned_tokens > 0 ? policy->env.watermark_blocks : 0,
            .whole_prompt_fits = policy->reserves_full_prompt,
        };
        if (sl_plan_admit(plan, request, &admission).code != SL_ANSWER_OK) {
            return; /* head-of-line blocking is intended */
        }
        request = next;
    }
}

/*
 * While only decoding goes on, a blocked head stays blocked, or the promise ends by itself. So an
 * arrival matters in two cases: it becomes the head itself, or it overtakes the head by priority.
 */
static void promise(const vllm_v1 *policy, sl_plan *plan) {
    sl_plan_view view = sl_plan_look(plan);
    bool arrival_matters = view.seats_left > 0 &&
                           (view.waiting == 0 || policy->env.orders_by_priority);
    sl_plan_repeat(plan, INT64_MAX, arrival_matters ? SL_ON_ARRIVAL : 0);
}

static void plan_step(void *self, sl_plan *plan) {
    const vllm_v1 *policy = self;
    if (sl_plan_take_all(plan, policy->long_prefill_tokens).code != SL_ANSWER_OK) {
        walk_running(policy, plan);
    }
    if (!sl_plan_look(plan).has_preempted) {
        admit_waiting(policy, plan);
        promise(policy, plan);
    }
}

static const sl_batch_policy vllm_v1_policy = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "vllm_v1",
               .summary = "unified token budget, chunked prefill, preemption by recompute",
               .paper = "vLLM v1, vllm/v1/core/sched/scheduler.py; Kwon et al., SOSP 2023",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(vllm_v1), .init = init},
    .plan = plan_step,
};

SL_EXPORT_POLICIES(vllm_v1, &vllm_v1_policy.policy);
