#include "engine/attribution.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t draw(uint64_t *seed) {
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double draw_unit(uint64_t *seed) {
    return (double)(draw(seed) >> 11) / 9007199254740992.0;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static sli_own split(const sl_step_cost *alone, int64_t step_ns) {
    sli_own own;
    memset(&own, 0xa5, sizeof own);
    sli_own_split(alone, step_ns, &own);
    return own;
}

static void assert_own(const sli_own *own, const int64_t expected_ns[SL_CAUSE_COUNT]) {
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        assert_int_equal(own->cause_ns[i], expected_ns[i]);
    }
}

/* ---- Any cost ---- */

/* From ties and zeros to years; most causes present, some absent. */
static sl_step_cost draw_cost(uint64_t *seed) {
    static const double scales_ns[] = {1.0, 30.0, 1e6, 1e12, 9e13, 1e17};
    double scale_ns = scales_ns[draw(seed) % 6];
    double sum_ns = 0.0;
    sl_step_cost cost = {0};
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        cost.cause_ns[i] = draw(seed) % 4 == 0 ? 0.0 : draw_unit(seed) * scale_ns;
        sum_ns += cost.cause_ns[i];
    }
    cost.total_ns = sum_ns < 1.0 ? 1 : (int64_t)(sum_ns + 0.5);
    return cost;
}

static void parts_sum_exactly_whatever_the_cost(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 200000; round++) {
        sl_step_cost cost = draw_cost(&seed);
        int64_t step_ns = 1 + (int64_t)(draw_unit(&seed) * 2.0 * (double)cost.total_ns);
        sli_own own = split(&cost, step_ns);
        assert_int_equal(sli_own_total(&own), smaller(cost.total_ns, step_ns));
        for (int i = 0; i < SL_CAUSE_COUNT; i++) {
            assert_true(own.cause_ns[i] >= 0);
        }
    }
}

/* ---- Largest remainder ---- */

/* All ways to share out `left_ns` from cause `place` on; keeps the first one of least squared
 * distance to the exact shares weights[i] own_ns / weight_sum, in whole numbers. */
typedef struct search {
    int64_t weights[SL_CAUSE_COUNT];
    int64_t weight_sum;
    int64_t own_ns;
    int64_t tried_ns[SL_CAUSE_COUNT];
    int64_t best_ns[SL_CAUSE_COUNT];
    int64_t best_distance; /* -1 = none yet */
} search;

static void try_all(search *it, int place, int64_t left_ns, int64_t distance) {
    if (it->best_distance >= 0 && distance >= it->best_distance) {
        return;
    }
    if (place == SL_CAUSE_COUNT) {
        if (left_ns == 0) {
            memcpy(it->best_ns, it->tried_ns, sizeof it->best_ns);
            it->best_distance = distance;
        }
        return;
    }
    /* More for an earlier cause is tried first, so it wins a tie. */
    for (int64_t part_ns = left_ns; part_ns >= 0; part_ns--) {
        int64_t off = part_ns * it->weight_sum - it->weights[place] * it->own_ns;
        it->tried_ns[place] = part_ns;
        try_all(it, place + 1, left_ns - part_ns, distance + off * off);
    }
}

/* Of all splits into whole nanoseconds, that of the largest remainders is the nearest one. */
static void no_split_is_nearer_to_the_proportions(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int round = 0; round < 2000; round++) {
        /* Weights that sum to a power of two: the shares are exact in a double, ties as well. */
        search it = {.weight_sum = 32, .best_distance = -1};
        for (int ball = 0; ball < it.weight_sum; ball++) {
            uint64_t causes = 1 + (uint64_t)round % SL_CAUSE_COUNT;
            it.weights[draw(&seed) % causes]++;
        }
        it.own_ns = 1 + (int64_t)(draw(&seed) % 9);
        sl_step_cost cost = {.total_ns = it.weight_sum};
        for (int i = 0; i < SL_CAUSE_COUNT; i++) {
            cost.cause_ns[i] = (double)it.weights[i];
        }
        try_all(&it, 0, it.own_ns, 0);
        sli_own own = split(&cost, it.own_ns);
        assert_own(&own, it.best_ns);
    }
}

static void ties_go_to_the_earlier_cause(void **state) {
    (void)state;
    /* 10 ns over six equals: 1.67 each, four of them get 2. */
    sl_step_cost equal = {.cause_ns = {5, 5, 5, 5, 5, 5}, .total_ns = 30};
    sli_own own = split(&equal, 10);
    assert_own(&own, (const int64_t[SL_CAUSE_COUNT]){2, 2, 2, 2, 1, 1});
    /* Remainders of a half at different sizes: 0.5, 0, 2.5, 0, 1.5, 0.5. */
    sl_step_cost halves = {.cause_ns = {1, 0, 5, 0, 3, 1}, .total_ns = 10};
    own = split(&halves, 5);
    assert_own(&own, (const int64_t[SL_CAUSE_COUNT]){1, 0, 3, 0, 1, 0});
}

/* ---- Limits ---- */

static void own_time_never_exceeds_the_step(void **state) {
    (void)state;
    sl_step_cost alone = {.cause_ns = {40, 30, 0, 0, 10, 20}, .total_ns = 100};
    sli_own own = split(&alone, 50);
    assert_own(&own, (const int64_t[SL_CAUSE_COUNT]){20, 15, 0, 0, 5, 10});
    own = split(&alone, 1000);
    assert_own(&own, (const int64_t[SL_CAUSE_COUNT]){40, 30, 0, 0, 10, 20});
}

static void the_split_ends_where_doubles_lose_nanoseconds(void **state) {
    (void)state;
    const int64_t last_ns = (int64_t)1 << 48;
    sl_step_cost alone = {.cause_ns = {[SL_CAUSE_GEMM] = 3e14, [SL_CAUSE_HEAD] = 1e14},
                          .total_ns = 400000000000000};
    sli_own own = split(&alone, last_ns);
    assert_own(&own, (const int64_t[SL_CAUSE_COUNT]){
                         [SL_CAUSE_GEMM] = last_ns / 4 * 3, [SL_CAUSE_HEAD] = last_ns / 4});
    own = split(&alone, last_ns + 1);
    assert_own(&own, (const int64_t[SL_CAUSE_COUNT]){[SL_CAUSE_ENGINE] = last_ns + 1});
}

/* A step lasts at least 1 ns, of which the terms may know nothing. */
static void a_step_of_no_terms_is_the_engines(void **state) {
    (void)state;
    sl_step_cost nothing = {.total_ns = 1};
    sli_own own = split(&nothing, 7);
    assert_own(&own, (const int64_t[SL_CAUSE_COUNT]){[SL_CAUSE_ENGINE] = 1});
}

static void sums_are_by_cause(void **state) {
    (void)state;
    const sli_own part = {{1, 2, 3, 4, 5, 6}};
    sli_own sum = {{10, 20, 30, 40, 50, 60}};
    sli_own_add(&sum, &part);
    assert_own(&sum, (const int64_t[SL_CAUSE_COUNT]){11, 22, 33, 44, 55, 66});
    assert_int_equal(sli_own_total(&sum), 231);
    sli_own_subtract(&sum, &part);
    assert_own(&sum, (const int64_t[SL_CAUSE_COUNT]){10, 20, 30, 40, 50, 60});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_sum_exactly_whatever_the_cost),
        cmocka_unit_test(no_split_is_nearer_to_the_proportions),
        cmocka_unit_test(ties_go_to_the_earlier_cause),
        cmocka_unit_test(own_time_never_exceeds_the_step),
        cmocka_unit_test(the_split_ends_where_doubles_lose_nanoseconds),
        cmocka_unit_test(a_step_of_no_terms_is_the_engines),
        cmocka_unit_test(sums_are_by_cause),
    };
    return cmocka_run_group_tests_name("engine/attribution", tests, NULL, NULL);
}
