/* Methods of a user's own: one that keeps half of a prompt, one that does all work there is, and
 * some whose answers cannot be. */
#include "sluice/policy.h"

#include <stdio.h>

static void describe(const void *self, char *text, size_t text_bytes) {
    (void)self;
    snprintf(text, text_bytes, "half of the prompt");
}

static sl_kept keep_half(const void *self) {
    (void)self;
    return (sl_kept){.share_ppm = SL_WHOLE_PPM / 2, .cap_rows = INT64_MAX, .row_tokens = INT64_MAX};
}

static sl_keep_work work_all(const void *self) {
    (void)self;
    return (sl_keep_work){.rotates_keys = true,
                          .has_scores = true,
                          .rescored_share = 0.5,
                          .observed_tokens = 32,
                          .pooled_tokens = 5};
}

static sl_kept keep_less_than_nothing(const void *self) {
    (void)self;
    return (sl_kept){.share_ppm = -1, .cap_rows = 1, .row_tokens = 1};
}

/* Times 16 rows of a block it is more than an integer has. */
static sl_kept keep_one_of_too_many(const void *self) {
    (void)self;
    return (sl_kept){.share_ppm = 1, .cap_rows = 1, .row_tokens = INT64_C(1) << 60};
}

static sl_keep_work look_too_far(const void *self) {
    (void)self;
    return (sl_keep_work){.observed_tokens = INT64_C(1) << 60};
}

static int64_t layer_of_too_many(const void *self, int64_t layer, int64_t layers,
                                 int64_t prompt_tokens) {
    (void)self;
    (void)layers;
    return prompt_tokens + (layer == 3);
}

static int64_t layer_of_none(const void *self, int64_t layer, int64_t layers,
                             int64_t prompt_tokens) {
    (void)self;
    return layer == layers - 1 ? 0 : prompt_tokens;
}

#define METHOD(method_name, ...)                                                                   \
    static const sl_keep_policy method_name = {                                                    \
        .policy = {SL_POLICY_HEAD(sl_keep_policy, SL_POLICY_KEEP), .name = #method_name,           \
                   .summary = "for tests"},                                                        \
        .when = "when the prompt is computed",                                                     \
        .besides = "nothing",                                                                      \
        .describe = describe,                                                                      \
        __VA_ARGS__,                                                                               \
    }

METHOD(half, .rule = keep_half);
METHOD(busy, .rule = keep_half, .work = work_all);
METHOD(broken, .rule = keep_less_than_nothing);
METHOD(rare, .rule = keep_one_of_too_many);
METHOD(far, .rule = keep_half, .work = look_too_far);
METHOD(tall, .rule = keep_half, .layer_rows = layer_of_too_many);
METHOD(empty, .rule = keep_half, .layer_rows = layer_of_none);

SL_EXPORT_POLICIES(plugin_keep, &half.policy, &busy.policy, &broken.policy, &rare.policy,
                   &far.policy, &tall.policy, &empty.policy);
