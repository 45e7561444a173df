/*
 * Orca: iteration-level scheduling with selective batching.
 *
 * Every iteration decodes all running requests and takes in whole prompts from the head of the
 * queue while a seat is free and the memory for the longest possible context is. There is no token
 * budget, no chunk and no preemption: what is reserved is enough. Yu et al., OSDI 2022, section 4.
 */
#include "sluice/policy.h"

typedef struct orca {
    int64_t max_model_tokens;
    bool orders_by_priority;
} orca;

static sl_err init(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
    orca *policy = self;
    policy->max_model_tokens = env->max_model_tokens;
    policy->orders_by_priority = env->orders_by_priority;
    return SL_OK;
}

static void plan_step(void *self, sl_plan *plan) {
    const orca *policy = self;
    sl_plan_take_all(plan, 0); /* cannot be short: all blocks are reserved */
    sl_request *request = sl_plan_first_waiting(plan);
    const sl_admission admission = {.reserve_tokens = policy->max_model_tokens};
    while (request != NULL) {
        sl_request *next = sl_plan_next_waiting(plan, request);
        if (sl_plan_admit(plan, request, &admission).code != SL_ANSWER_OK) {
            break;
        }
        request = next;
    }
    /* A blocked head waits for a finish, so an arrival matters only to an empty queue, or if it
     * overtakes the head: what of a prompt stays may take less memory than that of the head. */
    sl_plan_view view = sl_plan_look(plan);
    bool arrival_matters = view.seats_left > 0 && (view.waiting == 0 || policy->orders_by_priority);
    sl_plan_repeat(plan, INT64_MAX, arrival_matters ? SL_ON_ARRIVAL : 0);
}

static const sl_batch_policy orca_policy = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "orca",
               .summary = "iteration-level batching, whole prompts, max-length reservation",
               .paper = "Yu et al., Orca: A Distributed Serving System for Transformer-Based "
                        "Generative Models, OSDI 2022",
               .capabilities = SL_CAP_NO_TOKEN_BUDGET | SL_CAP_RESERVES_MAX_LEN,
               .instance_bytes = sizeof(orca), .init = init},
    .plan = plan_step,
};

SL_EXPORT_POLICIES(orca, &orca_policy.policy);
