/*
 * The audit of a core: whether its books are right.
 *
 * Floor engine. For tests and for the end of a run; O(running + spans + runs).
 */
#ifndef SLUICE_ENGINE_AUDIT_H
#define SLUICE_ENGINE_AUDIT_H

#include "engine/core.h"

/* NULL when all is right, else the law that is broken (kv/audit.h has those of the pool). */
const char *sli_core_audit(sli_core *core);

#endif
