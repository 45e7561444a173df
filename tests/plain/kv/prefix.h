/*
 * The prefix index: which block holds which contents.
 *
 * Floor kv. A block's key says exactly what it holds: contents are prefix-cumulative, so the id of
 * what ends in the block, its namespace, and the position of its end are enough, for any block size
 * (no hash of contents, hence no false hit). Duplicates are allowed, as in vLLM; a lookup answers
 * the one that has been there longest.
 */
#ifndef SLUICE_KV_PREFIX_H
#define SLUICE_KV_PREFIX_H

#include "sluice/err.h"
#include "sluice/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* A block number that means none. */
#define SLI_NO_BLOCK UINT32_MAX

/* The identity of the contents of one full block. */
typedef struct sli_block_key {
    uint64_t id;        /* a content id, or the request for private contents */
    uint32_t scope;     /* namespace of the id; 0 = private */
    uint32_t end_block; /* position: number of blocks up to and including this one */
    uint32_t group;     /* of the layout */
} sli_block_key;

/* Where the tokens of a request come from. */
typedef struct sli_content_view {
    sl_content content;
    uint64_t request;
    int64_t prompt_tokens;
} sli_content_view;

/*
 * The key of the block that ends at token end_block * block_tokens of a request: the id of the
 * content unit that holds its last token, if that lies in the shared part of the prompt. Of the
 * first group.
 */
sli_block_key sli_block_key_of(const sli_content_view *view, uint32_t end_block,
                               int64_t block_tokens);

typedef struct sli_prefix_entry {
    sli_block_key key;
    uint32_t next;  /* block in the same bucket, SLI_NO_BLOCK ends it */
    uint32_t pages; /* that lead to nothing without this one, itself included */
    bool is_findable;
} sli_prefix_entry;

typedef struct sli_prefix {
    sli_prefix_entry *entries; /* one a block of the pool */
    uint32_t *buckets;
    uint32_t bucket_mask;
} sli_prefix;

SL_NODISCARD sl_err sli_prefix_init(sli_prefix *prefix, uint32_t pool_blocks);
void sli_prefix_fini(sli_prefix *prefix);

/* O(1) on average, as the others. */
uint32_t sli_prefix_find(const sli_prefix *prefix, sli_block_key key);

/* The block must not be findable yet. */
void sli_prefix_insert(sli_prefix *prefix, uint32_t block, sli_block_key key, uint32_t pages);

/* The block must be findable. */
void sli_prefix_remove(sli_prefix *prefix, uint32_t block);

#endif
