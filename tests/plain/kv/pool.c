#include "kv/pool.h"

#include "base/check.h"

#include <stdlib.h>

static uint32_t sentinel_of(const sli_pool *pool) {
    return (uint32_t)pool->config.block_count;
}

/* Links a block in front of another of the queue; in front of the sentinel is the tail. */
static void link_before(sli_pool *pool, uint32_t block, uint32_t place) {
    uint32_t previous = pool->blocks[place].previous;
    pool->blocks[block].previous = previous;
    pool->blocks[block].next = place;
    pool->blocks[previous].next = block;
    pool->blocks[place].previous = block;
    pool->free_blocks++;
    pool->cached_blocks += pool->config.has_index && pool->prefix.entries[block].is_findable;
}

static void unlink_free(sli_pool *pool, uint32_t block) {
    sli_block *it = &pool->blocks[block];
    pool->blocks[it->previous].next = it->next;
    pool->blocks[it->next].previous = it->previous;
    pool->free_blocks--;
    pool->cached_blocks -= pool->config.has_index && pool->prefix.entries[block].is_findable;
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
    if (pool->config.has_index && pool->prefix.entries[block].is_findable) {
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
    SL_ASSERT(!pool->config.has_index || !pool->prefix.entries[block].is_findable);
    it->reference_count = 0;
    link_before(pool, block, pool->blocks[sentinel_of(pool)].next);
}

void sli_pool_publish(sli_pool *pool, uint32_t block, sli_block_key key) {
    SL_ASSERT(pool->blocks[block].reference_count > 0);
    sli_prefix_insert(&pool->prefix, block, key);
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
