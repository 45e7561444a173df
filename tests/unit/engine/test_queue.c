/* The waiting queue against a list that is kept in order by hand. */
#include "engine/queue.h"
#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { REQUESTS = 40, ACTIONS = 3000 };

typedef struct list {
    sl_request *waiting[REQUESTS];
    int count;
    uint64_t next_order;
    uint64_t arrivals;
    uint64_t others; /* removals and returns */
    int64_t told;    /* changes after which somebody waited */
} list;

static void insert_at(list *it, int place, sl_request *request) {
    for (int i = it->count; i > place; i--) {
        it->waiting[i] = it->waiting[i - 1];
    }
    it->waiting[place] = request;
    it->count++;
}

static bool is_before(const sl_request *a, const sl_request *b) {
    return a->desc.priority != b->desc.priority ? a->desc.priority < b->desc.priority
                                                : a->arrival_order < b->arrival_order;
}

/* fcfs: arrivals behind all, returns in front of all. priority: where they belong, either way. */
static void put(list *it, sli_order order, sl_request *request, bool is_return) {
    int place = is_return ? 0 : it->count;
    if (order == SLI_ORDER_PRIORITY) {
        place = 0;
        while (place < it->count && is_before(it->waiting[place], request)) {
            place++;
        }
    }
    insert_at(it, place, request);
}

static void assert_agrees(const sli_queue *queue, const list *it) {
    assert_int_equal(queue->count, it->count);
    assert_int_equal(queue->arrival_count, it->arrivals);
    assert_int_equal(queue->head_count, it->others);
    const sl_request *request = sli_queue_first(queue);
    for (int i = 0; i < it->count; i++) {
        assert_ptr_equal(request, it->waiting[i]);
        assert_int_equal(request->state, SLI_REQUEST_WAITING);
        request = sli_queue_next(queue, request);
    }
    assert_null(request);
}

static void count_call(void *listener) {
    ++*(int64_t *)listener;
}

typedef struct fixture {
    sli_rng rng;
    sli_queue queue;
    list model;
    int64_t calls;
    sl_request requests[REQUESTS];
    bool is_waiting[REQUESTS];
} fixture;

/* Those outside come in, as an arrival or as one that was preempted; those inside go. */
static void act_at_random(fixture *it) {
    list *model = &it->model;
    uint64_t i = sli_rng_below(&it->rng, REQUESTS);
    sl_request *request = &it->requests[i];
    if (it->is_waiting[i]) {
        int place = 0;
        while (model->waiting[place] != request) {
            place++;
        }
        model->count--;
        for (; place < model->count; place++) {
            model->waiting[place] = model->waiting[place + 1];
        }
        model->others++;
        sli_queue_remove(&it->queue, request);
        assert_null(request->next);
        assert_null(request->previous);
    } else if (request->arrival_order == 0 || sli_rng_below(&it->rng, 2) == 0) {
        request->arrival_order = ++model->next_order;
        request->desc.priority = (int32_t)sli_rng_below(&it->rng, 5) - 2;
        put(model, it->queue.order, request, false);
        model->arrivals++;
        assert_int_equal(sli_queue_add(&it->queue, request), SL_OK);
    } else {
        put(model, it->queue.order, request, true);
        model->others++;
        assert_int_equal(sli_queue_return(&it->queue, request), SL_OK);
    }
    it->is_waiting[i] = !it->is_waiting[i];
    model->told += model->count > 0;
}

static void compare_with_list(sli_order order) {
    static fixture it;
    it = (fixture){.queue = {.order = order}};
    it.queue.changed = count_call;
    it.queue.listener = &it.calls;
    sli_rng_init(&it.rng, 1, "test-queue", 0, (uint64_t)order);
    for (int action = 0; action < ACTIONS; action++) {
        act_at_random(&it);
        assert_agrees(&it.queue, &it.model);
        assert_int_equal(it.calls, it.model.told);
    }
    sli_queue_fini(&it.queue);
}

static void fcfs_puts_arrivals_last_and_returns_first(void **state) {
    (void)state;
    compare_with_list(SLI_ORDER_FCFS);
}

static void priority_sorts_by_priority_then_arrival(void **state) {
    (void)state;
    compare_with_list(SLI_ORDER_PRIORITY);
}

static void fcfs_ignores_priorities(void **state) {
    (void)state;
    sli_queue queue = {0};
    sl_request relaxed = {.arrival_order = 1, .desc.priority = 9};
    sl_request urgent = {.arrival_order = 2, .desc.priority = -9};
    assert_int_equal(sli_queue_add(&queue, &relaxed), SL_OK);
    assert_int_equal(sli_queue_add(&queue, &urgent), SL_OK);
    assert_ptr_equal(sli_queue_first(&queue), &relaxed);
    assert_ptr_equal(sli_queue_next(&queue, &relaxed), &urgent);
    sli_queue_fini(&queue);
}

static void nobody_is_told_of_a_queue_that_became_empty(void **state) {
    (void)state;
    int64_t calls = 0;
    sli_queue queue = {.changed = count_call, .listener = &calls};
    sl_request request = {.arrival_order = 1};
    assert_int_equal(sli_queue_add(&queue, &request), SL_OK);
    assert_int_equal(calls, 1);
    sli_queue_remove(&queue, &request);
    assert_int_equal(calls, 1);
    assert_null(sli_queue_first(&queue));
    sli_queue_fini(&queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fcfs_puts_arrivals_last_and_returns_first),
        cmocka_unit_test(priority_sorts_by_priority_then_arrival),
        cmocka_unit_test(fcfs_ignores_priorities),
        cmocka_unit_test(nobody_is_told_of_a_queue_that_became_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
