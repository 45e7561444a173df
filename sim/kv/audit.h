/*
 * The audit: recounts a pool from scratch and compares with its books.
 *
 * Floor kv. For tests and for the end of a run; O(spans + runs + holds). Without memory for the
 * recount it finds nothing wrong.
 */
#ifndef SLUICE_KV_AUDIT_H
#define SLUICE_KV_AUDIT_H

#include "kv/context.h"

#include <stddef.h>

/*
 * NULL when the books are right, else the law that is broken: the queue is linked both ways and
 * adds up to the counters; free + held = pool; every run has copies, is found by its first block,
 * begins where its parent ends and is counted among its children; the holders of a copy are as many
 * as its reference count says.
 */
const char *sli_pool_audit(const sli_pool *pool, const sli_context *const *contexts,
                           size_t context_count);

#endif
