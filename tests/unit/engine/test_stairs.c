/* Stairs against members that are asked one by one. */
#include "engine/stairs.h"

#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MEMBERS = 10, WORLDS = 400, ACTIONS = 300, AHEAD = 80 };

typedef struct world {
    sli_rng rng;
    sli_stairs stairs;
    int64_t step;
    int64_t tokens[MEMBERS]; /* before the step; 0 = not in */
    int64_t rises;           /* how often what is to be tested came up */
    int64_t starts;
    int64_t ends;
    int64_t looks_ahead;
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

/* ---- One member ---- */

/* Stairs are climbed one by one: number k when tokens and offset make k widths. */
static int64_t stairs_below(const sli_stairs *stairs, int64_t tokens) {
    int64_t count = 0;
    while (count < stairs->top && (count + 1) * stairs->width <= tokens + stairs->offset) {
        count++;
    }
    return count;
}

static void assert_member(const sli_stairs *stairs, int64_t tokens) {
    int64_t here = stairs_below(stairs, tokens);
    assert_int_equal(sli_stairs_at(stairs, tokens), here);
    assert_int_equal(sli_stairs_is_rising(stairs, tokens), stairs_below(stairs, tokens + 1) > here);
    int64_t gain = sli_stairs_to_next(stairs, tokens);
    if (here == stairs->top) {
        assert_int_equal(gain, INT64_MAX);
        return;
    }
    assert_true(gain >= 1);
    assert_int_equal(stairs_below(stairs, tokens + gain), here + 1);
    assert_int_equal(stairs_below(stairs, tokens + gain - 1), here);
}

static void a_member_stands_where_counting_puts_it(void **state) {
    (void)state;
    static const int64_t tops[] = {INT64_MAX, 0, 1, 2, 7};
    for (int64_t width = 1; width <= 8; width++) {
        for (int64_t offset = -25; offset <= 25; offset++) {
            for (size_t i = 0; i < sizeof tops / sizeof tops[0]; i++) {
                sli_stairs stairs;
                assert_int_equal(sli_stairs_init(&stairs, width, offset, tops[i]), SL_OK);
                for (int64_t tokens = 1; tokens <= 100; tokens++) {
                    assert_member(&stairs, tokens);
                }
                sli_stairs_fini(&stairs);
            }
        }
    }
}

/* ---- All members ---- */

static bool is_in(const world *it, int i) {
    return it->tokens[i] > 0;
}

/* What a step makes of all who are in, so many steps from now. */
static int64_t count_rises(const world *it, int64_t ahead) {
    int64_t count = 0;
    for (int i = 0; i < MEMBERS; i++) {
        int64_t tokens = it->tokens[i] + ahead;
        bool rises = is_in(it, i) &&
                     stairs_below(&it->stairs, tokens + 1) > stairs_below(&it->stairs, tokens);
        count += rises ? 1 : 0;
    }
    return count;
}

/* Who has its first stair in front of it when that step begins, or no stair any more. */
static bool is_quiet(world *it, int64_t ahead) {
    int64_t first_tokens = -it->stairs.offset;
    bool is_quiet = true;
    for (int i = 0; i < MEMBERS; i++) {
        int64_t tokens = it->tokens[i] + ahead;
        bool is_at_start = is_in(it, i) && tokens == first_tokens;
        bool is_at_top = is_in(it, i) && it->stairs.top != INT64_MAX &&
                         tokens + it->stairs.offset == it->stairs.top * it->stairs.width;
        it->starts += is_at_start;
        it->ends += is_at_top;
        is_quiet = is_quiet && !is_at_start && !is_at_top;
    }
    return is_quiet;
}

/* Now, and as far ahead as nothing changes but the step. */
static void assert_agrees(world *it) {
    int64_t rises = count_rises(it, 0);
    assert_int_equal(sli_stairs_rises(&it->stairs, it->step), rises);
    it->rises += rises;
    for (int64_t ahead = 1; ahead < AHEAD; ahead++) {
        bool goes_on = is_quiet(it, ahead);
        assert_int_equal(sli_stairs_is_quiet(&it->stairs, it->step + ahead), goes_on);
        if (!goes_on) {
            return;
        }
        assert_int_equal(sli_stairs_rises(&it->stairs, it->step + ahead), count_rises(it, ahead));
        it->looks_ahead++;
    }
}

static void act_at_random(world *it) {
    int i = (int)draw(it, 0, MEMBERS - 1);
    if (draw(it, 0, 2) > 0) {
        sli_stairs_advance(&it->stairs, ++it->step);
        for (int j = 0; j < MEMBERS; j++) {
            it->tokens[j] += is_in(it, j);
        }
    } else if (is_in(it, i)) {
        sli_stairs_remove(&it->stairs, it->step, it->tokens[i]);
        it->tokens[i] = 0;
    } else {
        it->tokens[i] = draw(it, 1, 40);
        sli_stairs_add(&it->stairs, it->step, it->tokens[i]);
    }
}

static void world_init(world *it, uint64_t number) {
    *it = (world){0};
    sli_rng_init(&it->rng, 1, "test-stairs", 0, number);
    int64_t width = draw(it, 1, 9);
    int64_t offset = draw(it, -30, 12);
    int64_t top = draw(it, 0, 1) == 0 ? INT64_MAX : draw(it, 0, 8);
    assert_int_equal(sli_stairs_init(&it->stairs, width, offset, top), SL_OK);
}

/* When all are gone nothing may be left of them. */
static void world_fini(world *it) {
    for (int i = 0; i < MEMBERS; i++) {
        if (is_in(it, i)) {
            sli_stairs_remove(&it->stairs, it->step, it->tokens[i]);
        }
    }
    for (int64_t ahead = 0; ahead < AHEAD; ahead++) {
        assert_int_equal(sli_stairs_rises(&it->stairs, it->step + ahead), 0);
        assert_true(sli_stairs_is_quiet(&it->stairs, it->step + ahead));
    }
    sli_stairs_fini(&it->stairs);
}

static void all_rise_when_each_of_them_does(void **state) {
    (void)state;
    int64_t rises = 0;
    int64_t starts = 0;
    int64_t ends = 0;
    int64_t looks_ahead = 0;
    for (uint64_t number = 0; number < WORLDS; number++) {
        world it;
        world_init(&it, number);
        for (int action = 0; action < ACTIONS; action++) {
            act_at_random(&it);
            assert_agrees(&it);
        }
        rises += it.rises;
        starts += it.starts;
        ends += it.ends;
        looks_ahead += it.looks_ahead;
        world_fini(&it);
    }
    assert_true(rises > 50000 && starts > 20000 && ends > 20000 && looks_ahead > 1000000);
}

/*
 * By hand: a window of 4 tokens in blocks of 2 passes a block when it has computed 5, 7, 9 ...
 * tokens, and none before: width 2, offset -3. A member of 4 tokens rises in the steps 0, 2, 4 ...;
 * one of 1 token has its first stair before it in step 2, and rises in 3, 5, 7 ...
 */
static void a_window_passes_a_block_when_it_looks_at_none_of_it(void **state) {
    (void)state;
    static const int64_t rises[] = {1, 0, 1, 1, 1, 1, 1, 1};
    sli_stairs stairs;
    assert_int_equal(sli_stairs_init(&stairs, 2, -3, INT64_MAX), SL_OK);
    sli_stairs_add(&stairs, 0, 4);
    sli_stairs_add(&stairs, 0, 1);
    assert_int_equal(sli_stairs_rises(&stairs, 0), rises[0]);
    for (int64_t step = 1; step < 8; step++) {
        assert_int_equal(sli_stairs_is_quiet(&stairs, step), step != 2);
        sli_stairs_advance(&stairs, step);
        assert_int_equal(sli_stairs_rises(&stairs, step), rises[step]);
    }
    sli_stairs_fini(&stairs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_stands_where_counting_puts_it),
        cmocka_unit_test(all_rise_when_each_of_them_does),
        cmocka_unit_test(a_window_passes_a_block_when_it_looks_at_none_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
