/* Contexts by hand, in blocks of 4 tokens. test_context_model.c has the laws. */
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CONTEXTS = 3 };

static void pool_init(sli_pool *pool, int64_t block_count, bool caches_generated) {
    const sli_pool_config config = {.block_count = block_count,
                                    .block_tokens = 4,
                                    .has_index = true,
                                    .caches_generated = caches_generated};
    assert_int_equal(sli_pool_init(pool, &config), SL_OK);
}

static void assert_sound(const sli_pool *pool, const sli_context *contexts, size_t count) {
    const sli_context *pointers[CONTEXTS];
    for (size_t i = 0; i < count; i++) {
        pointers[i] = &contexts[i];
    }
    const char *fault = sli_pool_audit(pool, pointers, count);
    if (fault != NULL) {
        fail_msg("audit: %s", fault);
    }
}

static const uint64_t document[] = {10, 11, 12, 13, 14, 15, 16, 17};

/* A prompt that begins with so many units of the document, 4 tokens each. */
static sli_content_view reader(uint64_t request, int64_t units, int64_t prompt_tokens) {
    return (sli_content_view){{document, units, 4, 1}, request, prompt_tokens};
}

static int64_t look_up(const sli_context *context, const sli_pool *pool,
                       const sli_content_view *view, int64_t max_tokens) {
    return sli_context_lookup(context, pool, view, max_tokens).blocks;
}

/* Acquires, with what is found, slots for `tokens` and makes them findable; answers how many
 * blocks are missing. */
static int64_t compute(sli_context *context, sli_pool *pool, const sli_content_view *view,
                       int64_t tokens) {
    const sli_acquisition want = {.hit = sli_context_lookup(context, pool, view, tokens - 1),
                                  .tokens = tokens};
    int64_t missing_blocks = sli_context_acquire(context, pool, view, &want);
    if (missing_blocks == 0) {
        sli_context_publish(context, pool, view, tokens);
    }
    return missing_blocks;
}

static void a_lookup_answers_whole_blocks_up_to_the_limit(void **state) {
    (void)state;
    sli_pool pool;
    sli_context contexts[2] = {{0}};
    pool_init(&pool, 8, true);
    sli_content_view view = reader(1, 2, 8);
    assert_int_equal(look_up(&contexts[1], &pool, &view, 8), 0);
    assert_int_equal(compute(&contexts[0], &pool, &view, 8), 0);
    assert_int_equal(look_up(&contexts[1], &pool, &view, 8), 2);
    assert_int_equal(look_up(&contexts[1], &pool, &view, 7), 1);
    assert_int_equal(look_up(&contexts[1], &pool, &view, 3), 0);
    sli_pool_fini(&pool);
}

/* Of 5 blocks 3 are cached and free; 6 are wanted, 3 of them hits: 3 shared + 3 taken > 5. */
static void hits_in_the_free_queue_use_up_free_blocks(void **state) {
    (void)state;
    sli_pool pool;
    sli_context contexts[2] = {{0}};
    pool_init(&pool, 5, true);
    sli_content_view first = reader(1, 3, 13);
    sli_content_view second = reader(2, 3, 24);
    assert_int_equal(compute(&contexts[0], &pool, &first, 12), 0);
    sli_context_release(&contexts[0], &pool, &first, true);
    assert_int_equal(pool.cached_blocks, 3);
    assert_int_equal(compute(&contexts[1], &pool, &second, 24), 1);
    assert_int_equal(pool.free_blocks, 5); /* nothing has changed */
    assert_int_equal(contexts[1].block_count, 0);

    /* While somebody holds the hits they cost nothing: 2 more are wanted of 1, then 1 of 1. */
    assert_int_equal(compute(&contexts[0], &pool, &first, 13), 0);
    assert_int_equal(pool.free_blocks, 1);
    assert_int_equal(compute(&contexts[1], &pool, &second, 20), 1);
    assert_int_equal(compute(&contexts[1], &pool, &second, 16), 0);
    assert_int_equal(pool.free_blocks, 0);
    assert_sound(&pool, contexts, 2);
    sli_pool_fini(&pool);
}

static void the_deepest_block_is_evicted_first_after_a_release(void **state) {
    (void)state;
    sli_pool pool;
    sli_context contexts[2] = {{0}};
    pool_init(&pool, 4, true);
    sli_content_view view = reader(1, 4, 16);
    sli_content_view other = {.request = 2, .prompt_tokens = 12};
    assert_int_equal(compute(&contexts[0], &pool, &view, 16), 0);
    sli_context_release(&contexts[0], &pool, &view, false);
    assert_int_equal(compute(&contexts[1], &pool, &other, 4), 0);
    for (int64_t left_blocks = 3; left_blocks > 0; left_blocks--) {
        assert_int_equal(look_up(&contexts[0], &pool, &view, 16), left_blocks);
        sli_context_extend(&contexts[1], &pool, (5 - left_blocks) * 4);
    }
    assert_int_equal(look_up(&contexts[0], &pool, &view, 16), 0);
    sli_pool_fini(&pool);
}

/* Two requests compute the same second block unaware of each other, as the last one never hits. */
static void a_duplicate_is_found_once_the_oldest_copy_is_gone(void **state) {
    (void)state;
    sli_pool pool;
    sli_context contexts[CONTEXTS] = {{0}};
    pool_init(&pool, 6, true);
    sli_content_view views[] = {reader(1, 2, 8), reader(2, 2, 8)};
    sli_content_view big = {.request = 4, .prompt_tokens = 16};
    assert_int_equal(compute(&contexts[0], &pool, &views[0], 8), 0);
    assert_int_equal(compute(&contexts[1], &pool, &views[1], 8), 0);
    assert_int_equal(pool.free_blocks, 3); /* the first block is shared, the second one is not */
    sli_context_release(&contexts[0], &pool, &views[0], false);
    assert_int_equal(sli_context_lookup(&contexts[0], &pool, &views[0], 8).free_blocks, 1);
    assert_int_equal(compute(&contexts[2], &pool, &big, 16), 0); /* evicts the older copy */
    assert_int_equal(look_up(&contexts[0], &pool, &views[0], 8), 2);
    assert_int_equal(sli_context_lookup(&contexts[0], &pool, &views[0], 8).free_blocks, 0);
    assert_int_equal(pool.cached_blocks, 0);
    assert_sound(&pool, contexts, CONTEXTS);
    sli_pool_fini(&pool);
}

/* The tail of a prompt beyond its ids, and what is generated, are the request's own. */
static void private_tokens_are_found_by_their_context_alone(void **state) {
    (void)state;
    sli_pool pool;
    sli_context contexts[2] = {{0}};
    pool_init(&pool, 12, true);
    sli_content_view first = reader(1, 2, 12);
    assert_int_equal(compute(&contexts[0], &pool, &first, 12), 0);
    sli_context_extend(&contexts[0], &pool, 20);
    sli_context_publish(&contexts[0], &pool, &first, 19);
    sli_context_release(&contexts[0], &pool, &first, true);
    assert_int_equal(look_up(&contexts[0], &pool, &first, 20), 4); /* 8 shared, 4 tail, 4 new */
    assert_int_equal(look_up(&contexts[1], &pool, &first, 20), 2);
    assert_int_equal(pool.cached_blocks, 4);
    sli_context_forget(&contexts[0]);
    assert_int_equal(look_up(&contexts[0], &pool, &first, 20), 2);
    assert_int_equal(pool.cached_blocks, 2);
    assert_int_equal(pool.free_blocks, 12);
    sli_pool_fini(&pool);
}

static void private_contents_of_the_gone_are_blank(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    pool_init(&pool, 12, true);
    sli_content_view view = reader(1, 2, 12);
    assert_int_equal(compute(&context, &pool, &view, 12), 0);
    sli_context_release(&context, &pool, &view, false);
    assert_null(context.parked);
    assert_int_equal(pool.cached_blocks, 2);
    assert_int_equal(pool.free_blocks, 12);
    sli_pool_fini(&pool);
}

static void generated_tokens_are_not_findable_when_that_is_off(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    pool_init(&pool, 12, false);
    sli_content_view view = reader(1, 3, 10); /* the third block ends in generated tokens */
    assert_int_equal(compute(&context, &pool, &view, 10), 0);
    sli_context_extend(&context, &pool, 16);
    sli_context_publish(&context, &pool, &view, 16);
    assert_int_equal(context.published_blocks, 2);
    sli_context_release(&context, &pool, &view, true);
    assert_int_equal(look_up(&context, &pool, &view, 15), 2);
    assert_int_equal(pool.cached_blocks, 2);
    sli_pool_fini(&pool);
}

static void a_pool_without_an_index_finds_nothing(void **state) {
    (void)state;
    const sli_pool_config config = {.block_count = 4, .block_tokens = 4};
    sli_pool pool;
    sli_context context = {0};
    assert_int_equal(sli_pool_init(&pool, &config), SL_OK);
    sli_content_view view = reader(1, 2, 8);
    assert_int_equal(compute(&context, &pool, &view, 8), 0);
    assert_int_equal(context.published_blocks, 0);
    assert_int_equal(look_up(&context, &pool, &view, 8), 0);
    sli_context_retract(&context, &pool, 0);
    sli_context_roll_back(&context, &pool, 1);
    assert_int_equal(context.block_count, 1);
    assert_sound(&pool, &context, 1);
    sli_context_release(&context, &pool, &view, true);
    assert_int_equal(pool.free_blocks, 4);
    assert_int_equal(pool.cached_blocks, 0);
    sli_pool_fini(&pool);
}

/* Reserved blocks are not what an extension took, so undoing it leaves them. */
static void a_roll_back_keeps_the_reservation(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    pool_init(&pool, 8, true);
    sli_content_view view = reader(1, 0, 4);
    const sli_acquisition want = {.tokens = 4, .reserve_tokens = 14};
    assert_int_equal(sli_context_acquire(&context, &pool, &view, &want), 0);
    assert_int_equal(pool.free_blocks, 4);
    assert_int_equal(sli_context_need(&context, &pool, 16), 0);
    assert_int_equal(sli_context_need(&context, &pool, 17), 1);
    sli_context_extend(&context, &pool, 24);
    assert_int_equal(pool.free_blocks, 2);
    sli_context_roll_back(&context, &pool, 4);
    assert_int_equal(context.block_count, 4);
    assert_int_equal(pool.free_blocks, 4);
    sli_pool_fini(&pool);
}

/* The point of it all: a prompt of a million blocks is one run, one copy and one hold. */
static void a_long_prompt_is_one_run_whatever_the_block_size(void **state) {
    (void)state;
    const sli_pool_config config = {
        .block_count = 3000000, .block_tokens = 1, .has_index = true, .caches_generated = true};
    const uint64_t id = 7;
    const int64_t tokens = 1000000;
    sli_content_view view = {{&id, 1, tokens, 1}, 1, tokens};
    sli_pool pool;
    sli_context contexts[2] = {{0}};
    assert_int_equal(sli_pool_init(&pool, &config), SL_OK);
    assert_int_equal(compute(&contexts[0], &pool, &view, tokens / 2), 0);
    sli_context_extend(&contexts[0], &pool, tokens);
    sli_context_publish(&contexts[0], &pool, &view, tokens);
    assert_int_equal(pool.prefix.run_count, 1);
    assert_null(contexts[0].deepest->above);
    assert_int_equal(compute(&contexts[1], &pool, &view, tokens), 0);
    assert_int_equal(pool.prefix.run_count, 2); /* all but the last block, and that one */
    assert_int_equal(pool.free_blocks, 3 * tokens - tokens - 1);
    assert_sound(&pool, contexts, 2);
    sli_pool_fini(&pool);
}

/* Everybody who comes finds the nodes that the one before has left. */
static void turnover_uses_the_same_memory_again(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    pool_init(&pool, 8, true);
    sli_content_view view = reader(1, 4, 32);
    const sli_hold *held = NULL;
    const sli_span *copy = NULL;
    const sli_run *run = NULL;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(compute(&context, &pool, &view, 32), 0);
        assert_true(round == 0 || held == context.deepest);
        assert_true(round == 0 || copy == context.deepest->copy);
        assert_true(round == 0 || run == context.deepest->copy->run);
        held = context.deepest;
        copy = held->copy;
        run = copy->run;
        sli_context_release(&context, &pool, &view, false);
        sli_pool_take(&pool, 8); /* evicts everything */
        sli_pool_give_blank(&pool, 8);
    }
    sli_pool_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lookup_answers_whole_blocks_up_to_the_limit),
        cmocka_unit_test(hits_in_the_free_queue_use_up_free_blocks),
        cmocka_unit_test(the_deepest_block_is_evicted_first_after_a_release),
        cmocka_unit_test(a_duplicate_is_found_once_the_oldest_copy_is_gone),
        cmocka_unit_test(private_tokens_are_found_by_their_context_alone),
        cmocka_unit_test(private_contents_of_the_gone_are_blank),
        cmocka_unit_test(generated_tokens_are_not_findable_when_that_is_off),
        cmocka_unit_test(a_pool_without_an_index_finds_nothing),
        cmocka_unit_test(a_roll_back_keeps_the_reservation),
        cmocka_unit_test(turnover_uses_the_same_memory_again),
        cmocka_unit_test(a_long_prompt_is_one_run_whatever_the_block_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
