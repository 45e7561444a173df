/*
 * A pool as vLLM v1 keeps it, one block at a time: what the ranges of sim/kv must amount to.
 *
 * For the tests of floor kv; knows no range, key or hash. A findable block remembers the tokens
 * from the start of its sequence to its own end, and every question is answered by a search through
 * all blocks. The queue is an array. Semantics: vLLM v1, block_pool.py and kv_cache_manager.py: a
 * lookup goes left to right and answers the oldest copy; blocks are taken from the head of the
 * queue and forgotten then; they return to its tail, the deepest first.
 *
 * Plain data; nothing to free.
 */
#ifndef SLUICE_TESTS_KV_BLOCK_MODEL_H
#define SLUICE_TESTS_KV_BLOCK_MODEL_H

#include "kernel/rng.h"
#include "kv/context.h"

enum { SLI_MODEL_BLOCKS = 40, SLI_MODEL_TOKENS = 40, SLI_MODEL_PROMPT_TOKENS = 24 };

/* The tokens of one request; stays where it is for as long as blocks may hold them. */
typedef struct sli_sequence {
    uint64_t ids[SLI_MODEL_PROMPT_TOKENS];
    uint64_t tokens[SLI_MODEL_TOKENS]; /* generated ones included */
    int64_t shared_tokens;             /* the first ones, which other requests may have too */
    int64_t prompt_tokens;
    sli_content_view view; /* the same, for the code under test */
} sli_sequence;

typedef struct sli_model_block {
    int holders;
    int shares;                   /* how often it was found since its contents became findable */
    const sli_sequence *contents; /* NULL = nobody can find it */
    int64_t length;               /* tokens from the start of the sequence to the block's end */
    int64_t published_at;
} sli_model_block;

typedef struct sli_block_model {
    int64_t block_count;
    int64_t block_tokens;
    bool has_index;
    bool caches_generated;
    sli_model_block blocks[SLI_MODEL_BLOCKS];
    int queue[SLI_MODEL_BLOCKS]; /* from the head */
    int64_t free_blocks;
    int64_t publications; /* ever */
    int64_t evictions;    /* findable blocks taken, ever */
} sli_block_model;

/* The blocks of one sequence, as a context holds them. */
typedef struct sli_block_table {
    int blocks[SLI_MODEL_BLOCKS];
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

int64_t sli_model_blocks_for(const sli_block_model *model, int64_t tokens);

/* Free blocks that can still be found. */
int64_t sli_model_cached(const sli_block_model *model);

/* The oldest block that holds the first `length` tokens up to its end, or -1. */
int sli_model_find(const sli_block_model *model, const sli_sequence *sequence, int64_t length);

sli_hit sli_model_lookup(const sli_block_model *model, const sli_sequence *sequence,
                         int64_t max_tokens);

/* One block: from the head of the queue; found; to the tail, or to the head. */
void sli_model_take(sli_block_model *model, sli_block_table *table);
void sli_model_share(sli_block_model *model, sli_block_table *table, int block);
void sli_model_give_last(sli_block_model *model, sli_block_table *table, bool puts_back);

/* The next full block of the table becomes findable; false when it must not. */
bool sli_model_publish_next(sli_block_model *model, sli_block_table *table,
                            const sli_sequence *sequence, int64_t tokens);

/* The request is gone for good: its private blocks can never be found again. */
void sli_model_forget(sli_block_model *model, const sli_sequence *sequence);

#endif
