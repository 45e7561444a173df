#include "cost/cost.h"

#include "base/check.h"
#include "cost/pnorm.h"
#include "model/parallel.h"

const sli_section sli_pnorm_section = {.struct_size = 0};

sl_err sli_cost_check(const sli_cost_config *config, sli_mark mark, const char *key,
                      sli_diag *diag) {
    return config->kind == SLI_COST_FIXED ? sli_fixed_check(&config->fixed, mark, key, diag)
                                          : SL_OK;
}

sl_err sli_cost_create(sli_arena *arena, const sli_cost_config *config,
                       const sli_architecture *architecture, const sli_device *device, int64_t tp,
                       sl_cost_model *model) {
    if (config->kind == SLI_COST_FIXED) {
        *model = sli_fixed_model(&config->fixed);
        return SL_OK;
    }
    SL_ASSERT(config->kind == SLI_COST_PNORM);
    SL_ASSERT(sli_parallel_divides(architecture, tp));
    sli_pnorm_model *pnorm = sli_arena_alloc(arena, sizeof *pnorm);
    if (pnorm == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_pnorm_init(arena, architecture, device, tp, pnorm));
    *model = sli_pnorm_interface(pnorm);
    return SL_OK;
}

size_t sli_cost_assumed(const sli_cost_config *config, const sli_architecture *architecture,
                        const sli_device *device, int64_t tp,
                        const char *phrases[SLI_ASSUMED_MAX]) {
    if (config->kind == SLI_COST_FIXED) {
        return 0;
    }
    size_t count = sli_device_assumed(device, tp, phrases);
    if (!sli_pnorm_fits_heads(architecture) && count < SLI_ASSUMED_MAX) {
        phrases[count++] = "attention heads of another width than the fitted 128";
    }
    return count;
}
