/*
 * Kept rows in the lockstep against members that are counted one by one: rows that queries see,
 * blocks that the next tokens need, and what a member holds when it leaves.
 */
#include "engine/lockstep.h"

#include "base/minmax.h"
#include "kernel/rng.h"
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS = 10, ACTIONS = 500, RULES = 8, AHEAD = 12 };

static const sl_kept rules[RULES] = {
    {true, 1000000, 25, 1, 0},   {false, 200000, INT64_MAX, 0, INT64_MAX},
    {false, 1000000, 30, 12, 0}, {false, 1000000, 9, 4, 0},
    {false, 1000000, 16, 0, 1},  {true, 300000, INT64_MAX, 0, 2},
    {false, 500000, 10, 0, 7},   {true, 1000000, 6, 1, 0},
};

typedef struct world {
    sli_rng rng;
    sli_world world;
    sli_layout layout;
    sli_growth growth;
    sl_cost_model cost;
    sli_pool pool;
    sli_lockstep lockstep;
    sl_request members[MEMBERS];
    int64_t computed_tokens[MEMBERS]; /* of those that are in, 0 of the others */
    int64_t now_ns;
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static const sl_kept *rule_of(const world *it) {
    return it->growth.kept;
}

static void world_init(world *it, uint64_t number) {
    memset(it, 0, sizeof *it);
    sli_rng_init(&it->rng, 1, "test-lockstep-kept", 0, number);
    assert_int_equal(sli_world_init(&it->world, 1, NULL, 0), SL_OK);
    int64_t block_tokens = draw(it, 1, 6);
    it->layout = (sli_layout){.page_bytes = 1, .align_tokens = block_tokens, .group_count = 2};
    it->layout.groups[0] = (sli_group){.kind = SLI_GROUP_GROWING, .block_tokens = block_tokens};
    it->layout.groups[1] = (sli_group){.kind = SLI_GROUP_KEPT,
                                       .block_tokens = block_tokens,
                                       .block_pages = 3,
                                       .kept = &rules[number % RULES]};
    it->growth = sli_growth_kept(&rules[number % RULES]);
    it->cost = (sl_cost_model){.growths = &it->growth, .growth_count = 1};
    const sli_pool_config config = {
        .block_count = 100000, .block_tokens = block_tokens, .layout = &it->layout};
    assert_int_equal(sli_pool_init(&it->pool, &config), SL_OK);
    assert_int_equal(sli_lockstep_init(&it->lockstep, &config, &it->cost), SL_OK);
}

static void world_fini(world *it) {
    sli_lockstep_fini(&it->lockstep);
    sli_pool_fini(&it->pool);
    sli_world_fini(&it->world);
}

/* ---- One by one ---- */

static int64_t prompt_of(const world *it, int i) {
    return it->members[i].desc.prompt_tokens;
}

/* Of the pool, for what is left of so many computed tokens. */
static int64_t blocks_at(const world *it, int i, int64_t tokens) {
    const sli_group *group = &it->layout.groups[1];
    int64_t slots = sli_kept_slots(rule_of(it), prompt_of(it, i), tokens);
    return (slots + group->block_tokens - 1) / group->block_tokens * group->block_pages;
}

/* Rows that the queries of a step see, and blocks that it needs, so many steps ahead. */
static int64_t seen_by_all(const world *it, int64_t ahead) {
    int64_t rows = 0;
    for (int i = 0; i < MEMBERS; i++) {
        int64_t position = it->computed_tokens[i] + ahead + 1;
        rows += it->computed_tokens[i] > 0 ? sli_kept_seen(rule_of(it), prompt_of(it, i), position)
                                           : 0;
    }
    return rows;
}

static int64_t needed_by(const world *it, int i, int64_t ahead) {
    int64_t tokens = it->computed_tokens[i] + ahead;
    bool has_all = it->members[i].context.reserved_blocks > 0;
    return it->computed_tokens[i] > 0 && !has_all
               ? blocks_at(it, i, tokens + 1) - blocks_at(it, i, tokens)
               : 0;
}

static void assert_agrees(const world *it) {
    assert_int_equal(sli_lockstep_visible(&it->lockstep, 0), seen_by_all(it, 0));
    for (int64_t ahead = 0; ahead < AHEAD; ahead++) {
        if (ahead > 0 && !sli_lockstep_is_quiet(&it->lockstep, ahead)) {
            break;
        }
        int64_t need = 0;
        for (int i = 0; i < MEMBERS; i++) {
            need += needed_by(it, i, ahead);
            if (ahead == 0 && it->computed_tokens[i] > 0) {
                assert_int_equal(sli_lockstep_member_need(&it->lockstep, &it->members[i]),
                                 needed_by(it, i, 0));
            }
        }
        assert_int_equal(sli_lockstep_need(&it->lockstep, ahead), need);
        assert_int_equal(sli_lockstep_passed(&it->lockstep, ahead), 0);
        assert_int_equal(sli_lockstep_visible_growth(&it->lockstep, 0, ahead),
                         seen_by_all(it, ahead + 1) - seen_by_all(it, ahead));
    }
}

/* ---- Actions ---- */

/* A request whose prompt and a few tokens behind it are computed, with room for all or none of what
 * is to come. */
static void join(world *it, int i) {
    sl_request *request = &it->members[i];
    memset(request, 0, sizeof *request);
    int64_t prompt_tokens = draw(it, 1, 60);
    int64_t computed_tokens = prompt_tokens + draw(it, 0, 20);
    request->desc.prompt_tokens = prompt_tokens;
    request->desc.output_tokens = 1000;
    request->content.prompt_tokens = prompt_tokens;
    request->computed_tokens = computed_tokens;
    request->known_tokens = computed_tokens + 1;
    request->record.generated_tokens = computed_tokens + 1 - prompt_tokens;
    const sli_acquisition all = {.tokens = prompt_tokens,
                                 .reserve_tokens = draw(it, 0, 2) == 0 ? 2000 : 0};
    sli_context *context = &request->context;
    assert_int_equal(sli_context_acquire(context, &it->pool, &request->content, &all), 0);
    sli_pool_give_blank(&it->pool, sli_context_slide(context, &it->pool, prompt_tokens));
    sli_context_extend(context, &it->pool, computed_tokens);
    sli_pool_give_blank(&it->pool, sli_context_slide(context, &it->pool, computed_tokens));
    assert_int_equal(sli_lockstep_join(&it->lockstep, request), SL_OK);
    it->computed_tokens[i] = computed_tokens;
}

static void leave(world *it, int i) {
    sl_request *request = &it->members[i];
    sli_lockstep_leave(&it->lockstep, request, &it->pool);
    assert_int_equal(request->computed_tokens, it->computed_tokens[i]);
    bool has_all = request->context.reserved_blocks > 0;
    int64_t tokens = has_all ? request->context.reserved_blocks * it->pool.config.block_tokens
                             : it->computed_tokens[i];
    assert_int_equal(request->context.held_blocks, blocks_at(it, i, tokens));
    sli_context_release(&request->context, &it->pool, &request->content, false);
    it->computed_tokens[i] = 0;
}

static void advance(world *it) {
    static const sli_own nothing;
    sli_pool_take(&it->pool, sli_lockstep_need(&it->lockstep, 0));
    it->now_ns++;
    sli_lockstep_advance(&it->lockstep, &it->world, it->now_ns, &nothing);
    for (int i = 0; i < MEMBERS; i++) {
        it->computed_tokens[i] += it->computed_tokens[i] > 0;
    }
}

static void act_at_random(world *it) {
    int i = (int)draw(it, 0, MEMBERS - 1);
    int64_t action = draw(it, 0, 9);
    if (action < 7 && it->lockstep.count > 0) {
        advance(it);
    } else if (it->computed_tokens[i] == 0) {
        join(it, i);
    } else if (action == 9) {
        leave(it, i);
    }
}

static void sums_are_those_of_the_members(void **state) {
    (void)state;
    static world it;
    for (uint64_t number = 0; number < 5 * RULES; number++) {
        world_init(&it, number);
        for (int action = 0; action < ACTIONS; action++) {
            act_at_random(&it);
            assert_agrees(&it);
        }
        for (int i = 0; i < MEMBERS; i++) {
            if (it.computed_tokens[i] > 0) {
                leave(&it, i);
            }
        }
        assert_null(sli_pool_audit(&it.pool, NULL, 0));
        assert_int_equal(sli_pool_held_blocks(&it.pool), 0);
        world_fini(&it);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
