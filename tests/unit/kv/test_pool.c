/* The pool by itself: spans against an array of blocks, each of which knows whose it is. */
#include "kv/pool.h"

#include "kernel/rng.h"
#include "kv/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BLOCKS = 40, PARKERS = 4, GROUPS = 2, RUNS = 3, WINDOWS = 4 };

static void pool_init(sli_pool *pool, int64_t block_count, int64_t block_tokens,
                      const sli_layout *layout) {
    const sli_pool_config config = {.block_count = block_count,
                                    .block_tokens = block_tokens,
                                    .has_index = true,
                                    .layout = layout};
    assert_int_equal(sli_pool_init(pool, &config), SL_OK);
}

/* Blocks of the first group take so many pages, those of a window so many. */
static sli_layout layout_of(int64_t first_pages, int64_t window_pages) {
    return (sli_layout){
        .align_tokens = 1,
        .is_shareable = true,
        .group_count = GROUPS,
        .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 1, .block_pages = first_pages},
                   {.kind = SLI_GROUP_SLIDING,
                    .span_tokens = 9,
                    .block_tokens = 1,
                    .block_pages = window_pages}},
    };
}

/* ---- A model of the queue: whose block lies where, page by page ---- */

/* Owners of free blocks: nobody, a parker with a group, a run, or one block of a window; deeper
 * blocks of an owner have higher numbers. */
enum { BLANK = -1, FIRST_RUN = PARKERS * GROUPS, FIRST_WINDOW = FIRST_RUN + RUNS };

/* A page of it. Those of one block lie together. */
typedef struct free_block {
    int owner;
    int64_t depth;
} free_block;

typedef struct world {
    sli_rng rng;
    sli_layout layout;
    sli_pool pool;
    free_block queue[MAX_BLOCKS];
    int64_t free_blocks;
    int64_t loose_blocks; /* taken, and held by nobody that the pool knows */
    sli_context parkers[PARKERS];
    int64_t parked_starts[PARKERS * GROUPS];
    sli_span *copies[RUNS]; /* of runs without relatives; NULL = evicted */
    sli_span *windows[WINDOWS];
    int holders[FIRST_WINDOW + WINDOWS]; /* of runs and windows */
    uint64_t ids[RUNS];
    uint64_t next_id;
    int64_t split_blocks; /* taken by a part of their pages */
    int64_t partly_unparked;
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static uint32_t group_of(int owner) {
    bool is_window = owner >= FIRST_WINDOW || (owner >= 0 && owner < FIRST_RUN && owner % 2 == 1);
    return is_window ? 1 : 0;
}

static int64_t pages_of(const world *it, int owner) {
    return owner == BLANK ? 1 : it->layout.groups[group_of(owner)].block_pages;
}

static void push(world *it, bool is_at_head, free_block block) {
    int64_t place = is_at_head ? 0 : it->free_blocks;
    memmove(&it->queue[place + 1], &it->queue[place],
            (size_t)(it->free_blocks - place) * sizeof it->queue[0]);
    it->queue[place] = block;
    it->free_blocks++;
}

/* The deepest first, each with all its pages. */
static void push_many(world *it, int owner, int64_t blocks) {
    while (blocks-- > 0) {
        for (int64_t page = 0; page < pages_of(it, owner); page++) {
            push(it, false, (free_block){owner, owner == BLANK ? 0 : blocks});
        }
    }
}

static void drop_owner(world *it, int owner) {
    int64_t kept = 0;
    for (int64_t i = 0; i < it->free_blocks; i++) {
        if (it->queue[i].owner != owner) {
            it->queue[kept++] = it->queue[i];
        }
    }
    it->free_blocks = kept;
}

static void blank_owner(world *it, int owner) {
    for (int64_t i = 0; i < it->free_blocks; i++) {
        it->queue[i] = it->queue[i].owner == owner ? (free_block){BLANK, 0} : it->queue[i];
    }
}

/* In blocks. */
static int64_t count_owned(const world *it, int owner) {
    int64_t count = 0;
    for (int64_t i = 0; i < it->free_blocks; i++) {
        count += it->queue[i].owner == owner;
    }
    return count / pages_of(it, owner);
}

static free_block entry_of(const world *it, const sli_span *span, int64_t depth) {
    int owner = FIRST_RUN;
    switch (span->kind) {
    case SLI_SPAN_BLANK:
        return (free_block){BLANK, 0};
    case SLI_SPAN_PARKED:
        owner = (int)(span->parker - it->parkers) * GROUPS + (int)span->group;
        return (free_block){owner, depth};
    case SLI_SPAN_COPY:
        while (it->copies[owner - FIRST_RUN] != span) {
            owner++;
        }
        return (free_block){owner, depth};
    case SLI_SPAN_WINDOW:
        owner = FIRST_WINDOW;
        while (it->windows[owner - FIRST_WINDOW] != span) {
            owner++;
        }
        break;
    }
    return (free_block){owner, 0};
}

static int64_t blocks_of(const sli_span *span) {
    switch (span->kind) {
    case SLI_SPAN_COPY:
        return span->run->end_block;
    case SLI_SPAN_WINDOW:
        return 1;
    case SLI_SPAN_BLANK:
    case SLI_SPAN_PARKED:
        break;
    }
    return span->blocks;
}

static void assert_agrees(const world *it) {
    int64_t place = 0;
    for (const sli_span *span = it->pool.queue.after; span != &it->pool.queue; span = span->after) {
        int64_t pages = pages_of(it, entry_of(it, span, 0).owner);
        assert_int_equal(sli_pool_span_blocks(&it->pool, span), blocks_of(span) * pages);
        for (int64_t page = blocks_of(span) * pages; page-- > 0 && place < it->free_blocks;) {
            free_block entry = entry_of(it, span, page / pages);
            assert_int_equal(entry.owner, it->queue[place].owner);
            assert_int_equal(entry.depth, it->queue[place].depth);
            place++;
        }
    }
    assert_int_equal(place, it->free_blocks);
    assert_int_equal(it->pool.free_blocks, it->free_blocks);
    assert_int_equal(it->pool.cached_blocks, it->free_blocks - count_owned(it, BLANK));
    assert_int_equal(sli_pool_held_blocks(&it->pool),
                     it->pool.config.block_count - it->free_blocks);
}

/* ---- Actions ---- */

/* What is left of a block that lost a page holds nothing any more. */
static void take(world *it, int64_t blocks) {
    sli_pool_take(&it->pool, blocks);
    it->free_blocks -= blocks;
    it->loose_blocks += blocks;
    free_block last = blocks > 0 ? it->queue[blocks - 1] : (free_block){BLANK, 0};
    memmove(it->queue, it->queue + blocks, (size_t)it->free_blocks * sizeof it->queue[0]);
    for (int64_t i = 0; i < it->free_blocks && last.owner != BLANK; i++) {
        if (it->queue[i].owner == last.owner && it->queue[i].depth == last.depth) {
            it->queue[i] = (free_block){BLANK, 0};
            it->split_blocks++;
        }
    }
    for (int run = 0; run < RUNS; run++) {
        if (it->holders[FIRST_RUN + run] == 0 && count_owned(it, FIRST_RUN + run) == 0) {
            it->copies[run] = NULL;
        }
    }
    for (int w = 0; w < WINDOWS; w++) {
        if (it->holders[FIRST_WINDOW + w] == 0 && count_owned(it, FIRST_WINDOW + w) == 0) {
            it->windows[w] = NULL;
        }
    }
}

static void give(world *it) {
    int64_t blocks = draw(it, 0, it->loose_blocks);
    it->loose_blocks -= blocks;
    if (draw(it, 0, 1) == 0) {
        sli_pool_give_blank(&it->pool, blocks);
        push_many(it, BLANK, blocks);
        return;
    }
    sli_pool_put_back(&it->pool, blocks);
    while (blocks-- > 0) {
        push(it, true, (free_block){BLANK, 0});
    }
}

/* All of it or a part; what is not taken then is blank. */
static void unpark(world *it, int owner, int64_t left_blocks) {
    int64_t start = it->parked_starts[owner];
    bool is_whole = draw(it, 0, 1) == 0;
    int64_t from = is_whole ? 0 : draw(it, 0, left_blocks);
    int64_t to = is_whole ? left_blocks : draw(it, from, left_blocks);
    sli_pool_unpark(&it->pool, &it->parkers[owner / GROUPS], group_of(owner), start + from,
                    start + to);
    int64_t kept = 0;
    for (int64_t i = 0; i < it->free_blocks; i++) {
        free_block at = it->queue[i];
        if (at.owner != owner || at.depth < from || at.depth >= to) {
            it->queue[kept++] = at.owner == owner ? (free_block){BLANK, 0} : at;
        }
    }
    it->loose_blocks += it->free_blocks - kept;
    it->free_blocks = kept;
    it->partly_unparked += to - from < left_blocks;
}

/* Parks, or takes back or forgets what was parked. */
static void park(world *it) {
    int owner = (int)draw(it, 0, PARKERS * GROUPS - 1);
    sli_context *context = &it->parkers[owner / GROUPS];
    int64_t left_blocks = count_owned(it, owner);
    const sli_span *span = sli_pool_parked(&it->pool, context, group_of(owner));
    assert_int_equal(span != NULL ? span->blocks : 0, left_blocks);
    if (span == NULL) {
        int64_t blocks = draw(it, 0, it->loose_blocks / pages_of(it, owner));
        it->loose_blocks -= blocks * pages_of(it, owner);
        it->parked_starts[owner] = draw(it, 0, 9);
        sli_pool_park(&it->pool, context, group_of(owner), it->parked_starts[owner], blocks);
        push_many(it, owner, blocks);
    } else if (draw(it, 0, 1) == 0) {
        unpark(it, owner, left_blocks);
    } else {
        sli_pool_forget_parked(context);
        for (int group = 0; group < GROUPS; group++) {
            blank_owner(it, owner / GROUPS * GROUPS + group);
        }
    }
}

static void add_run(world *it, int run) {
    int64_t blocks = draw(it, 0, it->loose_blocks / pages_of(it, FIRST_RUN));
    if (blocks > 0) {
        it->ids[run] = it->next_id++;
        const sl_content content = {&it->ids[run], 1, MAX_BLOCKS, 1};
        it->copies[run] = sli_prefix_add(&it->pool, &content, 0, blocks, NULL);
        it->holders[FIRST_RUN + run] = 1;
        it->loose_blocks -= blocks * pages_of(it, FIRST_RUN);
    }
}

static void add_window(world *it, int w) {
    if (pages_of(it, FIRST_WINDOW) <= it->loose_blocks) {
        const sli_block_key key = {.id = it->next_id++, .scope = 1, .end_block = 1};
        it->windows[w] = sli_window_index_add(&it->pool, 1, key);
        it->holders[FIRST_WINDOW + w] = 1;
        it->loose_blocks -= pages_of(it, FIRST_WINDOW);
    }
}

static void hold_or_release(world *it) {
    int owner = (int)draw(it, FIRST_RUN, FIRST_WINDOW + WINDOWS - 1);
    bool is_run = owner < FIRST_WINDOW;
    sli_span *span = is_run ? it->copies[owner - FIRST_RUN] : it->windows[owner - FIRST_WINDOW];
    if (span == NULL && is_run) {
        add_run(it, owner - FIRST_RUN);
    } else if (span == NULL) {
        add_window(it, owner - FIRST_WINDOW);
    } else if (it->holders[owner] == 0 || draw(it, 0, 2) == 0) {
        sli_pool_share(&it->pool, span);
        drop_owner(it, owner);
        it->holders[owner]++;
    } else {
        sli_pool_release(&it->pool, span);
        if (--it->holders[owner] == 0) {
            push_many(it, owner, blocks_of(span));
        }
    }
}

static void act_at_random(world *it) {
    switch (draw(it, 0, 4)) {
    case 0:
        take(it, draw(it, 0, (it->free_blocks + 1) / 2));
        break;
    case 1:
        give(it);
        break;
    case 2:
        park(it);
        break;
    default:
        hold_or_release(it);
        break;
    }
}

static void agrees_with_an_array_of_blocks(void **state) {
    (void)state;
    static world it;
    int64_t split_blocks = 0;
    int64_t partly_unparked = 0;
    for (int64_t block_count = 1; block_count <= MAX_BLOCKS; block_count++) {
        for (int64_t pages = 0; pages < 9; pages++) {
            it = (world){.free_blocks = 0, .layout = layout_of(1 + pages % 3, 1 + pages / 3)};
            sli_rng_init(&it.rng, 1, "test-pool", (uint64_t)pages, (uint64_t)block_count);
            pool_init(&it.pool, block_count, 1, &it.layout);
            push_many(&it, BLANK, block_count);
            for (int i = 0; i < 1000; i++) {
                act_at_random(&it);
                assert_agrees(&it);
            }
            split_blocks += it.split_blocks;
            partly_unparked += it.partly_unparked;
            sli_pool_fini(&it.pool);
        }
    }
    assert_true(split_blocks > 5000 && partly_unparked > 800);
}

/* ---- By hand ---- */

static void counts_blocks_for_tokens_upwards(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, 1, 4, NULL);
    assert_int_equal(sli_pool_blocks_for(&pool, 0), 0);
    assert_int_equal(sli_pool_blocks_for(&pool, 1), 1);
    assert_int_equal(sli_pool_blocks_for(&pool, 4), 1);
    assert_int_equal(sli_pool_blocks_for(&pool, 5), 2);
    sli_pool_fini(&pool);
}

static int64_t count_spans(const sli_pool *pool) {
    int64_t count = 0;
    for (const sli_span *span = pool->queue.after; span != &pool->queue; span = span->after) {
        count++;
    }
    return count;
}

/* The queue is as long as it has changes of contents, not as it has blocks. */
static void blank_blocks_join_their_blank_neighbours(void **state) {
    (void)state;
    sli_pool pool;
    sli_context parker = {0};
    pool_init(&pool, 1000000, 1, NULL);
    assert_int_equal(count_spans(&pool), 1);
    sli_pool_take(&pool, 900000);
    sli_pool_give_blank(&pool, 100000);
    sli_pool_put_back(&pool, 100000);
    assert_int_equal(count_spans(&pool), 1);
    sli_pool_park(&pool, &parker, 0, 0, 300000);
    sli_pool_give_blank(&pool, 100000);
    assert_int_equal(count_spans(&pool), 3);
    sli_pool_take(&pool, 300000); /* the head, exactly */
    assert_int_equal(count_spans(&pool), 2);
    sli_pool_put_back(&pool, 1);
    assert_int_equal(count_spans(&pool), 3);
    sli_pool_take(&pool, 300001);
    assert_int_equal(count_spans(&pool), 1);
    assert_null(parker.parked);
    sli_pool_fini(&pool);
}

/* A parker knows what it left where. */
static void what_is_parked_in_two_pools_is_kept_apart(void **state) {
    (void)state;
    sli_pool pools[2];
    sli_context parker = {0};
    for (int p = 0; p < 2; p++) {
        pool_init(&pools[p], 10, 1, NULL);
        sli_pool_take(&pools[p], 10);
        sli_pool_park(&pools[p], &parker, 0, 0, 3 + p);
    }
    assert_int_equal(sli_pool_parked(&pools[0], &parker, 0)->blocks, 3);
    assert_int_equal(sli_pool_parked(&pools[1], &parker, 0)->blocks, 4);
    sli_pool_unpark(&pools[0], &parker, 0, 0, 3);
    assert_null(sli_pool_parked(&pools[0], &parker, 0));
    sli_pool_park(&pools[0], &parker, 0, 0, 2);
    sli_pool_take(&pools[1], 1); /* the deepest of the four */
    assert_int_equal(sli_pool_parked(&pools[1], &parker, 0)->blocks, 3);
    assert_int_equal(pools[0].cached_blocks + pools[1].cached_blocks, 5);
    sli_pool_forget_parked_here(&pools[0], &parker);
    assert_null(sli_pool_parked(&pools[0], &parker, 0));
    assert_int_equal(sli_pool_parked(&pools[1], &parker, 0)->blocks, 3);
    sli_pool_park(&pools[0], &parker, 0, 0, 1);
    sli_pool_forget_parked(&parker);
    assert_null(parker.parked);
    for (int p = 0; p < 2; p++) {
        assert_int_equal(pools[p].cached_blocks, 0);
        assert_int_equal(pools[p].free_blocks, 3);
        sli_pool_fini(&pools[p]);
    }
}

/*
 * By hand: a run of two blocks of 3 pages lies at the head, the deeper block first. A page is taken
 * of it, and the block is lost: its other 2 pages are the next to go, before anything is lost.
 */
static void the_rest_of_a_block_goes_before_the_next_one(void **state) {
    (void)state;
    const sli_layout layout = layout_of(3, 2);
    const uint64_t id = 1;
    const sl_content content = {&id, 1, 2, 1};
    sli_pool pool;
    pool_init(&pool, 10, 1, &layout);
    sli_pool_take(&pool, 10);
    sli_span *copy = sli_prefix_add(&pool, &content, 0, 2, NULL);
    sli_span *window = sli_window_index_add(&pool, 1, (sli_block_key){1, 1, 1});
    sli_pool_release(&pool, copy);
    sli_pool_release(&pool, window);
    assert_int_equal(pool.free_blocks, 8);
    assert_int_equal(pool.cached_blocks, 8);
    sli_pool_take(&pool, 1);
    assert_int_equal(pool.free_blocks, 7);
    assert_int_equal(pool.cached_blocks, 5); /* the upper block, and the window */
    sli_pool_take(&pool, 2);
    assert_int_equal(pool.cached_blocks, 5);
    assert_ptr_equal(sli_prefix_find(&pool, &content, 0), copy->run);
    sli_pool_take(&pool, 4);
    assert_int_equal(pool.cached_blocks, 0); /* a page of the window went with the upper block */
    assert_null(sli_window_index_find(&pool.windows, 1, (sli_block_key){1, 1, 1}));
    assert_int_equal(pool.free_blocks, 1);
    sli_pool_fini(&pool);
}

/* A window parks its blocks beside those of the first group, and takes the last two of four back.
 */
static void what_is_parked_of_two_groups_is_kept_apart(void **state) {
    (void)state;
    const sli_layout layout = layout_of(1, 2);
    sli_pool pool;
    sli_context parker = {0};
    pool_init(&pool, 20, 1, &layout);
    sli_pool_take(&pool, 20);
    sli_pool_park(&pool, &parker, 0, 3, 7);
    sli_pool_park(&pool, &parker, 1, 6, 4); /* blocks 6 to 9, 8 pages */
    assert_int_equal(pool.free_blocks, 15);
    assert_int_equal(pool.cached_blocks, 15);
    assert_int_equal(sli_pool_parked(&pool, &parker, 0)->start_block, 3);
    assert_int_equal(sli_pool_parked(&pool, &parker, 1)->blocks, 4);
    sli_pool_unpark(&pool, &parker, 1, 8, 10);
    assert_null(sli_pool_parked(&pool, &parker, 1));
    assert_int_equal(pool.free_blocks, 11);
    assert_int_equal(pool.cached_blocks, 7);
    assert_int_equal(sli_pool_parked(&pool, &parker, 0)->blocks, 7);
    sli_pool_park(&pool, &parker, 1, 8, 2);
    sli_pool_forget_parked_here(&pool, &parker);
    assert_null(parker.parked);
    assert_int_equal(pool.free_blocks, 15);
    assert_int_equal(pool.cached_blocks, 0);
    sli_pool_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_an_array_of_blocks),
        cmocka_unit_test(counts_blocks_for_tokens_upwards),
        cmocka_unit_test(blank_blocks_join_their_blank_neighbours),
        cmocka_unit_test(what_is_parked_in_two_pools_is_kept_apart),
        cmocka_unit_test(what_is_parked_of_two_groups_is_kept_apart),
        cmocka_unit_test(the_rest_of_a_block_goes_before_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
