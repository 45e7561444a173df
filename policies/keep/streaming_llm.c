/*
 * StreamingLLM: the first tokens, which attention sinks into, and a window of the latest.
 *
 * Xiao et al., ICLR 2024; mit-han-lab/streaming-llm. The defaults are 4 + 2,044 of Llama 2 in their
 * table 2. Keys are cached before their rotation and get their places in the cache as positions.
 */
#include "sluice/policy.h"

#include <stdio.h>

typedef struct streaming_llm {
    int64_t sink_tokens;
    int64_t recent_tokens;
} streaming_llm;

static const sl_param params[] = {
    {.name = "sinks",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 0,
     .max = 1e9,
     .fallback = "4 tokens",
     .help = "first tokens, which stay",
     .offset = offsetof(streaming_llm, sink_tokens)},
    {.name = "recent",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "2044 tokens",
     .help = "latest tokens, which stay",
     .offset = offsetof(streaming_llm, recent_tokens)},
};

static sl_kept rule(const void *self) {
    const streaming_llm *policy = self;
    return (sl_kept){.is_rolling = true,
                     .share_ppm = SL_WHOLE_PPM,
                     .cap_rows = policy->sink_tokens + policy->recent_tokens,
                     .drop_rows = 1};
}

static sl_keep_work work(const void *self) {
    (void)self;
    return (sl_keep_work){.rotates_keys = true};
}

static void describe(const void *self, char *text, size_t text_bytes) {
    const streaming_llm *policy = self;
    snprintf(text, text_bytes, "the first %s and the latest %s tokens",
             sl_group_digits(policy->sink_tokens).text,
             sl_group_digits(policy->recent_tokens).text);
}

static const sl_keep_policy streaming_llm_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "streaming_llm",
               .summary = "the first tokens and a window of the latest",
               .paper = "Xiao et al., Efficient Streaming Language Models with Attention Sinks, "
                        "ICLR 2024",
               .params = params, .param_count = sizeof params / sizeof params[0],
               .instance_bytes = sizeof(streaming_llm)},
    .when = "in every step, those of the prompt too",
    .besides = "keys are rotated anew in each decode step, 3 FLOPs an element, on the way to "
               "attention",
    .rule = rule,
    .work = work,
    .describe = describe,
};

SL_EXPORT_POLICIES(streaming_llm, &streaming_llm_policy.policy);
