/* The pool against a list of blocks with time stamps, and the audit against broken books. */
#include "kernel/rng.h"
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BLOCKS = 40, MAX_HOLDS = 400, DISTINCT_KEYS = 6 };

static sli_pool pool_of(int64_t block_count, bool has_index) {
    const sli_pool_config config = {
        .block_count = block_count, .block_tokens = 4, .has_index = has_index};
    sli_pool pool;
    assert_int_equal(sli_pool_init(&pool, &config), SL_OK);
    return pool;
}

static sli_block_key key_number(uint64_t number) {
    return (sli_block_key){.id = number, .scope = 1, .end_block = 1};
}

/* ---- A model without a queue: who was freed when ---- */

typedef struct model_block {
    int holders;
    int64_t freed_at; /* the order of eviction; what was put back is older than all */
    bool is_findable;
    uint64_t key;
    int64_t published_at;
} model_block;

typedef struct model {
    model_block blocks[MAX_BLOCKS];
    uint32_t block_count;
    int64_t now;
    uint64_t evicted;
    uint32_t holds[MAX_HOLDS]; /* a block as often as it has holders */
    int64_t hold_count;
} model;

static void model_init(model *it, uint32_t block_count) {
    *it = (model){.block_count = block_count};
    for (uint32_t block = 0; block < block_count; block++) {
        it->blocks[block].freed_at = it->now++;
    }
}

static uint32_t oldest_free(const model *it, int64_t not_before) {
    uint32_t oldest = SLI_NO_BLOCK;
    for (uint32_t block = 0; block < it->block_count; block++) {
        const model_block *candidate = &it->blocks[block];
        if (candidate->holders == 0 && candidate->freed_at >= not_before &&
            (oldest == SLI_NO_BLOCK || candidate->freed_at < it->blocks[oldest].freed_at)) {
            oldest = block;
        }
    }
    return oldest;
}

static uint32_t oldest_copy(const model *it, uint64_t key) {
    uint32_t oldest = SLI_NO_BLOCK;
    for (uint32_t block = 0; block < it->block_count; block++) {
        const model_block *candidate = &it->blocks[block];
        if (candidate->is_findable && candidate->key == key &&
            (oldest == SLI_NO_BLOCK || candidate->published_at < it->blocks[oldest].published_at)) {
            oldest = block;
        }
    }
    return oldest;
}

/* The whole state: counts, the queue from end to end, what a lookup answers, and the audit. */
static void assert_agrees(const sli_pool *pool, model *it) {
    int64_t free_blocks = 0;
    int64_t cached_blocks = 0;
    uint32_t in_queue = pool->blocks[pool->config.block_count].next;
    int64_t not_before = INT64_MIN;
    for (uint32_t block = oldest_free(it, not_before); block != SLI_NO_BLOCK;
         block = oldest_free(it, not_before)) {
        assert_int_equal(in_queue, block);
        in_queue = pool->blocks[in_queue].next;
        free_blocks++;
        cached_blocks += it->blocks[block].is_findable;
        not_before = it->blocks[block].freed_at + 1;
    }
    assert_int_equal(in_queue, pool->config.block_count);
    assert_int_equal(pool->free_blocks, free_blocks);
    assert_int_equal(pool->cached_blocks, cached_blocks);
    assert_int_equal(sli_pool_held_blocks(pool), (int64_t)it->block_count - free_blocks);
    assert_int_equal(pool->evicted_blocks, it->evicted);
    for (uint64_t key = 0; pool->config.has_index && key < DISTINCT_KEYS; key++) {
        assert_int_equal(sli_prefix_find(&pool->prefix, key_number(key)), oldest_copy(it, key));
    }
    const sli_context holder = {.blocks = it->holds, .block_count = it->hold_count};
    const sli_context *const holders[] = {&holder};
    const char *fault = sli_pool_audit(pool, holders, 1);
    if (fault != NULL) {
        fail_msg("audit: %s", fault);
    }
}

static void hold(model *it, uint32_t block) {
    it->blocks[block].holders++;
    it->holds[it->hold_count++] = block;
}

static void let_go(model *it, int64_t index) {
    it->blocks[it->holds[index]].holders--;
    it->holds[index] = it->holds[--it->hold_count];
}

static void do_take(sli_pool *pool, model *it) {
    uint32_t block = oldest_free(it, INT64_MIN);
    if (block == SLI_NO_BLOCK) {
        return;
    }
    it->evicted += it->blocks[block].is_findable;
    it->blocks[block].is_findable = false;
    hold(it, block);
    assert_int_equal(sli_pool_take(pool), block);
}

/* Blocks in use and free ones can be shared, as a lookup finds both. */
static void do_share(sli_pool *pool, model *it, uint32_t block) {
    if (it->hold_count < MAX_HOLDS / 2) {
        hold(it, block);
        sli_pool_share(pool, block);
    }
}

static void do_give_back(sli_pool *pool, model *it, int64_t index, bool puts_back) {
    uint32_t block = it->holds[index];
    model_block *given = &it->blocks[block];
    let_go(it, index);
    if (puts_back && given->holders == 0 && !given->is_findable) {
        given->freed_at = -it->now;
        sli_pool_put_back(pool, block);
        return;
    }
    given->freed_at = it->now;
    sli_pool_release(pool, block);
}

static void do_publish_or_retract(sli_pool *pool, model *it, uint32_t block, uint64_t key) {
    if (!pool->config.has_index) {
        return;
    }
    model_block *published = &it->blocks[block];
    if (published->is_findable) {
        published->is_findable = false;
        sli_pool_retract(pool, block);
        return;
    }
    published->is_findable = true;
    published->key = key;
    published->published_at = it->now;
    sli_pool_publish(pool, block, key_number(key), 1);
}

static void act_at_random(sli_rng *rng, sli_pool *pool, model *it) {
    it->now++;
    uint64_t action = sli_rng_below(rng, 8);
    if (it->hold_count == 0 || action < 2) {
        do_take(pool, it);
        return;
    }
    int64_t index = (int64_t)sli_rng_below(rng, (uint64_t)it->hold_count);
    if (action == 2) {
        do_share(pool, it, (uint32_t)sli_rng_below(rng, it->block_count));
    } else if (action <= 5) {
        do_give_back(pool, it, index, action == 5);
    } else {
        do_publish_or_retract(pool, it, it->holds[index], sli_rng_below(rng, DISTINCT_KEYS));
    }
}

static void answers_of(const model *it, uint32_t answers[DISTINCT_KEYS]) {
    for (uint64_t key = 0; key < DISTINCT_KEYS; key++) {
        answers[key] = oldest_copy(it, key);
    }
}

static void agrees_with_a_list_of_time_stamps(void **state) {
    (void)state;
    uint64_t evicted = 0;
    for (uint32_t block_count = 1; block_count <= MAX_BLOCKS; block_count++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test-pool", 0, block_count);
        sli_pool pool = pool_of(block_count, block_count % 5 != 0);
        model it;
        model_init(&it, block_count);
        for (int i = 0; i < 400; i++) {
            uint32_t answers_before[DISTINCT_KEYS];
            uint32_t answers_after[DISTINCT_KEYS];
            answers_of(&it, answers_before);
            uint64_t epoch_before = pool.epoch;
            act_at_random(&rng, &pool, &it);
            assert_agrees(&pool, &it);
            answers_of(&it, answers_after);
            for (int key = 0; key < DISTINCT_KEYS; key++) { /* no stale answer goes unnoticed */
                assert_true(answers_before[key] == answers_after[key] ||
                            pool.epoch != epoch_before);
            }
        }
        evicted += it.evicted;
        sli_pool_fini(&pool);
    }
    assert_true(evicted > 500);
}

/* ---- By hand ---- */

static void evicts_what_was_freed_first(void **state) {
    (void)state;
    sli_pool pool = pool_of(3, true);
    for (uint32_t block = 0; block < 3; block++) {
        assert_int_equal(sli_pool_take(&pool), block);
        sli_pool_publish(&pool, block, key_number(block), 1);
    }
    sli_pool_release(&pool, 1);
    sli_pool_release(&pool, 2);
    sli_pool_release(&pool, 0);
    sli_pool_share(&pool, 1); /* used again: 2 is the oldest now */
    sli_pool_release(&pool, 1);
    assert_int_equal(pool.cached_blocks, 3);
    assert_int_equal(sli_pool_take(&pool), 2);
    assert_int_equal(sli_prefix_find(&pool.prefix, key_number(2)), SLI_NO_BLOCK);
    assert_int_equal(sli_prefix_find(&pool.prefix, key_number(0)), 0);
    assert_int_equal(sli_pool_take(&pool), 0);
    assert_int_equal(sli_pool_take(&pool), 1);
    assert_int_equal(pool.evicted_blocks, 3);
    sli_pool_fini(&pool);
}

static void counts_blocks_for_tokens_upwards(void **state) {
    (void)state;
    sli_pool pool = pool_of(1, false);
    assert_int_equal(sli_pool_blocks_for(&pool, 0), 0);
    assert_int_equal(sli_pool_blocks_for(&pool, 1), 1);
    assert_int_equal(sli_pool_blocks_for(&pool, 4), 1);
    assert_int_equal(sli_pool_blocks_for(&pool, 5), 2);
    sli_pool_fini(&pool);
}

/* ---- The audit ---- */

/* Two blocks held and findable, the first of them twice; two free, block 2 of them cached. */
static sli_pool sound_pool(void) {
    sli_pool pool = pool_of(4, true);
    for (uint32_t block = 0; block < 3; block++) {
        uint32_t taken = sli_pool_take(&pool);
        sli_pool_publish(&pool, taken, key_number(block), 1);
    }
    sli_pool_share(&pool, 0);
    sli_pool_release(&pool, 2);
    return pool;
}

static const char *audit(const sli_pool *pool) {
    uint32_t blocks[] = {0, 1};
    const sli_context both = {.blocks = blocks, .block_count = 2};
    const sli_context first = {.blocks = blocks, .block_count = 1};
    const sli_context *const holders[] = {&both, &first};
    return sli_pool_audit(pool, holders, 2);
}

static void break_link(sli_pool *pool) {
    pool->blocks[2].previous = 2;
}

static void break_tail(sli_pool *pool) {
    pool->blocks[pool->config.block_count].previous = pool->blocks[pool->config.block_count].next;
}

static void break_free_count(sli_pool *pool) {
    pool->free_blocks++;
}

static void break_cached_count(sli_pool *pool) {
    pool->cached_blocks--;
}

static void lose_block(sli_pool *pool) {
    sli_pool_share(pool, 3);
    pool->blocks[3].reference_count = 0;
}

static void queue_held_block(sli_pool *pool) {
    pool->blocks[2].reference_count = 1;
}

static void forget_holder(sli_pool *pool) {
    pool->blocks[0].reference_count--;
}

static void unlink_key(sli_pool *pool) {
    for (uint32_t i = 0; i <= pool->prefix.bucket_mask; i++) {
        pool->prefix.buckets[i] = SLI_NO_BLOCK;
    }
}

static void audit_names_the_law_that_is_broken(void **state) {
    (void)state;
    static const struct {
        void (*damage)(sli_pool *pool);
        const char *fault;
    } cases[] = {
        {break_link, "the free queue is not linked both ways"},
        {break_tail, "the free queue is not linked both ways"},
        {break_free_count, "the count of free blocks differs from the queue"},
        {break_cached_count, "the count of cached blocks is wrong"},
        {lose_block, "a block is neither free nor held"},
        {queue_held_block, "a held block lies in the free queue"},
        {forget_holder, "a reference count differs from the number of holders"},
        {unlink_key, "a findable block is not found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sli_pool pool = sound_pool();
        assert_null(audit(&pool));
        cases[i].damage(&pool);
        const char *fault = audit(&pool);
        assert_non_null(fault);
        assert_string_equal(fault, cases[i].fault);
        sli_pool_fini(&pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_list_of_time_stamps),
        cmocka_unit_test(evicts_what_was_freed_first),
        cmocka_unit_test(counts_blocks_for_tokens_upwards),
        cmocka_unit_test(audit_names_the_law_that_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
