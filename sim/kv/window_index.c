#include "kv/window_index.h"

#include "base/check.h"
#include "kv/pool.h"

#include <stdlib.h>

enum { FIRST_BUCKET_COUNT = 256 };

/* The span is first, so that a block is found from it. Of alike contents the oldest is in the
 * bucket, the others behind it: whoever publishes what many have published pays for no more than
 * one. */
typedef struct sli_window_block {
    sli_span span;
    sli_block_key key;
    struct sli_window_block *older; /* with the same contents; NULL = it is the oldest */
    struct sli_window_block *newer;
    struct sli_window_block *newest;         /* of the oldest */
    struct sli_window_block *next_in_bucket; /* of the oldest: that of other contents */
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

static bool holds(const sli_window_block *block, uint32_t group, sli_block_key key) {
    return sli_block_key_equals(block->key, key) && block->span.group == group;
}

/* The link to the oldest block with these contents, or the end of their bucket. */
static sli_window_block **link_to(const sli_window_index *index, uint32_t group,
                                  sli_block_key key) {
    sli_window_block **link = bucket_of(index, group, key);
    while (*link != NULL && !holds(*link, group, key)) {
        link = &(*link)->next_in_bucket;
    }
    return link;
}

static void append(sli_window_index *index, sli_window_block *block) {
    sli_window_block **link = link_to(index, block->span.group, block->key);
    sli_window_block *oldest = *link;
    if (oldest == NULL) {
        block->newest = block;
        *link = block;
        return;
    }
    block->older = oldest->newest;
    block->older->newer = block;
    oldest->newest = block;
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
        for (sli_window_block *oldest = old[i], *next; oldest != NULL; oldest = next) {
            next = oldest->next_in_bucket;
            sli_window_block **bucket = bucket_of(index, oldest->span.group, oldest->key);
            oldest->next_in_bucket = *bucket;
            *bucket = oldest;
        }
    }
    free(old);
    return SL_OK;
}

sli_span *sli_window_index_find(const sli_window_index *index, uint32_t group, sli_block_key key) {
    if (index->block_count == 0) {
        return NULL;
    }
    sli_window_block *block = *link_to(index, group, key);
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
    block->span.kind = SLI_SPAN_WINDOW;
    block->span.group = group;
    block->span.reference_count = 1;
    block->key = key;
    index->block_count++;
    append(index, block);
    return &block->span;
}

void sli_window_index_visit(const sli_window_index *index,
                            void (*visit)(void *self, const sli_span *block), void *self) {
    for (size_t i = 0; i < index->bucket_count; i++) {
        for (const sli_window_block *oldest = index->buckets[i]; oldest != NULL;
             oldest = oldest->next_in_bucket) {
            for (const sli_window_block *block = oldest; block != NULL; block = block->newer) {
                visit(self, &block->span);
            }
        }
    }
}

/* The next one takes its place. */
static void remove_oldest(sli_window_block **link) {
    sli_window_block *oldest = *link;
    sli_window_block *heir = oldest->newer;
    if (heir == NULL) {
        *link = oldest->next_in_bucket;
        return;
    }
    heir->older = NULL;
    heir->newest = oldest->newest;
    heir->next_in_bucket = oldest->next_in_bucket;
    *link = heir;
}

void sli_window_index_remove(sli_window_index *index, sli_span *span) {
    sli_window_block *block = (sli_window_block *)span;
    sli_window_block **link = link_to(index, span->group, block->key);
    SL_ASSERT(*link != NULL);
    if (*link == block) {
        remove_oldest(link);
    } else {
        block->older->newer = block->newer;
        *(block->newer != NULL ? &block->newer->older : &(*link)->newest) = block->older;
    }
    index->block_count--;
    sli_slab_give(&index->blocks, block);
}
