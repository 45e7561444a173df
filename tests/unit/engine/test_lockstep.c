/* The lockstep against members that are advanced one by one. */
#include "engine/lockstep.h"

#include "kernel/rng.h"
#include "kv/layout_held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { REQUESTS = 12, ACTIONS = 600, MAX_GAP_NS = 4096, WORLDS = 72 };

enum { LASTING_BLOCKS = 80 }; /* reserved, more than any request here comes to need */

/* A request as it would be if every step wrote to it. */
typedef struct model {
    bool is_in;
    int64_t computed_tokens;
    int64_t furthest_tokens;
    int64_t generated_tokens;
    int64_t record_computed_tokens;
    int64_t last_token_ns;
    int64_t reserved_blocks;
    bool is_held[SLI_GROUP_MAX]; /* by a window: blocks that others may find */
    sli_own own;
} model;

typedef struct world {
    sli_rng rng;
    sli_world world;
    sl_probe probe;
    sli_layout layout;
    sli_pool pool;
    sli_lockstep lockstep;
    sl_request requests[REQUESTS];
    model models[REQUESTS];
    int64_t now_ns;
    uint64_t admit_count;
    uint64_t ids[ACTIONS];          /* of the prompts, each its own */
    int64_t gaps_heard[MAX_GAP_NS]; /* how many of each length */
    int64_t gaps_expected[MAX_GAP_NS];
    int64_t refusals;      /* to those that lost a part of what they reserved */
    int64_t stalled_joins; /* of members behind by another time than those that are in */
    int64_t dues;
    int64_t passed_pages;
    int64_t looks_ahead; /* at windows and rows */
} world;

static const sli_growth growths[] = {
    {SLI_GROWTH_STEPS, 1, INT64_MAX, NULL},    {SLI_GROWTH_STEPS, 1, 13, NULL},
    {SLI_GROWTH_STEPS, 5, INT64_MAX, NULL},    {SLI_GROWTH_STEPS, 3, 6, NULL},
    {SLI_GROWTH_SAWTOOTH, 7, INT64_MAX, NULL}, {SLI_GROWTH_CONSTANT, 1, 4, NULL},
};

enum { GROWTHS = sizeof growths / sizeof growths[0] };

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static void hear_gap(void *self, int64_t gap_ns, int64_t count) {
    world *it = self;
    assert_true(gap_ns >= 0 && gap_ns < MAX_GAP_NS && count > 0);
    it->gaps_heard[gap_ns] += count;
}

static const sl_probe_ops probe_ops = {.gap = hear_gap};

static sli_group draw_group(world *it, int64_t block_tokens) {
    static const sli_group_kind kinds[] = {SLI_GROUP_SLIDING, SLI_GROUP_CHUNKED, SLI_GROUP_STATE,
                                           SLI_GROUP_FIXED};
    int64_t times = draw(it, 1, 2);
    sli_group group = {
        .kind = kinds[draw(it, 0, it->layout.is_shareable ? 2 : 3)],
        .block_tokens = block_tokens * times,
        .block_pages = draw(it, 1, 3),
    };
    if (group.kind == SLI_GROUP_SLIDING) {
        group.span_tokens = draw(it, 1, 20);
    } else if (group.kind == SLI_GROUP_CHUNKED) {
        group.span_tokens = group.block_tokens * draw(it, 1, 3);
    } else if (group.kind == SLI_GROUP_FIXED) {
        group.fixed_blocks = 3;
    }
    return group;
}

/* The first worlds have one group and rows for none of it. */
static void world_init(world *it, uint64_t number) {
    memset(it, 0, sizeof *it);
    sli_rng_init(&it->rng, 1, "test-lockstep", 0, number);
    it->probe = (sl_probe){.ops = &probe_ops, .self = it};
    assert_int_equal(sli_world_init(&it->world, 1, &it->probe, 1), SL_OK);
    bool is_plain = number < 24;
    int64_t block_tokens = 1 + (int64_t)number % 8;
    it->layout = (sli_layout){
        .align_tokens = 2 * block_tokens,
        .is_shareable = number % 3 != 0,
        .group_count = 2 + (int)draw(it, 0, 1),
        .groups = {{.kind = SLI_GROUP_GROWING,
                    .block_tokens = block_tokens,
                    .block_pages = draw(it, 0, 2)}},
    };
    for (int i = 1; i < it->layout.group_count; i++) {
        it->layout.groups[i] = draw_group(it, block_tokens);
    }
    if (is_plain) {
        it->layout.group_count = 1;
        it->layout.groups[0].block_pages = 1;
    }
    const sli_pool_config config = {.block_count = 100000,
                                    .block_tokens = block_tokens,
                                    .has_index = is_plain || it->layout.is_shareable,
                                    .caches_generated = true,
                                    .layout = is_plain ? NULL : &it->layout};
    const sl_cost_model cost = {.growths = growths, .growth_count = GROWTHS};
    assert_int_equal(sli_pool_init(&it->pool, &config), SL_OK);
    assert_int_equal(sli_lockstep_init(&it->lockstep, &config, is_plain ? NULL : &cost), SL_OK);
}

static void world_fini(world *it) {
    sli_lockstep_fini(&it->lockstep);
    sli_pool_fini(&it->pool);
    sli_world_fini(&it->world);
}

/* ---- What the members say, asked one by one ---- */

static int64_t ceil_blocks(const sli_group *group, int64_t tokens) {
    return (tokens + group->block_tokens - 1) / group->block_tokens;
}

/* Blocks of a group that its member has left behind when so many tokens are computed. */
static int64_t passed_blocks(const sli_group *group, int64_t tokens) {
    return group->kind == SLI_GROUP_FIXED
               ? 0
               : ceil_blocks(group, tokens) - sli_group_blocks(group, tokens);
}

/* What a member needs for one token more, and what its windows leave behind then; pages. */
static int64_t need_of(const world *it, int i, int64_t ahead) {
    const model *one = &it->models[i];
    int64_t tokens = one->computed_tokens + ahead;
    int64_t pages = 0;
    for (int g = 0; g < it->layout.group_count && one->is_in; g++) {
        const sli_group *group = &it->layout.groups[g];
        bool asks = group->kind != SLI_GROUP_FIXED && one->reserved_blocks != LASTING_BLOCKS;
        pages += asks && tokens % group->block_tokens == 0 ? group->block_pages : 0;
    }
    return pages;
}

static int64_t passed_of(const world *it, int i, int64_t ahead) {
    const model *one = &it->models[i];
    int64_t tokens = one->computed_tokens + ahead;
    int64_t pages = 0;
    bool keeps = one->reserved_blocks == LASTING_BLOCKS;
    for (int g = 1; g < it->layout.group_count && one->is_in && !keeps; g++) {
        const sli_group *group = &it->layout.groups[g];
        pages += (passed_blocks(group, tokens + 1) - passed_blocks(group, tokens)) *
                 group->block_pages;
    }
    return pages;
}

/* Pages that a member holds between steps: those of its tokens, or of its reservation. */
static int64_t held_of(const world *it, int i) {
    const model *one = &it->models[i];
    int64_t reserved_tokens = one->reserved_blocks * it->layout.groups[0].block_tokens;
    bool keeps = one->reserved_blocks == LASTING_BLOCKS;
    int64_t pages = 0;
    for (int g = 0; g < it->layout.group_count && one->is_in; g++) {
        const sli_group *group = &it->layout.groups[g];
        pages += (keeps ? sli_group_reserved_blocks(group, 1, 0, reserved_tokens)
                        : sli_group_blocks(group, one->computed_tokens)) *
                 group->block_pages;
    }
    return pages;
}

/* Steps, the coming one included, before a member's window passes what others may find. */
static int64_t steps_to_due(const world *it, int i) {
    const model *one = &it->models[i];
    int64_t least = INT64_MAX;
    for (int g = 1; g < it->layout.group_count && one->is_in; g++) {
        const sli_group *group = &it->layout.groups[g];
        int64_t steps = 0;
        while (one->is_held[g] && passed_blocks(group, one->computed_tokens + steps + 1) ==
                                      passed_blocks(group, one->computed_tokens)) {
            steps++;
        }
        least = one->is_held[g] && steps < least ? steps : least;
    }
    return least;
}

static int64_t steps_to_finish(const world *it, int i) {
    return it->requests[i].desc.output_tokens - it->models[i].generated_tokens;
}

static void assert_agrees(const world *it) {
    int64_t count = 0;
    int64_t sum = 0;
    int64_t longest = 0;
    int64_t first_finish = INT64_MAX;
    int64_t first_due = INT64_MAX;
    int64_t held_pages = 0;
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
                         need_of(it, i, 0));
        first_due = steps_to_due(it, i) < first_due ? steps_to_due(it, i) : first_due;
        held_pages += held_of(it, i);
    }
    assert_int_equal(sli_lockstep_steps_to_due(&it->lockstep), first_due);
    assert_int_equal(sli_pool_held_blocks(&it->pool), held_pages);
    assert_int_equal(it->lockstep.count, count);
    assert_int_equal(it->lockstep.computed_sum, sum);
    if (count > 0) {
        assert_int_equal(sli_lockstep_longest(&it->lockstep), longest);
        assert_int_equal(sli_lockstep_steps_to_finish(&it->lockstep), first_finish);
    }
    assert_memory_equal(it->gaps_heard, it->gaps_expected, sizeof it->gaps_heard);
}

static void assert_visible(const world *it, int64_t ahead) {
    for (int g = 0; g < it->lockstep.rows_count; g++) {
        int64_t sum = 0;
        int64_t sum_then = 0;
        for (int i = 0; i < REQUESTS; i++) {
            int64_t rows = it->models[i].computed_tokens + ahead + 1;
            sum += it->models[i].is_in ? sli_growth_at(&growths[g], rows) : 0;
            sum_then += it->models[i].is_in ? sli_growth_at(&growths[g], rows + 1) : 0;
        }
        if (ahead == 0) {
            assert_int_equal(sli_lockstep_visible(&it->lockstep, g), sum);
        }
        assert_int_equal(sli_lockstep_visible_growth(&it->lockstep, g, ahead), sum_then - sum);
    }
}

/* As far ahead as nothing changes but the step, and before somebody is due to leave. */
static void assert_needs(world *it) {
    int64_t steps = 2 * it->pool.config.block_tokens + 40;
    for (int64_t ahead = 0; ahead < steps; ahead++) {
        bool has_due = ahead >= sli_lockstep_steps_to_due(&it->lockstep);
        if (has_due || (ahead > 0 && !sli_lockstep_is_quiet(&it->lockstep, ahead))) {
            return;
        }
        int64_t need = 0;
        int64_t passed = 0;
        for (int i = 0; i < REQUESTS; i++) {
            need += need_of(it, i, ahead);
            passed += passed_of(it, i, ahead);
        }
        assert_int_equal(sli_lockstep_need(&it->lockstep, ahead), need);
        assert_int_equal(sli_lockstep_passed(&it->lockstep, ahead), passed);
        assert_visible(it, ahead);
        it->looks_ahead += it->lockstep.has_stairs && ahead > 0;
    }
}

/* ---- Actions ---- */

/* The blocks of its prompt may be ones that others find. */
static void open_context(world *it, int i, int64_t reserved_blocks) {
    sl_request *request = &it->requests[i];
    model *one = &it->models[i];
    int64_t block_tokens = it->pool.config.block_tokens;
    const sli_acquisition want = {.tokens = one->computed_tokens,
                                  .reserve_tokens = reserved_blocks * block_tokens};
    request->content.request = request->admit_order;
    request->content.prompt_tokens = request->desc.prompt_tokens;
    if (draw(it, 0, 1) == 0) {
        it->ids[request->admit_order] = request->admit_order;
        request->content.content = (sl_content){&it->ids[request->admit_order], 1,
                                                request->desc.prompt_tokens, 1};
    }
    assert_int_equal(sli_context_acquire(&request->context, &it->pool, &request->content, &want),
                     0);
    sli_context_publish(&request->context, &it->pool, &request->content, want.tokens);
    sli_pool_give_blank(&it->pool, sli_context_slide(&request->context, &it->pool, want.tokens));
    one->reserved_blocks = reserved_blocks;
    for (int g = 1; g < it->layout.group_count; g++) {
        one->is_held[g] = request->context.windows[g - 1].uppermost != NULL;
    }
}

/* Whether a part of a reservation that would last was left where others may find it. */
static bool lost_reserved(const world *it, int i) {
    return it->models[i].reserved_blocks == LASTING_BLOCKS &&
           it->requests[i].context.held_blocks < held_of(it, i);
}

/* A request that has just emitted a token, before now if the batch has stalled since. */
static void join(world *it, int i) {
    sl_request *request = &it->requests[i];
    model *one = &it->models[i];
    int64_t generated_tokens = draw(it, 1, 3);
    int64_t computed_tokens = generated_tokens + draw(it, 0, 30);
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
    int64_t used_up_blocks = (computed_tokens - 1) / it->pool.config.block_tokens;
    const int64_t reserved_blocks[] = {LASTING_BLOCKS, used_up_blocks, 0, 0};
    open_context(it, i, reserved_blocks[draw(it, 0, 3)]);
    if (lost_reserved(it, i)) {
        assert_false(sli_lockstep_takes(&it->lockstep, request));
        it->refusals++;
        sli_context_release(&request->context, &it->pool, &request->content, false);
        one->is_in = false;
        return;
    }
    assert_true(sli_lockstep_takes(&it->lockstep, request));
    size_t cohorts = it->lockstep.cohort_count;
    assert_int_equal(sli_lockstep_join(&it->lockstep, request), SL_OK);
    it->stalled_joins += cohorts > 0 && it->lockstep.cohort_count > cohorts;
}

static void leave(world *it, int i) {
    sl_request *request = &it->requests[i];
    model *one = &it->models[i];
    sli_lockstep_leave(&it->lockstep, request, &it->pool);
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
    assert_int_equal(request->context.held_blocks, held_of(it, i));
    bool has_index = it->pool.config.has_index;
    assert_int_equal(request->context.published_blocks,
                     has_index ? one->computed_tokens / it->pool.config.block_tokens : 0);
    sli_context_release(&request->context, &it->pool, &request->content, false);
    one->is_in = false;
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

/* Before a step those go whose windows pass in it what others may find; the others cannot. */
static void let_due_go(world *it) {
    sl_request *due;
    while ((due = sli_lockstep_due(&it->lockstep)) != NULL) {
        int i = (int)(due - it->requests);
        assert_int_equal(steps_to_due(it, i), 0);
        leave(it, i);
        it->dues++;
    }
    for (int i = 0; i < REQUESTS; i++) {
        assert_true(steps_to_due(it, i) > 0);
    }
}

static void advance(world *it) {
    const sli_own own = {{draw(it, 0, 9), draw(it, 0, 9), draw(it, 0, 9)}};
    int64_t passed_pages = sli_lockstep_passed(&it->lockstep, 0);
    sli_pool_take(&it->pool, sli_lockstep_need(&it->lockstep, 0));
    sli_lockstep_advance(&it->lockstep, &it->world, it->now_ns, &own);
    sli_pool_give_blank(&it->pool, passed_pages);
    it->passed_pages += passed_pages;
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
        let_due_go(it);
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
    int64_t refusals = 0;
    int64_t stalled_joins = 0;
    int64_t gaps = 0;
    int64_t dues = 0;
    int64_t passed_pages = 0;
    int64_t looks_ahead = 0;
    for (uint64_t number = 0; number < WORLDS; number++) {
        world_init(&it, number);
        for (int action = 0; action < ACTIONS; action++) {
            act_at_random(&it);
            assert_agrees(&it);
            assert_needs(&it);
        }
        refusals += it.refusals;
        stalled_joins += it.stalled_joins;
        dues += it.dues;
        passed_pages += it.passed_pages;
        looks_ahead += it.looks_ahead;
        for (int gap_ns = 0; gap_ns < MAX_GAP_NS; gap_ns++) {
            gaps += it.gaps_heard[gap_ns];
        }
        world_fini(&it);
    }
    assert_true(stalled_joins > 200 && gaps > 5000 && refusals > 100);
    assert_true(dues > 500 && passed_pages > 20000 && looks_ahead > 100000);
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
