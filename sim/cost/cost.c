#include "cost/cost.h"

#include "base/check.h"
#include "cost/fitted.h"
#include "cost/pnorm.h"
#include "cost/roofline.h"
#include "model/parallel.h"

const sli_section sli_cost_bare_section = {.struct_size = 0};

static sli_cost_kind kind_for(const sli_cost_config *config, const sli_cost_subject *subject) {
    if (config->kind != SLI_COST_AUTO) {
        return (sli_cost_kind)config->kind;
    }
    return sli_is_fitted(subject) ? SLI_COST_PNORM : SLI_COST_ROOFLINE;
}

/* ---- What cannot be done ---- */

/* A tp that no run can have is a mistake that others report. */
static sl_err check_fitted(const sli_cost_subject *subject, sli_mark mark, const char *key,
                           sli_diag *diag) {
    if (sli_is_fitted(subject) || !sli_parallel_can_run(subject->architecture, subject->tp)) {
        return SL_OK;
    }
    const char *unfitted = sli_unfitted_text(&diag->arena, subject);
    if (unfitted == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_diag_error(diag, mark, key,
                   "pnorm was fitted to full gqa attention and dense feed-forwards in bf16; not "
                   "measured of %s: %s; use roofline",
                   subject->architecture->id, unfitted);
    return SL_ERR_CONFIG;
}

static sl_err check_growths(const sli_cost_subject *subject, sli_mark mark, const char *key,
                            sli_diag *diag) {
    sli_growth_list growths;
    if (sli_opcount_growths(subject->architecture, subject->attention.is_copied, &growths)) {
        return SL_OK;
    }
    sli_diag_error(diag, mark, key,
                   "roofline takes a model with at most %d different windows, chunks, ratios and "
                   "numbers of chosen keys; %s has more",
                   SL_VISIBLE_MAX, subject->architecture->id);
    return SL_ERR_CONFIG;
}

sl_err sli_cost_check(const sli_cost_config *config, const sli_cost_subject *subject, sli_mark mark,
                      const char *key, sli_diag *diag) {
    if (config->kind == SLI_COST_FIXED) {
        return sli_fixed_check(&config->fixed, mark, key, diag);
    }
    if (subject->architecture == NULL) {
        return SL_OK;
    }
    return kind_for(config, subject) == SLI_COST_PNORM ? check_fitted(subject, mark, key, diag)
                                                       : check_growths(subject, mark, key, diag);
}

/* ---- Making one ---- */

static sl_err create_pnorm(sli_arena *arena, const sli_cost_subject *subject,
                           sl_cost_model *model) {
    SL_ASSERT(sli_is_fitted(subject));
    sli_pnorm_model *pnorm = sli_arena_alloc(arena, sizeof *pnorm);
    if (pnorm == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_pnorm_init(arena, subject->architecture, subject->device, subject->tp, pnorm));
    *model = sli_pnorm_interface(pnorm);
    return SL_OK;
}

static sl_err create_roofline(sli_arena *arena, const sli_cost_subject *subject,
                              sl_cost_model *model) {
    sli_roofline_model *roofline = sli_arena_alloc(arena, sizeof *roofline);
    if (roofline == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_roofline_init(arena, subject, roofline));
    *model = sli_roofline_interface(roofline);
    return SL_OK;
}

sl_err sli_cost_create(sli_arena *arena, const sli_cost_config *config,
                       const sli_cost_subject *subject, sl_cost_model *model) {
    if (config->kind == SLI_COST_FIXED) {
        *model = sli_fixed_model(&config->fixed);
        return SL_OK;
    }
    SL_ASSERT(sli_parallel_can_run(subject->architecture, subject->tp));
    return kind_for(config, subject) == SLI_COST_PNORM ? create_pnorm(arena, subject, model)
                                                       : create_roofline(arena, subject, model);
}

/* ---- Which one it is ---- */

static const char *const kind_names[] = {[SLI_COST_AUTO] = "auto",
                                         [SLI_COST_PNORM] = "pnorm",
                                         [SLI_COST_ROOFLINE] = "roofline",
                                         [SLI_COST_FIXED] = "fixed"};

sl_err sli_cost_choose(sli_arena *arena, const sli_cost_config *config,
                       const sli_cost_subject *subject, sli_cost_choice *choice) {
    *choice = (sli_cost_choice){.kind = (sli_cost_kind)config->kind};
    if (config->kind == SLI_COST_AUTO) {
        choice->kind = kind_for(config, subject);
        choice->unfitted = sli_unfitted_text(arena, subject);
        if (choice->unfitted == NULL) {
            return SL_ERR_NOMEM;
        }
    }
    choice->name = kind_names[choice->kind];
    return SL_OK;
}

/* ---- What is assumed ---- */

static size_t assume_pnorm(const sli_cost_subject *subject, const char *phrases[SLI_ASSUMED_MAX]) {
    size_t count = sli_device_assumed(subject->device, subject->tp, phrases);
    if (!sli_pnorm_fits_heads(subject->architecture) && count < SLI_ASSUMED_MAX) {
        phrases[count++] = "attention heads of another width than the fitted 128";
    }
    return count;
}

/* Whether an earlier run has a mixer or feed-forward of the kind. */
static bool is_listed(const sli_layer_run *runs, size_t index, const sli_layer_kind *kind) {
    for (size_t i = 0; i < index; i++) {
        if (runs[i].mixer->kind == kind || runs[i].ffn->kind == kind) {
            return true;
        }
    }
    return false;
}

/* The kinds of all layers, "gqa, moe"; NULL when memory is out. */
static const char *list_kinds(sli_arena *arena, const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    const char *text = "";
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_layer_kind *kinds[] = {runs[i].mixer->kind, runs[i].ffn->kind};
        for (int role = 0; role < 2 && text != NULL; role++) {
            const char *between = text[0] != '\0' ? ", " : "";
            if (kinds[role] != &sli_none_kind && !is_listed(runs, i, kinds[role])) {
                text = sli_arena_printf(arena, "%s%s%s", text, between, kinds[role]->name);
            }
        }
    }
    return text;
}

/* The roofline has no use for the figures of measured attention. */
static size_t assume_device(const sli_cost_subject *subject, const char *phrases[SLI_ASSUMED_MAX]) {
    sli_device used = *subject->device;
    used.prefill = (sli_prefill_figures){0};
    used.decode = (sli_decode_figures){0};
    used.sm_count = (sli_whole_figure){0};
    return sli_device_assumed(&used, subject->tp, phrases);
}

/* What the roofline takes a format or a kernel to do; NULL when memory is out. */
static const char *assume_cache(sli_arena *arena, const sli_cache_format *cache) {
    return sli_arena_printf(arena, "a cache in %s dequantised in no time%s", cache->name,
                            sli_format_has_residual(cache) ? ", its latest rows read as quantised"
                                                           : "");
}

static const char *assume_kernel(sli_arena *arena, const sli_attention_kernel *kernel) {
    return sli_arena_printf(arena, "%s attention at %.1f %% of the peak of bf16: %s", kernel->name,
                            100.0 * kernel->flops_share, kernel->source);
}

/* NULL when memory is out. */
static const char *assume_keep(sli_arena *arena, const sli_architecture *architecture) {
    const char *keep = architecture->keep;
    return keep == NULL ? ""
                        : sli_arena_printf(arena,
                                           "attention of %s over the tokens that stay, and what it "
                                           "computes besides, as its description has it",
                                           keep);
}

static sl_err assume_roofline(sli_arena *arena, const sli_cost_subject *subject,
                              const char *phrases[SLI_ASSUMED_MAX], size_t *count) {
    const sli_attention_kernel *kernel = subject->attention.kernel;
    const char *kinds = list_kinds(arena, subject->architecture);
    const char *layers = kinds == NULL
                             ? NULL
                             : sli_arena_printf(arena,
                                                "layers of type %s: roofline at the shares of "
                                                "matrix products",
                                                kinds);
    const char *weights = sli_arena_printf(arena, "products with weights in %s at the peak of bf16",
                                           sli_weights_say(&subject->weights).text);
    const char *cache = assume_cache(arena, subject->cache);
    const char *attention = kernel != NULL ? assume_kernel(arena, kernel) : "";
    const char *keep = assume_keep(arena, subject->architecture);
    if (layers == NULL || weights == NULL || cache == NULL || attention == NULL || keep == NULL) {
        return SL_ERR_NOMEM;
    }
    size_t assumed = assume_device(subject, phrases);
    SL_ASSERT(assumed + 6 <= SLI_ASSUMED_MAX);
    phrases[assumed++] = layers;
    if (subject->architecture->keep != NULL) {
        phrases[assumed++] = keep;
    }
    if (!sli_weights_are(&subject->weights, sli_fitted_weights)) {
        phrases[assumed++] = weights;
    }
    if (subject->cache != sli_fitted_cache) {
        phrases[assumed++] = cache;
    }
    if (kernel != NULL) {
        phrases[assumed++] = attention;
    }
    if (subject->attention.is_copied) {
        phrases[assumed++] = "a cache that is copied in each step at the share of matrix products";
    }
    *count = assumed;
    return SL_OK;
}

sl_err sli_cost_assumed(sli_arena *arena, const sli_cost_config *config,
                        const sli_cost_subject *subject, const char *phrases[SLI_ASSUMED_MAX],
                        size_t *count) {
    if (config->kind == SLI_COST_FIXED) {
        *count = 0;
        return SL_OK;
    }
    if (kind_for(config, subject) == SLI_COST_PNORM) {
        *count = assume_pnorm(subject, phrases);
        return SL_OK;
    }
    return assume_roofline(arena, subject, phrases, count);
}
