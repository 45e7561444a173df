/*
 * The method of a scenario that throws tokens of a request out: what a file may say of it, and the
 * model as it is served with it.
 *
 * Floor run. Methods are policies of kind keep. Beside the parameters of each a scenario may give
 * figures about the quality of answers, which are carried to the results and never used.
 */
#ifndef SLUICE_RUN_KEEP_H
#define SLUICE_RUN_KEEP_H

#include "config/schema.h"
#include "model/architecture.h"
#include "sluice/policy.h"

/* A figure about answers, as the user found it. */
typedef struct sli_keep_quality {
    const char *budget; /* that it was found with, in words */
    const char *measure;
    double figure;
    const char *source;
} sli_keep_quality;

/* The keys of a method: its parameters and `quality`; in the arena. */
SL_NODISCARD sl_err sli_keep_section(sli_arena *arena, const sl_policy *policy,
                                     const sli_section **section);

/* ---- Of a scenario; `keep` is its field ---- */

/* NULL = none: all tokens stay. */
const sl_keep_policy *sli_keep_method(const sli_named *keep);

/* Rows of sli_keep_quality; of a method only. */
const sli_table *sli_keep_figures(const sli_named *keep);

/* Rows of a prompt that a layer, from 0 on, of so many that the method cuts keeps once the prompt
 * is computed. */
int64_t sli_keep_layer_rows(const sli_named *keep, int64_t layer, int64_t layers,
                            int64_t prompt_tokens);

/*
 * The model with the method, in the arena; as it is without one. Parameters that contradict each
 * other, answers of the method that cannot be and models that have nothing to cut are mistakes at
 * the field.
 */
SL_NODISCARD sl_err sli_keep_apply(sli_arena *arena, const sli_named *keep, sli_diag *diag,
                                   const sli_architecture **architecture);

#endif
