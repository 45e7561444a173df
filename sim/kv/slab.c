#include "kv/slab.h"

#include <string.h>

void sli_slab_init(sli_slab *slab, size_t node_bytes) {
    *slab = (sli_slab){.node_bytes = node_bytes};
}

void sli_slab_fini(sli_slab *slab) {
    sli_arena_fini(&slab->arena);
    slab->free_nodes = NULL;
}

void *sli_slab_take(sli_slab *slab) {
    void *node = slab->free_nodes;
    if (node == NULL) {
        return sli_arena_alloc(&slab->arena, slab->node_bytes);
    }
    memcpy(&slab->free_nodes, node, sizeof slab->free_nodes);
    memset(node, 0, slab->node_bytes);
    return node;
}

void sli_slab_give(sli_slab *slab, void *node) {
    memcpy(node, &slab->free_nodes, sizeof slab->free_nodes);
    slab->free_nodes = node;
}
