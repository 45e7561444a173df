/* Two methods of a user's own: one that keeps half of a prompt, and one whose rule cannot be. */
#include "sluice/policy.h"

#include <stdio.h>

static sl_kept keep_half(const void *self) {
    (void)self;
    return (sl_kept){.share_ppm = SL_WHOLE_PPM / 2, .cap_rows = INT64_MAX, .row_tokens = INT64_MAX};
}

static sl_kept keep_less_than_nothing(const void *self) {
    (void)self;
    return (sl_kept){.share_ppm = -1, .cap_rows = 1, .row_tokens = 1};
}

static void describe(const void *self, char *text, size_t text_bytes) {
    (void)self;
    snprintf(text, text_bytes, "half of the prompt");
}

static const sl_keep_policy half_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "half",
               .summary = "half of the prompt"},
    .when = "when the prompt is computed",
    .besides = "nothing",
    .rule = keep_half,
    .describe = describe,
};

static const sl_keep_policy broken_policy = {
    .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = "broken",
               .summary = "less than nothing"},
    .when = "never",
    .besides = "nothing",
    .rule = keep_less_than_nothing,
    .describe = describe,
};

SL_EXPORT_POLICIES(plugin_keep, &half_policy.policy, &broken_policy.policy);
