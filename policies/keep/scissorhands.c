/*
 * Scissorhands: tokens that were pivotal in a window of history, thrown out many at once.
 *
 * Liu et al., NeurIPS 2023, algorithm 1. How many go at once and how many queries are remembered
 * the paper does not say; those defaults are assumed.
 */
#include "sluice/policy.h"

#include <stdio.h>

typedef struct scissorhands {
    int64_t budget_tokens;
    int64_t drop_tokens;
    int64_t history_tokens;
} scissorhands;

static const sl_param params[] = {
    {.name = "budget",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "2048 tokens",
     .help = "tokens that stay at most",
     .offset = offsetof(scissorhands, budget_tokens)},
    {.name = "drop",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "1024 tokens",
     .help = "thrown out at once when one more would come; the default is assumed",
     .offset = offsetof(scissorhands, drop_tokens)},
    {.name = "history",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "400 tokens",
     .help = "latest queries whose weights count; the default is assumed",
     .offset = offsetof(scissorhands, history_tokens)},
};

static const char *check(const void *self) {
    const scissorhands *policy = self;
    return policy->drop_tokens > policy->budget_tokens ? "drop is more than budget" : NULL;
}

static sl_kept rule(const void *self) {
    const scissorhands *policy = self;
    return (sl_kept){.share_ppm = SL_WHOLE_PPM,
                     .cap_rows = policy->budget_tokens,
                     .drop_rows = policy->drop_tokens};
}

static sl_keep_work work(const void *self) {
    const scissorhands *policy = self;
    return (sl_keep_work){.has_scores = true, .observed_tokens = policy->history_tokens};
}

static void describe(const void *self, char *text, size_t text_bytes) {
    const scissorhands *policy = self;
    snprintf(text, text_bytes, "at most %s tokens, of which %s go at once",
             sl_group_digits(policy->budget_tokens).text,
             sl_group_digits(policy->drop_tokens).text);
}

static const sl_keep_policy scissorhands_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "scissorhands",
               .summary = "tokens that were pivotal in a window of history",
               .paper = "Liu et al., Scissorhands: Exploiting the Persistence of Importance "
                        "Hypothesis for LLM KV Cache Compression at Test Time, NeurIPS 2023",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(scissorhands)},
    .when = "when the prompt is computed, then whenever the budget overflows",
    .besides = "a counter of 4 bytes for each row and key head is read, added to and written in "
               "each step; the weights of the last queries of the prompt are computed once more",
    .check = check,
    .rule = rule,
    .work = work,
    .describe = describe,
};

SL_EXPORT_POLICIES(scissorhands, &scissorhands_policy.policy);
