#include "kv/context.h"

#include "base/check.h"

#include <stdlib.h>

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static sli_window_site site_of(const sli_pool *pool, int window) {
    /* The pool is changed only by those functions that were given one to change. */
    return (sli_window_site){(sli_pool *)pool, sli_pool_window_group(pool, window),
                             (uint32_t)window + 1};
}

/* ---- Looking up ---- */

/* Where the first group takes no memory nothing of it can be missing. */
static int64_t look_up_first(const sli_pool *pool, const sli_content_view *view,
                             int64_t max_tokens) {
    int64_t max_blocks = max_tokens / pool->config.block_tokens;
    int64_t hits = sli_pool_block_pages(pool) > 0 ? 0 : max_blocks;
    while (hits < max_blocks) {
        sli_block_key key = sli_block_key_of(view, (uint32_t)(hits + 1), pool->config.block_tokens);
        if (sli_prefix_find(&pool->prefix, key) == SLI_NO_BLOCK) {
            break;
        }
        hits++;
    }
    return hits * pool->config.block_tokens;
}

/* Each window may ask for a shorter prefix, which may be too short for another. */
int64_t sli_context_lookup(const sli_pool *pool, const sli_content_view *view, int64_t max_tokens) {
    if (!pool->config.has_index) {
        return 0;
    }
    int64_t hit_tokens = look_up_first(pool, view, max_tokens);
    int64_t before;
    do {
        before = hit_tokens;
        for (int i = 0; i < sli_pool_window_count(pool); i++) {
            const sli_window_site site = site_of(pool, i);
            hit_tokens = sli_window_fit(&site, view, hit_tokens, pool->config.layout->align_tokens);
        }
    } while (hit_tokens < before);
    return hit_tokens;
}

static uint32_t hit_block(const sli_pool *pool, const sli_content_view *view, int64_t index) {
    sli_block_key key = sli_block_key_of(view, (uint32_t)(index + 1), pool->config.block_tokens);
    uint32_t block = sli_prefix_find(&pool->prefix, key);
    SL_ASSERT(block != SLI_NO_BLOCK);
    return block;
}

/* Hits that lie in the free queue: sharing them uses up free blocks like taking new ones. */
static int64_t count_free_hits(const sli_pool *pool, const sli_content_view *view,
                               int64_t hit_tokens) {
    int64_t block_pages = sli_pool_block_pages(pool);
    int64_t hit_blocks = block_pages > 0 ? hit_tokens / pool->config.block_tokens : 0;
    int64_t free_hits = 0;
    for (int64_t i = 0; i < hit_blocks; i++) {
        bool is_free = pool->blocks[hit_block(pool, view, i)].reference_count == 0;
        free_hits += is_free ? block_pages : 0;
    }
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        free_hits += sli_window_free_pages(&site, view, hit_tokens);
    }
    return free_hits;
}

/* ---- Slots ---- */

static void count_held(sli_context *context, const sli_pool *pool) {
    context->held_blocks = context->block_count * sli_pool_block_pages(pool);
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window *window = &context->windows[i];
        context->held_blocks += (window->count + window->spare_count) *
                                sli_pool_window_group(pool, i)->block_pages;
    }
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
    int64_t block_pages = sli_pool_block_pages(pool);
    SL_ASSERT(block_count <= context->block_capacity);
    while (context->block_count < block_count) {
        context->blocks[context->block_count++] = block_pages > 0
                                                      ? sli_pool_take_chain(pool, block_pages)
                                                      : SLI_NO_BLOCK;
    }
}

/* Of a context that holds nothing. */
static void begin_windows(sli_context *context, const sli_pool *pool, const sli_content_view *view,
                          const sli_acquisition *acquisition) {
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        context->windows[i].prompt_tokens = view->prompt_tokens;
        context->windows[i].computed_tokens = 0;
        context->windows[i].known_tokens = max_of(view->prompt_tokens, acquisition->known_tokens);
        context->windows[i].reserved_tokens = sli_pool_blocks_for(pool,
                                                                  acquisition->reserve_tokens) *
                                              pool->config.block_tokens;
    }
}

static int64_t count_needs(const sli_context *context, const sli_pool *pool,
                           const sli_acquisition *acquisition) {
    int64_t tokens = max_of(max_of(acquisition->tokens, acquisition->reserve_tokens),
                            acquisition->fit_tokens);
    int64_t hit_blocks = acquisition->hit_tokens / pool->config.block_tokens;
    int64_t pages = (sli_pool_blocks_for(pool, tokens) - hit_blocks) * sli_pool_block_pages(pool);
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        pages += sli_window_fit_need(&context->windows[i], &site, acquisition->hit_tokens,
                                     acquisition->tokens, acquisition->fit_tokens);
    }
    return pages;
}

static void share_first(sli_context *context, sli_pool *pool, const sli_content_view *view,
                        int64_t hit_blocks) {
    for (int64_t i = 0; i < hit_blocks; i++) {
        uint32_t block = SLI_NO_BLOCK;
        if (sli_pool_block_pages(pool) > 0) {
            block = hit_block(pool, view, i);
            sli_pool_share_chain(pool, block);
        }
        context->blocks[context->block_count++] = block;
    }
}

/* Hits leave the free queue before anything is taken from it, or they could be evicted. */
static sl_err share_and_take(sli_context *context, sli_pool *pool, const sli_content_view *view,
                             const sli_acquisition *acquisition) {
    int window_count = sli_pool_window_count(pool);
    share_first(context, pool, view, acquisition->hit_tokens / pool->config.block_tokens);
    for (int i = 0; i < window_count; i++) {
        const sli_window_site site = site_of(pool, i);
        SL_TRY(sli_window_share(&context->windows[i], &site, view, acquisition->hit_tokens));
    }
    if (window_count > 0 && pool->config.has_index) {
        sli_pool_forget_private(pool, view->request);
    }
    take_blocks(
        context, pool,
        sli_pool_blocks_for(pool, max_of(acquisition->tokens, acquisition->reserve_tokens)));
    for (int i = 0; i < window_count; i++) {
        const sli_window_site site = site_of(pool, i);
        SL_TRY(sli_window_extend(&context->windows[i], &site, acquisition->hit_tokens,
                                 acquisition->tokens));
    }
    return SL_OK;
}

sl_err sli_context_acquire(sli_context *context, sli_pool *pool, const sli_content_view *view,
                           const sli_acquisition *acquisition, int64_t *missing_blocks) {
    SL_ASSERT(context->block_count == 0);
    begin_windows(context, pool, view, acquisition);
    int64_t need_blocks = count_needs(context, pool, acquisition) +
                          count_free_hits(pool, view, acquisition->hit_tokens);
    int64_t missing = need_blocks + acquisition->keep_free_blocks - pool->free_blocks;
    if (missing > 0) {
        *missing_blocks = missing;
        return SL_OK;
    }
    int64_t most_tokens = max_of(max_of(acquisition->tokens, acquisition->reserve_tokens),
                                 acquisition->final_tokens);
    SL_TRY(make_room(context, sli_pool_blocks_for(pool, most_tokens)));
    SL_TRY(share_and_take(context, pool, view, acquisition));
    context->tokens = acquisition->tokens;
    context->reserved_blocks = sli_pool_blocks_for(pool, acquisition->reserve_tokens);
    context->published_blocks = acquisition->hit_tokens / pool->config.block_tokens;
    count_held(context, pool);
    *missing_blocks = 0;
    return SL_OK;
}

int64_t sli_context_need(const sli_context *context, const sli_pool *pool, int64_t tokens) {
    int64_t blocks = max_of(0, sli_pool_blocks_for(pool, tokens) - context->block_count);
    int64_t pages = blocks * sli_pool_block_pages(pool);
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        pages += sli_window_need(&context->windows[i], &site, 0, tokens);
    }
    return pages;
}

sl_err sli_context_extend(sli_context *context, sli_pool *pool, int64_t tokens) {
    SL_ASSERT(tokens >= context->tokens);
    take_blocks(context, pool, sli_pool_blocks_for(pool, tokens));
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        SL_TRY(sli_window_extend(&context->windows[i], &site, 0, tokens));
    }
    context->tokens = tokens;
    count_held(context, pool);
    return SL_OK;
}

void sli_context_slide(sli_context *context, sli_pool *pool, const sli_content_view *view,
                       int64_t tokens, bool gives_blank) {
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        sli_window_slide(&context->windows[i], &site, view, tokens, gives_blank);
    }
    count_held(context, pool);
}

/* ---- Contents ---- */

static void publish_first(sli_context *context, sli_pool *pool, const sli_content_view *view,
                          int64_t tokens) {
    int64_t full_blocks = tokens / pool->config.block_tokens;
    int64_t block_pages = sli_pool_block_pages(pool);
    while (context->published_blocks < full_blocks) {
        int64_t index = context->published_blocks++;
        sli_block_key key = sli_block_key_of(view, (uint32_t)(index + 1),
                                             pool->config.block_tokens);
        if (block_pages > 0) {
            sli_pool_publish(pool, context->blocks[index], key, block_pages);
        }
    }
}

void sli_context_publish(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         int64_t tokens) {
    SL_ASSERT(tokens <= context->tokens);
    if (!pool->config.has_index) {
        return;
    }
    int64_t limit_tokens = pool->config.caches_generated ? tokens
                                                         : min_of(tokens, view->prompt_tokens);
    publish_first(context, pool, view, limit_tokens);
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        sli_window_publish(&context->windows[i], &site, view, tokens, limit_tokens);
    }
}

void sli_context_retract(sli_context *context, sli_pool *pool, int64_t tokens) {
    int64_t full_blocks = tokens / pool->config.block_tokens;
    while (context->published_blocks > full_blocks) {
        uint32_t block = context->blocks[--context->published_blocks];
        if (block != SLI_NO_BLOCK) {
            SL_ASSERT(pool->blocks[block].reference_count == 1);
            sli_pool_retract(pool, block);
        }
    }
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        sli_window_retract(&context->windows[i], &site, tokens);
    }
}

void sli_context_roll_back(sli_context *context, sli_pool *pool, int64_t tokens) {
    SL_ASSERT(tokens <= context->tokens);
    SL_ASSERT(sli_pool_window_count(pool) == 0);
    int64_t keep_blocks = max_of(sli_pool_blocks_for(pool, tokens), context->reserved_blocks);
    SL_ASSERT(context->published_blocks * pool->config.block_tokens <= tokens);
    while (context->block_count > keep_blocks) {
        sli_pool_put_back_chain(pool, context->blocks[--context->block_count]);
    }
    context->tokens = tokens;
    count_held(context, pool);
}

void sli_context_release(sli_context *context, sli_pool *pool) {
    while (context->block_count > 0) {
        uint32_t block = context->blocks[--context->block_count];
        if (block != SLI_NO_BLOCK) {
            sli_pool_release_chain(pool, block);
        }
    }
    for (int i = 0; i < sli_pool_window_count(pool); i++) {
        const sli_window_site site = site_of(pool, i);
        sli_window_release(&context->windows[i], &site);
    }
    context->held_blocks = 0;
    context->tokens = 0;
    context->reserved_blocks = 0;
    context->published_blocks = 0;
}

void sli_context_fini(sli_context *context, sli_pool *pool) {
    sli_context_release(context, pool);
    free(context->blocks);
    *context = (sli_context){0};
}
