/*
 * Instances of policies: their memory, their parameters, their life.
 *
 * Floor plug.
 */
#ifndef SLUICE_PLUG_INSTANCE_H
#define SLUICE_PLUG_INSTANCE_H

#include "base/diag.h"
#include "sluice/policy.h"

/*
 * Makes an instance: zeroed, the parameters copied from `values` (instance_bytes of them, as the
 * schema filled them; NULL = none), then init. A refusal is described in diag at `mark`
 * (SL_ERR_CONFIG). The caller destroys it.
 */
SL_NODISCARD sl_err sli_instance_create(const sl_policy *policy, const void *values,
                                        const sl_policy_env *env, sli_mark mark, sli_diag *diag,
                                        void **self);

/* Calls fini and frees; NULL is fine. */
void sli_instance_destroy(const sl_policy *policy, void *self);

#endif
