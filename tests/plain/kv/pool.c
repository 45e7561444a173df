#include "kv/pool.h"

#include "base/check.h"

#include <stdlib.h>

static uint32_t sentinel_of(const sli_pool *pool) {
    return (uint32_t)pool->config.block_count;
}

/* Cached blocks that are lost when this one is handed out. */
static int64_t cached_with(const sli_pool *pool, uint32_t block) {
    return pool->config.has_index ? pool->prefix.entries[block].pages : 0;
}

/* Links a block in front of another of the queue; in front of the sentinel is the tail. */
static void link_before(sli_pool *pool, uint32_t block, uint32_t place) {
    uint32_t previous = pool->blocks[place].previous;
    pool->blocks[block].previous = previous;
    pool->blocks[block].next = place;
    pool->blocks[previous].next = block;
    pool->blocks[place].previous = block;
    pool->free_blocks++;
    pool->cached_blocks += cached_with(pool, block);
}

static void unlink_free(sli_pool *pool, uint32_t block) {
    sli_block *it = &pool->blocks[block];
    pool->blocks[it->previous].next = it->next;
    pool->blocks[it->next].previous = it->previous;
    pool->free_blocks--;
    pool->cached_blocks -= cached_with(pool, block);
}

sl_err sli_pool_init(sli_pool *pool, const sli_pool_config *config) {
    SL_ASSERT(config->block_count >= 1 && config->block_count < SLI_NO_BLOCK);
    SL_ASSERT(config->block_tokens >= 1);
    uint32_t block_count = (uint32_t)config->block_count;
    sli_block *blocks = calloc((size_t)block_count + 1, sizeof *blocks);
    if (blocks == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_prefix prefix = {0};
    if (config->has_index) {
        sl_err err = sli_prefix_init(&prefix, block_count);
        if (err != SL_OK) {
            free(blocks);
            return err;
        }
    }
    *pool = (sli_pool){
        .blocks = blocks,
        .config = *config,
        .prefix = prefix,
    };
    uint32_t sentinel = sentinel_of(pool);
    blocks[sentinel].previous = sentinel;
    blocks[sentinel].next = sentinel;
    for (uint32_t block = 0; block < block_count; block++) {
        blocks[block].next_page = SLI_NO_BLOCK;
        link_before(pool, block, sentinel);
    }
    return SL_OK;
}

void sli_pool_fini(sli_pool *pool) {
    free(pool->blocks);
    sli_prefix_fini(&pool->prefix);
    *pool = (sli_pool){0};
}

int64_t sli_pool_held_blocks(const sli_pool *pool) {
    return pool->config.block_count - pool->free_blocks;
}

uint32_t sli_pool_take(sli_pool *pool) {
    uint32_t block = pool->blocks[sentinel_of(pool)].next;
    SL_ASSERT(block != sentinel_of(pool));
    unlink_free(pool, block);
    pool->blocks[block].reference_count = 1;
    pool->blocks[block].next_page = SLI_NO_BLOCK;
    if (sli_pool_is_findable(pool, block)) {
        sli_prefix_remove(&pool->prefix, block);
        pool->evicted_blocks++;
        pool->epoch++;
    }
    return block;
}

void sli_pool_share(sli_pool *pool, uint32_t block) {
    if (pool->blocks[block].reference_count == 0) {
        unlink_free(pool, block);
    }
    pool->blocks[block].reference_count++;
}

void sli_pool_release(sli_pool *pool, uint32_t block) {
    sli_block *it = &pool->blocks[block];
    SL_ASSERT(it->reference_count > 0);
    it->reference_count--;
    if (it->reference_count == 0) {
        link_before(pool, block, sentinel_of(pool));
    }
}

void sli_pool_put_back(sli_pool *pool, uint32_t block) {
    sli_block *it = &pool->blocks[block];
    SL_ASSERT(it->reference_count == 1);
    SL_ASSERT(!sli_pool_is_findable(pool, block));
    it->reference_count = 0;
    link_before(pool, block, pool->blocks[sentinel_of(pool)].next);
}

/* ---- Chains ---- */

uint32_t sli_pool_take_chain(sli_pool *pool, int64_t pages) {
    uint32_t first = sli_pool_take(pool);
    uint32_t last = first;
    for (int64_t i = 1; i < pages; i++) {
        uint32_t page = sli_pool_take(pool);
        pool->blocks[last].next_page = page;
        last = page;
    }
    return first;
}

void sli_pool_share_chain(sli_pool *pool, uint32_t first) {
    for (uint32_t page = first; page != SLI_NO_BLOCK; page = pool->blocks[page].next_page) {
        sli_pool_share(pool, page);
    }
}

void sli_pool_release_chain(sli_pool *pool, uint32_t first) {
    for (uint32_t page = first; page != SLI_NO_BLOCK; page = pool->blocks[page].next_page) {
        sli_pool_release(pool, page);
    }
}

/* The last page first, so that the first one is at the head again. */
void sli_pool_put_back_chain(sli_pool *pool, uint32_t first) {
    if (pool->blocks[first].next_page != SLI_NO_BLOCK) {
        sli_pool_put_back_chain(pool, pool->blocks[first].next_page);
    }
    sli_pool_put_back(pool, first);
}

/* ---- Contents ---- */

bool sli_pool_is_findable(const sli_pool *pool, uint32_t block) {
    return pool->config.has_index && pool->prefix.entries[block].is_findable;
}

void sli_pool_publish(sli_pool *pool, uint32_t block, sli_block_key key, int64_t pages) {
    SL_ASSERT(pool->blocks[block].reference_count > 0);
    sli_prefix_insert(&pool->prefix, block, key, (uint32_t)pages);
    pool->epoch++;
}

void sli_pool_retract(sli_pool *pool, uint32_t block) {
    SL_ASSERT(pool->blocks[block].reference_count > 0);
    sli_prefix_remove(&pool->prefix, block);
    pool->epoch++;
}

int64_t sli_pool_blocks_for(const sli_pool *pool, int64_t tokens) {
    return (tokens + pool->config.block_tokens - 1) / pool->config.block_tokens;
}

void sli_pool_forget_private(sli_pool *pool, uint64_t request) {
    uint32_t sentinel = sentinel_of(pool);
    for (uint32_t block = pool->blocks[sentinel].next; block != sentinel;
         block = pool->blocks[block].next) {
        const sli_prefix_entry *entry = &pool->prefix.entries[block];
        if (entry->is_findable && entry->key.scope == 0 && entry->key.id == request) {
            pool->cached_blocks -= entry->pages;
            sli_prefix_remove(&pool->prefix, block);
            pool->epoch++;
        }
    }
}

int64_t sli_pool_block_pages(const sli_pool *pool) {
    return pool->config.layout != NULL ? pool->config.layout->groups[0].block_pages : 1;
}

int sli_pool_window_count(const sli_pool *pool) {
    return pool->config.layout != NULL ? pool->config.layout->group_count - 1 : 0;
}

const sli_group *sli_pool_window_group(const sli_pool *pool, int window) {
    return &pool->config.layout->groups[1 + window];
}
