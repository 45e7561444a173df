#include "kv/context.h"

#include "base/check.h"

#include <stdlib.h>

int64_t sli_context_lookup(const sli_pool *pool, const sli_content_view *view, int64_t max_tokens) {
    if (!pool->config.has_index) {
        return 0;
    }
    int64_t max_blocks = max_tokens / pool->config.block_tokens;
    int64_t hits = 0;
    while (hits < max_blocks) {
        sli_block_key key = sli_block_key_of(view, (uint32_t)(hits + 1), pool->config.block_tokens);
        if (sli_prefix_find(&pool->prefix, key) == SLI_NO_BLOCK) {
            break;
        }
        hits++;
    }
    return hits * pool->config.block_tokens;
}

static uint32_t hit_block(const sli_pool *pool, const sli_content_view *view, int64_t index) {
    sli_block_key key = sli_block_key_of(view, (uint32_t)(index + 1), pool->config.block_tokens);
    uint32_t block = sli_prefix_find(&pool->prefix, key);
    SL_ASSERT(block != SLI_NO_BLOCK);
    return block;
}

/* Hits that lie in the free queue: sharing them uses up free blocks like taking new ones. */
static int64_t count_free_hits(const sli_pool *pool, const sli_content_view *view,
                               int64_t hit_blocks) {
    int64_t free_hits = 0;
    for (int64_t i = 0; i < hit_blocks; i++) {
        free_hits += pool->blocks[hit_block(pool, view, i)].reference_count == 0;
    }
    return free_hits;
}

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static sl_err make_room(sli_context *context, int64_t block_capacity) {
    if (block_capacity <= context->block_capacity) {
        return SL_OK;
    }
    uint32_t *blocks = realloc(context->blocks, (size_t)block_capacity * sizeof *blocks);
    if (blocks == NULL) {
        return SL_ERR_NOMEM;
    }
    context->blocks = blocks;
    context->block_capacity = block_capacity;
    return SL_OK;
}

static void take_blocks(sli_context *context, sli_pool *pool, int64_t block_count) {
    SL_ASSERT(block_count <= context->block_capacity);
    while (context->block_count < block_count) {
        context->blocks[context->block_count++] = sli_pool_take(pool);
    }
}

sl_err sli_context_acquire(sli_context *context, sli_pool *pool, const sli_content_view *view,
                           const sli_acquisition *acquisition, int64_t *missing_blocks) {
    SL_ASSERT(context->block_count == 0);
    int64_t hit_blocks = acquisition->hit_tokens / pool->config.block_tokens;
    int64_t take_tokens = max_of(acquisition->tokens, acquisition->reserve_tokens);
    int64_t take_to_blocks = sli_pool_blocks_for(pool, take_tokens);
    int64_t fit_blocks = sli_pool_blocks_for(pool, max_of(take_tokens, acquisition->fit_tokens)) -
                         hit_blocks;
    int64_t need_blocks = fit_blocks + count_free_hits(pool, view, hit_blocks);
    int64_t missing = need_blocks + acquisition->keep_free_blocks - pool->free_blocks;
    if (missing > 0) {
        *missing_blocks = missing;
        return SL_OK;
    }
    int64_t final_blocks = sli_pool_blocks_for(pool, acquisition->final_tokens);
    SL_TRY(make_room(context, max_of(take_to_blocks, final_blocks)));
    /* Hits leave the free queue before anything is taken from it, or they could be evicted. */
    for (int64_t i = 0; i < hit_blocks; i++) {
        uint32_t block = hit_block(pool, view, i);
        sli_pool_share(pool, block);
        context->blocks[context->block_count++] = block;
    }
    take_blocks(context, pool, take_to_blocks);
    context->tokens = acquisition->tokens;
    context->reserved_blocks = sli_pool_blocks_for(pool, acquisition->reserve_tokens);
    context->published_blocks = hit_blocks;
    *missing_blocks = 0;
    return SL_OK;
}

int64_t sli_context_need(const sli_context *context, const sli_pool *pool, int64_t tokens) {
    return max_of(0, sli_pool_blocks_for(pool, tokens) - context->block_count);
}

void sli_context_extend(sli_context *context, sli_pool *pool, int64_t tokens) {
    SL_ASSERT(tokens >= context->tokens);
    take_blocks(context, pool, sli_pool_blocks_for(pool, tokens));
    context->tokens = tokens;
}

void sli_context_publish(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         int64_t tokens) {
    SL_ASSERT(tokens <= context->tokens);
    if (!pool->config.has_index) {
        return;
    }
    if (!pool->config.caches_generated && tokens > view->prompt_tokens) {
        tokens = view->prompt_tokens;
    }
    int64_t full_blocks = tokens / pool->config.block_tokens;
    while (context->published_blocks < full_blocks) {
        int64_t index = context->published_blocks++;
        sli_block_key key = sli_block_key_of(view, (uint32_t)(index + 1),
                                             pool->config.block_tokens);
        sli_pool_publish(pool, context->blocks[index], key);
    }
}

void sli_context_retract(sli_context *context, sli_pool *pool, int64_t tokens) {
    int64_t full_blocks = tokens / pool->config.block_tokens;
    while (context->published_blocks > full_blocks) {
        uint32_t block = context->blocks[--context->published_blocks];
        SL_ASSERT(pool->blocks[block].reference_count == 1);
        sli_pool_retract(pool, block);
    }
}

void sli_context_roll_back(sli_context *context, sli_pool *pool, int64_t tokens) {
    SL_ASSERT(tokens <= context->tokens);
    int64_t keep_blocks = max_of(sli_pool_blocks_for(pool, tokens), context->reserved_blocks);
    SL_ASSERT(context->published_blocks * pool->config.block_tokens <= tokens);
    while (context->block_count > keep_blocks) {
        sli_pool_put_back(pool, context->blocks[--context->block_count]);
    }
    context->tokens = tokens;
}

void sli_context_release(sli_context *context, sli_pool *pool) {
    while (context->block_count > 0) {
        sli_pool_release(pool, context->blocks[--context->block_count]);
    }
    context->tokens = 0;
    context->reserved_blocks = 0;
    context->published_blocks = 0;
}

void sli_context_fini(sli_context *context, sli_pool *pool) {
    sli_context_release(context, pool);
    free(context->blocks);
    *context = (sli_context){0};
}
