/* The index of windows against a list that is searched from its start. */
#include "kv/pool.h"

#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { GROUPS = 3, BLOCKS = 3000, ROUNDS = 40, ACTIONS = 4000 };

typedef struct entry {
    uint32_t group;
    sli_block_key key;
    sli_span *block;
    bool was_visited;
} entry;

typedef struct world {
    sli_rng rng;
    sli_pool pool;
    entry entries[BLOCKS]; /* the oldest first */
    size_t count;
    size_t visits;
    uint64_t id_count; /* few ids make many duplicates */
} world;

static uint64_t below(world *it, uint64_t bound) {
    return sli_rng_below(&it->rng, bound);
}

static void world_init(world *it, uint64_t number) {
    memset(it, 0, sizeof *it);
    sli_rng_init(&it->rng, 1, "test-window-index", 0, number);
    it->id_count = number % 2 == 0 ? 3 : 500;
    const sli_pool_config config = {.block_count = 1, .block_tokens = 1, .has_index = true};
    assert_int_equal(sli_pool_init(&it->pool, &config), SL_OK);
}

/* ---- The list ---- */

static bool is_same(const entry *a, uint32_t group, sli_block_key key) {
    return a->group == group && a->key.id == key.id && a->key.scope == key.scope &&
           a->key.end_block == key.end_block;
}

static sli_span *oldest(const world *it, uint32_t group, sli_block_key key) {
    for (size_t i = 0; i < it->count; i++) {
        if (is_same(&it->entries[i], group, key)) {
            return it->entries[i].block;
        }
    }
    return NULL;
}

/* ---- Actions ---- */

static sli_block_key draw_key(world *it) {
    return (sli_block_key){
        .id = below(it, it->id_count),
        .scope = 1 + (uint32_t)below(it, 2),
        .end_block = 1 + (uint32_t)below(it, 3),
    };
}

static void add(world *it) {
    uint32_t group = 1 + (uint32_t)below(it, GROUPS);
    sli_block_key key = draw_key(it);
    sli_span *block = sli_window_index_add(&it->pool, group, key);
    assert_non_null(block);
    assert_int_equal(block->kind, SLI_SPAN_WINDOW);
    assert_int_equal(block->group, group);
    assert_int_equal(block->reference_count, 1);
    it->entries[it->count++] = (entry){group, key, block, false};
}

static void remove_any(world *it) {
    size_t place = (size_t)below(it, it->count);
    sli_window_index_remove(&it->pool.windows, it->entries[place].block);
    it->count--;
    memmove(&it->entries[place], &it->entries[place + 1],
            (it->count - place) * sizeof it->entries[0]);
}

static void look_up(world *it) {
    uint32_t group = 1 + (uint32_t)below(it, GROUPS);
    sli_block_key key = draw_key(it);
    assert_ptr_equal(sli_window_index_find(&it->pool.windows, group, key), oldest(it, group, key));
}

static void visit(void *self, const sli_span *block) {
    world *it = self;
    size_t i = 0;
    while (i < it->count && it->entries[i].block != block) {
        i++;
    }
    assert_true(i < it->count && !it->entries[i].was_visited);
    it->entries[i].was_visited = true;
    it->visits++;
}

static void answers_the_oldest_of_its_group_and_key(void **state) {
    (void)state;
    static world it;
    for (uint64_t number = 0; number < ROUNDS; number++) {
        world_init(&it, number);
        for (int action = 0; action < ACTIONS; action++) {
            bool grows = action < ACTIONS / 2; /* first many come, then many go */
            bool removes = it.count > 0 && below(&it, 4) >= (grows ? 3u : 1u);
            if (removes) {
                remove_any(&it);
            } else if (it.count < BLOCKS) {
                add(&it);
            }
            look_up(&it);
            assert_int_equal(it.pool.windows.block_count, it.count);
        }
        sli_pool_fini(&it.pool);
    }
}

static void visits_every_block_once(void **state) {
    (void)state;
    static world it;
    world_init(&it, 1);
    sli_window_index_visit(&it.pool.windows, visit, &it); /* nothing yet */
    assert_int_equal(it.visits, 0);
    for (int i = 0; i < 1000; i++) {
        add(&it);
    }
    sli_window_index_visit(&it.pool.windows, visit, &it);
    assert_int_equal(it.visits, it.count);
    sli_pool_fini(&it.pool);
}

/* By hand: what makes a block another one. */
static void group_id_scope_and_end_tell_blocks_apart(void **state) {
    (void)state;
    static const struct {
        uint32_t group;
        sli_block_key key;
    } blocks[] = {{1, {7, 1, 1}}, {2, {7, 1, 1}}, {1, {8, 1, 1}}, {1, {7, 2, 1}}, {1, {7, 1, 2}}};
    enum { COUNT = sizeof blocks / sizeof blocks[0] };
    static world it;
    world_init(&it, 0);
    sli_span *added[COUNT];
    for (int i = 0; i < COUNT; i++) {
        assert_null(sli_window_index_find(&it.pool.windows, blocks[i].group, blocks[i].key));
        added[i] = sli_window_index_add(&it.pool, blocks[i].group, blocks[i].key);
    }
    for (int i = 0; i < COUNT; i++) {
        sli_span *found = sli_window_index_find(&it.pool.windows, blocks[i].group, blocks[i].key);
        assert_ptr_equal(found, added[i]);
    }
    sli_pool_fini(&it.pool);
}

/* However the two are mixed: so many contents that some fall into one bucket for two groups. */
static void what_one_group_has_no_other_finds(void **state) {
    (void)state;
    static world it;
    world_init(&it, 0);
    for (uint64_t id = 0; id < 20000; id++) {
        const sli_block_key key = {id, 1, 1};
        sli_span *block = sli_window_index_add(&it.pool, 1, key);
        assert_null(sli_window_index_find(&it.pool.windows, 2, key));
        assert_null(sli_window_index_find(&it.pool.windows, 3, key));
        assert_ptr_equal(sli_window_index_find(&it.pool.windows, 1, key), block);
        sli_window_index_remove(&it.pool.windows, block);
    }
    sli_pool_fini(&it.pool);
}

/* Who comes and goes finds the memory of the one before. */
static void turnover_uses_the_same_memory_again(void **state) {
    (void)state;
    static world it;
    world_init(&it, 0);
    const sli_block_key key = {7, 1, 1};
    sli_span *first = sli_window_index_add(&it.pool, 1, key);
    sli_window_index_remove(&it.pool.windows, first);
    for (int i = 0; i < 10000; i++) {
        sli_span *block = sli_window_index_add(&it.pool, 1, key);
        assert_ptr_equal(block, first);
        sli_window_index_remove(&it.pool.windows, block);
    }
    assert_null(sli_window_index_find(&it.pool.windows, 1, key));
    sli_pool_fini(&it.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_the_oldest_of_its_group_and_key),
        cmocka_unit_test(visits_every_block_once),
        cmocka_unit_test(group_id_scope_and_end_tell_blocks_apart),
        cmocka_unit_test(what_one_group_has_no_other_finds),
        cmocka_unit_test(turnover_uses_the_same_memory_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
