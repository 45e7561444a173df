/*
 * The blocks of vLLM's KV cache manager, read independently: for tests/conform/vllm_model.h.
 *
 * Arrays and linear search; prompts are compared token by token. Follows block_pool.py,
 * single_type_kv_cache_manager.py and kv_cache_coordinator.py of vllm/v1/core: a group of layers
 * finds its hits by itself (full attention from the left, windows and states from the right), the
 * coordinator asks all in turn until nobody shortens the prefix any more, and all blocks wait in
 * one queue. Its order is the documented one of ours (sim/engine/step.h, sim/kv/pool.h): windows
 * give back when a step is over, what others can find first; and a block of several pages lies
 * together in the queue, lost with the first page that is handed out.
 *
 * Plain data; nothing to free. A context of more positions or a pool of more pages does not fit.
 */
#ifndef TESTS_CONFORM_VLLM_BLOCKS_H
#define TESTS_CONFORM_VLLM_BLOCKS_H

#include "small_world.h"

enum { SLI_VLLM_PAGES = 384, SLI_VLLM_GROUPS = 4, SLI_VLLM_NOBODY = -1 };

/* A block is a chain of pages, known by its first, which says what it holds by example: the first
 * `end` tokens of a request in the layers of a group. */
typedef struct sli_vllm_page {
    int holders;
    int first;        /* of its block */
    int next;         /* of its block; nobody = the last */
    int like_request; /* nobody: its contents cannot be found */
    int like_group;
    int64_t like_end;
    int64_t found_since; /* stamps, to order by */
    int64_t free_since;
} sli_vllm_page;

/* First pages by position; nobody where nothing is held. */
typedef struct sli_vllm_table {
    int blocks[SLI_VLLM_PAGES];
    int count;
} sli_vllm_table;

typedef struct sli_vllm_blocks {
    const sli_small_world *world;
    sli_layout layout; /* of one group where the world has none */
    int64_t stamp;
    sli_vllm_page pages[SLI_VLLM_PAGES];
    sli_vllm_table tables[SLI_SMALL_REQUESTS][SLI_VLLM_GROUPS];
} sli_vllm_blocks;

/* What a request asks for, counted with the prefix that was found. */
typedef struct sli_vllm_wish {
    int64_t hit_tokens;
    int64_t end_tokens;
    int64_t fit_tokens;     /* must fit in the first group, though not taken, if more */
    int64_t headroom_pages; /* must stay free */
} sli_vllm_wish;

void sli_vllm_blocks_init(sli_vllm_blocks *it, const sli_small_world *world);

/* Pages that a request holds. */
int64_t sli_vllm_held_pages(const sli_vllm_blocks *it, int r);

/* The longest prefix of at most `tokens` that all groups have. */
int64_t sli_vllm_find_hit(const sli_vllm_blocks *it, int r, int64_t tokens);

/* Slots up to so many tokens, whose full blocks are findable from now on; false when there is no
 * room. The second also takes the prefix that was found; the request must hold nothing. */
bool sli_vllm_allocate_running(sli_vllm_blocks *it, int r, int64_t end_tokens);
bool sli_vllm_allocate_waiting(sli_vllm_blocks *it, int r, const sli_vllm_wish *wish);

/* What was to be computed beyond so many tokens cannot be found; then everything is freed. */
void sli_vllm_uncache(sli_vllm_blocks *it, int r, int64_t computed_tokens);
void sli_vllm_free(sli_vllm_blocks *it, int r);

/* Frees what no token behind the computed ones looks at: what others can find, or the rest, which
 * nobody can find any more. */
void sli_vllm_skip(sli_vllm_blocks *it, int r, int64_t computed_tokens, bool others_can_find);

#endif
