/*
 * The method of a scenario that throws tokens of a request out, and the model as it is served with
 * it.
 *
 * Floor run. Methods are policies of kind keep; `keep` is the field of the scenario.
 */
#ifndef SLUICE_RUN_KEEP_H
#define SLUICE_RUN_KEEP_H

#include "config/schema.h"
#include "model/architecture.h"
#include "sluice/policy.h"

/* NULL = none: all tokens stay. */
const sl_keep_policy *sli_keep_method(const sli_named *keep);

/* Rows of a prompt that a layer, from 0 on, of so many that the method cuts keeps once the prompt
 * is computed. */
int64_t sli_keep_layer_rows(const sli_named *keep, int64_t layer, int64_t layers,
                            int64_t prompt_tokens);

/*
 * The model with the method, in the arena; as it is without one. It is for contexts of no more than
 * `longest_tokens`, 1 .. SLI_GROWTH_TOKENS_MAX. Parameters that contradict each other, answers of
 * the method that cannot be and models that have nothing to cut are mistakes at the field.
 */
SL_NODISCARD sl_err sli_keep_apply(sli_arena *arena, const sli_named *keep, int64_t longest_tokens,
                                   sli_diag *diag, const sli_architecture **architecture);

#endif
