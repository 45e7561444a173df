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

enum { MAX_BLOCKS = 40, PARKERS = 4, RUNS = 3 };

static void pool_init(sli_pool *pool, int64_t block_count, int64_t block_tokens) {
    const sli_pool_config config = {
        .block_count = block_count, .block_tokens = block_tokens, .has_index = true};
    assert_int_equal(sli_pool_init(pool, &config), SL_OK);
}

/* ---- A model of the queue: whose block lies where ---- */

/* Owners of free blocks: nobody, a parker, or a run; its deeper blocks have higher numbers. */
enum { BLANK = -1, FIRST_RUN = PARKERS };

typedef struct free_block {
    int owner;
    int64_t depth;
} free_block;

typedef struct world {
    sli_rng rng;
    sli_pool pool;
    free_block queue[MAX_BLOCKS];
    int64_t free_blocks;
    int64_t loose_blocks; /* taken, and held by nobody that the pool knows */
    sli_context parkers[PARKERS];
    sli_span *copies[RUNS]; /* of runs without relatives; NULL = evicted */
    int holders[RUNS];
    uint64_t ids[RUNS];
    uint64_t next_id;
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static void push(world *it, bool is_at_head, free_block block) {
    int64_t place = is_at_head ? 0 : it->free_blocks;
    memmove(&it->queue[place + 1], &it->queue[place],
            (size_t)(it->free_blocks - place) * sizeof it->queue[0]);
    it->queue[place] = block;
    it->free_blocks++;
}

static void push_many(world *it, int owner, int64_t blocks) {
    while (blocks-- > 0) {
        push(it, false, (free_block){owner, owner == BLANK ? 0 : blocks});
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

static int64_t count_owned(const world *it, int owner) {
    int64_t count = 0;
    for (int64_t i = 0; i < it->free_blocks; i++) {
        count += it->queue[i].owner == owner;
    }
    return count;
}

static free_block entry_of(const world *it, const sli_span *span, int64_t depth) {
    if (span->kind == SLI_SPAN_BLANK) {
        return (free_block){BLANK, 0};
    }
    if (span->kind == SLI_SPAN_PARKED) {
        return (free_block){(int)(span->parker - it->parkers), depth};
    }
    int run = 0;
    while (it->copies[run] != span) {
        run++;
    }
    return (free_block){FIRST_RUN + run, depth};
}

static void assert_agrees(const world *it) {
    int64_t place = 0;
    for (const sli_span *span = it->pool.queue.after; span != &it->pool.queue; span = span->after) {
        int64_t blocks = span->kind == SLI_SPAN_COPY ? span->run->end_block : span->blocks;
        while (blocks-- > 0 && place < it->free_blocks) {
            free_block entry = entry_of(it, span, blocks);
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

static void take(world *it, int64_t blocks) {
    sli_pool_take(&it->pool, blocks);
    it->free_blocks -= blocks;
    memmove(it->queue, it->queue + blocks, (size_t)it->free_blocks * sizeof it->queue[0]);
    it->loose_blocks += blocks;
    for (int run = 0; run < RUNS; run++) {
        if (it->holders[run] == 0 && count_owned(it, FIRST_RUN + run) == 0) {
            it->copies[run] = NULL;
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

/* Parks, or takes back or forgets what was parked. */
static void park(world *it) {
    int parker = (int)draw(it, 0, PARKERS - 1);
    sli_context *context = &it->parkers[parker];
    int64_t left_blocks = count_owned(it, parker);
    const sli_span *span = sli_pool_parked(&it->pool, context, 0);
    assert_int_equal(span != NULL ? span->blocks : 0, left_blocks);
    if (span == NULL) {
        int64_t blocks = draw(it, 0, it->loose_blocks);
        it->loose_blocks -= blocks;
        sli_pool_park(&it->pool, context, 0, 0, blocks);
        push_many(it, parker, blocks);
    } else if (draw(it, 0, 1) == 0) {
        sli_pool_unpark(&it->pool, context, 0, 0, left_blocks);
        drop_owner(it, parker);
        it->loose_blocks += left_blocks;
    } else {
        sli_pool_forget_parked(context);
        for (int64_t i = 0; i < it->free_blocks; i++) {
            it->queue[i] = it->queue[i].owner == parker ? (free_block){BLANK, 0} : it->queue[i];
        }
    }
}

static void add_run(world *it, int run) {
    int64_t blocks = draw(it, 0, it->loose_blocks);
    if (blocks > 0) {
        it->ids[run] = it->next_id++;
        const sl_content content = {&it->ids[run], 1, MAX_BLOCKS, 1};
        it->copies[run] = sli_prefix_add(&it->pool, &content, 0, blocks, NULL);
        it->holders[run] = 1;
        it->loose_blocks -= blocks;
    }
}

static void hold_or_release(world *it) {
    int run = (int)draw(it, 0, RUNS - 1);
    sli_span *copy = it->copies[run];
    if (copy == NULL) {
        add_run(it, run);
    } else if (it->holders[run] == 0 || draw(it, 0, 2) == 0) {
        sli_pool_share(&it->pool, copy);
        drop_owner(it, FIRST_RUN + run);
        it->holders[run]++;
    } else {
        sli_pool_release(&it->pool, copy);
        if (--it->holders[run] == 0) {
            push_many(it, FIRST_RUN + run, copy->run->end_block);
        }
    }
}

static void act_at_random(world *it) {
    switch (draw(it, 0, 3)) {
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
    for (int64_t block_count = 1; block_count <= MAX_BLOCKS; block_count++) {
        it = (world){.free_blocks = 0};
        sli_rng_init(&it.rng, 1, "test-pool", 0, (uint64_t)block_count);
        pool_init(&it.pool, block_count, 1);
        push_many(&it, BLANK, block_count);
        for (int i = 0; i < 400; i++) {
            act_at_random(&it);
            assert_agrees(&it);
        }
        sli_pool_fini(&it.pool);
    }
}

/* ---- By hand ---- */

static void counts_blocks_for_tokens_upwards(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, 1, 4);
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
    pool_init(&pool, 1000000, 1);
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
        pool_init(&pools[p], 10, 1);
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
    sli_pool_forget_parked(&parker);
    assert_null(parker.parked);
    for (int p = 0; p < 2; p++) {
        assert_int_equal(pools[p].cached_blocks, 0);
        assert_int_equal(pools[p].free_blocks, 2 + p);
        sli_pool_fini(&pools[p]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_an_array_of_blocks),
        cmocka_unit_test(counts_blocks_for_tokens_upwards),
        cmocka_unit_test(blank_blocks_join_their_blank_neighbours),
        cmocka_unit_test(what_is_parked_in_two_pools_is_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
