/*
 * Lineage: which id follows which in a trace, to find ids that cannot mean what they should.
 *
 * Part workloads. An id stands for the tokens of its block and all before them (sluice/workload.h),
 * so wherever it occurs it has the same predecessor, the same depth and the same size of block. It
 * is enough to compare predecessors from the front on, and the size of the block at the first id;
 * the rest follows by induction. Zeroed is valid and empty.
 */
#ifndef WORKLOADS_LINEAGE_H
#define WORKLOADS_LINEAGE_H

#include "base/map.h"

typedef struct sli_lineage {
    sli_map parents; /* of an id: the entry that it follows, or how a prompt begins with it */
} sli_lineage;

void sli_lineage_fini(sli_lineage *lineage);

/*
 * Takes the ids of a row in. *agreeing_count is how many of them, from the front, stand where they
 * stood before; those behind are left out. All = the row is in order. Amortised O(count).
 */
SL_NODISCARD sl_err sli_lineage_add(sli_lineage *lineage, const uint64_t *ids, size_t count,
                                    int64_t block_tokens, size_t *agreeing_count);

/* What is wrong with the id at `place`, the first that does not agree: "id 5 follows ...". */
void sli_lineage_describe(const sli_lineage *lineage, const uint64_t *ids, size_t place,
                          int64_t block_tokens, char *text, size_t size);

#endif
