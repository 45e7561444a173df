/* Contexts by hand, in blocks of 4 tokens. test_context_model.c has the laws. */
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static sli_pool make_pool(int64_t block_count, bool caches_generated) {
    const sli_pool_config config = {.block_count = block_count,
                                    .block_tokens = 4,
                                    .has_index = true,
                                    .caches_generated = caches_generated};
    sli_pool pool;
    assert_int_equal(sli_pool_init(&pool, &config), SL_OK);
    return pool;
}

static void assert_sound(const sli_pool *pool, const sli_context *contexts, size_t count) {
    const sli_context *pointers[3];
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

/* Acquires, with what the index holds, slots for `tokens` and makes them findable. */
static int64_t compute(sli_pool *pool, const sli_content_view *view, int64_t tokens,
                       sli_context *context) {
    sli_acquisition want = {.hit_tokens = sli_context_lookup(pool, view, tokens - 1),
                            .tokens = tokens,
                            .final_tokens = tokens + 8};
    int64_t missing_blocks = -1;
    assert_int_equal(sli_context_acquire(context, pool, view, &want, &missing_blocks), SL_OK);
    if (missing_blocks == 0) {
        sli_context_publish(context, pool, view, tokens);
    }
    return missing_blocks;
}

static void a_lookup_leaves_the_last_token_to_be_computed(void **state) {
    (void)state;
    sli_pool pool = make_pool(8, true);
    sli_context context = {0};
    sli_content_view view = reader(1, 2, 8);
    assert_int_equal(sli_context_lookup(&pool, &view, 8), 0);
    assert_int_equal(compute(&pool, &view, 8, &context), 0);
    assert_int_equal(sli_context_lookup(&pool, &view, 8), 8);
    assert_int_equal(sli_context_lookup(&pool, &view, 7), 4); /* whole blocks alone */
    assert_int_equal(sli_context_lookup(&pool, &view, 3), 0);
    sli_context_fini(&context, &pool);
    sli_pool_fini(&pool);
}

/* Of 5 blocks 3 are cached and free; 6 are wanted, 3 of them hits: 3 shared + 3 taken > 5. */
static void hits_in_the_free_queue_use_up_free_blocks(void **state) {
    (void)state;
    sli_pool pool = make_pool(5, true);
    sli_context contexts[2] = {0};
    sli_content_view first = reader(1, 3, 13);
    sli_content_view second = reader(2, 3, 24);
    assert_int_equal(compute(&pool, &first, 12, &contexts[0]), 0);
    sli_context_release(&contexts[0], &pool);
    assert_int_equal(pool.free_blocks, 5);
    assert_int_equal(pool.cached_blocks, 3);
    assert_int_equal(compute(&pool, &second, 24, &contexts[1]), 1);
    assert_int_equal(pool.free_blocks, 5); /* nothing has changed */
    assert_int_equal(contexts[1].block_count, 0);

    /* While somebody holds the hits they cost nothing: 2 more are wanted of 1, then 1 of 1. */
    assert_int_equal(compute(&pool, &first, 13, &contexts[0]), 0);
    assert_int_equal(pool.free_blocks, 1);
    assert_int_equal(compute(&pool, &second, 20, &contexts[1]), 1);
    assert_int_equal(compute(&pool, &second, 16, &contexts[1]), 0);
    assert_int_equal(pool.free_blocks, 0);
    assert_sound(&pool, contexts, 2);
    sli_context_fini(&contexts[0], &pool);
    sli_context_fini(&contexts[1], &pool);
    sli_pool_fini(&pool);
}

static void the_deepest_block_is_evicted_first_after_a_release(void **state) {
    (void)state;
    sli_pool pool = make_pool(4, true);
    sli_context contexts[2] = {0};
    sli_content_view view = reader(1, 4, 16);
    sli_content_view other = {.request = 2, .prompt_tokens = 4};
    assert_int_equal(compute(&pool, &view, 16, &contexts[0]), 0);
    sli_context_release(&contexts[0], &pool);
    assert_int_equal(compute(&pool, &other, 4, &contexts[1]), 0);
    assert_int_equal(sli_context_lookup(&pool, &view, 16), 12);
    assert_int_equal(sli_context_extend(&contexts[1], &pool, 8), SL_OK);
    assert_int_equal(sli_context_lookup(&pool, &view, 16), 8);
    assert_int_equal(sli_context_extend(&contexts[1], &pool, 12), SL_OK);
    assert_int_equal(sli_context_lookup(&pool, &view, 16), 4);
    assert_int_equal(pool.evicted_blocks, 3);
    sli_context_fini(&contexts[1], &pool);
    sli_context_fini(&contexts[0], &pool);
    sli_pool_fini(&pool);
}

/* Two requests compute the same 8 tokens unaware of each other, as the last block never hits. */
static void a_duplicate_is_found_once_the_oldest_copy_is_gone(void **state) {
    (void)state;
    sli_pool pool = make_pool(6, true);
    sli_context contexts[3] = {0};
    sli_content_view views[] = {reader(1, 2, 8), reader(2, 2, 8), reader(3, 2, 9)};
    assert_int_equal(compute(&pool, &views[0], 8, &contexts[0]), 0);
    assert_int_equal(compute(&pool, &views[1], 8, &contexts[1]), 0);
    assert_int_equal(contexts[1].blocks[0], contexts[0].blocks[0]);
    uint32_t older = contexts[0].blocks[1];
    uint32_t newer = contexts[1].blocks[1];
    assert_int_not_equal(newer, older);

    assert_int_equal(compute(&pool, &views[2], 9, &contexts[2]), 0);
    assert_int_equal(contexts[2].blocks[1], older);
    sli_context_release(&contexts[2], &pool);

    /* The older copy is released, then evicted by a request that takes all free blocks. */
    sli_content_view big = {.request = 4, .prompt_tokens = 16};
    sli_context_release(&contexts[0], &pool);
    assert_int_equal(compute(&pool, &big, 16, &contexts[2]), 0);
    assert_int_equal(sli_context_lookup(&pool, &views[2], 8), 8);
    assert_int_equal(compute(&pool, &views[2], 8, &contexts[0]), 1); /* finds 4 of 7, lacks one */
    sli_context_release(&contexts[2], &pool);
    assert_int_equal(compute(&pool, &views[2], 9, &contexts[0]), 0);
    assert_int_equal(contexts[0].blocks[1], newer);
    assert_sound(&pool, contexts, 3);
    for (int i = 0; i < 3; i++) {
        sli_context_fini(&contexts[i], &pool);
    }
    sli_pool_fini(&pool);
}

/* The tail of a prompt beyond its ids, and what is generated, are the request's own. */
static void private_tokens_are_found_by_their_request_alone(void **state) {
    (void)state;
    sli_pool pool = make_pool(12, true);
    sli_context context = {0};
    sli_content_view first = reader(1, 2, 12);
    sli_content_view second = reader(2, 2, 12);
    assert_int_equal(compute(&pool, &first, 12, &context), 0);
    assert_int_equal(sli_context_extend(&context, &pool, 20), SL_OK);
    sli_context_publish(&context, &pool, &first, 19);
    sli_context_release(&context, &pool);
    assert_int_equal(sli_context_lookup(&pool, &first, 20), 16); /* 8 shared, 4 tail, 4 generated */
    assert_int_equal(sli_context_lookup(&pool, &second, 20), 8);
    sli_context_fini(&context, &pool);
    sli_pool_fini(&pool);
}

static void generated_tokens_are_not_findable_when_that_is_off(void **state) {
    (void)state;
    sli_pool pool = make_pool(12, false);
    sli_context context = {0};
    sli_content_view view = reader(1, 3, 10); /* the third block ends in generated tokens */
    assert_int_equal(compute(&pool, &view, 10, &context), 0);
    assert_int_equal(sli_context_extend(&context, &pool, 16), SL_OK);
    sli_context_publish(&context, &pool, &view, 16);
    assert_int_equal(context.published_blocks, 2);
    sli_context_release(&context, &pool);
    assert_int_equal(sli_context_lookup(&pool, &view, 15), 8);
    assert_int_equal(pool.cached_blocks, 2);
    sli_context_fini(&context, &pool);
    sli_pool_fini(&pool);
}

static void a_pool_without_an_index_finds_nothing(void **state) {
    (void)state;
    const sli_pool_config config = {.block_count = 4, .block_tokens = 4};
    sli_pool pool;
    assert_int_equal(sli_pool_init(&pool, &config), SL_OK);
    sli_context context = {0};
    sli_content_view view = reader(1, 2, 8);
    assert_int_equal(compute(&pool, &view, 8, &context), 0);
    assert_int_equal(context.published_blocks, 0);
    assert_int_equal(sli_context_lookup(&pool, &view, 8), 0);
    sli_context_retract(&context, &pool, 0);
    sli_context_roll_back(&context, &pool, 1);
    assert_int_equal(context.block_count, 1);
    assert_sound(&pool, &context, 1);
    sli_context_fini(&context, &pool);
    assert_int_equal(pool.free_blocks, 4);
    sli_pool_fini(&pool);
}

/* Reserved blocks are not what an extension took, so undoing it leaves them. */
static void a_roll_back_keeps_the_reservation(void **state) {
    (void)state;
    sli_pool pool = make_pool(8, true);
    sli_context context = {0};
    sli_content_view view = reader(1, 0, 4);
    const sli_acquisition want = {.tokens = 4, .reserve_tokens = 14, .final_tokens = 24};
    int64_t missing_blocks = -1;
    assert_int_equal(sli_context_acquire(&context, &pool, &view, &want, &missing_blocks), SL_OK);
    assert_int_equal(missing_blocks, 0);
    assert_int_equal(pool.free_blocks, 4);
    uint32_t next_to_take = pool.blocks[pool.config.block_count].next;
    assert_int_equal(sli_context_need(&context, &pool, 16), 0);
    assert_int_equal(sli_context_need(&context, &pool, 17), 1);
    assert_int_equal(sli_context_extend(&context, &pool, 24), SL_OK);
    assert_int_equal(pool.free_blocks, 2);
    sli_context_roll_back(&context, &pool, 4);
    assert_int_equal(context.block_count, 4);
    assert_int_equal(pool.free_blocks, 4);
    assert_int_equal(pool.blocks[pool.config.block_count].next, next_to_take);
    sli_context_fini(&context, &pool);
    sli_pool_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lookup_leaves_the_last_token_to_be_computed),
        cmocka_unit_test(hits_in_the_free_queue_use_up_free_blocks),
        cmocka_unit_test(the_deepest_block_is_evicted_first_after_a_release),
        cmocka_unit_test(a_duplicate_is_found_once_the_oldest_copy_is_gone),
        cmocka_unit_test(private_tokens_are_found_by_their_request_alone),
        cmocka_unit_test(generated_tokens_are_not_findable_when_that_is_off),
        cmocka_unit_test(a_pool_without_an_index_finds_nothing),
        cmocka_unit_test(a_roll_back_keeps_the_reservation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
