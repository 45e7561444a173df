/* The heap of requests against a search through an array. */
#include "engine/heap.h"

#include "engine/request.h"
#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { REQUESTS = 40, DISTINCT_KEYS = 12, ACTIONS = 4000 };

typedef struct world {
    sli_rng rng;
    sl_request requests[REQUESTS];
    sli_heap heaps[SLI_HEAP_KIND_COUNT];
    bool is_in[SLI_HEAP_KIND_COUNT][REQUESTS];
    int64_t keys[SLI_HEAP_KIND_COUNT][REQUESTS];
} world;

static int64_t below(world *it, uint64_t bound) {
    return (int64_t)sli_rng_below(&it->rng, bound);
}

/* Negative keys too: the longest are first by their negated length. Orders of admission do not
 * follow the array. */
static void world_init(world *it, uint64_t number) {
    *it = (world){0};
    sli_rng_init(&it->rng, 1, "test-heap", 0, number);
    for (int i = 0; i < REQUESTS; i++) {
        it->requests[i].admit_order = (uint64_t)((i * 7 + 3) % REQUESTS);
    }
    for (int kind = 0; kind < SLI_HEAP_KIND_COUNT; kind++) {
        it->heaps[kind].kind = (sli_heap_kind)kind;
    }
}

static void world_fini(world *it) {
    for (int kind = 0; kind < SLI_HEAP_KIND_COUNT; kind++) {
        sli_heap_fini(&it->heaps[kind]);
    }
}

/* The member with the smallest (key, order of admission), or -1. */
static int first_member(const world *it, int kind) {
    int first = -1;
    for (int i = 0; i < REQUESTS; i++) {
        if (!it->is_in[kind][i]) {
            continue;
        }
        bool is_smaller = first < 0 || it->keys[kind][i] < it->keys[kind][first];
        bool is_tied = first >= 0 && it->keys[kind][i] == it->keys[kind][first];
        bool is_earlier = is_tied && it->requests[i].admit_order < it->requests[first].admit_order;
        first = is_smaller || is_earlier ? i : first;
    }
    return first;
}

static void assert_agrees(const world *it, int kind) {
    const sli_heap *heap = &it->heaps[kind];
    size_t count = 0;
    for (int i = 0; i < REQUESTS; i++) {
        if (it->is_in[kind][i]) {
            const sli_heap_item *item = &heap->items[it->requests[i].heap_places[kind]];
            assert_ptr_equal(item->request, &it->requests[i]);
            assert_int_equal(item->key, it->keys[kind][i]);
            count++;
        }
    }
    assert_int_equal(heap->count, count);
    int first = first_member(it, kind);
    if (first >= 0) {
        assert_ptr_equal(heap->items[0].request, &it->requests[first]);
    }
}

static void add_or_remove(world *it, int kind, int i) {
    if (it->is_in[kind][i]) {
        sli_heap_remove(&it->heaps[kind], &it->requests[i]);
    } else {
        it->keys[kind][i] = below(it, DISTINCT_KEYS) - DISTINCT_KEYS / 2;
        assert_int_equal(sli_heap_add(&it->heaps[kind], it->keys[kind][i], &it->requests[i]),
                         SL_OK);
    }
    it->is_in[kind][i] = !it->is_in[kind][i];
}

/* A request is in heaps of all kinds, which do not disturb each other. */
static void the_smallest_key_is_first_whoever_comes_and_goes(void **state) {
    (void)state;
    static world it;
    world_init(&it, 0);
    for (int action = 0; action < ACTIONS; action++) {
        add_or_remove(&it, (int)below(&it, SLI_HEAP_KIND_COUNT), (int)below(&it, REQUESTS));
        for (int kind = 0; kind < SLI_HEAP_KIND_COUNT; kind++) {
            assert_agrees(&it, kind);
        }
    }
    world_fini(&it);
}

/* Whatever was in it and in which order it was filled: a function of the contents alone. */
static void taking_the_first_again_and_again_sorts(void **state) {
    (void)state;
    static world it;
    for (uint64_t number = 1; number <= 100; number++) {
        world_init(&it, number);
        for (int i = 0; i < 60; i++) {
            add_or_remove(&it, SLI_HEAP_FINISH, (int)below(&it, REQUESTS));
        }
        while (it.heaps[SLI_HEAP_FINISH].count > 0) {
            int first = first_member(&it, SLI_HEAP_FINISH);
            assert_ptr_equal(it.heaps[SLI_HEAP_FINISH].items[0].request, &it.requests[first]);
            add_or_remove(&it, SLI_HEAP_FINISH, first);
        }
        assert_int_equal(first_member(&it, SLI_HEAP_FINISH), -1);
        world_fini(&it);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_key_is_first_whoever_comes_and_goes),
        cmocka_unit_test(taking_the_first_again_and_again_sorts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
