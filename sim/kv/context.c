#include "kv/context.h"

#include "base/check.h"
#include "base/minmax.h"

static int64_t shared_blocks_of(const sli_pool *pool, const sli_content_view *view) {
    return pool->config.has_index ? sli_content_shared_blocks(view, pool->config.block_tokens) : 0;
}

/* ---- Windows ---- */

/* The pool and the context are changed only by those functions that were given them to change. */
static sli_window_site site_of(const sli_context *context, const sli_pool *pool,
                               const sli_content_view *view, uint32_t window) {
    return (sli_window_site){
        .pool = (sli_pool *)pool,
        .context = (sli_context *)context,
        .view = view,
        .group = &pool->config.layout->groups[window + 1],
        .number = window + 1,
    };
}

/* ---- Looking up ---- */

/* How many blocks of a run the contents have, from its first block on, up to block `end`. */
static int64_t agreement_with(const sli_pool *pool, const sli_content_view *view,
                              const sli_run *run, int64_t end_block) {
    return sli_content_agreement(&view->content, &run->content, run->start_block,
                                 sli_min_i64(run->end_block, end_block), pool->config.block_tokens);
}

static void add_hit(sli_hit *hit, int64_t blocks, bool is_free) {
    hit->blocks += blocks;
    hit->free_blocks += is_free ? blocks : 0;
}

static void look_up_runs(const sli_pool *pool, const sli_content_view *view, int64_t end_block,
                         sli_hit *hit) {
    while (hit->blocks < end_block) {
        const sli_run *run = sli_prefix_find(pool, &view->content, hit->blocks);
        if (run == NULL) {
            return;
        }
        int64_t blocks = agreement_with(pool, view, run, end_block);
        add_hit(hit, blocks, run->oldest_copy->reference_count == 0);
        if (blocks < sli_run_blocks(run)) {
            return;
        }
    }
}

/* Of the first group alone, where it takes memory. */
static sli_hit look_up_first(const sli_context *context, const sli_pool *pool,
                             const sli_content_view *view, int64_t max_blocks) {
    sli_hit hit = {0};
    int64_t shared_blocks = shared_blocks_of(pool, view);
    look_up_runs(pool, view, sli_min_i64(shared_blocks, max_blocks), &hit);
    const sli_span *parked = sli_pool_parked(pool, context, 0);
    if (hit.blocks == shared_blocks && parked != NULL) {
        add_hit(&hit, sli_min_i64(parked->blocks, max_blocks - hit.blocks), true);
    }
    return hit;
}

/* The longest part of a prefix that all windows can go on from. Each may ask for a shorter one,
 * which may be too short for another, so they are asked in turn until all have agreed. */
static int64_t fit_windows(const sli_context *context, const sli_pool *pool,
                           const sli_content_view *view, int64_t tokens) {
    uint32_t agreeing = 0;
    for (uint32_t i = 0; agreeing < pool->window_count; i = (i + 1) % pool->window_count) {
        const sli_window_site site = site_of(context, pool, view, i);
        int64_t fit = sli_window_fit(&site, tokens, pool->config.layout->align_tokens);
        agreeing = fit < tokens ? 1 : agreeing + 1;
        tokens = fit;
    }
    return tokens;
}

/* Where the first group takes no memory nothing of it can be missing. */
static sli_hit look_up_growing(const sli_context *context, const sli_pool *pool,
                               const sli_content_view *view, int64_t max_blocks) {
    return pool->block_pages > 0 ? look_up_first(context, pool, view, max_blocks)
                                 : (sli_hit){.blocks = max_blocks};
}

static sli_hit look_up_all(const sli_context *context, const sli_pool *pool,
                           const sli_content_view *view, int64_t max_blocks) {
    int64_t block_tokens = pool->config.block_tokens;
    sli_hit hit = look_up_growing(context, pool, view, max_blocks);
    int64_t tokens = fit_windows(context, pool, view, hit.blocks * block_tokens);
    if (tokens < hit.blocks * block_tokens) {
        hit = look_up_growing(context, pool, view, tokens / block_tokens);
    }
    hit.free_blocks *= pool->block_pages;
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_window_site site = site_of(context, pool, view, i);
        hit.free_blocks += sli_window_free_blocks(&site, tokens);
    }
    return hit;
}

sli_hit sli_context_lookup(const sli_context *context, const sli_pool *pool,
                           const sli_content_view *view, int64_t max_tokens) {
    if (!pool->config.has_index) {
        return (sli_hit){0};
    }
    int64_t max_blocks = max_tokens / pool->config.block_tokens;
    bool is_plain = pool->window_count == 0 && pool->block_pages == 1;
    return is_plain ? look_up_first(context, pool, view, max_blocks)
                    : look_up_all(context, pool, view, max_blocks);
}

/* ---- Holding ---- */

static void hold(sli_context *context, sli_pool *pool, sli_span *copy, int64_t start_block) {
    sli_hold *held = sli_slab_take(&pool->holds);
    if (held == NULL || copy == NULL) {
        pool->is_out_of_memory = true;
        return;
    }
    *held = (sli_hold){.above = context->deepest, .copy = copy, .start_block = start_block};
    context->deepest = held;
}

static void drop_deepest(sli_context *context, sli_pool *pool) {
    sli_hold *held = context->deepest;
    context->deepest = held->above;
    sli_slab_give(&pool->holds, held);
}

/* Cuts a run so that it ends at the block, if it goes beyond; answers the part that ends there. */
static sli_run *end_run_at(sli_pool *pool, sli_run *run, int64_t end_block) {
    if (end_block < run->end_block) {
        sli_prefix_split(pool, run, end_block);
        return run->parent;
    }
    return run;
}

static void share_first(sli_context *context, sli_pool *pool, const sli_content_view *view,
                        int64_t hit_blocks) {
    int64_t shared_blocks = sli_min_i64(hit_blocks, shared_blocks_of(pool, view));
    int64_t block = 0;
    while (block < shared_blocks && !pool->is_out_of_memory) {
        sli_run *run = sli_prefix_find(pool, &view->content, block);
        SL_ASSERT(run != NULL);
        run = end_run_at(pool, run, shared_blocks);
        sli_pool_share(pool, run->oldest_copy);
        hold(context, pool, run->oldest_copy, block);
        block = run->end_block;
    }
    if (hit_blocks > shared_blocks) {
        sli_pool_unpark(pool, context, 0, shared_blocks, hit_blocks);
    }
}

/* What it has parked and does not take back now it could never find again. */
static void share_hits(sli_context *context, sli_pool *pool, const sli_content_view *view,
                       int64_t hit_blocks) {
    if (pool->block_pages > 0) {
        share_first(context, pool, view, hit_blocks);
    }
    int64_t hit_tokens = hit_blocks * pool->config.block_tokens;
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_window_site site = site_of(context, pool, view, i);
        if (pool->config.has_index && hit_tokens > 0) {
            sli_window_share(&context->windows[i], &site, hit_tokens);
        }
    }
    if (context->parked != NULL) {
        sli_pool_forget_parked_here(pool, context);
    }
}

/* ---- Slots ---- */

/* All groups reserve what the reserved blocks of the first one have slots for, so that they last
 * equally long. */
static sli_window begin_window(const sli_pool *pool, const sli_content_view *view,
                               const sli_acquisition *acquisition) {
    int64_t reserved_blocks = sli_pool_blocks_for(pool, acquisition->reserve_tokens);
    return (sli_window){
        .prompt_tokens = view->prompt_tokens,
        .known_tokens = sli_max_i64(view->prompt_tokens, acquisition->known_tokens),
        .reserved_tokens = reserved_blocks * pool->config.block_tokens,
    };
}

/* Blocks of the pool that the windows take for an acquisition, hits apart, and those that have to
 * be there. */
static int64_t windows_need(const sli_pool *pool, const sli_content_view *view,
                            const sli_acquisition *acquisition, int64_t *fit_blocks) {
    int64_t hit_tokens = acquisition->hit.blocks * pool->config.block_tokens;
    const sli_window window = begin_window(pool, view, acquisition);
    int64_t blocks = 0;
    *fit_blocks = 0;
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_group *group = &pool->config.layout->groups[i + 1];
        blocks += sli_window_need(&window, group, hit_tokens, acquisition->tokens);
        *fit_blocks += sli_window_fit_need(&window, group, hit_tokens, acquisition->tokens,
                                           acquisition->fit_tokens);
    }
    return blocks;
}

static bool open_windows(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         const sli_acquisition *acquisition) {
    if (pool->window_count == 0) {
        return true;
    }
    context->windows = sli_slab_take(&pool->window_sets);
    if (context->windows == NULL) {
        pool->is_out_of_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < pool->window_count; i++) {
        context->windows[i] = begin_window(pool, view, acquisition);
    }
    return true;
}

static void grow_windows(sli_context *context, const sli_pool *pool, int64_t tokens) {
    for (uint32_t i = 0; i < pool->window_count; i++) {
        sli_window_grow(&context->windows[i], &pool->config.layout->groups[i + 1], tokens);
    }
}

static void count_held(sli_context *context, const sli_pool *pool) {
    context->held_blocks = context->block_count * pool->block_pages;
    for (uint32_t i = 0; i < pool->window_count; i++) {
        context->held_blocks += sli_window_blocks(&context->windows[i],
                                                  &pool->config.layout->groups[i + 1]);
    }
}

int64_t sli_context_acquire(sli_context *context, sli_pool *pool, const sli_content_view *view,
                            const sli_acquisition *acquisition) {
    SL_ASSERT(context->block_count == 0);
    int64_t block_pages = pool->block_pages;
    int64_t hit_blocks = acquisition->hit.blocks;
    int64_t take_tokens = sli_max_i64(acquisition->tokens, acquisition->reserve_tokens);
    int64_t take_to_blocks = sli_pool_blocks_for(pool, take_tokens);
    int64_t fit_to_blocks = sli_pool_blocks_for(pool,
                                                sli_max_i64(take_tokens, acquisition->fit_tokens));
    int64_t windows_fit_blocks;
    int64_t windows_blocks = windows_need(pool, view, acquisition, &windows_fit_blocks);
    int64_t need_blocks = (fit_to_blocks - hit_blocks) * block_pages + windows_fit_blocks +
                          acquisition->hit.free_blocks;
    int64_t missing_blocks = need_blocks + acquisition->keep_free_blocks - pool->free_blocks;
    if (missing_blocks > 0) {
        return missing_blocks;
    }
    if (!open_windows(context, pool, view, acquisition)) {
        return 0;
    }
    /* Hits leave the queue before anything is taken from it, or they could be evicted. */
    share_hits(context, pool, view, hit_blocks);
    sli_pool_take(pool, (take_to_blocks - hit_blocks) * block_pages + windows_blocks);
    grow_windows(context, pool, acquisition->tokens);
    context->block_count = take_to_blocks;
    context->reserved_blocks = sli_pool_blocks_for(pool, acquisition->reserve_tokens);
    context->tokens = acquisition->tokens;
    context->published_blocks = hit_blocks;
    count_held(context, pool);
    return 0;
}

int64_t sli_context_need(const sli_context *context, const sli_pool *pool, int64_t tokens) {
    int64_t blocks = sli_max_i64(0, sli_pool_blocks_for(pool, tokens) - context->block_count) *
                     pool->block_pages;
    for (uint32_t i = 0; i < pool->window_count; i++) {
        blocks += sli_window_need(&context->windows[i], &pool->config.layout->groups[i + 1], 0,
                                  tokens);
    }
    return blocks;
}

void sli_context_extend(sli_context *context, sli_pool *pool, int64_t tokens) {
    SL_ASSERT(tokens >= context->tokens);
    sli_pool_take(pool, sli_context_need(context, pool, tokens));
    sli_context_grow(context, pool, tokens);
}

void sli_context_grow(sli_context *context, sli_pool *pool, int64_t tokens) {
    context->block_count = sli_max_i64(context->block_count, sli_pool_blocks_for(pool, tokens));
    context->tokens = tokens;
    grow_windows(context, pool, tokens);
    count_held(context, pool);
}

int64_t sli_context_slide_windows(sli_context *context, sli_pool *pool, int64_t tokens) {
    int64_t blank_blocks = 0;
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_window_site site = site_of(context, pool, NULL, i);
        blank_blocks += sli_window_slide(&context->windows[i], &site, tokens);
    }
    count_held(context, pool);
    return blank_blocks;
}

int64_t sli_context_held_at(const sli_context *context, const sli_pool *pool,
                            int64_t computed_tokens, int64_t tokens) {
    int64_t end_block = sli_max_i64(context->block_count, sli_pool_blocks_for(pool, tokens));
    int64_t blocks = end_block * pool->block_pages;
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_window_site site = site_of(context, pool, NULL, i);
        sli_window window = context->windows[i];
        window.uppermost = NULL; /* nothing of the pool is touched */
        sli_window_grow(&window, site.group, computed_tokens);
        (void)sli_window_slide(&window, &site, computed_tokens);
        sli_window_grow(&window, site.group, tokens);
        blocks += sli_window_blocks(&window, site.group);
    }
    return blocks;
}

/* ---- Publishing ---- */

/* The last run that the context holds may simply get longer when nobody can tell the difference. */
static bool can_grow(const sli_context *context, int64_t at_block) {
    if (context->deepest == NULL) {
        return false;
    }
    const sli_span *copy = context->deepest->copy;
    const sli_run *run = copy->run;
    return run->end_block == at_block && copy->reference_count == 1 && run->child_count == 0 &&
           run->oldest_copy == run->newest_copy;
}

static void publish_new(sli_context *context, sli_pool *pool, const sl_content *content,
                        int64_t start_block, int64_t end_block) {
    if (can_grow(context, start_block)) {
        context->deepest->copy->run->content = *content;
        context->deepest->copy->run->end_block = end_block;
        return;
    }
    sli_run *parent = context->deepest != NULL ? context->deepest->copy->run : NULL;
    hold(context, pool, sli_prefix_add(pool, content, start_block, end_block, parent), start_block);
}

/* What is findable already gets one more copy, as vLLM's append-only block tables make it. */
static void publish_shared(sli_context *context, sli_pool *pool, const sli_content_view *view,
                           int64_t start_block, int64_t end_block) {
    int64_t block = start_block;
    while (block < end_block && !pool->is_out_of_memory) {
        sli_run *run = sli_prefix_find(pool, &view->content, block);
        if (run == NULL) {
            publish_new(context, pool, &view->content, block, end_block);
            return;
        }
        run = end_run_at(pool, run, block + agreement_with(pool, view, run, end_block));
        hold(context, pool, sli_prefix_duplicate(pool, run), block);
        block = run->end_block;
    }
}

static void publish_first(sli_context *context, sli_pool *pool, const sli_content_view *view,
                          int64_t tokens) {
    int64_t full_blocks = tokens / pool->config.block_tokens;
    if (full_blocks <= context->published_blocks) {
        return;
    }
    int64_t shared_end = sli_min_i64(full_blocks, shared_blocks_of(pool, view));
    if (context->published_blocks < shared_end && pool->block_pages > 0) {
        publish_shared(context, pool, view, context->published_blocks, shared_end);
    }
    context->published_blocks = full_blocks;
}

void sli_context_publish(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         int64_t tokens) {
    SL_ASSERT(tokens <= context->tokens);
    if (!pool->config.has_index) {
        return;
    }
    int64_t limit_tokens = pool->config.caches_generated ? tokens
                                                         : sli_min_i64(tokens, view->prompt_tokens);
    publish_first(context, pool, view, limit_tokens);
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_window_site site = site_of(context, pool, view, i);
        sli_window_publish(&context->windows[i], &site, tokens, limit_tokens);
    }
}

/* ---- Taking back ---- */

/* The deepest hold, cut so that it begins at the block or below it. */
static void retract_deepest(sli_context *context, sli_pool *pool, int64_t from_block) {
    sli_hold *held = context->deepest;
    sli_span *copy = held->copy;
    SL_ASSERT(copy->reference_count == 1);
    if (copy->run->start_block < from_block) {
        sli_prefix_split(pool, copy->run, from_block);
        held->copy = copy->upper;
        sli_prefix_remove_copy(pool, copy);
    } else if (copy->run->start_block > held->start_block) {
        held->copy = copy->upper;
        sli_prefix_remove_copy(pool, copy);
    } else {
        drop_deepest(context, pool);
        sli_prefix_remove_copy(pool, copy);
    }
}

void sli_context_retract(sli_context *context, sli_pool *pool, int64_t tokens) {
    int64_t full_blocks = tokens / pool->config.block_tokens;
    while (context->deepest != NULL && context->deepest->copy->run->end_block > full_blocks &&
           !pool->is_out_of_memory) {
        retract_deepest(context, pool, full_blocks);
    }
    context->published_blocks = sli_min_i64(context->published_blocks, full_blocks);
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_window_site site = site_of(context, pool, NULL, i);
        sli_window_retract(&context->windows[i], &site, tokens);
    }
}

void sli_context_roll_back(sli_context *context, sli_pool *pool, int64_t tokens) {
    SL_ASSERT(tokens <= context->tokens && pool->window_count == 0);
    SL_ASSERT(context->published_blocks * pool->config.block_tokens <= tokens);
    int64_t keep_blocks = sli_max_i64(sli_pool_blocks_for(pool, tokens), context->reserved_blocks);
    sli_pool_put_back(pool, context->block_count - keep_blocks);
    context->block_count = keep_blocks;
    context->tokens = tokens;
    count_held(context, pool);
}

/* From the deepest part up to where the hold began. */
static void release_hold(sli_pool *pool, const sli_hold *held) {
    sli_span *copy = held->copy;
    while (copy->run->start_block > held->start_block) {
        sli_span *upper = copy->upper;
        sli_pool_release(pool, copy);
        copy = upper;
    }
    sli_pool_release(pool, copy);
}

static void release_first(sli_context *context, sli_pool *pool, const sli_content_view *view,
                          bool will_be_back) {
    int64_t block_pages = pool->block_pages;
    int64_t shared_blocks = sli_min_i64(context->published_blocks, shared_blocks_of(pool, view));
    int64_t private_blocks = context->published_blocks - shared_blocks;
    sli_pool_give_blank(pool, (context->block_count - context->published_blocks) * block_pages);
    if (will_be_back) {
        sli_pool_park(pool, context, 0, shared_blocks, private_blocks);
    } else {
        sli_pool_give_blank(pool, private_blocks * block_pages);
    }
    while (context->deepest != NULL) {
        release_hold(pool, context->deepest);
        drop_deepest(context, pool);
    }
}

static void release_windows(sli_context *context, sli_pool *pool, const sli_content_view *view,
                            bool will_be_back) {
    if (context->windows == NULL) {
        return;
    }
    for (uint32_t i = 0; i < pool->window_count; i++) {
        const sli_window_site site = site_of(context, pool, view, i);
        sli_window_release(&context->windows[i], &site, will_be_back);
    }
    sli_slab_give(&pool->window_sets, context->windows);
    context->windows = NULL;
}

void sli_context_release(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         bool will_be_back) {
    if (pool->block_pages > 0) {
        release_first(context, pool, view, will_be_back);
    }
    release_windows(context, pool, view, will_be_back);
    context->block_count = 0;
    context->reserved_blocks = 0;
    context->tokens = 0;
    context->published_blocks = 0;
    context->held_blocks = 0;
}

void sli_context_forget(sli_context *context) {
    sli_pool_forget_parked(context);
}
