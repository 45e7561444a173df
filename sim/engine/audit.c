#include "engine/audit.h"

#include "kv/audit.h"

#include <stdlib.h>

/* Blocks that the lockstep took for a member are booked on its context only when it leaves; booking
 * them earlier changes nothing. */
static void book_member(sli_core *core, sl_request *request) {
    bool is_taken = core->state.lockstep_bulk || request->planned_tokens > 0;
    int64_t computed = sli_lockstep_computed(&core->lockstep, request);
    sli_context *context = &request->context;
    sli_context_grow(context, &core->pool, computed);
    (void)sli_context_slide(context, &core->pool, computed); /* given already */
    sli_context_grow(context, &core->pool, computed + is_taken);
}

static const char *audit_lists(const sli_core *core) {
    int64_t running = 0;
    int64_t members = 0;
    int64_t computed_sum = 0;
    const sl_request *loose = core->first_loose;
    for (const sl_request *it = core->first_running; it != NULL; it = it->next) {
        if (it->next != NULL && it->next->admit_order <= it->admit_order) {
            return "the running list is not in the order of admission";
        }
        running++;
        if (it->is_in_lockstep) {
            members++;
            computed_sum += sli_lockstep_computed(&core->lockstep, it);
        } else if (it != loose) {
            return "the loose list is not the running list without the lockstep";
        } else {
            loose = loose->next_loose;
        }
    }
    if (running != core->running || members != core->lockstep.count || loose != NULL) {
        return "a count of running requests is wrong";
    }
    return computed_sum == core->lockstep.computed_sum ? NULL : "the sum of the lockstep is wrong";
}

const char *sli_core_audit(sli_core *core) {
    const sli_context **contexts = malloc((size_t)(core->running + 1) * sizeof *contexts);
    if (contexts == NULL) {
        return NULL; /* nothing is known to be wrong */
    }
    size_t count = 0;
    for (sl_request *it = core->first_running; it != NULL; it = it->next) {
        if (it->is_in_lockstep) {
            book_member(core, it);
        }
        contexts[count++] = &it->context;
    }
    const char *fault = audit_lists(core);
    fault = fault != NULL ? fault : sli_pool_audit(&core->pool, contexts, count);
    free(contexts);
    return fault;
}
