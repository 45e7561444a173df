/* Contexts of several groups by hand. test_context_groups.c has the laws. */
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* In blocks of 2 tokens: full attention of 1 page a block, a window of 4 tokens of 2 pages, states
 * of 3. */
static const sli_layout hybrid = {
    .align_tokens = 2,
    .is_shareable = true,
    .group_count = 3,
    .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 2, .block_pages = 1},
               {.kind = SLI_GROUP_SLIDING, .span_tokens = 4, .block_tokens = 2, .block_pages = 2},
               {.kind = SLI_GROUP_STATE, .block_tokens = 2, .block_pages = 3}},
};

static const sli_layout recurrent = {
    .align_tokens = 2,
    .is_shareable = true,
    .group_count = 2,
    .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 2, .block_pages = 0},
               {.kind = SLI_GROUP_STATE, .block_tokens = 2, .block_pages = 3}},
};

static void pool_init(sli_pool *pool, const sli_layout *layout, bool has_index) {
    const sli_pool_config config = {.block_count = 200,
                                    .block_tokens = 2,
                                    .has_index = has_index,
                                    .caches_generated = true,
                                    .layout = layout};
    assert_int_equal(sli_pool_init(pool, &config), SL_OK);
}

static void assert_sound(const sli_pool *pool, const sli_context *contexts, size_t count) {
    const sli_context *const pointers[] = {&contexts[0], &contexts[count - 1]};
    const char *fault = sli_pool_audit(pool, pointers, count);
    if (fault != NULL) {
        fail_msg("audit: %s", fault);
    }
}

static const uint64_t document[] = {10, 11, 12, 13, 14, 15, 16, 17};

/* A prompt of so many tokens of the document. */
static sli_content_view reader(uint64_t request, int64_t tokens) {
    return (sli_content_view){{document, tokens, 1, 1}, request, tokens};
}

static sli_acquisition wish(const sli_context *context, const sli_pool *pool,
                            const sli_content_view *view, int64_t tokens) {
    return (sli_acquisition){.hit = sli_context_lookup(context, pool, view, tokens - 1),
                             .tokens = tokens};
}

static void end_step(sli_context *context, sli_pool *pool, const sli_content_view *view,
                     int64_t tokens) {
    sli_context_publish(context, pool, view, tokens);
    sli_pool_give_blank(pool, sli_context_slide(context, pool, tokens));
}

/* The first step, with what is found. */
static void begin(sli_context *context, sli_pool *pool, const sli_content_view *view,
                  int64_t tokens) {
    const sli_acquisition want = wish(context, pool, view, tokens);
    assert_int_equal(sli_context_acquire(context, pool, view, &want), 0);
    end_step(context, pool, view, tokens);
}

static void go_on(sli_context *context, sli_pool *pool, const sli_content_view *view,
                  int64_t tokens) {
    sli_context_extend(context, pool, tokens);
    end_step(context, pool, view, tokens);
}

/* 5 tokens: 3 blocks of full attention, of the window blocks 1 and 2, the state: 3 + 4 + 3. While
 * the sixth is computed nothing is added; with the seventh a block of each, and then the window
 * passes one and the state another: 4 + 4 + 3. */
static void pages_come_and_go_by_groups(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    const sli_content_view view = reader(1, 8);
    pool_init(&pool, &hybrid, true);
    begin(&context, &pool, &view, 5);
    assert_int_equal(context.held_blocks, 10);
    assert_int_equal(sli_context_need(&context, &pool, 6), 0);
    go_on(&context, &pool, &view, 6);
    assert_int_equal(sli_context_need(&context, &pool, 7), 1 + 2 + 3);
    sli_context_extend(&context, &pool, 7);
    assert_int_equal(context.held_blocks, 16);
    assert_int_equal(sli_context_held_at(&context, &pool, 6, 7), 16);
    assert_int_equal(sli_context_held_at(&context, &pool, 7, 7), 11);
    end_step(&context, &pool, &view, 7);
    assert_int_equal(context.held_blocks, 11);
    assert_int_equal(sli_pool_held_blocks(&pool), 11);
    assert_sound(&pool, &context, 1);
    sli_pool_fini(&pool);
}

/* A step of 7 tokens leaves one state, and that within a block. */
static void a_hybrid_finds_nothing_where_no_state_was_saved(void **state) {
    (void)state;
    sli_pool pool;
    sli_context contexts[2] = {{0}};
    const sli_content_view views[] = {reader(1, 8), reader(2, 8)};
    pool_init(&pool, &hybrid, true);
    begin(&contexts[0], &pool, &views[0], 7);
    assert_int_equal(sli_context_lookup(&contexts[1], &pool, &views[1], 7).blocks, 0);
    go_on(&contexts[0], &pool, &views[0], 8);
    assert_int_equal(sli_context_lookup(&contexts[1], &pool, &views[1], 7).blocks, 0);
    sli_hit hit = sli_context_lookup(&contexts[1], &pool, &views[1], 8);
    assert_int_equal(hit.blocks, 4);
    assert_int_equal(hit.free_blocks, 0);
    sli_context_release(&contexts[0], &pool, &views[0], false);
    hit = sli_context_lookup(&contexts[1], &pool, &views[1], 8);
    assert_int_equal(hit.free_blocks, 4 * 1 + 2 * 2 + 3); /* all of it, but no passed block */
    sli_pool_fini(&pool);
}

/* A findable block of a group, by hand. */
static void plant(sli_pool *pool, uint32_t group, int64_t position) {
    const sli_content_view view = reader(0, 8);
    sli_pool_take(pool, sli_pool_block_pages(pool, group));
    assert_non_null(
        sli_window_index_add(pool, group, sli_content_key(&view.content, position + 1, 2)));
}

/*
 * All 8 tokens of full attention are there. Behind 8 the window is whole (blocks 2 and 3), but no
 * state; behind 6 there is a state, but of the window block 1 is missing; behind 4 it is missing
 * too; behind 2 the window is block 0 alone, and there is a state.
 */
static void a_window_looks_again_when_a_state_asks_for_less(void **state) {
    (void)state;
    sli_pool pool;
    const sli_context nobody = {0};
    const sli_content_view view = reader(1, 8);
    pool_init(&pool, &hybrid, true);
    sli_pool_take(&pool, 4);
    assert_non_null(sli_prefix_add(&pool, &view.content, 0, 4, NULL));
    plant(&pool, 1, 0);
    plant(&pool, 1, 2);
    plant(&pool, 1, 3);
    plant(&pool, 2, 0);
    plant(&pool, 2, 2);
    assert_int_equal(sli_context_lookup(&nobody, &pool, &view, 8).blocks, 1);
    plant(&pool, 1, 1);
    assert_int_equal(sli_context_lookup(&nobody, &pool, &view, 8).blocks, 3);
    plant(&pool, 2, 3);
    assert_int_equal(sli_context_lookup(&nobody, &pool, &view, 8).blocks, 4);
    sli_pool_fini(&pool);
}

/* Without a growing layer the state alone decides, and nothing else takes memory. */
static void a_recurrent_model_holds_its_state_alone(void **state) {
    (void)state;
    sli_pool pool;
    sli_context contexts[2] = {{0}};
    const sli_content_view views[] = {reader(1, 8), reader(2, 8)};
    pool_init(&pool, &recurrent, true);
    begin(&contexts[0], &pool, &views[0], 4);
    go_on(&contexts[0], &pool, &views[0], 7);
    assert_int_equal(contexts[0].held_blocks, 3);
    assert_int_equal(sli_pool_held_blocks(&pool), 3);
    assert_int_equal(pool.cached_blocks, 3);
    const sli_hit hit = sli_context_lookup(&contexts[1], &pool, &views[1], 7);
    assert_int_equal(hit.blocks, 2);
    assert_int_equal(hit.free_blocks, 3);
    begin(&contexts[1], &pool, &views[1], 8);
    assert_int_equal(contexts[1].published_blocks, 4);
    assert_sound(&pool, contexts, 2);
    sli_context_release(&contexts[0], &pool, &views[0], false);
    sli_context_release(&contexts[1], &pool, &views[1], false);
    assert_int_equal(pool.free_blocks, 200);
    assert_int_equal(pool.cached_blocks, 3 * 2); /* behind 4 and behind 8 */
    sli_pool_fini(&pool);
}

/* Room for 11 tokens: 6 blocks, 3 that a window of 4 tokens may lie in, and two states, one of
 * before a step and one of behind it. None is asked for before token 13. */
static void a_reservation_lasts_equally_long_in_all_groups(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    const sli_content_view view = {.request = 1, .prompt_tokens = 3};
    const sli_acquisition want = {.tokens = 3, .reserve_tokens = 11};
    pool_init(&pool, &hybrid, true);
    assert_int_equal(sli_context_acquire(&context, &pool, &view, &want), 0);
    assert_int_equal(context.held_blocks, 6 * 1 + 3 * 2 + 2 * 3);
    end_step(&context, &pool, &view, 3);
    for (int64_t tokens = 4; tokens <= 14; tokens++) {
        assert_int_equal(sli_context_need(&context, &pool, tokens), tokens == 13 ? 1 : 0);
        go_on(&context, &pool, &view, tokens);
    }
    assert_int_equal(context.held_blocks, 7 * 1 + 2 * 2 + 3);
    assert_sound(&pool, &context, 1);
    sli_pool_fini(&pool);
}

/* Nothing is published, so nothing waits for it, and what a window passes is blank. */
static void a_pool_without_an_index_keeps_no_window(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    const sli_content_view view = reader(1, 8);
    pool_init(&pool, &hybrid, false);
    begin(&context, &pool, &view, 8);
    assert_int_equal(context.held_blocks, 4 * 1 + 2 * 2 + 3);
    assert_int_equal(pool.cached_blocks, 0);
    sli_context_release(&context, &pool, &view, true);
    assert_null(context.parked);
    assert_int_equal(pool.cached_blocks, 0);
    assert_int_equal(sli_context_lookup(&context, &pool, &view, 8).blocks, 0);
    assert_int_equal(pool.free_blocks, 200);
    sli_pool_fini(&pool);
}

/* 8 tokens of a prompt and 2 generated ones, preempted: it finds its own state behind 10 again if
 * generated tokens are cached, else that behind its prompt. */
static void generated_states_are_found_only_if_that_is_on(void **state) {
    (void)state;
    for (int caches = 0; caches < 2; caches++) {
        const sli_pool_config config = {.block_count = 200,
                                        .block_tokens = 2,
                                        .has_index = true,
                                        .caches_generated = caches == 1,
                                        .layout = &hybrid};
        sli_pool pool;
        sli_context context = {0};
        const sli_content_view view = reader(1, 8);
        assert_int_equal(sli_pool_init(&pool, &config), SL_OK);
        begin(&context, &pool, &view, 8);
        go_on(&context, &pool, &view, 9);
        go_on(&context, &pool, &view, 10);
        sli_context_release(&context, &pool, &view, true);
        assert_int_equal(sli_context_lookup(&context, &pool, &view, 10).blocks, 4 + caches);
        begin(&context, &pool, &view, 11);
        assert_int_equal(context.held_blocks, 6 * 1 + 2 * 2 + 3);
        assert_null(context.parked);
        assert_sound(&pool, &context, 1);
        sli_pool_fini(&pool);
    }
}

/* Everybody who comes finds the nodes that the one before has left. */
static void turnover_uses_the_same_memory_again(void **state) {
    (void)state;
    sli_pool pool;
    sli_context context = {0};
    const sli_content_view view = reader(1, 8);
    pool_init(&pool, &hybrid, true);
    const sli_window *windows = NULL;
    for (int round = 0; round < 3; round++) {
        begin(&context, &pool, &view, 8);
        assert_true(round == 0 || windows == context.windows);
        windows = context.windows;
        sli_context_release(&context, &pool, &view, false);
        assert_null(context.windows);
        sli_pool_take(&pool, 200); /* evicts everything */
        sli_pool_give_blank(&pool, 200);
        assert_int_equal(pool.windows.block_count, 0);
    }
    sli_pool_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_come_and_go_by_groups),
        cmocka_unit_test(a_hybrid_finds_nothing_where_no_state_was_saved),
        cmocka_unit_test(a_window_looks_again_when_a_state_asks_for_less),
        cmocka_unit_test(a_recurrent_model_holds_its_state_alone),
        cmocka_unit_test(a_reservation_lasts_equally_long_in_all_groups),
        cmocka_unit_test(a_pool_without_an_index_keeps_no_window),
        cmocka_unit_test(generated_states_are_found_only_if_that_is_on),
        cmocka_unit_test(turnover_uses_the_same_memory_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
