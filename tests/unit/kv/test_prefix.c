/* The prefix index by hand, in blocks of one token: runs, copies, splits. */
#include "kv/prefix.h"

#include "kv/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BLOCKS = 30 };

static const uint64_t ids[] = {10, 11, 12, 13, 14, 15, 16, 17};
static const sl_content document = {ids, 8, 1, 1};

static void pool_init(sli_pool *pool, int64_t block_count) {
    const sli_pool_config config = {
        .block_count = block_count, .block_tokens = 1, .has_index = true};
    assert_int_equal(sli_pool_init(pool, &config), SL_OK);
    sli_pool_take(pool, block_count);
}

static void assert_run(const sli_run *run, int64_t start_block, int64_t end_block,
                       const sli_run *parent, int64_t child_count) {
    assert_non_null(run);
    assert_int_equal(run->start_block, start_block);
    assert_int_equal(run->end_block, end_block);
    assert_ptr_equal(run->parent, parent);
    assert_int_equal(run->child_count, child_count);
}

static void a_run_is_found_by_its_first_block_alone(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, BLOCKS);
    assert_null(sli_prefix_find(&pool, &document, 0));
    sli_span *parent = sli_prefix_add(&pool, &document, 0, 3, NULL);
    sli_span *child = sli_prefix_add(&pool, &document, 3, 5, parent->run);
    assert_run(sli_prefix_find(&pool, &document, 0), 0, 3, NULL, 1);
    assert_run(sli_prefix_find(&pool, &document, 3), 3, 5, parent->run, 0);
    assert_null(sli_prefix_find(&pool, &document, 1));
    assert_null(sli_prefix_find(&pool, &document, 4));
    assert_int_equal(parent->reference_count, 1);
    sli_prefix_remove_copy(&pool, child);
    assert_null(sli_prefix_find(&pool, &document, 3));
    assert_run(sli_prefix_find(&pool, &document, 0), 0, 3, NULL, 0);
    assert_int_equal(pool.prefix.run_count, 1);
    sli_pool_fini(&pool);
}

/* The same id in another scope, or at another place, is other contents. */
static void keys_that_differ_in_one_field_find_different_runs(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, BLOCKS);
    const uint64_t same_ids[] = {10, 10};
    const sl_content here = {same_ids, 2, 1, 1};
    const sl_content elsewhere = {same_ids, 2, 1, 2};
    sli_run *first = sli_prefix_add(&pool, &here, 0, 1, NULL)->run;
    assert_null(sli_prefix_find(&pool, &elsewhere, 0));
    assert_null(sli_prefix_find(&pool, &here, 1));
    sli_run *second = sli_prefix_add(&pool, &here, 1, 2, first)->run;
    sli_run *other = sli_prefix_add(&pool, &elsewhere, 0, 1, NULL)->run;
    assert_ptr_equal(sli_prefix_find(&pool, &here, 0), first);
    assert_ptr_equal(sli_prefix_find(&pool, &here, 1), second);
    assert_ptr_equal(sli_prefix_find(&pool, &elsewhere, 0), other);
    sli_pool_fini(&pool);
}

static void a_split_keeps_children_and_holders_below(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, BLOCKS);
    sli_span *top = sli_prefix_add(&pool, &document, 0, 1, NULL);
    sli_span *copy = sli_prefix_add(&pool, &document, 1, 5, top->run);
    sli_run *child = sli_prefix_add(&pool, &document, 5, 6, copy->run)->run;
    sli_pool_share(&pool, copy);
    sli_prefix_split(&pool, copy->run, 3);
    sli_run *upper = sli_prefix_find(&pool, &document, 1);
    assert_run(upper, 1, 3, top->run, 1);
    assert_run(sli_prefix_find(&pool, &document, 3), 3, 5, upper, 1);
    assert_run(child, 5, 6, copy->run, 0);
    assert_int_equal(top->run->child_count, 1);
    assert_int_equal(copy->run->start_block, 3);
    assert_ptr_equal(copy->upper, upper->oldest_copy);
    assert_int_equal(copy->upper->reference_count, 2);
    assert_int_equal(copy->reference_count, 2);
    sli_pool_fini(&pool);
}

static void parts_of_parts_lead_up_to_the_first(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, BLOCKS);
    sli_span *copy = sli_prefix_add(&pool, &document, 0, 6, NULL);
    sli_prefix_split(&pool, copy->run, 4);
    sli_prefix_split(&pool, copy->upper->run, 2);
    sli_prefix_split(&pool, copy->run, 5);
    const int64_t starts[] = {5, 4, 2, 0};
    for (int i = 0; i < 4; i++, copy = copy->upper) {
        assert_int_equal(copy->run->start_block, starts[i]);
    }
    assert_null(copy);
    sli_pool_fini(&pool);
}

/* Both parts lie where the whole lay, the deeper one in front. */
static void a_free_copy_is_split_in_its_place(void **state) {
    (void)state;
    sli_pool pool;
    sli_context parker = {0};
    pool_init(&pool, BLOCKS);
    sli_span *copy = sli_prefix_add(&pool, &document, 0, 6, NULL);
    sli_pool_give_blank(&pool, 1);
    sli_pool_release(&pool, copy);
    sli_pool_park(&pool, &parker, 0, 0, 2);
    sli_prefix_split(&pool, copy->run, 2);
    const sli_span *lower = pool.queue.after->after;
    const sli_span *upper = lower->after;
    assert_ptr_equal(lower, copy);
    assert_ptr_equal(upper, copy->upper);
    assert_int_equal(lower->run->start_block, 2);
    assert_int_equal(upper->run->end_block, 2);
    assert_int_equal(upper->after->kind, SLI_SPAN_PARKED);
    assert_int_equal(pool.free_blocks, 9);
    assert_int_equal(pool.cached_blocks, 8);
    sli_pool_take(&pool, 1 + 3); /* what is eaten is the deep end */
    assert_int_equal(copy->run->end_block, 3);
    sli_pool_take(&pool, 1);
    assert_null(sli_prefix_find(&pool, &document, 2));
    assert_run(sli_prefix_find(&pool, &document, 0), 0, 2, NULL, 0);
    sli_pool_fini(&pool);
}

static void lookups_answer_the_oldest_copy_that_is_left(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, BLOCKS);
    sli_span *copies[3];
    copies[0] = sli_prefix_add(&pool, &document, 0, 4, NULL);
    sli_run *run = copies[0]->run;
    copies[1] = sli_prefix_duplicate(&pool, run);
    copies[2] = sli_prefix_duplicate(&pool, run);
    assert_ptr_equal(run->oldest_copy, copies[0]);
    assert_ptr_equal(run->newest_copy, copies[2]);
    sli_prefix_remove_copy(&pool, copies[1]);
    assert_ptr_equal(run->oldest_copy, copies[0]);
    assert_ptr_equal(copies[0]->newer_copy, copies[2]);
    sli_prefix_remove_copy(&pool, copies[0]);
    assert_ptr_equal(run->oldest_copy, copies[2]);
    assert_null(copies[2]->older_copy);
    sli_prefix_remove_copy(&pool, copies[2]);
    assert_int_equal(pool.prefix.run_count, 0);
    assert_null(sli_prefix_find(&pool, &document, 0));
    sli_pool_fini(&pool);
}

/* All copies are cut, each where it is; then a part of the oldest is evicted. */
static void copies_are_split_together_and_evicted_apart(void **state) {
    (void)state;
    sli_pool pool;
    pool_init(&pool, BLOCKS);
    sli_span *oldest = sli_prefix_add(&pool, &document, 0, 4, NULL);
    sli_span *newest = sli_prefix_duplicate(&pool, oldest->run);
    sli_run *run = oldest->run;
    sli_pool_release(&pool, oldest);
    sli_pool_take(&pool, 1); /* block 3 of the oldest; the newest copy still has it */
    const sli_run *upper = sli_prefix_find(&pool, &document, 0);
    assert_run(upper, 0, 3, NULL, 1);
    assert_ptr_equal(upper->oldest_copy->newer_copy, newest->upper);
    assert_int_equal(upper->oldest_copy->reference_count, 0);
    assert_int_equal(newest->upper->reference_count, 1);
    assert_ptr_equal(sli_prefix_find(&pool, &document, 3), run);
    assert_ptr_equal(run->oldest_copy, newest);
    assert_ptr_equal(run->newest_copy, newest);
    assert_int_equal(pool.cached_blocks, 3);
    sli_pool_fini(&pool);
}

enum { MANY = 5000 };

static void many_runs_are_all_found_while_the_map_grows(void **state) {
    (void)state;
    static uint64_t many_ids[MANY];
    static sli_span *copies[MANY];
    sli_pool pool;
    pool_init(&pool, MANY);
    for (int i = 0; i < MANY; i++) {
        many_ids[i] = (uint64_t)i * 7919;
        const sl_content content = {&many_ids[i], 1, 1, 1};
        copies[i] = sli_prefix_add(&pool, &content, 0, 1, NULL);
    }
    assert_true(pool.prefix.bucket_count >= MANY);
    for (int i = 0; i < MANY; i += 2) {
        sli_prefix_remove_copy(&pool, copies[i]);
    }
    assert_int_equal(pool.prefix.run_count, MANY / 2);
    for (int i = 0; i < MANY; i++) {
        const sl_content content = {&many_ids[i], 1, 1, 1};
        const sli_run *found = sli_prefix_find(&pool, &content, 0);
        assert_ptr_equal(found, i % 2 == 0 ? NULL : copies[i]->run);
    }
    sli_pool_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_found_by_its_first_block_alone),
        cmocka_unit_test(keys_that_differ_in_one_field_find_different_runs),
        cmocka_unit_test(a_split_keeps_children_and_holders_below),
        cmocka_unit_test(parts_of_parts_lead_up_to_the_first),
        cmocka_unit_test(a_free_copy_is_split_in_its_place),
        cmocka_unit_test(lookups_answer_the_oldest_copy_that_is_left),
        cmocka_unit_test(copies_are_split_together_and_evicted_apart),
        cmocka_unit_test(many_runs_are_all_found_while_the_map_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
