/*
 * The registry: which policies there are.
 *
 * Floor plug. Filled from tables of descriptors (built in or loaded) before the first trial, only
 * read afterwards. Descriptors are borrowed; a loaded object must stay open as long as they are
 * used.
 */
#ifndef SLUICE_PLUG_REGISTRY_H
#define SLUICE_PLUG_REGISTRY_H

#include "base/diag.h"
#include "sluice/policy.h"

/* Zeroed is valid and empty. */
typedef struct sli_registry {
    const sl_policy **policies; /* in order of addition */
    size_t count;
    size_t capacity;
} sli_registry;

void sli_registry_fini(sli_registry *registry);

/*
 * Adds all policies of a table, or none: a descriptor with another ABI, a bad name, a name that is
 * taken or a missing hook is described in diag, `origin` being the file that it came from.
 */
SL_NODISCARD sl_err sli_registry_add(sli_registry *registry, const sl_policy_table *table,
                                     const char *origin, sli_diag *diag);

/* NULL when there is none of that name. O(count). */
const sl_policy *sli_registry_find(const sli_registry *registry, sl_policy_kind kind,
                                   const char *name);

/* "batch", "route" ... */
const char *sli_policy_kind_name(sl_policy_kind kind);

#endif
