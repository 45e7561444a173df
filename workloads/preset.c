#include "workloads/preset.h"

#include "kernel/dist.h"

static const sl_param quantile_params[] = {
    {.name = "share",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .help = "this share of all lengths",
     .offset = offsetof(sli_quantile, frac)},
    {.name = "tokens",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .help = "is at most this long",
     .offset = offsetof(sli_quantile, value)},
};

const sli_section sli_quantile_section = {
    .params = quantile_params,
    .param_count = sizeof quantile_params / sizeof quantile_params[0],
    .struct_size = sizeof(sli_quantile),
};

static const sl_param preset_params[] = {
    {.name = "source",
     .type = SL_TYPE_STRING,
     .help = "the trace that the figures were computed from",
     .offset = offsetof(sli_preset, source)},
    {.name = "licence",
     .type = SL_TYPE_STRING,
     .help = "the licence of the trace",
     .offset = offsetof(sli_preset, licence)},
    {.name = "citation",
     .type = SL_TYPE_STRING,
     .help = "the paper to cite",
     .offset = offsetof(sli_preset, citation)},
};

static const sli_field preset_fields[] = {
    {.name = "prompt",
     .kind = SLI_FIELD_TABLE,
     .help = "quantiles of prompts",
     .offset = offsetof(sli_preset, prompt),
     .section = &sli_quantile_section,
     .min_rows = 2,
     .max_rows = 1000},
    {.name = "output",
     .kind = SLI_FIELD_TABLE,
     .help = "quantiles of outputs",
     .offset = offsetof(sli_preset, output),
     .section = &sli_quantile_section,
     .min_rows = 2,
     .max_rows = 1000},
};

static const sli_section preset_section = {
    .params = preset_params,
    .param_count = sizeof preset_params / sizeof preset_params[0],
    .fields = preset_fields,
    .field_count = sizeof preset_fields / sizeof preset_fields[0],
    .struct_size = sizeof(sli_preset),
};

sl_err sli_preset_read(sli_arena *arena, const char *name, sli_diag *diag,
                       const sli_preset **preset) {
    const sli_embedded *file = sli_embedded_find(sli_workload_presets, name);
    if (file == NULL) {
        return SL_ERR_CONFIG;
    }
    sli_preset *values = sli_arena_alloc(arena, sizeof *values);
    if (values == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_node *root = NULL;
    SL_TRY(sli_tree_read_text(arena, file->name, file->text, file->length, diag, &root));
    SL_TRY(sli_schema_resolve(arena, &preset_section, NULL, root, diag, values));
    *preset = values;
    return SL_OK;
}

const char *sli_preset_names(sli_arena *arena) {
    const char *names = "";
    for (const sli_embedded *row = sli_workload_presets; row->name != NULL && names != NULL;
         row++) {
        names = sli_arena_printf(arena, "%s%s%s", names, names[0] != '\0' ? ", " : "", row->name);
    }
    return names;
}
