/*
 * PyramidKV: as SnapKV, but fewer tokens the deeper the layer.
 *
 * Cai et al., 2024; Zefan-Cai/KVCache-Factory, pyramidkv_utils.py: budgets fall in equal steps from
 * 2 b - b / beta to b / beta, b that of the mean, or from the whole prompt on where that is
 * shorter; prompts of less than 2 b tokens are cut alike in all layers. Steps are rounded there so
 * that the layers keep a little more than the mean; here each layer is rounded against its mirror
 * image, and they keep the mean exactly.
 */
#include "sluice/policy.h"

#include <stdio.h>

typedef struct pyramid_kv {
    int64_t capacity_tokens;
    int64_t observation_tokens;
    int64_t kernel_tokens;
    int64_t beta;
} pyramid_kv;

static const sl_param params[] = {
    {.name = "capacity",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "2048 tokens",
     .help = "tokens of the prompt that stay in the mean of the layers, those of the observation "
             "among them",
     .offset = offsetof(pyramid_kv, capacity_tokens)},
    {.name = "observation",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "64 tokens",
     .help = "last tokens of the prompt, which stay in all layers and choose the others",
     .offset = offsetof(pyramid_kv, observation_tokens)},
    {.name = "kernel",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e6,
     .fallback = "5 tokens",
     .help = "over which weights are pooled",
     .offset = offsetof(pyramid_kv, kernel_tokens)},
    {.name = "beta",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .fallback = "20",
     .help = "the last layer keeps so small a part of the mean, beside the observation",
     .offset = offsetof(pyramid_kv, beta)},
};

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static const char *check(const void *self) {
    const pyramid_kv *policy = self;
    return policy->capacity_tokens <= policy->observation_tokens
               ? "capacity leaves nothing beside observation"
               : NULL;
}

static sl_kept rule(const void *self) {
    const pyramid_kv *policy = self;
    return (sl_kept){
        .share_ppm = SL_WHOLE_PPM, .cap_rows = policy->capacity_tokens, .row_tokens = 1};
}

static int64_t layer_rows(const void *self, int64_t layer, int64_t layers, int64_t prompt_tokens) {
    const pyramid_kv *policy = self;
    int64_t mean = policy->capacity_tokens - policy->observation_tokens;
    bool is_short = prompt_tokens < 2 * mean || prompt_tokens < policy->capacity_tokens;
    if (is_short || layers == 1) {
        return lesser(prompt_tokens, policy->capacity_tokens);
    }
    int64_t most = lesser(2 * mean - mean / policy->beta,
                          prompt_tokens - policy->observation_tokens);
    int64_t mirrored = layers - 1 - layer;
    int64_t fall = 2 * (most - mean) * lesser(layer, mirrored) / (layers - 1);
    int64_t chosen = layer <= mirrored ? most - fall : 2 * mean - most + fall;
    return policy->observation_tokens + (layer == mirrored ? mean : chosen);
}

static sl_keep_work work(const void *self) {
    const pyramid_kv *policy = self;
    return (sl_keep_work){.observed_tokens = policy->observation_tokens,
                          .pooled_tokens = policy->kernel_tokens};
}

static void describe(const void *self, char *text, size_t text_bytes) {
    const pyramid_kv *policy = self;
    snprintf(text, text_bytes,
             "%s tokens of the prompt in the mean of the layers and all behind it",
             sl_group_digits(policy->capacity_tokens).text);
}

static const sl_keep_policy pyramid_kv_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "pyramid_kv",
               .summary = "as snapkv, fewer tokens the deeper the layer",
               .paper = "Cai et al., PyramidKV: Dynamic KV Cache Compression based on Pyramidal "
                        "Information Funneling, 2024",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(pyramid_kv)},
    .when = "once, when the prompt is computed",
    .besides = "the weights of the observation for all keys of the prompt are computed once more "
               "and pooled, of every prompt, where the original leaves those shorter than the "
               "capacity alone",
    .check = check,
    .rule = rule,
    .layer_rows = layer_rows,
    .work = work,
    .describe = describe,
};

SL_EXPORT_POLICIES(pyramid_kv, &pyramid_kv_policy.policy);
