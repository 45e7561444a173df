/*
 * The contents of blocks, as far as reuse is concerned.
 *
 * Floor kv. Contents are prefix-cumulative, so the id of what ends in a block, its namespace and
 * the position of its end say exactly what the block holds, for any block size; no hash of contents
 * is involved, hence no false hit. A block that ends in the shared part of a prompt can be found by
 * anybody, every other full block by its own request alone.
 */
#ifndef SLUICE_KV_CONTENT_H
#define SLUICE_KV_CONTENT_H

#include "sluice/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The identity of the contents of one shared block. */
typedef struct sli_block_key {
    uint64_t id;
    uint32_t scope;
    uint32_t end_block; /* number of blocks up to and including this one */
} sli_block_key;

/* Where the tokens of a request come from. */
typedef struct sli_content_view {
    sl_content content;
    uint64_t request;
    int64_t prompt_tokens;
} sli_content_view;

/* Blocks, from the first on, whose contents others may share. O(1). */
int64_t sli_content_shared_blocks(const sli_content_view *view, int64_t block_tokens);

/* The unit that holds the last token of a block, 1 <= end_block <= shared blocks. O(1). */
static inline int64_t sli_content_unit(const sl_content *content, int64_t end_block,
                                       int64_t block_tokens) {
    return (end_block * block_tokens - 1) / content->id_tokens;
}

/* The key of a shared block, likewise. O(1). Inline, as are the next two: lookups do little else.
 */
static inline sli_block_key sli_content_key(const sl_content *content, int64_t end_block,
                                            int64_t block_tokens) {
    return (sli_block_key){
        .id = content->ids[sli_content_unit(content, end_block, block_tokens)],
        .scope = content->scope,
        .end_block = (uint32_t)end_block,
    };
}

static inline bool sli_block_key_equals(sli_block_key a, sli_block_key b) {
    return a.id == b.id && a.scope == b.scope && a.end_block == b.end_block;
}

/* Well mixed in all bits: the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) over
 * both words of the key. */
static inline size_t sli_block_key_hash(sli_block_key key) {
    uint64_t x = key.id ^ (((uint64_t)key.scope << 32 | key.end_block) * 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (size_t)(x ^ (x >> 31));
}

/*
 * How many of the blocks [from, to) have the same contents in both, counted from `from` up to the
 * first that differs; both have them all. O(ids compared).
 */
int64_t sli_content_agreement(const sl_content *a, const sl_content *b, int64_t from_block,
                              int64_t to_block, int64_t block_tokens);

#endif
