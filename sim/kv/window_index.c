#include "kv/window_index.h"

#include "base/check.h"
#include "kv/pool.h"

#include <stdlib.h>

enum { FIRST_BUCKET_COUNT = 256 };

/* The span is first, so that a block is found from it. */
typedef struct sli_window_block {
    sli_span span;
    sli_block_key key;
    struct sli_window_block *next_in_bucket;
} sli_window_block;

void sli_window_index_init(sli_window_index *index) {
    *index = (sli_window_index){0};
    sli_slab_init(&index->blocks, sizeof(sli_window_block));
}

void sli_window_index_fini(sli_window_index *index) {
    free(index->buckets);
    sli_slab_fini(&index->blocks);
}

static sli_window_block **bucket_of(const sli_window_index *index, uint32_t group,
                                    sli_block_key key) {
    size_t hash = sli_block_key_hash(key) + group * (size_t)0x9e3779b97f4a7c15u;
    return &index->buckets[(hash ^ (hash >> 29)) & (index->bucket_count - 1)];
}

/* Behind the others, so that the oldest is found first. */
static void append(sli_window_index *index, sli_window_block *block) {
    sli_window_block **link = bucket_of(index, block->span.group, block->key);
    while (*link != NULL) {
        link = &(*link)->next_in_bucket;
    }
    block->next_in_bucket = NULL;
    *link = block;
}

static sl_err grow(sli_window_index *index) {
    size_t old_count = index->bucket_count;
    sli_window_block **old = index->buckets;
    size_t count = old_count > 0 ? 2 * old_count : FIRST_BUCKET_COUNT;
    sli_window_block **buckets = calloc(count, sizeof *buckets);
    if (buckets == NULL) {
        return SL_ERR_NOMEM;
    }
    index->buckets = buckets;
    index->bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (sli_window_block *block = old[i], *next; block != NULL; block = next) {
            next = block->next_in_bucket;
            append(index, block);
        }
    }
    free(old);
    return SL_OK;
}

sli_span *sli_window_index_find(const sli_window_index *index, uint32_t group, sli_block_key key) {
    if (index->block_count == 0) {
        return NULL;
    }
    sli_window_block *block = *bucket_of(index, group, key);
    while (block != NULL &&
           (block->span.group != group || !sli_block_key_equals(block->key, key))) {
        block = block->next_in_bucket;
    }
    return block != NULL ? &block->span : NULL;
}

sli_span *sli_window_index_add(sli_pool *pool, uint32_t group, sli_block_key key) {
    sli_window_index *index = &pool->windows;
    bool has_room = index->block_count < index->bucket_count || grow(index) == SL_OK;
    sli_window_block *block = has_room ? sli_slab_take(&index->blocks) : NULL;
    if (block == NULL) {
        pool->is_out_of_memory = true;
        return NULL;
    }
    block->span = (sli_span){.kind = SLI_SPAN_WINDOW, .group = group, .reference_count = 1};
    block->key = key;
    index->block_count++;
    append(index, block);
    return &block->span;
}

void sli_window_index_visit(const sli_window_index *index,
                            void (*visit)(void *self, const sli_span *block), void *self) {
    for (size_t i = 0; i < index->bucket_count; i++) {
        for (const sli_window_block *block = index->buckets[i]; block != NULL;
             block = block->next_in_bucket) {
            visit(self, &block->span);
        }
    }
}

void sli_window_index_remove(sli_window_index *index, sli_span *span) {
    sli_window_block *block = (sli_window_block *)span;
    sli_window_block **link = bucket_of(index, span->group, block->key);
    while (*link != block) {
        SL_ASSERT(*link != NULL);
        link = &(*link)->next_in_bucket;
    }
    *link = block->next_in_bucket;
    index->block_count--;
    sli_slab_give(&index->blocks, block);
}
