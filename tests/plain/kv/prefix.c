#include "kv/prefix.h"

#include "base/check.h"

#include <stdlib.h>

sli_block_key sli_block_key_of(const sli_content_view *view, uint32_t end_block,
                               int64_t block_tokens) {
    int64_t last_token = (int64_t)end_block * block_tokens - 1;
    const sl_content *content = &view->content;
    if (last_token < view->prompt_tokens && content->id_count > 0) {
        int64_t unit = last_token / content->id_tokens;
        if (unit < content->id_count) {
            return (sli_block_key){content->ids[unit], content->scope, end_block, 0};
        }
    }
    return (sli_block_key){view->request, 0, end_block, 0};
}

sl_err sli_prefix_init(sli_prefix *prefix, uint32_t pool_blocks) {
    uint32_t bucket_count = 16;
    while (bucket_count < pool_blocks && bucket_count < (UINT32_C(1) << 30)) {
        bucket_count *= 2;
    }
    sli_prefix_entry *entries = calloc(pool_blocks, sizeof *entries);
    uint32_t *buckets = malloc(bucket_count * sizeof *buckets);
    if (entries == NULL || buckets == NULL) {
        free(entries);
        free(buckets);
        return SL_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < bucket_count; i++) {
        buckets[i] = SLI_NO_BLOCK;
    }
    *prefix = (sli_prefix){entries, buckets, bucket_count - 1};
    return SL_OK;
}

void sli_prefix_fini(sli_prefix *prefix) {
    free(prefix->entries);
    free(prefix->buckets);
    *prefix = (sli_prefix){0};
}

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) over both words of the key. */
static uint32_t bucket_of(const sli_prefix *prefix, sli_block_key key) {
    uint64_t x = key.id ^ (((uint64_t)key.scope << 32 | key.end_block) * 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(x ^ (x >> 31)) & prefix->bucket_mask;
}

static bool is_same(sli_block_key a, sli_block_key b) {
    return a.id == b.id && a.scope == b.scope && a.end_block == b.end_block && a.group == b.group;
}

uint32_t sli_prefix_find(const sli_prefix *prefix, sli_block_key key) {
    uint32_t block = prefix->buckets[bucket_of(prefix, key)];
    while (block != SLI_NO_BLOCK && !is_same(prefix->entries[block].key, key)) {
        block = prefix->entries[block].next;
    }
    return block;
}

/* Behind the others of its bucket, so that the oldest copy is found first. */
void sli_prefix_insert(sli_prefix *prefix, uint32_t block, sli_block_key key, uint32_t pages) {
    sli_prefix_entry *entry = &prefix->entries[block];
    SL_ASSERT(!entry->is_findable);
    *entry = (sli_prefix_entry){
        .key = key, .next = SLI_NO_BLOCK, .pages = pages, .is_findable = true};
    uint32_t *link = &prefix->buckets[bucket_of(prefix, key)];
    while (*link != SLI_NO_BLOCK) {
        link = &prefix->entries[*link].next;
    }
    *link = block;
}

void sli_prefix_remove(sli_prefix *prefix, uint32_t block) {
    sli_prefix_entry *entry = &prefix->entries[block];
    SL_ASSERT(entry->is_findable);
    uint32_t *link = &prefix->buckets[bucket_of(prefix, entry->key)];
    while (*link != block) {
        SL_ASSERT(*link != SLI_NO_BLOCK);
        link = &prefix->entries[*link].next;
    }
    *link = entry->next;
    *entry = (sli_prefix_entry){0};
}
