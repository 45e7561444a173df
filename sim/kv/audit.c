#include "kv/audit.h"

static int64_t run_blocks(const sli_run *run) {
    return run->end_block - run->start_block;
}

static int64_t span_blocks(const sli_span *span) {
    return span->kind == SLI_SPAN_COPY ? run_blocks(span->run) : span->blocks;
}

static const char *audit_queue(const sli_pool *pool) {
    int64_t free_blocks = 0;
    int64_t cached_blocks = 0;
    const sli_span *span = pool->queue.after;
    for (; span != &pool->queue; span = span->after) {
        if (span->before->after != span || span->after->before != span) {
            return "the queue is not linked both ways";
        }
        if (span->reference_count != 0 || span_blocks(span) <= 0) {
            return "a held or empty span lies in the queue";
        }
        if (span->kind == SLI_SPAN_PARKED && sli_pool_parked(pool, span->parker) != span) {
            return "a parked span is not known to its parker";
        }
        free_blocks += span_blocks(span);
        cached_blocks += span->kind == SLI_SPAN_BLANK ? 0 : span_blocks(span);
        if (free_blocks > pool->config.block_count) {
            return "more blocks are free than there are";
        }
    }
    if (free_blocks != pool->free_blocks) {
        return "the count of free blocks differs from the queue";
    }
    return cached_blocks == pool->cached_blocks ? NULL : "the count of cached blocks is wrong";
}

/* Walks all runs. */
static int64_t count_children(const sli_prefix *prefix, const sli_run *parent) {
    int64_t count = 0;
    for (size_t i = 0; i < prefix->bucket_count; i++) {
        for (const sli_run *run = prefix->buckets[i]; run != NULL; run = run->next_in_bucket) {
            count += run->parent == parent;
        }
    }
    return count;
}

static const char *audit_run(const sli_pool *pool, const sli_run *run) {
    int64_t parent_end = run->parent != NULL ? run->parent->end_block : 0;
    if (run_blocks(run) <= 0 || run->oldest_copy == NULL) {
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

enum { CHILDREN_RUNS_MAX = 1000 }; /* beyond that the quadratic recount is left out */

static const char *audit_runs(const sli_pool *pool) {
    const sli_prefix *prefix = &pool->prefix;
    size_t run_count = 0;
    for (size_t i = 0; i < prefix->bucket_count; i++) {
        for (const sli_run *run = prefix->buckets[i]; run != NULL; run = run->next_in_bucket) {
            const char *fault = audit_run(pool, run);
            if (fault != NULL) {
                return fault;
            }
            if (prefix->run_count <= CHILDREN_RUNS_MAX &&
                count_children(prefix, run) != run->child_count) {
                return "a run counts its children wrongly";
            }
            run_count++;
        }
    }
    return run_count == prefix->run_count ? NULL : "the count of runs is wrong";
}

/* How many contexts hold a copy, directly or as the upper part of one. */
static int64_t count_holders(const sli_span *wanted, const sli_context *const *contexts,
                             size_t context_count) {
    int64_t count = 0;
    for (size_t i = 0; i < context_count; i++) {
        for (const sli_hold *held = contexts[i]->deepest; held != NULL; held = held->above) {
            const sli_span *copy = held->copy;
            count += copy == wanted;
            while (copy->run->start_block > held->start_block) {
                copy = copy->upper;
                count += copy == wanted;
            }
        }
    }
    return count;
}

static const char *audit_holders(const sli_pool *pool, const sli_context *const *contexts,
                                 size_t context_count) {
    const sli_prefix *prefix = &pool->prefix;
    if (prefix->run_count > CHILDREN_RUNS_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < prefix->bucket_count; i++) {
        for (const sli_run *run = prefix->buckets[i]; run != NULL; run = run->next_in_bucket) {
            for (const sli_span *copy = run->oldest_copy; copy != NULL; copy = copy->newer_copy) {
                if (count_holders(copy, contexts, context_count) != copy->reference_count) {
                    return "a reference count differs from the number of holders";
                }
            }
        }
    }
    return NULL;
}

/* Shared blocks are held once however many contexts do; the others by one context each. */
static int64_t count_held(const sli_pool *pool, const sli_context *const *contexts,
                          size_t context_count) {
    int64_t held_blocks = 0;
    for (size_t i = 0; i < context_count; i++) {
        const sli_context *context = contexts[i];
        int64_t shared_end = context->deepest != NULL ? context->deepest->copy->run->end_block : 0;
        held_blocks += context->block_count - shared_end;
    }
    const sli_prefix *prefix = &pool->prefix;
    for (size_t i = 0; i < prefix->bucket_count; i++) {
        for (const sli_run *run = prefix->buckets[i]; run != NULL; run = run->next_in_bucket) {
            for (const sli_span *copy = run->oldest_copy; copy != NULL; copy = copy->newer_copy) {
                held_blocks += copy->reference_count > 0 ? run_blocks(run) : 0;
            }
        }
    }
    return held_blocks;
}

const char *sli_pool_audit(const sli_pool *pool, const sli_context *const *contexts,
                           size_t context_count) {
    const char *fault = audit_queue(pool);
    fault = fault != NULL ? fault : audit_runs(pool);
    fault = fault != NULL ? fault : audit_holders(pool, contexts, context_count);
    if (fault == NULL && count_held(pool, contexts, context_count) != sli_pool_held_blocks(pool)) {
        fault = "a block is neither free nor held";
    }
    return fault;
}
