#include "plug/instance.h"

#include <stdlib.h>
#include <string.h>

sl_err sli_instance_create(const sl_policy *policy, const void *values, const sl_policy_env *env,
                           sli_mark mark, sli_diag *diag, void **self) {
    void *created = calloc(1, policy->instance_bytes > 0 ? policy->instance_bytes : 1);
    if (created == NULL) {
        return SL_ERR_NOMEM;
    }
    if (values != NULL) {
        memcpy(created, values, policy->instance_bytes);
    }
    char why[256] = "";
    if (policy->init != NULL && policy->init(created, env, why, sizeof why) != SL_OK) {
        sli_diag_error(diag, mark, NULL, "policy '%s' refuses: %s", policy->name, why);
        free(created);
        return SL_ERR_CONFIG;
    }
    *self = created;
    return SL_OK;
}

void sli_instance_destroy(const sl_policy *policy, void *self) {
    if (self != NULL && policy->fini != NULL) {
        policy->fini(self);
    }
    free(self);
}
