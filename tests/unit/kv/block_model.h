/*
 * A pool as vLLM v1 keeps it, one block at a time: what the ranges of sim/kv must amount to.
 *
 * For the tests of floor kv; knows no range, key or hash. A findable block remembers the tokens
 * from the start of its sequence to its own end, and every question is answered by a search through
 * all blocks. The queue is an array. Semantics: vLLM v1, block_pool.py and kv_cache_manager.py: a
 * lookup goes left to right and answers the oldest copy; blocks are taken from the head of the
 * queue and forgotten then; they return to its tail, the deepest first.
 *
 * With groups of layers (kv/layout.h) a block is a chain of pages, known by the first of them, and
 * what its group keeps of a context is asked slot by slot. Without, a block is a page.
 *
 * Plain data; nothing to free.
 */
#ifndef SLUICE_TESTS_KV_BLOCK_MODEL_H
#define SLUICE_TESTS_KV_BLOCK_MODEL_H

#include "kernel/rng.h"
#include "kv/context.h"

enum { SLI_MODEL_PAGES = 160, SLI_MODEL_TOKENS = 40, SLI_MODEL_PROMPT_TOKENS = 24 };

enum { SLI_MODEL_NONE = -1 };

/* The tokens of one request; stays where it is for as long as blocks may hold them. */
typedef struct sli_sequence {
    uint64_t ids[SLI_MODEL_PROMPT_TOKENS];
    uint64_t tokens[SLI_MODEL_TOKENS]; /* generated ones included */
    int64_t shared_tokens;             /* the first ones, which other requests may have too */
    int64_t prompt_tokens;
    sli_content_view view; /* the same, for the code under test */
} sli_sequence;

typedef struct sli_model_page {
    int holders;
    int first; /* page of the block that it is part of */
    int next;  /* page of that block, or none */
    /* Of the block, in its first page. */
    int shares;                   /* how often it was found since its contents became findable */
    const sli_sequence *contents; /* NULL = nobody can find it */
    int group;
    int64_t length; /* tokens from the start of the sequence to the block's end */
    int64_t published_at;
} sli_model_page;

typedef struct sli_block_model {
    sli_layout layout; /* of one group where the pool has none */
    int64_t page_count;
    int64_t block_tokens; /* of the first group */
    bool has_index;
    bool caches_generated;
    sli_model_page pages[SLI_MODEL_PAGES];
    int queue[SLI_MODEL_PAGES]; /* from the head */
    int64_t free_pages;
    int64_t publications; /* ever */
    int64_t evictions;    /* findable blocks taken, ever */
} sli_block_model;

/* The blocks of one sequence in one group, as a context holds them, by position. */
typedef struct sli_block_table {
    int blocks[SLI_MODEL_TOKENS]; /* or none: passed, left out, or without pages */
    int64_t count;
    int64_t hits; /* the first ones, which were found at the start */
    int64_t reserved;
    int64_t published;
    int64_t tokens;
} sli_block_table;

/* The token at a place under the ids of a prompt; ids are prefix-cumulative, so it says what all
 * tokens before it are. */
uint64_t sli_model_token(const sl_content *content, int64_t place);

/* A random prompt from a small tree of ids, so that many begin alike, and the tokens behind it. */
void sli_sequence_draw(sli_rng *rng, uint64_t request, sli_sequence *drawn);

void sli_model_init(sli_block_model *model, const sli_pool_config *config);

/* Of the first group. */
int64_t sli_model_blocks_for(const sli_block_model *model, int64_t tokens);

/* Free pages of blocks that can still be found. */
int64_t sli_model_cached(const sli_block_model *model);

/* The oldest block of a group that holds the first `length` tokens up to its end, or none. */
int sli_model_find(const sli_block_model *model, const sli_sequence *sequence, int group,
                   int64_t length);

/* The longest prefix of which all groups have what they keep of it, at a place where hits may end,
 * and the free pages of all that. */
sli_hit sli_model_lookup(const sli_block_model *model, const sli_sequence *sequence,
                         int64_t max_tokens);

/* Whether no token behind the first `tokens` looks at a block of a group again. */
bool sli_model_is_passed(const sli_group *group, int64_t position, int64_t tokens);

/* Whether slots up to `tokens` have something in a block of a group. */
bool sli_model_is_reached(const sli_group *group, int64_t position, int64_t tokens);

/* One block at the end of a table: from the head of the queue, or found. */
void sli_model_take(sli_block_model *model, int group, sli_block_table *table);
void sli_model_share(sli_block_model *model, sli_block_table *table, int block);

/* A place at the end of a table where nothing is held. */
void sli_model_skip(sli_block_table *table);

/* The block at a place goes to the tail, or to the head; those of no pages just go. */
void sli_model_give(sli_block_model *model, sli_block_table *table, int64_t position,
                    bool puts_back);

/* The last place of a table, with whatever is there. */
void sli_model_give_last(sli_block_model *model, sli_block_table *table, bool puts_back);

/* A held block becomes findable. */
void sli_model_publish(sli_block_model *model, int block, int group, const sli_sequence *sequence,
                       int64_t length);

/* The next full block of the table of the first group becomes findable; false when it must not. */
bool sli_model_publish_next(sli_block_model *model, sli_block_table *table,
                            const sli_sequence *sequence, int64_t tokens);

/* Free private blocks of a request can never be found again: it is gone for good, or goes on with
 * others. */
void sli_model_forget(sli_block_model *model, const sli_sequence *sequence);

#endif
