#include "run/keep.h"

#include "model/keep.h"

#include <stdalign.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- What a file may say ---- */

static const sl_param quality_params[] = {
    {.name = "budget",
     .type = SL_TYPE_STRING,
     .help = "that the figure was found with",
     .offset = offsetof(sli_keep_quality, budget)},
    {.name = "measure",
     .type = SL_TYPE_STRING,
     .help = "what was measured",
     .offset = offsetof(sli_keep_quality, measure)},
    {.name = "figure",
     .type = SL_TYPE_REAL,
     .min = -1e15,
     .max = 1e15,
     .help = "what came out",
     .offset = offsetof(sli_keep_quality, figure)},
    {.name = "source",
     .type = SL_TYPE_STRING,
     .help = "who found it",
     .offset = offsetof(sli_keep_quality, source)},
};

static const sli_section quality_section = {
    .params = quality_params,
    .param_count = COUNT(quality_params),
    .struct_size = sizeof(sli_keep_quality),
};

enum { QUALITY_MAX = 1000 };

/* The figures lie behind the instance of the policy. */
static size_t figures_offset(const sl_policy *policy) {
    size_t step = alignof(sli_table);
    return (policy->instance_bytes + step - 1) / step * step;
}

sl_err sli_keep_section(sli_arena *arena, const sl_policy *policy, const sli_section **section) {
    sli_section *made = sli_arena_alloc(arena, sizeof *made);
    sli_field *quality = sli_arena_alloc(arena, sizeof *quality);
    if (made == NULL || quality == NULL) {
        return SL_ERR_NOMEM;
    }
    *quality = (sli_field){
        .name = "quality",
        .kind = SLI_FIELD_TABLE,
        .help =
            "figures about answers that stand beside the results; nothing is computed from them",
        .offset = figures_offset(policy),
        .section = &quality_section,
        .fallback = "[]",
        .max_rows = QUALITY_MAX,
    };
    *made = (sli_section){
        .params = policy->params,
        .param_count = policy->param_count,
        .fields = quality,
        .field_count = 1,
        .struct_size = quality->offset + sizeof(sli_table),
    };
    *section = made;
    return SL_OK;
}

/* ---- Of a scenario ---- */

const sl_keep_policy *sli_keep_method(const sli_named *keep) {
    return keep->type->item;
}

const sli_table *sli_keep_figures(const sli_named *keep) {
    const char *values = keep->values;
    return (const sli_table *)(const void *)(values + figures_offset(keep->type->item));
}

int64_t sli_keep_layer_rows(const sli_named *keep, int64_t layer, int64_t layers,
                            int64_t prompt_tokens) {
    const sl_keep_policy *method = sli_keep_method(keep);
    if (method->layer_rows != NULL) {
        return method->layer_rows(keep->values, layer, layers, prompt_tokens);
    }
    sli_kept rule = method->rule(keep->values);
    return sli_kept_of_prompt(&rule, prompt_tokens);
}

/* ---- The model with it ---- */

static sl_err refuse(const sli_named *keep, sli_diag *diag, const char *mistake) {
    sli_diag_error(diag, keep->mark, "keep", "%s: %s", keep->type->name, mistake);
    return SL_ERR_CONFIG;
}

static bool is_work(const sl_keep_work *work) {
    return work->rescored_share >= 0.0 && work->rescored_share <= 1.0 &&
           work->observed_tokens >= 0 && work->pooled_tokens >= 0;
}

sl_err sli_keep_apply(sli_arena *arena, const sli_named *keep, sli_diag *diag,
                      const sli_architecture **architecture) {
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
    return sli_keep_cut(arena, *architecture, &said, architecture);
}
