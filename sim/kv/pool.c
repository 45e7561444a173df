#include "kv/pool.h"

#include "base/check.h"
#include "base/divide.h"
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
    const sli_layout *layout = config->layout;
    *pool = (sli_pool){
        .config = *config,
        .block_pages = layout != NULL ? layout->groups[0].block_pages : 1,
        .window_count = layout != NULL ? (uint32_t)layout->group_count - 1 : 0,
    };
    SL_ASSERT(layout == NULL || layout->is_shareable || !config->has_index);
    SL_TRY(sli_prefix_init(&pool->prefix));
    sli_window_index_init(&pool->windows);
    sli_slab_init(&pool->spans, sizeof(sli_span));
    sli_slab_init(&pool->holds, sizeof(sli_hold));
    sli_slab_init(&pool->window_holds, sizeof(sli_window_hold));
    sli_slab_init(&pool->window_sets, sizeof(sli_window) * (pool->window_count + 1));
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
    sli_window_index_fini(&pool->windows);
    sli_slab_fini(&pool->spans);
    sli_slab_fini(&pool->holds);
    sli_slab_fini(&pool->window_holds);
    sli_slab_fini(&pool->window_sets);
}

/* Blocks of its group; blank ones are of the pool. */
static int64_t blocks_in(const sli_span *span) {
    switch (span->kind) {
    case SLI_SPAN_BLANK:
    case SLI_SPAN_PARKED:
        return span->blocks;
    case SLI_SPAN_COPY:
        return sli_run_blocks(span->run);
    case SLI_SPAN_WINDOW:
        return 1;
    }
    return 0; /* no other kind */
}

int64_t sli_pool_span_blocks(const sli_pool *pool, const sli_span *span) {
    bool is_blank = span->kind == SLI_SPAN_BLANK;
    return blocks_in(span) * (is_blank ? 1 : sli_pool_block_pages(pool, span->group));
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

/* Parked spans just get shorter: what goes is the deep end. */
static void eat_parked(sli_pool *pool, sli_span *span, int64_t blocks) {
    span->blocks -= blocks;
    if (span->blocks == 0) {
        unlist_parked(span);
        drop_span(pool, span);
    }
}

static void eat_blank(sli_pool *pool, sli_span *span, int64_t blocks) {
    span->blocks -= blocks;
    if (span->blocks == 0) {
        drop_span(pool, span);
    }
}

/* The deep end of a copy goes. What other copies still hold stays findable. */
static void eat_copy(sli_pool *pool, sli_span *copy, int64_t blocks) {
    sli_run *run = copy->run;
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

static void eat_window(sli_pool *pool, sli_span *span) {
    unlink_span(span);
    sli_window_index_remove(&pool->windows, span);
}

/* Eats whole blocks off the span at the head, as many as hold the wanted ones of the pool if it has
 * so many; answers what that gave. */
static int64_t eat_head(sli_pool *pool, int64_t wanted) {
    sli_span *head = pool->queue.after;
    if (head->kind == SLI_SPAN_BLANK) {
        int64_t eaten = sli_min_i64(wanted, head->blocks);
        eat_blank(pool, head, eaten);
        return eaten;
    }
    int64_t pages = sli_pool_block_pages(pool, head->group);
    int64_t blocks = sli_min_i64(sli_divide_up(wanted, pages), blocks_in(head));
    pool->cached_blocks -= blocks * pages;
    if (head->kind == SLI_SPAN_COPY) {
        eat_copy(pool, head, blocks);
    } else if (head->kind == SLI_SPAN_PARKED) {
        eat_parked(pool, head, blocks);
    } else {
        eat_window(pool, head);
    }
    return blocks * pages;
}

void sli_pool_take(sli_pool *pool, int64_t blocks) {
    SL_ASSERT(blocks <= pool->free_blocks);
    while (blocks > 0 && !pool->is_out_of_memory) {
        int64_t eaten = eat_head(pool, blocks);
        pool->free_blocks -= eaten;
        blocks -= eaten;
    }
    if (blocks < 0) {
        sli_pool_put_back(pool, -blocks); /* what is left of a block that lost its first page */
    }
}

/* ---- Giving back ---- */

void sli_pool_give_blank(sli_pool *pool, int64_t blocks) {
    add_blank(pool, blocks, pool->queue.before, &pool->queue);
}

void sli_pool_put_back(sli_pool *pool, int64_t blocks) {
    add_blank(pool, blocks, pool->queue.after, pool->queue.after);
}

/* ---- Parking ---- */

void sli_pool_park(sli_pool *pool, sli_context *parker, uint32_t group, int64_t start_block,
                   int64_t blocks) {
    if (blocks == 0) {
        return;
    }
    SL_ASSERT(sli_pool_parked(pool, parker, group) == NULL);
    sli_span *span = new_span(pool, SLI_SPAN_PARKED, blocks);
    if (span == NULL) {
        return;
    }
    span->pool = pool;
    span->group = group;
    span->start_block = start_block;
    span->parker = parker;
    span->next_parked = parker->parked;
    parker->parked = span;
    link_before(span, &pool->queue);
    pool->free_blocks += sli_pool_span_blocks(pool, span);
    pool->cached_blocks += sli_pool_span_blocks(pool, span);
}

sli_span *sli_pool_parked(const sli_pool *pool, const sli_context *parker, uint32_t group) {
    sli_span *span = parker->parked;
    while (span != NULL && (span->pool != pool || span->group != group)) {
        span = span->next_parked;
    }
    return span;
}

/* Nobody can find it any more; it stays where it lies. */
static void blank_parked(sli_span *span) {
    int64_t blocks = sli_pool_span_blocks(span->pool, span);
    unlist_parked(span);
    span->pool->cached_blocks -= blocks;
    span->kind = SLI_SPAN_BLANK;
    span->blocks = blocks;
    span->parker = NULL;
    span->next_parked = NULL;
}

void sli_pool_unpark(sli_pool *pool, sli_context *parker, uint32_t group, int64_t from_block,
                     int64_t to_block) {
    sli_span *span = sli_pool_parked(pool, parker, group);
    SL_ASSERT(span != NULL && span->start_block <= from_block);
    SL_ASSERT(to_block <= span->start_block + span->blocks);
    blank_parked(span);
    int64_t taken = (to_block - from_block) * sli_pool_block_pages(pool, group);
    pool->free_blocks -= taken;
    eat_blank(pool, span, taken);
}

void sli_pool_forget_parked_here(sli_pool *pool, sli_context *parker) {
    for (sli_span *span = parker->parked, *next; span != NULL; span = next) {
        next = span->next_parked;
        if (span->pool == pool) {
            blank_parked(span);
        }
    }
}

void sli_pool_forget_parked(sli_context *parker) {
    while (parker->parked != NULL) {
        blank_parked(parker->parked);
    }
}

/* ---- Copies and window blocks ---- */

sli_span *sli_pool_new_copy(sli_pool *pool, sli_run *run) {
    sli_span *copy = new_span(pool, SLI_SPAN_COPY, 0);
    if (copy != NULL) {
        copy->run = run;
        copy->reference_count = 1;
    }
    return copy;
}

void sli_pool_share(sli_pool *pool, sli_span *span) {
    if (span->reference_count == 0) {
        unlink_span(span);
        pool->free_blocks -= sli_pool_span_blocks(pool, span);
        pool->cached_blocks -= sli_pool_span_blocks(pool, span);
    }
    span->reference_count++;
}

void sli_pool_release(sli_pool *pool, sli_span *span) {
    SL_ASSERT(span->reference_count > 0);
    span->reference_count--;
    if (span->reference_count == 0) {
        link_before(span, &pool->queue);
        pool->free_blocks += sli_pool_span_blocks(pool, span);
        pool->cached_blocks += sli_pool_span_blocks(pool, span);
    }
}

void sli_pool_link_upper(sli_span *lower, sli_span *upper) {
    link_before(upper, lower->after);
}
