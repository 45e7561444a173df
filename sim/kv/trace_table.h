/*
 * A cache of trace ids alone: no time, no requests in flight, no blocks of an engine.
 *
 * Floor kv. The unit is one id of a trace, the partial last one included (`trace-blocks`). For each
 * request: the hit is the longest resident prefix; its ids are pinned; resident ones are touched
 * and missing ones inserted from the deepest to the shallowest, evicting the least recently used
 * unpinned id, or dropped when all are pinned. These are the semantics in which hit ratios of
 * published traces are compared; those of an engine (kv/context.h) give slightly other figures.
 */
#ifndef SLUICE_KV_TRACE_TABLE_H
#define SLUICE_KV_TRACE_TABLE_H

#include "sluice/err.h"

#include <stdint.h>

typedef struct sli_trace_table sli_trace_table;

SL_NODISCARD sl_err sli_trace_table_create(int64_t capacity_ids, sli_trace_table **table);
void sli_trace_table_destroy(sli_trace_table *table);

/* One request; *hit_ids is the length of the resident prefix. Amortised O(id_count). */
SL_NODISCARD sl_err sli_trace_table_request(sli_trace_table *table, const uint64_t *ids,
                                            int64_t id_count, int64_t *hit_ids);

#endif
