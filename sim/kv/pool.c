#include "kv/pool.h"

#include "base/check.h"
#include "base/minmax.h"
#include "kv/context.h"

/* ---- The queue ---- */

static void link_before(sli_span *span, sli_span *place) {
    span->before = place->before;
    span->after = place;
    place->before->after = span;
    place->before = span;
}

static void unlink_span(sli_span *span) {
    span->before->after = span->after;
    span->after->before = span->before;
    span->before = NULL;
    span->after = NULL;
}

static sli_span *new_span(sli_pool *pool, sli_span_kind kind, int64_t blocks) {
    sli_span *span = sli_slab_take(&pool->spans);
    if (span == NULL) {
        pool->is_out_of_memory = true;
        return NULL;
    }
    span->kind = kind;
    span->blocks = blocks;
    return span;
}

static bool is_blank(const sli_pool *pool, const sli_span *span) {
    return span != &pool->queue && span->kind == SLI_SPAN_BLANK;
}

/* Blank blocks join a blank neighbour, so that the queue stays short. */
static void add_blank(sli_pool *pool, int64_t blocks, sli_span *neighbour, sli_span *place) {
    if (blocks == 0) {
        return;
    }
    pool->free_blocks += blocks;
    if (is_blank(pool, neighbour)) {
        neighbour->blocks += blocks;
        return;
    }
    sli_span *span = new_span(pool, SLI_SPAN_BLANK, blocks);
    if (span != NULL) {
        link_before(span, place);
    }
}

/* ---- Life ---- */

sl_err sli_pool_init(sli_pool *pool, const sli_pool_config *config) {
    SL_ASSERT(config->block_count >= 1 && config->block_tokens >= 1);
    *pool = (sli_pool){.config = *config};
    SL_TRY(sli_prefix_init(&pool->prefix));
    sli_slab_init(&pool->spans, sizeof(sli_span));
    sli_slab_init(&pool->holds, sizeof(sli_hold));
    pool->queue.before = &pool->queue;
    pool->queue.after = &pool->queue;
    sli_pool_give_blank(pool, config->block_count);
    if (pool->is_out_of_memory) {
        sli_pool_fini(pool);
        return SL_ERR_NOMEM;
    }
    return SL_OK;
}

void sli_pool_fini(sli_pool *pool) {
    sli_prefix_fini(&pool->prefix);
    sli_slab_fini(&pool->spans);
    sli_slab_fini(&pool->holds);
}

int64_t sli_pool_held_blocks(const sli_pool *pool) {
    return pool->config.block_count - pool->free_blocks;
}

int64_t sli_pool_blocks_for(const sli_pool *pool, int64_t tokens) {
    return (tokens + pool->config.block_tokens - 1) / pool->config.block_tokens;
}

/* ---- Taking ---- */

static void drop_span(sli_pool *pool, sli_span *span) {
    unlink_span(span);
    sli_slab_give(&pool->spans, span);
}

static void unlist_parked(sli_span *span) {
    sli_span **link = &span->parker->parked;
    while (*link != span) {
        link = &(*link)->next_parked;
    }
    *link = span->next_parked;
}

/* Blank and parked spans just get shorter: what goes is the deep end. */
static void eat_counted(sli_pool *pool, sli_span *span, int64_t blocks) {
    span->blocks -= blocks;
    if (span->kind == SLI_SPAN_PARKED) {
        pool->cached_blocks -= blocks;
        if (span->blocks == 0) {
            unlist_parked(span);
        }
    }
    if (span->blocks == 0) {
        drop_span(pool, span);
    }
}

/* The deep end of a copy goes. What other copies still hold stays findable. */
static void eat_copy(sli_pool *pool, sli_span *copy, int64_t blocks) {
    sli_run *run = copy->run;
    pool->cached_blocks -= blocks;
    bool is_only_copy = run->oldest_copy == run->newest_copy;
    if (blocks < sli_run_blocks(run) && is_only_copy) {
        SL_ASSERT(run->child_count == 0);
        run->end_block -= blocks;
        return;
    }
    if (blocks < sli_run_blocks(run)) {
        sli_prefix_split(pool, run, run->end_block - blocks); /* `copy` is now the deep part */
    }
    unlink_span(copy);
    sli_prefix_remove_copy(pool, copy);
}

void sli_pool_take(sli_pool *pool, int64_t blocks) {
    SL_ASSERT(blocks <= pool->free_blocks);
    pool->free_blocks -= blocks;
    while (blocks > 0 && !pool->is_out_of_memory) {
        sli_span *head = pool->queue.after;
        int64_t eaten = sli_min_i64(blocks, sli_span_blocks(head));
        if (head->kind == SLI_SPAN_COPY) {
            eat_copy(pool, head, eaten);
        } else {
            eat_counted(pool, head, eaten);
        }
        blocks -= eaten;
    }
}

/* ---- Giving back ---- */

void sli_pool_give_blank(sli_pool *pool, int64_t blocks) {
    add_blank(pool, blocks, pool->queue.before, &pool->queue);
}

void sli_pool_put_back(sli_pool *pool, int64_t blocks) {
    add_blank(pool, blocks, pool->queue.after, pool->queue.after);
}

void sli_pool_park(sli_pool *pool, sli_context *parker, int64_t blocks) {
    if (blocks == 0) {
        return;
    }
    SL_ASSERT(sli_pool_parked(pool, parker) == NULL);
    sli_span *span = new_span(pool, SLI_SPAN_PARKED, blocks);
    if (span == NULL) {
        return;
    }
    span->pool = pool;
    span->parker = parker;
    span->next_parked = parker->parked;
    parker->parked = span;
    link_before(span, &pool->queue);
    pool->free_blocks += blocks;
    pool->cached_blocks += blocks;
}

sli_span *sli_pool_parked(const sli_pool *pool, const sli_context *parker) {
    sli_span *span = parker->parked;
    while (span != NULL && span->pool != pool) {
        span = span->next_parked;
    }
    return span;
}

int64_t sli_pool_unpark(sli_pool *pool, sli_context *parker) {
    sli_span *span = sli_pool_parked(pool, parker);
    if (span == NULL) {
        return 0;
    }
    int64_t blocks = span->blocks;
    pool->free_blocks -= blocks;
    pool->cached_blocks -= blocks;
    unlist_parked(span);
    drop_span(pool, span);
    return blocks;
}

void sli_pool_forget_parked(sli_context *parker) {
    while (parker->parked != NULL) {
        sli_span *span = parker->parked;
        parker->parked = span->next_parked;
        span->pool->cached_blocks -= span->blocks;
        span->kind = SLI_SPAN_BLANK;
        span->parker = NULL;
        span->next_parked = NULL;
    }
}

/* ---- Copies ---- */

sli_span *sli_pool_new_copy(sli_pool *pool, sli_run *run) {
    sli_span *copy = new_span(pool, SLI_SPAN_COPY, 0);
    if (copy != NULL) {
        copy->run = run;
        copy->reference_count = 1;
    }
    return copy;
}

void sli_pool_share(sli_pool *pool, sli_span *copy) {
    if (copy->reference_count == 0) {
        unlink_span(copy);
        pool->free_blocks -= sli_run_blocks(copy->run);
        pool->cached_blocks -= sli_run_blocks(copy->run);
    }
    copy->reference_count++;
}

void sli_pool_release(sli_pool *pool, sli_span *copy) {
    SL_ASSERT(copy->reference_count > 0);
    copy->reference_count--;
    if (copy->reference_count == 0) {
        link_before(copy, &pool->queue);
        pool->free_blocks += sli_run_blocks(copy->run);
        pool->cached_blocks += sli_run_blocks(copy->run);
    }
}

void sli_pool_link_upper(sli_span *lower, sli_span *upper) {
    link_before(upper, lower->after);
}
