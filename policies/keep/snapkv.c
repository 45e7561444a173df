/*
 * SnapKV: of the prompt what its last tokens attend to, and all that follows.
 *
 * Li et al., NeurIPS 2024; FasterDecoding/SnapKV, snapkv_utils.py. There the heads of queries
 * choose, and a cache for each of them is kept, here the heads of keys.
 */
#include "sluice/policy.h"

#include <stdio.h>

typedef struct snapkv {
    int64_t capacity_tokens;
    int64_t observation_tokens;
    int64_t kernel_tokens;
} snapkv;

static const sl_param params[] = {
    {.name = "capacity",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "4096 tokens",
     .help = "tokens of the prompt that stay, those of the observation among them",
     .offset = offsetof(snapkv, capacity_tokens)},
    {.name = "observation",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "32 tokens",
     .help = "last tokens of the prompt, whose weights choose the others",
     .offset = offsetof(snapkv, observation_tokens)},
    {.name = "kernel",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e6,
     .fallback = "5 tokens",
     .help = "over which weights are pooled",
     .offset = offsetof(snapkv, kernel_tokens)},
};

static const char *check(const void *self) {
    const snapkv *policy = self;
    return policy->capacity_tokens <= policy->observation_tokens
               ? "capacity leaves nothing beside observation"
               : NULL;
}

static sl_kept rule(const void *self) {
    const snapkv *policy = self;
    return (sl_kept){
        .share_ppm = SL_WHOLE_PPM, .cap_rows = policy->capacity_tokens, .row_tokens = 1};
}

static sl_keep_work work(const void *self) {
    const snapkv *policy = self;
    return (sl_keep_work){.observed_tokens = policy->observation_tokens,
                          .pooled_tokens = policy->kernel_tokens};
}

static void describe(const void *self, char *text, size_t text_bytes) {
    const snapkv *policy = self;
    snprintf(text, text_bytes, "%s tokens of the prompt and all behind it",
             sl_group_digits(policy->capacity_tokens).text);
}

static const sl_keep_policy snapkv_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "snapkv",
               .summary = "tokens of the prompt that its last ones attend to, and all that follow",
               .paper = "Li et al., SnapKV: LLM Knows What You are Looking for Before Generation, "
                        "NeurIPS 2024",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(snapkv)},
    .when = "once, when the prompt is computed",
    .besides = "the weights of the observation for all keys of the prompt are computed once more "
               "and pooled, of every prompt, where the original leaves those shorter than the "
               "capacity alone",
    .check = check,
    .rule = rule,
    .work = work,
    .describe = describe,
};

SL_EXPORT_POLICIES(snapkv, &snapkv_policy.policy);
