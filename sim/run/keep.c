#include "run/keep.h"

#include "model/growth.h"
#include "model/keep.h"

const sl_keep_policy *sli_keep_method(const sli_named *keep) {
    return keep->type->item;
}

int64_t sli_keep_layer_rows(const sli_named *keep, int64_t layer, int64_t layers,
                            int64_t prompt_tokens) {
    const sl_keep_policy *method = sli_keep_method(keep);
    if (method->layer_rows != NULL) {
        return method->layer_rows(keep->values, layer, layers, prompt_tokens);
    }
    sl_kept rule = method->rule(keep->values);
    return sli_kept_of_prompt(&rule, prompt_tokens);
}

/* ---- The model with it ---- */

static sl_err refuse(const sli_named *keep, sli_diag *diag, const char *mistake) {
    sli_diag_error(diag, keep->mark, "keep", "%s: %s", keep->type->name, mistake);
    return SL_ERR_CONFIG;
}

static bool is_work(const sl_keep_work *work) {
    return work->rescored_share >= 0.0 && work->rescored_share <= 1.0 &&
           work->observed_tokens >= 0 && work->observed_tokens <= SLI_GROWTH_TOKENS_MAX &&
           work->pooled_tokens >= 0 && work->pooled_tokens <= SLI_GROWTH_TOKENS_MAX;
}

/* In contexts that are no longer the last so many tokens of a prompt are all of it. */
static sl_keep_work work_within(sl_keep_work work, int64_t longest_tokens) {
    work.observed_tokens = work.observed_tokens > longest_tokens ? INT64_MAX : work.observed_tokens;
    return work;
}

/* Of the longest prompt, of which the facts of a run tell it. */
static sl_err check_layers(const sli_named *keep, int64_t layers, int64_t longest_tokens,
                           sli_diag *diag) {
    for (int64_t layer = 0; layer < layers; layer++) {
        int64_t rows = sli_keep_layer_rows(keep, layer, layers, longest_tokens);
        if (rows < 1 || rows > longest_tokens) {
            sli_diag_error(diag, keep->mark, "keep",
                           "%s: the policy says that layer %lld keeps %lld of %lld tokens",
                           keep->type->name, (long long)layer, (long long)rows,
                           (long long)longest_tokens);
            return SL_ERR_CONFIG;
        }
    }
    return SL_OK;
}

sl_err sli_keep_apply(sli_arena *arena, const sli_named *keep, int64_t longest_tokens,
                      sli_diag *diag, const sli_architecture **architecture) {
    const sl_keep_policy *method = sli_keep_method(keep);
    if (method == NULL) {
        return SL_OK;
    }
    const char *mistake = method->check != NULL ? method->check(keep->values) : NULL;
    if (mistake != NULL) {
        return refuse(keep, diag, mistake);
    }
    sli_keep said = {.name = method->policy.name, .rule = method->rule(keep->values)};
    if (method->work != NULL) {
        said.work = method->work(keep->values);
    }
    if (!sli_kept_is_valid(&said.rule) || !is_work(&said.work)) {
        return refuse(keep, diag, "the policy's rule or work has a number out of its range");
    }
    char why[160];
    if (sli_keep_can_cut(*architecture, why, sizeof why) != SL_OK) {
        sli_diag_error(diag, keep->mark, "keep",
                       "%s throws out tokens that layers of type gqa without window, chunk or "
                       "chosen blocks keep; %s: %s",
                       said.name, (*architecture)->id, why);
        return SL_ERR_CONFIG;
    }
    SL_TRY(check_layers(keep, sli_keep_layers(*architecture), longest_tokens, diag));
    said.rule = sli_kept_within(&said.rule, longest_tokens);
    said.work = work_within(said.work, longest_tokens);
    return sli_keep_cut(arena, *architecture, &said, architecture);
}
