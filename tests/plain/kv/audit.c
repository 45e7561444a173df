#include "kv/audit.h"

#include <stdlib.h>

static const char *audit_queue(const sli_pool *pool) {
    int64_t free_blocks = 0;
    int64_t cached_blocks = 0;
    uint32_t sentinel = (uint32_t)pool->config.block_count;
    uint32_t previous = sentinel;
    for (uint32_t block = pool->blocks[sentinel].next; block != sentinel;
         block = pool->blocks[block].next) {
        if (pool->blocks[block].reference_count != 0) {
            return "a held block lies in the free queue";
        }
        if (pool->blocks[block].previous != previous) {
            return "the free queue is not linked both ways";
        }
        free_blocks++;
        cached_blocks += pool->config.has_index ? pool->prefix.entries[block].pages : 0;
        if (free_blocks > pool->config.block_count) {
            return "the free queue is a cycle";
        }
        previous = block;
    }
    if (pool->blocks[sentinel].previous != previous) {
        return "the free queue is not linked both ways";
    }
    if (free_blocks != pool->free_blocks) {
        return "the count of free blocks differs from the queue";
    }
    return cached_blocks == pool->cached_blocks ? NULL : "the count of cached blocks is wrong";
}

/* With the queue in order: whoever is not held must be one of those that it counts. */
static const char *audit_conservation(const sli_pool *pool) {
    int64_t unheld_blocks = 0;
    for (uint32_t block = 0; block < pool->config.block_count; block++) {
        unheld_blocks += pool->blocks[block].reference_count == 0;
    }
    return unheld_blocks == pool->free_blocks ? NULL : "a block is neither free nor held";
}

/* Whether a lookup of the key of a block arrives at it, now or once older copies are gone. */
static bool is_reachable(const sli_prefix *prefix, uint32_t block) {
    uint32_t at = sli_prefix_find(prefix, prefix->entries[block].key);
    while (at != block && at != SLI_NO_BLOCK) {
        at = prefix->entries[at].next;
    }
    return at == block;
}

static const char *audit_index(const sli_pool *pool) {
    if (!pool->config.has_index) {
        return NULL;
    }
    for (uint32_t block = 0; block < pool->config.block_count; block++) {
        if (pool->prefix.entries[block].is_findable && !is_reachable(&pool->prefix, block)) {
            return "a findable block is not found";
        }
    }
    return NULL;
}

static void count_chain(const sli_pool *pool, uint32_t first, uint32_t *holders) {
    for (uint32_t page = first; page != SLI_NO_BLOCK; page = pool->blocks[page].next_page) {
        holders[page]++;
    }
}

static void count_holds(const sli_pool *pool, const sli_context *context, uint32_t *holders) {
    for (int64_t i = 0; i < context->block_count; i++) {
        count_chain(pool, context->blocks[i], holders);
    }
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        for (int64_t j = 0; j < context->windows[i].count; j++) {
            count_chain(pool, context->windows[i].blocks[j].first_page, holders);
        }
        for (int64_t j = 0; j < context->windows[i].spare_count; j++) {
            count_chain(pool, context->windows[i].spare[j], holders);
        }
    }
}

static const char *audit_holders(const sli_pool *pool, const sli_context *const *contexts,
                                 size_t context_count) {
    uint32_t *holders = calloc((size_t)pool->config.block_count, sizeof *holders);
    if (holders == NULL) {
        return "no memory for the audit";
    }
    for (size_t i = 0; i < context_count; i++) {
        count_holds(pool, contexts[i], holders);
    }
    const char *fault = NULL;
    for (uint32_t block = 0; block < pool->config.block_count && fault == NULL; block++) {
        if (holders[block] != pool->blocks[block].reference_count) {
            fault = "a reference count differs from the number of holders";
        }
    }
    free(holders);
    return fault;
}

const char *sli_pool_audit(const sli_pool *pool, const sli_context *const *contexts,
                           size_t context_count) {
    const char *fault = audit_queue(pool);
    fault = fault != NULL ? fault : audit_conservation(pool);
    fault = fault != NULL ? fault : audit_index(pool);
    return fault != NULL ? fault : audit_holders(pool, contexts, context_count);
}
