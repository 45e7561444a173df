/* The lockstep against members that are advanced one by one. */
#include "engine/lockstep.h"

#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { REQUESTS = 12, ACTIONS = 600, MAX_GAP_NS = 4096, WORLDS = 24 };

enum { LASTING_BLOCKS = 50 }; /* reserved, more than any request here comes to need */

/* A request as it would be if every step wrote to it. */
typedef struct model {
    bool is_in;
    int64_t computed_tokens;
    int64_t furthest_tokens;
    int64_t generated_tokens;
    int64_t record_computed_tokens;
    int64_t last_token_ns;
    sli_own own;
} model;

typedef struct world {
    sli_rng rng;
    sli_world world;
    sl_probe probe;
    sli_pool pool;
    sli_lockstep lockstep;
    sl_request requests[REQUESTS];
    model models[REQUESTS];
    int64_t now_ns;
    uint64_t admit_count;
    int64_t gaps_heard[MAX_GAP_NS]; /* how many of each length */
    int64_t gaps_expected[MAX_GAP_NS];
    int64_t stalled_joins; /* of members behind by another time than those that are in */
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static void hear_gap(void *self, int64_t gap_ns, int64_t count) {
    world *it = self;
    assert_true(gap_ns >= 0 && gap_ns < MAX_GAP_NS && count > 0);
    it->gaps_heard[gap_ns] += count;
}

static const sl_probe_ops probe_ops = {.gap = hear_gap};

static void world_init(world *it, uint64_t number) {
    memset(it, 0, sizeof *it);
    sli_rng_init(&it->rng, 1, "test-lockstep", 0, number);
    it->probe = (sl_probe){.ops = &probe_ops, .self = it};
    assert_int_equal(sli_world_init(&it->world, 1, &it->probe, 1), SL_OK);
    const sli_pool_config config = {.block_count = 100000,
                                    .block_tokens = 1 + (int64_t)number % 8,
                                    .has_index = true,
                                    .caches_generated = true};
    assert_int_equal(sli_pool_init(&it->pool, &config), SL_OK);
    assert_int_equal(sli_lockstep_init(&it->lockstep, &config, NULL), SL_OK);
}

static void world_fini(world *it) {
    sli_lockstep_fini(&it->lockstep);
    sli_pool_fini(&it->pool);
    sli_world_fini(&it->world);
}

/* ---- What the members say, asked one by one ---- */

static bool asks_for_block(const world *it, int i, int64_t ahead) {
    const model *one = &it->models[i];
    return one->is_in && it->requests[i].context.reserved_blocks != LASTING_BLOCKS &&
           (one->computed_tokens + ahead) % it->pool.config.block_tokens == 0;
}

static int64_t steps_to_finish(const world *it, int i) {
    return it->requests[i].desc.output_tokens - it->models[i].generated_tokens;
}

static void assert_agrees(const world *it) {
    int64_t count = 0;
    int64_t sum = 0;
    int64_t longest = 0;
    int64_t first_finish = INT64_MAX;
    for (int i = 0; i < REQUESTS; i++) {
        const model *one = &it->models[i];
        if (!one->is_in) {
            continue;
        }
        count++;
        sum += one->computed_tokens;
        longest = one->computed_tokens > longest ? one->computed_tokens : longest;
        first_finish = steps_to_finish(it, i) < first_finish ? steps_to_finish(it, i)
                                                             : first_finish;
        assert_int_equal(sli_lockstep_computed(&it->lockstep, &it->requests[i]),
                         one->computed_tokens);
        assert_int_equal(sli_lockstep_member_need(&it->lockstep, &it->requests[i]),
                         asks_for_block(it, i, 0));
    }
    assert_int_equal(it->lockstep.count, count);
    assert_int_equal(it->lockstep.computed_sum, sum);
    if (count > 0) {
        assert_int_equal(sli_lockstep_longest(&it->lockstep), longest);
        assert_int_equal(sli_lockstep_steps_to_finish(&it->lockstep), first_finish);
    }
    assert_memory_equal(it->gaps_heard, it->gaps_expected, sizeof it->gaps_heard);
}

static void assert_needs(const world *it) {
    for (int64_t ahead = 0; ahead < 2 * it->pool.config.block_tokens; ahead++) {
        int64_t need = 0;
        for (int i = 0; i < REQUESTS; i++) {
            need += asks_for_block(it, i, ahead);
        }
        assert_int_equal(sli_lockstep_need(&it->lockstep, ahead), need);
    }
}

/* ---- Actions ---- */

/* A request that has just emitted a token, before now if the batch has stalled since. */
static void join(world *it, int i) {
    sl_request *request = &it->requests[i];
    model *one = &it->models[i];
    int64_t computed_tokens = draw(it, 1, 20);
    int64_t generated_tokens = draw(it, 1, 3);
    *one = (model){
        .is_in = true,
        .computed_tokens = computed_tokens,
        .furthest_tokens = computed_tokens + (draw(it, 0, 3) == 0 ? draw(it, 0, 5) : 0),
        .generated_tokens = generated_tokens,
        .record_computed_tokens = computed_tokens + draw(it, 0, 5),
        .last_token_ns = it->now_ns,
        .own.cause_ns = {draw(it, 0, 9), draw(it, 0, 9)},
    };
    memset(request, 0, sizeof *request);
    request->admit_order = it->admit_count++;
    request->computed_tokens = computed_tokens;
    request->known_tokens = computed_tokens + 1;
    request->furthest_tokens = one->furthest_tokens;
    request->desc.prompt_tokens = computed_tokens + 1 - generated_tokens;
    request->desc.output_tokens = generated_tokens + draw(it, 1, 25);
    request->previous_token_ns = it->now_ns;
    request->own = one->own;
    request->record.generated_tokens = generated_tokens;
    request->record.computed_tokens = one->record_computed_tokens;
    request->context.tokens = computed_tokens;
    request->context.block_count = sli_pool_blocks_for(&it->pool, computed_tokens);
    int64_t used_up_blocks = computed_tokens / it->pool.config.block_tokens;
    const int64_t reserved_blocks[] = {LASTING_BLOCKS, used_up_blocks, 0, 0};
    request->context.reserved_blocks = reserved_blocks[draw(it, 0, 3)];
    assert_true(sli_lockstep_takes(&it->lockstep, request));
    size_t cohorts = it->lockstep.cohort_count;
    assert_int_equal(sli_lockstep_join(&it->lockstep, request), SL_OK);
    it->stalled_joins += cohorts > 0 && it->lockstep.cohort_count > cohorts;
}

static void leave(world *it, int i) {
    sl_request *request = &it->requests[i];
    model *one = &it->models[i];
    sli_lockstep_leave(&it->lockstep, request, &it->pool);
    one->is_in = false;
    assert_false(request->is_in_lockstep);
    assert_int_equal(request->computed_tokens, one->computed_tokens);
    assert_int_equal(request->known_tokens, one->computed_tokens + 1);
    assert_int_equal(request->furthest_tokens, one->furthest_tokens);
    assert_int_equal(request->previous_token_ns, one->last_token_ns);
    assert_int_equal(request->record.generated_tokens, one->generated_tokens);
    assert_int_equal(request->record.computed_tokens, one->record_computed_tokens);
    assert_int_equal(request->record.last_token_ns, one->last_token_ns);
    assert_memory_equal(&request->own, &one->own, sizeof one->own);
    assert_int_equal(request->context.tokens, one->computed_tokens);
    assert_int_equal(request->context.block_count,
                     sli_pool_blocks_for(&it->pool, one->computed_tokens));
    assert_int_equal(request->context.published_blocks,
                     one->computed_tokens / it->pool.config.block_tokens);
}

static void advance_model(world *it, model *one, const sli_own *own) {
    it->gaps_expected[it->now_ns - one->last_token_ns]++;
    one->computed_tokens++;
    one->record_computed_tokens++;
    one->generated_tokens++;
    one->last_token_ns = it->now_ns;
    one->furthest_tokens = one->computed_tokens > one->furthest_tokens ? one->computed_tokens
                                                                       : one->furthest_tokens;
    sli_own_add(&one->own, own);
}

static void advance(world *it) {
    const sli_own own = {{draw(it, 0, 9), draw(it, 0, 9), draw(it, 0, 9)}};
    sli_lockstep_advance(&it->lockstep, &it->world, it->now_ns, &own);
    for (int i = 0; i < REQUESTS; i++) {
        if (it->models[i].is_in) {
            advance_model(it, &it->models[i], &own);
        }
    }
}

/* Those whose last token is out are named one after the other, in the order of admission. */
static void let_finished_go(world *it) {
    sl_request *finished;
    uint64_t next_order = 0;
    while ((finished = sli_lockstep_finished(&it->lockstep)) != NULL) {
        int i = (int)(finished - it->requests);
        assert_int_equal(steps_to_finish(it, i), 0);
        assert_true(finished->admit_order >= next_order);
        next_order = finished->admit_order + 1;
        leave(it, i);
    }
    for (int i = 0; i < REQUESTS; i++) {
        assert_true(!it->models[i].is_in || steps_to_finish(it, i) > 0);
    }
}

static void act_at_random(world *it) {
    int i = (int)draw(it, 0, REQUESTS - 1);
    int64_t action = draw(it, 0, 9);
    if (action < 5 && it->lockstep.count > 0) {
        it->now_ns += draw(it, 1, 3);
        advance(it);
        let_finished_go(it);
    } else if (action == 5) {
        it->now_ns += draw(it, 1, 3); /* a step without the lockstep */
    } else if (!it->models[i].is_in) {
        join(it, i);
    } else if (action == 6) {
        leave(it, i);
    }
}

static void is_as_if_every_step_wrote_to_every_member(void **state) {
    (void)state;
    static world it;
    int64_t stalled_joins = 0;
    int64_t gaps = 0;
    for (uint64_t number = 0; number < WORLDS; number++) {
        world_init(&it, number);
        for (int action = 0; action < ACTIONS; action++) {
            act_at_random(&it);
            assert_agrees(&it);
            assert_needs(&it);
        }
        stalled_joins += it.stalled_joins;
        for (int gap_ns = 0; gap_ns < MAX_GAP_NS; gap_ns++) {
            gaps += it.gaps_heard[gap_ns];
        }
        world_fini(&it);
    }
    assert_true(stalled_joins > 200 && gaps > 5000);
}

/*
 * By hand: a at 10 and b at 20 join while nothing moves, c at 20 too; at 50 all three emit. The
 * gaps are 40, 30 and 30, and from then on all move together.
 */
static void those_that_joined_at_different_times_have_different_gaps_once(void **state) {
    (void)state;
    static world it;
    world_init(&it, 3);
    const int64_t joined_ns[] = {10, 20, 20};
    for (int i = 0; i < 3; i++) {
        it.now_ns = joined_ns[i];
        join(&it, i);
        it.requests[i].desc.output_tokens = 100;
    }
    assert_int_equal(it.lockstep.cohort_count, 2);
    const sli_own own = {{5}};
    sli_lockstep_advance(&it.lockstep, &it.world, 50, &own);
    assert_int_equal(it.gaps_heard[40], 1);
    assert_int_equal(it.gaps_heard[30], 2);
    sli_lockstep_advance(&it.lockstep, &it.world, 61, &own);
    assert_int_equal(it.gaps_heard[11], 3);
    world_fini(&it);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_as_if_every_step_wrote_to_every_member),
        cmocka_unit_test(those_that_joined_at_different_times_have_different_gaps_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
