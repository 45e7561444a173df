/*
 * The audit: recounts a pool from scratch and compares with its books.
 *
 * Floor kv. For tests and for the end of a run; O(blocks).
 */
#ifndef SLUICE_KV_AUDIT_H
#define SLUICE_KV_AUDIT_H

#include "kv/context.h"

#include <stddef.h>

/*
 * NULL when the books are right, else the law that is broken: every block is free or held, the
 * counters match the queue, every findable block is found under its key (or an older copy is), and
 * reference counts equal the number of contexts that hold a block.
 */
const char *sli_pool_audit(const sli_pool *pool, const sli_context *const *contexts,
                           size_t context_count);

#endif
