/*
 * A slab: nodes of one size, recycled, at addresses that never change.
 *
 * Floor kv. Zeroed nodes come from chunks; returned nodes are handed out again first. Memory is
 * given back all at once.
 */
#ifndef SLUICE_KV_SLAB_H
#define SLUICE_KV_SLAB_H

#include "base/arena.h"

typedef struct sli_slab {
    sli_arena arena;
    void *free_nodes; /* linked through their first word */
    size_t node_bytes;
} sli_slab;

/* node_bytes >= sizeof(void *). */
void sli_slab_init(sli_slab *slab, size_t node_bytes);
void sli_slab_fini(sli_slab *slab);

/* A zeroed node, or NULL when memory is out. O(1). */
void *sli_slab_take(sli_slab *slab);
void sli_slab_give(sli_slab *slab, void *node);

#endif
