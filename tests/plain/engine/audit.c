#include "engine/audit.h"

#include "kv/audit.h"

#include <stdlib.h>

const char *sli_core_audit(sli_core *core) {
    const sli_context **contexts = malloc((size_t)(core->running + 1) * sizeof *contexts);
    if (contexts == NULL) {
        return NULL; /* nothing is known to be wrong */
    }
    size_t count = 0;
    for (const sl_request *it = core->first_running; it != NULL; it = it->next) {
        contexts[count++] = &it->context;
    }
    const char *fault = sli_pool_audit(&core->pool, contexts, count);
    free(contexts);
    return fault;
}
