/*
 * PyramidInfer: a share of the prompt that its latest tokens attend to, smaller the deeper the
 * layer.
 *
 * Yang et al., ACL Findings 2024; mutonix/pyramidinfer: of 16 generated tokens that leave the
 * latest ones a layer keeps 0.9 times 1 to 0.1, one of two in the mean. Its deeper layers compute
 * fewer tokens of the prompt; here all are computed, so a prompt takes too long.
 */
#include "sluice/policy.h"

#include <stdio.h>

typedef struct pyramid_infer {
    double first_share;
    double last_share;
    double recent_share;
    int64_t generated_tokens;
} pyramid_infer;

static const sl_param params[] = {
    {.name = "first",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.4",
     .help = "share of the prompt that stays in the first layer, the latest tokens among it",
     .offset = offsetof(pyramid_infer, first_share)},
    {.name = "last",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.2",
     .help = "the same in the last layer; those between fall in equal steps",
     .offset = offsetof(pyramid_infer, last_share)},
    {.name = "recent",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.2",
     .help = "share of the latest tokens, whose weights choose the others",
     .offset = offsetof(pyramid_infer, recent_share)},
    {.name = "generated",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1000,
     .fallback = "2 tokens",
     .help = "behind the prompt one of so many stays",
     .offset = offsetof(pyramid_infer, generated_tokens)},
};

static int64_t mean_ppm(const pyramid_infer *policy) {
    return sl_to_ppm((policy->first_share + policy->last_share) / 2.0);
}

static const char *check(const void *self) {
    const pyramid_infer *policy = self;
    if (policy->last_share > policy->first_share) {
        return "last is more than first";
    }
    return mean_ppm(policy) < 1 ? "first and last leave nothing" : NULL;
}

static sl_kept rule(const void *self) {
    const pyramid_infer *policy = self;
    return (sl_kept){.is_rolling = true,
                     .share_ppm = mean_ppm(policy),
                     .cap_rows = INT64_MAX,
                     .row_tokens = policy->generated_tokens};
}

static int64_t layer_rows(const void *self, int64_t layer, int64_t layers, int64_t prompt_tokens) {
    const pyramid_infer *policy = self;
    double depth = layers > 1 ? (double)layer / (double)(layers - 1) : 0.5;
    double share = policy->first_share + (policy->last_share - policy->first_share) * depth;
    int64_t rows = (prompt_tokens * sl_to_ppm(share) + SL_WHOLE_PPM - 1) / SL_WHOLE_PPM;
    return rows > 0 ? rows : 1; /* its own */
}

/* Of n (n + 1) / 2 pairs those of the latest r n queries with the (1 - r) n keys before them. */
static sl_keep_work work(const void *self) {
    const pyramid_infer *policy = self;
    return (sl_keep_work){
        .has_scores = true,
        .rescored_share = 2.0 * policy->recent_share * (1.0 - policy->recent_share),
    };
}

static void describe(const void *self, char *text, size_t text_bytes) {
    const pyramid_infer *policy = self;
    snprintf(text, text_bytes,
             "%.3g %% of the prompt in the mean of the layers, behind it one of %s tokens",
             100.0 * (double)mean_ppm(policy) / SL_WHOLE_PPM,
             sl_group_digits(policy->generated_tokens).text);
}

static const sl_keep_policy pyramid_infer_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "pyramid_infer",
               .summary = "tokens that the latest ones attend to, fewer the deeper the layer",
               .paper = "Yang et al., PyramidInfer: Pyramid KV Cache Compression for "
                        "High-throughput LLM Inference, ACL Findings 2024",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(pyramid_infer)},
    .when = "while the prompt is computed, then in every step",
    .besides =
        "the weights of the latest tokens of the prompt are computed once more; a score of 4 "
        "bytes for each row and key head is read, added to and written in each step; that "
        "deeper layers compute fewer tokens of the prompt is not counted",
    .check = check,
    .rule = rule,
    .layer_rows = layer_rows,
    .work = work,
    .describe = describe,
};

SL_EXPORT_POLICIES(pyramid_infer, &pyramid_infer_policy.policy);
