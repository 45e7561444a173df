#include "cases.h"

#include "adapt.h"
#include "base/minmax.h"

extern const sl_policy_table sl_policies_TEMPLATE;

/* ---- Orca once more, one request at a time: what its description says, read again ---- */

typedef struct orca_walker {
    int64_t longest_tokens;
    bool orders_by_priority;
} orca_walker;

static void plan_orca_walking(void *self, sl_plan *plan) {
    const orca_walker *walker = self;
    for (sl_request *it = sl_plan_first_running(plan); it != NULL;
         it = sl_plan_next_running(plan, it)) {
        sl_plan_take(plan, it, INT64_MAX);
    }
    const sl_admission admission = {.reserve_tokens = walker->longest_tokens};
    sl_request *head;
    do {
        head = sl_plan_first_waiting(plan);
    } while (head != NULL && sl_plan_admit(plan, head, &admission).code == SL_ANSWER_OK);
    sl_plan_view view = sl_plan_look(plan);
    bool may_be_next = head == NULL || walker->orders_by_priority;
    sl_plan_repeat(plan, INT64_MAX, may_be_next && view.seats_left > 0 ? SL_ON_ARRIVAL : 0);
}

static sl_err init_orca_walking(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
    *(orca_walker *)self = (orca_walker){env->max_model_tokens, env->orders_by_priority};
    return SL_OK;
}

static const sl_batch_policy orca_walking = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "orca_walking",
               .summary = "orca, one request at a time",
               .capabilities = SL_CAP_NO_TOKEN_BUDGET | SL_CAP_RESERVES_MAX_LEN,
               .instance_bytes = sizeof(orca_walker), .init = init_orca_walking},
    .plan = plan_orca_walking,
};

/* ---- The one to copy ---- */

/* It cuts nothing, and says so itself: the longest context must fit in a step. */
static void adapt_template(const sl_policy *policy, sli_rng *rng, sli_small_world *world,
                           void *values) {
    sli_engine_config *engine = &world->engine;
    engine->max_batched_tokens = engine->max_model_tokens > engine->max_seqs
                                     ? engine->max_model_tokens
                                     : engine->max_seqs;
    sli_set_param(policy, values, "max_prompts", sli_draw_between(rng, 1, 8));
}

/* ---- A budget that shrinks and grows: decoders that were in step are left out of one, and some
 * are given up that were taken in the same plan ---- */

/*
 * First come, first served under vLLM's rules, written again without any of its short cuts. The
 * state is the seed alone.
 */
static sl_err init_moody(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
    *(uint64_t *)self = env->seed;
    return SL_OK;
}

static void take_running(sl_plan *plan) {
    sl_request *it = sl_plan_first_running(plan);
    while (it != NULL) {
        sl_request *victim = NULL;
        while (victim != it && sl_plan_take(plan, it, 5).code == SL_ANSWER_SHORT) {
            victim = sl_plan_victim(plan);
            sl_plan_preempt(plan, victim, SL_PREEMPT_RECOMPUTE);
        }
        it = victim == it ? NULL : sl_plan_next_running(plan, it);
    }
}

static void plan_moody(void *self, sl_plan *plan) {
    uint64_t mood = *(const uint64_t *)self + (uint64_t)(sl_plan_look(plan).now_ns / 30);
    sl_plan_limit_tokens(plan, 1 + (int64_t)(mood * 0x9e3779b97f4a7c15u >> 60) / 2);
    if (mood % 3 != 0 || sl_plan_take_all(plan, 5).code != SL_ANSWER_OK) {
        take_running(plan);
    }
    if (mood % 5 == 0 && sl_plan_look(plan).running > 1) {
        sl_plan_preempt(plan, sl_plan_victim(plan), SL_PREEMPT_RECOMPUTE);
    }
    sl_admission admission = {.tokens = 6};
    sl_request *head = sl_plan_first_waiting(plan);
    while (head != NULL && !sl_plan_look(plan).has_preempted &&
           sl_plan_admit(plan, head, &admission).code == SL_ANSWER_OK) {
        head = sl_plan_first_waiting(plan);
    }
}

static const sl_batch_policy moody = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "moody",
               .summary = "a budget of 1 to 8 tokens that changes with time",
               .instance_bytes = sizeof(uint64_t), .init = init_moody},
    .plan = plan_moody,
};

/* ---- Reservations that do not last: room at once for a part of what will be needed ---- */

static sl_err init_hedging(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
    *(uint64_t *)self = env->seed;
    return SL_OK;
}

/* What it wants to reserve may be more than there ever is: then whoever would be alone reserves
 * nothing. */
static bool admits_hedged(sl_plan *plan, sl_request *head, int64_t reserve_tokens) {
    sl_admission admission = {.reserve_tokens = reserve_tokens};
    if (sl_plan_admit(plan, head, &admission).code == SL_ANSWER_OK) {
        return true;
    }
    admission.reserve_tokens = 0;
    return sl_plan_look(plan).running == 0 &&
           sl_plan_admit(plan, head, &admission).code == SL_ANSWER_OK;
}

static void plan_hedging(void *self, sl_plan *plan) {
    uint64_t mood = *(const uint64_t *)self + (uint64_t)(sl_plan_look(plan).now_ns / 30);
    if (sl_plan_take_all(plan, 5).code != SL_ANSWER_OK) {
        take_running(plan);
    }
    sl_request *head = sl_plan_first_waiting(plan);
    while (head != NULL && !sl_plan_look(plan).has_preempted &&
           admits_hedged(plan, head, (int64_t)(mood % 48))) {
        head = sl_plan_first_waiting(plan);
    }
}

static const sl_batch_policy hedging = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "hedging",
               .summary = "reserves up to 47 tokens at an admission",
               .instance_bytes = sizeof(uint64_t), .init = init_hedging},
    .plan = plan_hedging,
};

/* ---- All ---- */

const sli_batch_case sli_batch_cases[SLI_CASE_COUNT] = {
    [SLI_CASE_VLLM_V1] = {.name = "vllm_v1", .adapt = sli_adapt_vllm_v1},
    [SLI_CASE_ORCA] = {.name = "orca", .adapt = sli_adapt_orca, .walker = &orca_walking},
    [SLI_CASE_TEMPLATE] = {.table = &sl_policies_TEMPLATE, .adapt = adapt_template},
    [SLI_CASE_MOODY] = {.policy = &moody},
    [SLI_CASE_HEDGING] = {.policy = &hedging},
};

const char *sli_case_name(const sli_batch_case *it) {
    return sli_case_policy(it)->policy.name;
}
