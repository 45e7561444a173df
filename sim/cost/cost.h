/*
 * The choice of a cost model: what a scenario says under `cost`.
 *
 * Floor cost. Glue between the schema and the models; what they compute is in pnorm.h, roofline.h
 * and fixed.h.
 */
#ifndef SLUICE_COST_COST_H
#define SLUICE_COST_COST_H

#include "cost/fixed.h"
#include "cost/subject.h"

typedef enum sli_cost_kind {
    SLI_COST_AUTO, /* pnorm where it was fitted, else roofline */
    SLI_COST_PNORM,
    SLI_COST_ROOFLINE,
    SLI_COST_FIXED,
} sli_cost_kind;

typedef struct sli_cost_config {
    int kind; /* sli_cost_kind */
    sli_fixed_config fixed;
} sli_cost_config;

/* Of the kinds that have no settings of their own: their figures are those of the device. */
extern const sli_section sli_cost_bare_section;

/* A kind without settings, in the section of SLI_COST_FIELD. */
#define SLI_COST_BARE(owner, member, word, text)                                                   \
    {                                                                                              \
        .name = word, .kind = SLI_FIELD_SECTION, .help = text, .offset = offsetof(owner, member),  \
        .section = &sli_cost_bare_section, .fallback = "{}",                                       \
    }

/*
 * The field `cost` of a section whose struct `owner` has a sli_cost_config called `member`. A macro
 * since a one-of counts its offsets from the struct that it lies in.
 */
#define SLI_COST_FIELD(owner, member)                                                              \
    {                                                                                              \
        .name = "cost", .kind = SLI_FIELD_ONE_OF, .help = "how long a step takes",                 \
        .offset = offsetof(owner, member.kind), .fallback = "auto",                                \
        .section = &(const sli_section){                                                           \
            .fields =                                                                              \
                (const sli_field[]){                                                               \
                    SLI_COST_BARE(owner, member, "auto",                                           \
                                  "pnorm where it was fitted, else roofline"),                     \
                    SLI_COST_BARE(owner, member, "pnorm",                                          \
                                  "from measured operators: full gqa attention and dense "         \
                                  "feed-forwards in bf16"),                                        \
                    SLI_COST_BARE(owner, member, "roofline",                                       \
                                  "from FLOPs and bytes: any model in any format, not fitted"),    \
                    {.name = "fixed",                                                              \
                     .kind = SLI_FIELD_SECTION,                                                    \
                     .help = "a given time, for theory and tests",                                 \
                     .offset = offsetof(owner, member.fixed),                                      \
                     .section = &sli_fixed_section},                                               \
                },                                                                                 \
            .field_count = 4,                                                                      \
            .struct_size = sizeof(owner)},                                                         \
    }

/*
 * What the schema cannot check about the configuration, and whether it can do the subject, as far
 * as that is known: its architecture may be NULL. Mistakes go to diag (SL_ERR_CONFIG).
 */
SL_NODISCARD sl_err sli_cost_check(const sli_cost_config *config, const sli_cost_subject *subject,
                                   sli_mark mark, const char *key, sli_diag *diag);

/*
 * A cost model in the arena, for what passed sli_cost_check and a tp that passed
 * sli_parallel_check. The configuration outlives it. Fails only for lack of memory.
 */
SL_NODISCARD sl_err sli_cost_create(sli_arena *arena, const sli_cost_config *config,
                                    const sli_cost_subject *subject, sl_cost_model *model);

/* What a configuration comes to. */
typedef struct sli_cost_choice {
    sli_cost_kind kind;   /* never SLI_COST_AUTO */
    const char *name;     /* of the kind, as in a scenario */
    const char *unfitted; /* why auto did not choose pnorm (cost/fitted.h), "" where it did; NULL =
                             the scenario chose */
} sli_cost_choice;

/* Which model sli_cost_create makes, and why auto chose it. Fails only for lack of memory. */
SL_NODISCARD sl_err sli_cost_choose(sli_arena *arena, const sli_cost_config *config,
                                    const sli_cost_subject *subject, sli_cost_choice *choice);

/*
 * The assumed terms that the model uses: those of the device, and what the model has outside the
 * domain of the fits; none for fixed costs. Texts live in the arena or have static storage. Fails
 * only for lack of memory.
 */
SL_NODISCARD sl_err sli_cost_assumed(sli_arena *arena, const sli_cost_config *config,
                                     const sli_cost_subject *subject,
                                     const char *phrases[SLI_ASSUMED_MAX], size_t *count);

#endif
