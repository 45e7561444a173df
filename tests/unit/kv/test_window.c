/* Windows, chunks and states by hand, in blocks of 2 tokens. test_window_model.c has the laws. */
#include "kv/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PAGES = 100 };

static const uint64_t document[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

/* A pool whose second group is the one that is tested, a page a block, and three who use it. */
typedef struct scene {
    sli_layout layout;
    sli_pool pool;
    sli_context contexts[3];
    sli_window windows[3];
    sli_content_view views[3]; /* all of the document, and what they generate */
} scene;

static void scene_init(scene *it, sli_group group) {
    memset(it, 0, sizeof *it);
    group.block_tokens = 2;
    group.block_pages = 1;
    it->layout = (sli_layout){
        .align_tokens = 2,
        .is_shareable = group.kind != SLI_GROUP_FIXED,
        .group_count = 2,
        .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 2, .block_pages = 1}, group},
    };
    const sli_pool_config config = {
        .block_count = PAGES,
        .block_tokens = 2,
        .has_index = it->layout.is_shareable,
        .caches_generated = true,
        .layout = &it->layout,
    };
    assert_int_equal(sli_pool_init(&it->pool, &config), SL_OK);
    for (int i = 0; i < 3; i++) {
        it->contexts[i].windows = &it->windows[i];
        it->views[i] = (sli_content_view){{document, 10, 1, 1}, (uint64_t)i, 10};
    }
}

static sli_window_site at(scene *it, int i) {
    return (sli_window_site){
        .pool = &it->pool,
        .context = &it->contexts[i],
        .view = &it->views[i],
        .group = &it->layout.groups[1],
        .number = 1,
    };
}

static int64_t blocks_of(const scene *it, int i) {
    return sli_window_blocks(&it->windows[i], &it->layout.groups[1]);
}

static void begin_step(scene *it, int i, int64_t tokens) {
    const sli_window_site site = at(it, i);
    sli_pool_take(&it->pool, sli_window_need(&it->windows[i], site.group, 0, tokens));
    sli_window_grow(&it->windows[i], site.group, tokens);
    if (it->pool.config.has_index) {
        sli_window_publish(&it->windows[i], &site, tokens, tokens);
    }
}

static void end_step(scene *it, int i, int64_t tokens) {
    const sli_window_site site = at(it, i);
    sli_pool_give_blank(&it->pool, sli_window_slide(&it->windows[i], &site, tokens));
}

static void compute(scene *it, int i, int64_t tokens) {
    begin_step(it, i, tokens);
    end_step(it, i, tokens);
}

static void release(scene *it, int i, bool will_be_back) {
    const sli_window_site site = at(it, i);
    sli_window_release(&it->windows[i], &site, will_be_back);
}

static int64_t fit(scene *it, int i, int64_t tokens) {
    const sli_window_site site = at(it, i);
    return sli_window_fit(&site, tokens, 2);
}

static void share_prefix(scene *it, int i, int64_t tokens) {
    const sli_window_site site = at(it, i);
    assert_int_equal(sli_window_fit(&site, tokens, 2), tokens);
    sli_window_share(&it->windows[i], &site, tokens);
}

/* Hands the head of the queue out and puts it back as nothing that could be found. */
static void evict(scene *it, int64_t pages) {
    sli_pool_take(&it->pool, pages);
    sli_pool_put_back(&it->pool, pages);
}

/* All blank pages are handed out for good, so that what is evicted next is something. */
static void use_up_blank(scene *it) {
    sli_pool_take(&it->pool, it->pool.free_blocks - it->pool.cached_blocks);
}

static const sli_group sliding = {.kind = SLI_GROUP_SLIDING, .span_tokens = 4};
static const sli_group chunked = {.kind = SLI_GROUP_CHUNKED, .span_tokens = 4};
static const sli_group state_group = {.kind = SLI_GROUP_STATE};

/* A window of 4: the next token looks at 3 tokens before it. The fifth still looks at the second,
 * the sixth no longer does. */
static void a_window_holds_a_block_more_while_it_goes_over_an_edge(void **state) {
    (void)state;
    static const int64_t in_step[] = {1, 1, 2, 2, 3, 2, 3, 2, 3, 2};
    static const int64_t after[] = {1, 1, 2, 2, 2, 2, 2, 2, 2, 2};
    scene it;
    scene_init(&it, sliding);
    for (int64_t tokens = 1; tokens <= 10; tokens++) {
        begin_step(&it, 0, tokens);
        assert_int_equal(blocks_of(&it, 0), in_step[tokens - 1]);
        end_step(&it, 0, tokens);
        assert_int_equal(blocks_of(&it, 0), after[tokens - 1]);
    }
    assert_int_equal(it.pool.cached_blocks, 3); /* blocks 0, 1 and 2 have been passed */
    sli_pool_fini(&it.pool);
}

/* Behind 8 tokens blocks 2 and 3 are kept, behind 6 blocks 1 and 2, behind 4 blocks 0 and 1. */
static void a_prefix_is_found_with_its_window_and_no_more(void **state) {
    (void)state;
    scene it;
    scene_init(&it, sliding);
    compute(&it, 0, 8); /* blocks 0 and 1 go, the deeper one first */
    use_up_blank(&it);
    assert_int_equal(fit(&it, 1, 9), 8);
    assert_int_equal(fit(&it, 1, 7), 6);
    evict(&it, 1); /* block 1 */
    assert_int_equal(fit(&it, 1, 8), 8);
    assert_int_equal(fit(&it, 1, 7), 2);
    assert_int_equal(fit(&it, 1, 5), 2);
    evict(&it, 2); /* the page of block 1 again, and block 0 */
    assert_int_equal(fit(&it, 1, 8), 8);
    assert_int_equal(fit(&it, 1, 7), 0);
    sli_pool_fini(&it.pool);
}

/* At the end of a chunk nothing is kept, so nothing can be missing; one token later a block is. */
static void the_end_of_a_chunk_is_found_by_anybody(void **state) {
    (void)state;
    static const int64_t after[] = {1, 1, 2, 0, 1, 1, 2, 0, 1, 1};
    scene it;
    scene_init(&it, chunked);
    assert_int_equal(fit(&it, 0, 9), 8);
    assert_int_equal(fit(&it, 0, 7), 4);
    for (int64_t tokens = 1; tokens <= 10; tokens++) {
        compute(&it, 0, tokens);
        assert_int_equal(blocks_of(&it, 0), after[tokens - 1]);
    }
    assert_int_equal(fit(&it, 1, 7), 6);
    const sli_window_site site = at(&it, 1);
    assert_int_equal(sli_window_free_blocks(&site, 8), 0);
    assert_int_equal(sli_window_free_blocks(&site, 6), 1);
    share_prefix(&it, 1, 8);
    assert_int_equal(blocks_of(&it, 1), 0);
    compute(&it, 1, 9);
    assert_int_equal(blocks_of(&it, 1), 1);
    sli_pool_fini(&it.pool);
}

/* Steps of 2, 3, 3 and 2 tokens end behind 2, 5, 8 and 10; that behind 5 is within a block. */
static void a_state_is_found_where_a_step_ended_with_a_block(void **state) {
    (void)state;
    scene it;
    scene_init(&it, state_group);
    compute(&it, 0, 2);
    compute(&it, 0, 5);
    compute(&it, 0, 8);
    compute(&it, 0, 10);
    assert_int_equal(blocks_of(&it, 0), 1);
    assert_int_equal(it.pool.cached_blocks, 2);
    assert_int_equal(fit(&it, 1, 10), 10);
    assert_int_equal(fit(&it, 1, 9), 8);
    assert_int_equal(fit(&it, 1, 7), 2);
    assert_int_equal(fit(&it, 1, 1), 0);
    sli_pool_fini(&it.pool);
}

/* It had computed 12 of its tokens, the last 2 its own; it comes back, and is given up again while
 * the step that would go on from there is only planned. */
static void a_private_state_survives_being_given_up_before_any_progress(void **state) {
    (void)state;
    scene it;
    scene_init(&it, state_group);
    compute(&it, 0, 10);
    compute(&it, 0, 12);
    const sli_window_site site = at(&it, 0);
    for (int times = 0; times < 3; times++) {
        release(&it, 0, true);
        assert_int_equal(sli_pool_parked(&it.pool, &it.contexts[0], 1)->start_block, 5);
        assert_int_equal(it.pool.cached_blocks, 2);
        assert_int_equal(fit(&it, 1, 13), 10); /* nobody else finds it */
        share_prefix(&it, 0, 12);
        assert_null(sli_pool_parked(&it.pool, &it.contexts[0], 1));
        begin_step(&it, 0, 12 + 2 * times);
        sli_window_retract(&it.windows[0], &site, 12);
    }
    release(&it, 0, false);
    assert_null(it.contexts[0].parked);
    assert_int_equal(it.pool.cached_blocks, 1);
    sli_pool_fini(&it.pool);
}

/* Block 0 stays in use for as long as one of the two looks at it. */
static void a_block_goes_when_its_last_holder_has_passed_it(void **state) {
    (void)state;
    scene it;
    scene_init(&it, sliding);
    compute(&it, 0, 4);
    share_prefix(&it, 1, 4);
    assert_int_equal(sli_pool_held_blocks(&it.pool), 2);
    compute(&it, 0, 5);
    assert_int_equal(it.pool.cached_blocks, 0);
    compute(&it, 1, 5);
    assert_int_equal(it.pool.cached_blocks, 1);
    const sli_window_site site = at(&it, 2);
    assert_int_equal(sli_window_free_blocks(&site, 4), 1); /* block 0, but not block 1 */
    sli_pool_fini(&it.pool);
}

/* Both compute the same block unaware of each other; when the first copy is gone the second is
 * found. */
static void a_lookup_answers_the_oldest_copy(void **state) {
    (void)state;
    scene it;
    scene_init(&it, sliding);
    begin_step(&it, 0, 2);
    begin_step(&it, 1, 2);
    end_step(&it, 0, 2);
    end_step(&it, 1, 2);
    release(&it, 0, false);
    const sli_window_site site = at(&it, 2);
    assert_int_equal(sli_window_free_blocks(&site, 2), 1);
    use_up_blank(&it);
    evict(&it, 1);
    assert_int_equal(sli_window_free_blocks(&site, 2), 0);
    assert_int_equal(fit(&it, 2, 2), 2);
    sli_pool_fini(&it.pool);
}

/* Of 12 tokens the last 2 are its own: what of them the window has not passed waits for it. */
static void a_private_part_of_a_window_is_parked_behind_the_shared_one(void **state) {
    (void)state;
    scene it;
    scene_init(&it, sliding);
    compute(&it, 0, 10);
    compute(&it, 0, 13); /* keeps blocks 5 and 6, the last one not full */
    assert_int_equal(blocks_of(&it, 0), 2);
    release(&it, 0, true);
    const sli_span *parked = sli_pool_parked(&it.pool, &it.contexts[0], 1);
    assert_int_equal(parked->start_block, 5);
    assert_int_equal(parked->blocks, 1);
    assert_int_equal(fit(&it, 0, 12), 12); /* blocks 4 and 5 */
    assert_int_equal(fit(&it, 1, 12), 10);
    share_prefix(&it, 0, 12);
    assert_int_equal(blocks_of(&it, 0), 2);
    assert_null(it.contexts[0].parked);
    sli_pool_fini(&it.pool);
}

/* From the admission on, whatever is computed; nothing of it is ever found. */
static void a_fixed_number_is_held_from_the_start(void **state) {
    (void)state;
    const sli_group fixed = {.kind = SLI_GROUP_FIXED, .fixed_blocks = 3};
    scene it;
    scene_init(&it, fixed);
    for (int64_t tokens = 1; tokens <= 10; tokens++) {
        compute(&it, 0, tokens);
        assert_int_equal(blocks_of(&it, 0), 3);
        assert_int_equal(sli_pool_held_blocks(&it.pool), 3);
    }
    release(&it, 0, true);
    assert_null(it.contexts[0].parked);
    assert_int_equal(it.pool.free_blocks, PAGES);
    assert_int_equal(it.pool.cached_blocks, 0);
    sli_pool_fini(&it.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_holds_a_block_more_while_it_goes_over_an_edge),
        cmocka_unit_test(a_prefix_is_found_with_its_window_and_no_more),
        cmocka_unit_test(the_end_of_a_chunk_is_found_by_anybody),
        cmocka_unit_test(a_state_is_found_where_a_step_ended_with_a_block),
        cmocka_unit_test(a_private_state_survives_being_given_up_before_any_progress),
        cmocka_unit_test(a_block_goes_when_its_last_holder_has_passed_it),
        cmocka_unit_test(a_lookup_answers_the_oldest_copy),
        cmocka_unit_test(a_private_part_of_a_window_is_parked_behind_the_shared_one),
        cmocka_unit_test(a_fixed_number_is_held_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
