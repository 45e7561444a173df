/*
 * Quantile presets: lengths of published traces as two tables each, compiled into the program.
 *
 * Part workloads. A preset is a YAML text in workloads/presets with its source and licence; the
 * figures are facts about a trace, so no download is needed to draw similar lengths. What a preset
 * does not keep is said in its file.
 */
#ifndef WORKLOADS_PRESET_H
#define WORKLOADS_PRESET_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/embedded.h"
#include "config/schema.h"

typedef struct sli_preset {
    const char *source;
    const char *licence;
    const char *citation;
    sli_table prompt; /* of sli_quantile */
    sli_table output;
} sli_preset;

/* The rows of a quantile table, [share, tokens]: sli_quantile (kernel/dist.h). */
extern const sli_section sli_quantile_section;

/* All presets; ends with a row whose name is NULL. */
extern const sli_embedded sli_workload_presets[];

/* The preset of a name, in the arena; SL_ERR_CONFIG without a message if there is none. */
SL_NODISCARD sl_err sli_preset_read(sli_arena *arena, const char *name, sli_diag *diag,
                                    const sli_preset **preset);

/* The names of all, in the arena, for messages: "a, b"; NULL when memory is out. */
const char *sli_preset_names(sli_arena *arena);

#endif
