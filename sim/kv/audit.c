#include "kv/audit.h"

#include "base/map.h"

#include <stdlib.h>

static const char *audit_queue(const sli_pool *pool) {
    int64_t free_blocks = 0;
    int64_t cached_blocks = 0;
    const sli_span *span = pool->queue.after;
    for (; span != &pool->queue; span = span->after) {
        if (span->before->after != span || span->after->before != span) {
            return "the queue is not linked both ways";
        }
        if (span->reference_count != 0 || sli_pool_span_blocks(pool, span) <= 0) {
            return "a held or empty span lies in the queue";
        }
        if (span->kind == SLI_SPAN_PARKED &&
            sli_pool_parked(pool, span->parker, span->group) != span) {
            return "a parked span is not known to its parker";
        }
        free_blocks += sli_pool_span_blocks(pool, span);
        cached_blocks += span->kind == SLI_SPAN_BLANK ? 0 : sli_pool_span_blocks(pool, span);
        if (free_blocks > pool->config.block_count) {
            return "more blocks are free than there are";
        }
    }
    if (free_blocks != pool->free_blocks) {
        return "the count of free blocks differs from the queue";
    }
    return cached_blocks == pool->cached_blocks ? NULL : "the count of cached blocks is wrong";
}

/* ---- The runs ---- */

/* All runs of an index, for as long as nothing changes. */
typedef struct run_list {
    const sli_run **runs;
    size_t count;
} run_list;

/* Walks the buckets, once. `runs` has room for prefix->run_count. */
static const char *list_runs(const sli_prefix *prefix, run_list *list) {
    for (size_t i = 0; i < prefix->bucket_count; i++) {
        for (const sli_run *run = prefix->buckets[i]; run != NULL; run = run->next_in_bucket) {
            if (list->count == prefix->run_count) {
                return "the count of runs is wrong";
            }
            list->runs[list->count++] = run;
        }
    }
    return list->count == prefix->run_count ? NULL : "the count of runs is wrong";
}

static const char *audit_run(const sli_pool *pool, const sli_run *run) {
    int64_t parent_end = run->parent != NULL ? run->parent->end_block : 0;
    if (sli_run_blocks(run) <= 0 || run->oldest_copy == NULL) {
        return "a run has no blocks or no copies";
    }
    if (run->start_block != parent_end) {
        return "a run does not begin where its parent ends";
    }
    if (sli_prefix_find(pool, &run->content, run->start_block) != run) {
        return "a run is not found by its first block";
    }
    const sli_span *newest = NULL;
    for (const sli_span *copy = run->oldest_copy; copy != NULL; copy = copy->newer_copy) {
        if (copy->run != run || copy->older_copy != newest) {
            return "the copies of a run are not linked both ways";
        }
        newest = copy;
    }
    return run->newest_copy == newest ? NULL : "the newest copy of a run is another one";
}

static const char *audit_runs(const sli_pool *pool, const run_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const char *fault = audit_run(pool, list->runs[i]);
        if (fault != NULL) {
            return fault;
        }
    }
    return NULL;
}

/* ---- Children and holders ---- */

/* How often nodes were named, by their addresses. */
typedef struct tally {
    sli_map counts;
    bool is_out_of_memory; /* nothing follows from the counts then */
} tally;

static void count_in(tally *it, const void *node) {
    uint64_t *count;
    bool is_new;
    if (sli_map_put(&it->counts, (uint64_t)(uintptr_t)node, 0, &count, &is_new) == SL_OK) {
        ++*count;
    } else {
        it->is_out_of_memory = true;
    }
}

static bool was_counted(const tally *it, const void *node, int64_t times) {
    const uint64_t *count = sli_map_find(&it->counts, (uint64_t)(uintptr_t)node);
    return it->is_out_of_memory || (int64_t)(count != NULL ? *count : 0) == times;
}

static const char *audit_children(const run_list *list) {
    tally children = {0};
    const char *fault = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (list->runs[i]->parent != NULL) {
            count_in(&children, list->runs[i]->parent);
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!was_counted(&children, list->runs[i], list->runs[i]->child_count)) {
            fault = "a run counts its children wrongly";
        }
    }
    sli_map_fini(&children.counts);
    return fault;
}

/* A context holds a copy directly, or as the upper part of one. */
static void count_holds(tally *holders, const sli_context *context) {
    for (const sli_hold *held = context->deepest; held != NULL; held = held->above) {
        const sli_span *copy = held->copy;
        count_in(holders, copy);
        while (copy->run->start_block > held->start_block) {
            copy = copy->upper;
            count_in(holders, copy);
        }
    }
}

static const char *audit_holders(const run_list *list, const sli_context *const *contexts,
                                 size_t context_count) {
    tally holders = {0};
    const char *fault = NULL;
    for (size_t i = 0; i < context_count; i++) {
        count_holds(&holders, contexts[i]);
    }
    for (size_t i = 0; i < list->count; i++) {
        const sli_span *copy = list->runs[i]->oldest_copy;
        for (; copy != NULL; copy = copy->newer_copy) {
            if (!was_counted(&holders, copy, copy->reference_count)) {
                fault = "a reference count differs from the number of holders";
            }
        }
    }
    sli_map_fini(&holders.counts);
    return fault;
}

/* ---- Windows ---- */

/* What the blocks of windows say of their holders, and of the pool. */
typedef struct window_audit {
    const sli_pool *pool;
    tally holders;
    int64_t held_blocks; /* of the pool: each block once, however many hold it */
    const char *fault;
} window_audit;

/* Positions rise, and all of them lie in the window. */
static const char *audit_window(const sli_window *window) {
    int64_t position = window->first_block;
    for (const sli_window_hold *held = window->uppermost; held != NULL; held = held->deeper) {
        if (held->position < position || held->position >= window->end_block) {
            return "a window holds a block outside of it, or twice";
        }
        position = held->position + 1;
    }
    return NULL;
}

/* Blocks that others may find are counted by themselves, once. */
static void count_window(window_audit *it, const sli_window *window, const sli_group *group) {
    const char *fault = audit_window(window);
    it->fault = it->fault != NULL ? it->fault : fault;
    it->held_blocks += sli_window_blocks(window, group);
    for (const sli_window_hold *held = window->uppermost; held != NULL; held = held->deeper) {
        count_in(&it->holders, held->block);
        it->held_blocks -= group->block_pages;
    }
}

static void check_window_block(void *self, const sli_span *block) {
    window_audit *it = self;
    if (!was_counted(&it->holders, block, block->reference_count)) {
        it->fault = "a reference count of a window block differs from the number of holders";
    }
    it->held_blocks += block->reference_count > 0 ? sli_pool_span_blocks(it->pool, block) : 0;
}

static const char *audit_windows(const sli_pool *pool, const sli_context *const *contexts,
                                 size_t context_count, int64_t *held_blocks) {
    window_audit it = {.pool = pool};
    for (size_t i = 0; i < context_count; i++) {
        bool holds_any = contexts[i]->windows != NULL;
        for (uint32_t j = 0; holds_any && j < pool->window_count; j++) {
            count_window(&it, &contexts[i]->windows[j], &pool->config.layout->groups[j + 1]);
        }
    }
    sli_window_index_visit(&pool->windows, check_window_block, &it);
    sli_map_fini(&it.holders.counts);
    *held_blocks = it.held_blocks;
    return it.fault;
}

/* ---- The sum ---- */

/* Shared blocks of the first group are held once however many contexts do; the others by one
 * context each. */
static int64_t count_first(const sli_pool *pool, const run_list *list,
                           const sli_context *const *contexts, size_t context_count) {
    int64_t blocks = 0;
    for (size_t i = 0; i < context_count; i++) {
        const sli_context *context = contexts[i];
        int64_t shared_end = context->deepest != NULL ? context->deepest->copy->run->end_block : 0;
        blocks += context->block_count - shared_end;
    }
    for (size_t i = 0; i < list->count; i++) {
        const sli_span *copy = list->runs[i]->oldest_copy;
        for (; copy != NULL; copy = copy->newer_copy) {
            blocks += copy->reference_count > 0 ? sli_run_blocks(copy->run) : 0;
        }
    }
    return blocks * pool->block_pages;
}

const char *sli_pool_audit(const sli_pool *pool, const sli_context *const *contexts,
                           size_t context_count) {
    run_list list = {.runs = malloc((pool->prefix.run_count + 1) * sizeof *list.runs)};
    if (list.runs == NULL) {
        return NULL; /* nothing is known to be wrong */
    }
    const char *fault = audit_queue(pool);
    fault = fault != NULL ? fault : list_runs(&pool->prefix, &list);
    fault = fault != NULL ? fault : audit_runs(pool, &list);
    fault = fault != NULL ? fault : audit_children(&list);
    fault = fault != NULL ? fault : audit_holders(&list, contexts, context_count);
    int64_t windows_blocks;
    const char *windows_fault = audit_windows(pool, contexts, context_count, &windows_blocks);
    fault = fault != NULL ? fault : windows_fault;
    int64_t held_blocks = count_first(pool, &list, contexts, context_count) + windows_blocks;
    if (fault == NULL && held_blocks != sli_pool_held_blocks(pool)) {
        fault = "a block is neither free nor held";
    }
    free(list.runs);
    return fault;
}
