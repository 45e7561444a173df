/*
 * H2O: tokens of the highest accumulated attention ("heavy hitters") and the latest.
 *
 * Zhang et al., NeurIPS 2023; FMInference/H2O: the budget is a share of the prompt and stays while
 * tokens are generated. It rounds both shares down, here their sum is rounded up.
 */
#include "sluice/policy.h"

#include <stdio.h>

typedef struct h2o {
    double heavy_share;
    double recent_share;
} h2o;

static const sl_param params[] = {
    {.name = "heavy",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.1",
     .help = "share of the prompt for tokens of the highest accumulated attention",
     .offset = offsetof(h2o, heavy_share)},
    {.name = "recent",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.1",
     .help = "share of the prompt for the latest tokens",
     .offset = offsetof(h2o, recent_share)},
};

static int64_t share_ppm(const h2o *policy) {
    return sl_to_ppm(policy->heavy_share + policy->recent_share);
}

static const char *check(const void *self) {
    int64_t ppm = share_ppm(self);
    if (ppm > SL_WHOLE_PPM) {
        return "heavy and recent together are more than the whole prompt";
    }
    return ppm < 1 ? "heavy and recent together leave nothing" : NULL;
}

static sl_kept rule(const void *self) {
    return (sl_kept){.share_ppm = share_ppm(self), .cap_rows = INT64_MAX, .row_tokens = INT64_MAX};
}

static sl_keep_work work(const void *self) {
    (void)self;
    return (sl_keep_work){.has_scores = true, .rescored_share = 1.0};
}

static void describe(const void *self, char *text, size_t text_bytes) {
    const h2o *policy = self;
    snprintf(text, text_bytes, "%.3g %% of the prompt",
             100.0 * (policy->heavy_share + policy->recent_share));
}

static const sl_keep_policy h2o_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "h2o",
               .summary = "tokens of the highest accumulated attention and the latest",
               .paper = "Zhang et al., H2O: Heavy-Hitter Oracle for Efficient Generative Inference "
                        "of Large Language Models, NeurIPS 2023",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(h2o)},
    .when = "when the prompt is computed, then in every step",
    .besides = "a score of 4 bytes for each row and key head is read, added to and written in each "
               "step; for the prompt the weights of all pairs are computed once more",
    .check = check,
    .rule = rule,
    .work = work,
    .describe = describe,
};

SL_EXPORT_POLICIES(h2o, &h2o_policy.policy);
