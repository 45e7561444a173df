/*
 * A policy to copy: first come, first served, in whole prompts, and decoding before all else.
 *
 * Every step gives each running request its next token, then takes in waiting prompts from the head
 * of the queue while they fit in one piece. When blocks run out, requests are preempted by
 * recompute. It is complete, but made to be read; vllm_v1.c is the one to compare with.
 *
 * Step 1. Copy this file to policies/batch/NAME.c. Put NAME in place of `template`, in place of
 * TEMPLATE in its last line too, and say up here what the policy does and who described it.
 */
#include "sluice/policy.h"

#include <stdio.h>

/*
 * Step 2. What an instance remembers. There is one instance a replica, owned and zeroed by the
 * core; a policy has no other memory, neither static nor allocated.
 */
typedef struct template {
    int64_t max_prompts;
}
template;

/*
 * Step 3. What a scenario may set, `engine: {policy: {name: template, max_prompts: 4}}`. A row is
 * all it takes: the value is checked, explained by `sluice policies template`, and stored at its
 * offset before init is called. No parameters: leave the table out.
 */
static const sl_param params[] = {
    {.name = "max_prompts",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e9,
     .words = (const sl_word[]){{"none", 1e9}, {NULL, 0}},
     .fallback = "none",
     .help = "most prompts that are taken in by one step",
     .offset = offsetof(template, max_prompts)},
};

/*
 * Step 4. Refuse a deployment for which the policy makes no sense, and say why, rather than let it
 * wait for ever. Here: nothing is ever cut, so the longest context and a token for everybody must
 * fit in a step. Nothing to refuse and nothing to prepare: leave init out.
 */
static sl_err init(void *self, const sl_policy_env *env, char *why, size_t why_bytes) {
    (void)self;
    int64_t largest_tokens = env->max_model_tokens > env->max_seqs ? env->max_model_tokens
                                                                   : env->max_seqs;
    if (env->max_batched_tokens < largest_tokens) {
        snprintf(why, why_bytes, "prompts are not cut: max_batched_tokens must be %lld or more",
                 (long long)largest_tokens);
        return SL_ERR_CONFIG;
    }
    return SL_OK;
}

/*
 * Step 5. Decide. Each call is checked and reserved at once, wholly or not at all, so one that is
 * refused has changed nothing and the next may be tried.
 */
static void decode_running(sl_plan *plan) {
    while (sl_plan_decode_all(plan, 1).code == SL_ANSWER_SHORT) {
        /* Ends: each round leaves fewer, and with nobody running nothing is short. */
        sl_plan_preempt(plan, sl_plan_victim(plan), SL_PREEMPT_RECOMPUTE);
    }
}

/* The admission looks the prompt up in the prefix index; what is found there is not computed. */
static void admit_waiting(const template *policy, sl_plan *plan) {
    const sl_admission whole = {.all_or_nothing = true};
    sl_request *request = sl_plan_first_waiting(plan);
    for (int64_t i = 0; i < policy->max_prompts && request != NULL; i++) {
        sl_request *next = sl_plan_next_waiting(plan, request); /* before it leaves the queue */
        if (sl_plan_admit(plan, request, &whole).code != SL_ANSWER_OK) {
            return; /* no seat, no budget or no blocks: nobody overtakes the head */
        }
        request = next;
    }
}

static void plan_step(void *self, sl_plan *plan) {
    decode_running(plan);
    if (!sl_plan_look(plan).has_preempted) { /* or the victim would come straight back */
        admit_waiting(self, plan);
    }
    /*
     * Not needed, but it makes runs fast: sl_plan_repeat promises the same answer for steps to
     * come. See vllm_v1.c for how to find out what would change it.
     */
}

/* Step 6. Who it is. The summary is one line of `sluice policies`. */
static const sl_batch_policy template_policy = {
    .policy = {SL_POLICY_HEAD(sl_batch_policy, SL_POLICY_BATCH), .name = "template",
               .summary = "first come first served, whole prompts, decoding first",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(template), .init = init},
    .plan = plan_step,
};

/*
 * Step 7. Build it into the program by a line in policies/CMakeLists.txt, or leave the program as
 * it is and make a shared object:
 *
 *     cc -shared -fPIC -DSL_POLICY_PLUGIN -Isim/include NAME.c -o NAME.so
 */
SL_EXPORT_POLICIES(TEMPLATE, &template_policy.policy);
