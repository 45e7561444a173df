#include "kv/prefix.h"

#include "base/check.h"
#include "kv/pool.h"

#include <stdlib.h>

enum { FIRST_BUCKET_COUNT = 1024 };

sl_err sli_prefix_init(sli_prefix *prefix) {
    sli_run **buckets = calloc(FIRST_BUCKET_COUNT, sizeof(sli_run *));
    if (buckets == NULL) {
        return SL_ERR_NOMEM;
    }
    *prefix = (sli_prefix){.buckets = buckets, .bucket_count = FIRST_BUCKET_COUNT};
    sli_slab_init(&prefix->runs, sizeof(sli_run));
    return SL_OK;
}

void sli_prefix_fini(sli_prefix *prefix) {
    free(prefix->buckets);
    sli_slab_fini(&prefix->runs);
    *prefix = (sli_prefix){0};
}

/* ---- The map from first blocks to runs ---- */

static sli_run **bucket_of(const sli_prefix *prefix, sli_block_key key) {
    return &prefix->buckets[sli_block_key_hash(key) & (prefix->bucket_count - 1)];
}

static void grow_map(sli_prefix *prefix) {
    size_t old_count = prefix->bucket_count;
    sli_run **old = prefix->buckets;
    sli_run **buckets = calloc(2 * old_count, sizeof(sli_run *));
    if (buckets == NULL) {
        return; /* longer chains, no harm */
    }
    prefix->buckets = buckets;
    prefix->bucket_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++) {
        for (sli_run *run = old[i]; run != NULL;) {
            sli_run *next = run->next_in_bucket;
            sli_run **bucket = bucket_of(prefix, run->key);
            run->next_in_bucket = *bucket;
            *bucket = run;
            run = next;
        }
    }
    free(old);
}

static void map_insert(sli_pool *pool, sli_run *run) {
    sli_prefix *prefix = &pool->prefix;
    run->key = sli_content_key(&run->content, run->start_block + 1, pool->config.block_tokens);
    if (++prefix->run_count > prefix->bucket_count) {
        grow_map(prefix);
    }
    sli_run **bucket = bucket_of(prefix, run->key);
    run->next_in_bucket = *bucket;
    *bucket = run;
}

static void map_remove(sli_pool *pool, sli_run *run) {
    sli_run **link = bucket_of(&pool->prefix, run->key);
    while (*link != run) {
        SL_ASSERT(*link != NULL);
        link = &(*link)->next_in_bucket;
    }
    *link = run->next_in_bucket;
    pool->prefix.run_count--;
}

sli_run *sli_prefix_find(const sli_pool *pool, const sl_content *content, int64_t start_block) {
    int64_t block_tokens = pool->config.block_tokens;
    sli_block_key key = sli_content_key(content, start_block + 1, block_tokens);
    sli_run *run = *bucket_of(&pool->prefix, key);
    while (run != NULL && !sli_block_key_equals(run->key, key)) {
        run = run->next_in_bucket;
    }
    return run;
}

/* ---- Runs and their copies ---- */

static sli_run *new_run(sli_pool *pool, const sl_content *content, int64_t start_block,
                        int64_t end_block, sli_run *parent) {
    sli_run *run = sli_slab_take(&pool->prefix.runs);
    if (run == NULL) {
        pool->is_out_of_memory = true;
        return NULL;
    }
    run->parent = parent;
    run->content = *content;
    run->start_block = start_block;
    run->end_block = end_block;
    return run;
}

static void append_copy(sli_run *run, sli_span *copy) {
    copy->older_copy = run->newest_copy;
    *(run->newest_copy != NULL ? &run->newest_copy->newer_copy : &run->oldest_copy) = copy;
    run->newest_copy = copy;
}

sli_span *sli_prefix_duplicate(sli_pool *pool, sli_run *run) {
    sli_span *copy = sli_pool_new_copy(pool, run);
    if (copy != NULL) {
        append_copy(run, copy);
    }
    return copy;
}

sli_span *sli_prefix_add(sli_pool *pool, const sl_content *content, int64_t start_block,
                         int64_t end_block, sli_run *parent) {
    sli_run *run = new_run(pool, content, start_block, end_block, parent);
    if (run == NULL) {
        return NULL;
    }
    if (parent != NULL) {
        parent->child_count++;
    }
    map_insert(pool, run);
    return sli_prefix_duplicate(pool, run);
}

/* Every copy is cut like the run; a free one's upper part comes behind its lower part. */
static void split_copies(sli_pool *pool, const sli_run *lower, sli_run *upper) {
    for (sli_span *copy = lower->oldest_copy; copy != NULL; copy = copy->newer_copy) {
        sli_span *cut = sli_pool_new_copy(pool, upper);
        if (cut == NULL) {
            return;
        }
        cut->reference_count = copy->reference_count;
        cut->upper = copy->upper;
        copy->upper = cut;
        if (copy->reference_count == 0) {
            sli_pool_link_upper(copy, cut);
        }
        append_copy(upper, cut);
    }
}

void sli_prefix_split(sli_pool *pool, sli_run *run, int64_t at_block) {
    SL_ASSERT(run->start_block < at_block && at_block < run->end_block);
    sli_run *upper = new_run(pool, &run->content, run->start_block, at_block, run->parent);
    if (upper == NULL) {
        return;
    }
    map_remove(pool, run);
    run->start_block = at_block;
    run->parent = upper;
    upper->child_count = 1;
    map_insert(pool, run);
    map_insert(pool, upper);
    split_copies(pool, run, upper);
}

void sli_prefix_remove_copy(sli_pool *pool, sli_span *copy) {
    sli_run *run = copy->run;
    *(copy->older_copy != NULL ? &copy->older_copy->newer_copy
                               : &run->oldest_copy) = copy->newer_copy;
    *(copy->newer_copy != NULL ? &copy->newer_copy->older_copy
                               : &run->newest_copy) = copy->older_copy;
    sli_slab_give(&pool->spans, copy);
    if (run->oldest_copy == NULL) {
        SL_ASSERT(run->child_count == 0);
        map_remove(pool, run);
        if (run->parent != NULL) {
            run->parent->child_count--;
        }
        sli_slab_give(&pool->prefix.runs, run);
    }
}
