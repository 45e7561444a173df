/*
 * The choice of a cost model: what a scenario says under `cost`.
 *
 * Floor cost. Glue between the schema and the models; what they compute is in pnorm.h and fixed.h.
 */
#ifndef SLUICE_COST_COST_H
#define SLUICE_COST_COST_H

#include "cost/fixed.h"
#include "hw/device.h"
#include "model/architecture.h"

typedef enum sli_cost_kind {
    SLI_COST_PNORM,
    SLI_COST_FIXED,
} sli_cost_kind;

typedef struct sli_cost_config {
    int kind; /* sli_cost_kind */
    sli_fixed_config fixed;
} sli_cost_config;

/* pnorm has no settings of its own: its figures are those of the device. */
extern const sli_section sli_pnorm_section;

/*
 * The field `cost` of a section whose struct `owner` has a sli_cost_config called `member`. A macro
 * since a one-of counts its offsets from the struct that it lies in.
 */
#define SLI_COST_FIELD(owner, member)                                                              \
    {                                                                                              \
        .name = "cost", .kind = SLI_FIELD_ONE_OF, .help = "how long a step takes",                 \
        .offset = offsetof(owner, member.kind), .fallback = "pnorm",                               \
        .section = &(const sli_section){                                                           \
            .fields =                                                                              \
                (const sli_field[]){                                                               \
                    {.name = "pnorm",                                                              \
                     .kind = SLI_FIELD_SECTION,                                                    \
                     .help = "from operators, by the figures of the device",                       \
                     .offset = offsetof(owner, member),                                            \
                     .section = &sli_pnorm_section,                                                \
                     .fallback = "{}"},                                                            \
                    {.name = "fixed",                                                              \
                     .kind = SLI_FIELD_SECTION,                                                    \
                     .help = "a given time, for theory and tests",                                 \
                     .offset = offsetof(owner, member.fixed),                                      \
                     .section = &sli_fixed_section},                                               \
                },                                                                                 \
            .field_count = 2,                                                                      \
            .struct_size = sizeof(owner)},                                                         \
    }

/* What the schema cannot check about the configuration. */
SL_NODISCARD sl_err sli_cost_check(const sli_cost_config *config, sli_mark mark, const char *key,
                                   sli_diag *diag);

/*
 * A cost model in the arena, for a configuration that passed sli_cost_check and a tp that passed
 * sli_parallel_check. All arguments outlive it. Fails only for lack of memory.
 */
SL_NODISCARD sl_err sli_cost_create(sli_arena *arena, const sli_cost_config *config,
                                    const sli_architecture *architecture, const sli_device *device,
                                    int64_t tp, sl_cost_model *model);

/* The assumed terms that the model uses: those of the device, and what the
 * model has outside the domain of the fits; none for fixed costs. */
size_t sli_cost_assumed(const sli_cost_config *config, const sli_architecture *architecture,
                        const sli_device *device, int64_t tp, const char *phrases[SLI_ASSUMED_MAX]);

#endif
