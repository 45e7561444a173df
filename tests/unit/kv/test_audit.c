/* The audit against books that were broken on purpose, one law at a time. */
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CONTEXTS = 3 };

/*
 * Blocks of one token. Two contexts hold the run [0, 2); the second also a duplicate of [2, 4) of
 * the first, which was split for that, and private blocks. The third has left a parked span.
 *
 * With windows two contexts hold [0, 4), of which the window keeps three blocks and the state one;
 * the second went on by two private tokens. The third has left a parked span of each group.
 */
typedef struct scene {
    sli_pool pool;
    sli_context contexts[CONTEXTS];
    sli_content_view views[CONTEXTS];
} scene;

static const uint64_t ids[] = {10, 11, 12, 13, 14};

static void compute(scene *it, int i, int64_t hit_tokens, int64_t tokens) {
    sli_context *context = &it->contexts[i];
    const sli_content_view *view = &it->views[i];
    const sli_acquisition want = {.hit = sli_context_lookup(context, &it->pool, view, hit_tokens),
                                  .tokens = tokens};
    assert_int_equal(sli_context_acquire(context, &it->pool, view, &want), 0);
    sli_context_publish(context, &it->pool, view, tokens);
    sli_pool_give_blank(&it->pool, sli_context_slide(context, &it->pool, tokens));
}

static void scene_init(scene *it, const sli_layout *layout, int64_t hit_tokens) {
    const sli_pool_config config = {.block_count = layout != NULL ? 100 : 30,
                                    .block_tokens = 1,
                                    .has_index = true,
                                    .caches_generated = true,
                                    .layout = layout};
    memset(it, 0, sizeof *it);
    assert_int_equal(sli_pool_init(&it->pool, &config), SL_OK);
    it->views[0] = (sli_content_view){{ids, 4, 1, 1}, 0, 4};
    it->views[1] = (sli_content_view){{ids, 4, 1, 1}, 1, 6};
    it->views[2] = (sli_content_view){{ids, 5, 1, 2}, 2, 9};
    compute(it, 2, 0, 9);
    sli_context_release(&it->contexts[2], &it->pool, &it->views[2], true);
    compute(it, 0, 0, 4);
    compute(it, 1, hit_tokens, 6);
}

static void plain_scene(scene *it) {
    scene_init(it, NULL, 2);
}

static const sli_layout layout = {
    .align_tokens = 1,
    .is_shareable = true,
    .group_count = 3,
    .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 1, .block_pages = 2},
               {.kind = SLI_GROUP_SLIDING, .span_tokens = 4, .block_tokens = 1, .block_pages = 2},
               {.kind = SLI_GROUP_STATE, .block_tokens = 1, .block_pages = 3}},
};

static void scene_with_windows(scene *it) {
    scene_init(it, &layout, 4);
}

static const char *audit(const scene *it) {
    const sli_context *pointers[CONTEXTS] = {&it->contexts[0], &it->contexts[1], &it->contexts[2]};
    return sli_pool_audit(&it->pool, pointers, CONTEXTS);
}

static sli_run *run_at(scene *it, int64_t start_block) {
    sli_run *run = sli_prefix_find(&it->pool, &it->views[0].content, start_block);
    assert_non_null(run);
    return run;
}

/* ---- Damage ---- */

static void unlink_head_backwards(scene *it) {
    it->pool.queue.after->before = it->pool.queue.before;
}

static void unlink_tail_backwards(scene *it) {
    it->pool.queue.before = it->pool.queue.after;
}

static void hold_queued_copy(scene *it) {
    it->pool.queue.before->reference_count = 1;
}

static void empty_span(scene *it) {
    it->pool.queue.after->blocks = 0;
}

static void lose_parked(scene *it) {
    it->contexts[2].parked = NULL;
}

static void inflate_span(scene *it) {
    it->pool.queue.after->blocks += 1000;
}

static void miscount_free(scene *it) {
    it->pool.free_blocks++;
}

static void miscount_cached(scene *it) {
    it->pool.cached_blocks--;
}

static void lose_copies(scene *it) {
    run_at(it, 2)->oldest_copy = NULL;
}

static void leave_gap_below_parent(scene *it) {
    run_at(it, 0)->end_block--;
}

static void orphan(scene *it) {
    run_at(it, 2)->parent = NULL;
    run_at(it, 0)->child_count--;
}

static void rename_run(scene *it) {
    static const uint64_t other_ids[] = {20, 21, 22, 23};
    run_at(it, 2)->content.ids = other_ids;
}

static void unlink_copy(scene *it) {
    run_at(it, 2)->newest_copy->older_copy = NULL;
}

static void swap_copy(scene *it) {
    run_at(it, 2)->oldest_copy->run = run_at(it, 0);
}

static void lose_newest(scene *it) {
    run_at(it, 2)->newest_copy = run_at(it, 2)->oldest_copy;
}

static void miscount_children(scene *it) {
    run_at(it, 0)->child_count++;
}

static void miscount_runs(scene *it) {
    it->pool.prefix.run_count++;
}

static void forget_holder(scene *it) {
    run_at(it, 0)->oldest_copy->reference_count--;
}

static void invent_holder(scene *it) {
    run_at(it, 2)->newest_copy->reference_count++;
}

static void lose_block(scene *it) {
    it->contexts[1].block_count--;
}

/* ---- Damage to windows ---- */

static sli_window *window_at(scene *it, int i) {
    return &it->contexts[i].windows[0];
}

static void hold_above_window(scene *it) {
    window_at(it, 0)->uppermost->position--;
}

static void hold_below_window(scene *it) {
    window_at(it, 1)->deepest->position = window_at(it, 1)->end_block;
}

static void hold_twice(scene *it) {
    window_at(it, 0)->deepest->position--;
}

static void lose_hold(scene *it) {
    window_at(it, 0)->uppermost = window_at(it, 0)->uppermost->deeper;
}

static void forget_window_holder(scene *it) {
    window_at(it, 1)->deepest->block->reference_count--;
}

static void invent_window_holder(scene *it) {
    window_at(it, 0)->deepest->block->reference_count++;
}

static void lose_window_block(scene *it) {
    window_at(it, 1)->end_block--;
}

static void invent_state_block(scene *it) {
    it->contexts[0].windows[1].end_block++;
}

/* A free block of the window of the third context, which had shared contents. */
static void hold_queued_window(scene *it) {
    sli_span *span = it->pool.queue.after;
    while (span->kind != SLI_SPAN_WINDOW) {
        span = span->after;
    }
    span->reference_count = 1;
}

static void move_parked_to_other_group(scene *it) {
    sli_pool_parked(&it->pool, &it->contexts[2], 1)->group = 2;
}

typedef struct damage_case {
    void (*damage)(scene *it);
    const char *fault;
} damage_case;

static void assert_found(void (*set_up)(scene *it), const damage_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        scene it;
        set_up(&it);
        assert_null(audit(&it));
        cases[i].damage(&it);
        const char *fault = audit(&it);
        assert_non_null(fault);
        assert_string_equal(fault, cases[i].fault);
        sli_pool_fini(&it.pool);
    }
}

static void audit_names_the_law_that_is_broken(void **state) {
    (void)state;
    static const damage_case cases[] = {
        {unlink_head_backwards, "the queue is not linked both ways"},
        {unlink_tail_backwards, "the queue is not linked both ways"},
        {hold_queued_copy, "a held or empty span lies in the queue"},
        {empty_span, "a held or empty span lies in the queue"},
        {lose_parked, "a parked span is not known to its parker"},
        {inflate_span, "more blocks are free than there are"},
        {miscount_free, "the count of free blocks differs from the queue"},
        {miscount_cached, "the count of cached blocks is wrong"},
        {lose_copies, "a run has no blocks or no copies"},
        {leave_gap_below_parent, "a run does not begin where its parent ends"},
        {orphan, "a run does not begin where its parent ends"},
        {rename_run, "a run is not found by its first block"},
        {unlink_copy, "the copies of a run are not linked both ways"},
        {swap_copy, "the copies of a run are not linked both ways"},
        {lose_newest, "the newest copy of a run is another one"},
        {miscount_children, "a run counts its children wrongly"},
        {miscount_runs, "the count of runs is wrong"},
        {forget_holder, "a reference count differs from the number of holders"},
        {invent_holder, "a reference count differs from the number of holders"},
        {lose_block, "a block is neither free nor held"},
    };
    assert_found(plain_scene, cases, sizeof cases / sizeof cases[0]);
}

static void audit_names_the_law_of_windows_that_is_broken(void **state) {
    (void)state;
    static const damage_case cases[] = {
        {hold_above_window, "a window holds a block outside of it, or twice"},
        {hold_below_window, "a window holds a block outside of it, or twice"},
        {hold_twice, "a window holds a block outside of it, or twice"},
        {lose_hold, "a reference count of a window block differs from the number of holders"},
        {forget_window_holder,
         "a reference count of a window block differs from the number of holders"},
        {invent_window_holder,
         "a reference count of a window block differs from the number of holders"},
        {lose_window_block, "a block is neither free nor held"},
        {invent_state_block, "a block is neither free nor held"},
        {hold_queued_window, "a held or empty span lies in the queue"},
        {move_parked_to_other_group, "a parked span is not known to its parker"},
        {miscount_cached, "the count of cached blocks is wrong"},
        {lose_block, "a block is neither free nor held"},
    };
    assert_found(scene_with_windows, cases, sizeof cases / sizeof cases[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audit_names_the_law_that_is_broken),
        cmocka_unit_test(audit_names_the_law_of_windows_that_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
