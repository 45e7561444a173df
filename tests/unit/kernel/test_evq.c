/* The event queue against a list that is searched from end to end. */
#include "kernel/evq.h"
#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void never_fired(void *subject, int64_t now_ns) {
    (void)subject;
    (void)now_ns;
}

static sli_event_handle post(sli_evq *queue, int64_t at_ns, sli_event_class class, uint32_t key,
                             void *subject) {
    sli_event_handle handle = {0};
    assert_int_equal(sli_evq_post(queue, at_ns, class, key, never_fired, subject, &handle), SL_OK);
    return handle;
}

static const char *pop_name(sli_evq *queue) {
    sli_event event;
    assert_true(sli_evq_pop(queue, &event));
    return event.subject;
}

/* What the queue should hold; `order` counts posts and moves. */
typedef struct expected {
    sli_event_handle handle;
    int64_t at_ns;
    uint32_t class;
    uint32_t key;
    uint64_t order;
    bool is_pending;
} expected;

static bool goes_before(const expected *a, const expected *b) {
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns;
    }
    if (a->class != b->class) {
        return a->class < b->class;
    }
    if (a->key != b->key) {
        return a->key < b->key;
    }
    return a->order < b->order;
}

static expected *first_of(expected *list, size_t count) {
    expected *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (list[i].is_pending && (first == NULL || goes_before(&list[i], first))) {
            first = &list[i];
        }
    }
    return first;
}

enum { MAX_EVENTS = 4000 };

typedef struct world {
    sli_evq *queue;
    sli_rng rng;
    expected list[MAX_EVENTS]; /* pending or not, in order of posting */
    size_t count;
    size_t pending_count;
    uint64_t order;
} world;

/* Few different times, classes and keys, so that most comparisons are ties. */
static int64_t some_time(world *w) {
    return (int64_t)sli_rng_below(&w->rng, 20);
}

static void post_any(world *w) {
    expected *added = &w->list[w->count++];
    added->at_ns = some_time(w);
    added->class = (uint32_t)sli_rng_below(&w->rng, SLI_EVENT_SAMPLE + 1);
    added->key = (uint32_t)sli_rng_below(&w->rng, 3);
    added->order = w->order++;
    added->is_pending = true;
    added->handle = post(w->queue, added->at_ns, (sli_event_class)added->class, added->key, added);
    w->pending_count++;
}

static void move_any(world *w) {
    expected *moved = &w->list[sli_rng_below(&w->rng, w->count)];
    int64_t at_ns = some_time(w);
    assert_int_equal(sli_evq_move(w->queue, moved->handle, at_ns), moved->is_pending);
    if (moved->is_pending) {
        moved->at_ns = at_ns;
        moved->order = w->order++;
    }
}

static void cancel_any(world *w) {
    expected *cancelled = &w->list[sli_rng_below(&w->rng, w->count)];
    assert_int_equal(sli_evq_cancel(w->queue, cancelled->handle), cancelled->is_pending);
    w->pending_count -= cancelled->is_pending;
    cancelled->is_pending = false;
}

static void pop_first(world *w) {
    expected *first = first_of(w->list, w->count);
    const sli_event *next = sli_evq_peek(w->queue);
    sli_event event;
    assert_int_equal(next != NULL, first != NULL);
    if (first != NULL) {
        assert_ptr_equal(next->subject, first);
    }
    assert_int_equal(sli_evq_pop(w->queue, &event), first != NULL);
    if (first != NULL) {
        assert_ptr_equal(event.subject, first);
        assert_int_equal(event.at_ns, first->at_ns);
        assert_int_equal(event.class, first->class);
        assert_int_equal(event.key, first->key);
        first->is_pending = false;
        w->pending_count--;
    }
}

static void agrees_with_a_list_on_random_operations(void **state) {
    (void)state;
    static world w;
    sli_rng_init(&w.rng, 1, "test", 0, 0);
    assert_int_equal(sli_evq_create(&w.queue), SL_OK);
    post_any(&w);
    while (w.count < MAX_EVENTS) {
        uint64_t dice = sli_rng_below(&w.rng, 100);
        if (dice < 40) {
            post_any(&w);
        } else if (dice < 60) {
            move_any(&w);
        } else if (dice < 75) {
            cancel_any(&w);
        } else {
            pop_first(&w);
        }
        const expected *any = &w.list[sli_rng_below(&w.rng, w.count)];
        assert_int_equal(sli_evq_is_pending(w.queue, any->handle), any->is_pending);
    }
    assert_true(w.pending_count > 100);
    while (w.pending_count > 0) {
        pop_first(&w);
    }
    pop_first(&w);
    sli_evq_destroy(w.queue);
}

/* All pairs of classes at one instant, posted both ways round. */
static void lower_classes_go_first_at_ties(void **state) {
    (void)state;
    static const sli_event_class order[] = {
        SLI_EVENT_TRANSFER_END, SLI_EVENT_STEP_END, SLI_EVENT_TIMER,  SLI_EVENT_FAULT,
        SLI_EVENT_ARRIVAL,      SLI_EVENT_PLAN,     SLI_EVENT_SAMPLE,
    };
    enum { CLASS_COUNT = sizeof order / sizeof order[0] };
    for (size_t early = 0; early < CLASS_COUNT; early++) {
        for (size_t late = early + 1; late < CLASS_COUNT; late++) {
            sli_evq *queue;
            assert_int_equal(sli_evq_create(&queue), SL_OK);
            /* Neither the key nor the order of posting can outdo the class. */
            post(queue, 5, order[late], 0, "late");
            post(queue, 5, order[early], UINT32_MAX, "early");
            assert_string_equal(pop_name(queue), "early");
            assert_string_equal(pop_name(queue), "late");
            post(queue, 5, order[early], 0, "early");
            post(queue, 5, order[late], 0, "late");
            post(queue, 4, SLI_EVENT_SAMPLE, UINT32_MAX, "before");
            assert_string_equal(pop_name(queue), "before");
            assert_string_equal(pop_name(queue), "early");
            assert_string_equal(pop_name(queue), "late");
            sli_evq_destroy(queue);
        }
    }
}

static void then_lower_keys_then_earlier_posts(void **state) {
    (void)state;
    sli_evq *queue;
    assert_int_equal(sli_evq_create(&queue), SL_OK);
    post(queue, 5, SLI_EVENT_PLAN, 2, "key 2");
    sli_event_handle moved = post(queue, 9, SLI_EVENT_PLAN, 1, "moved");
    post(queue, 5, SLI_EVENT_PLAN, 1, "first");
    post(queue, 5, SLI_EVENT_PLAN, 1, "second");
    /* To be moved is to be posted again. */
    assert_true(sli_evq_move(queue, moved, 5));
    assert_string_equal(pop_name(queue), "first");
    assert_string_equal(pop_name(queue), "second");
    assert_string_equal(pop_name(queue), "moved");
    assert_string_equal(pop_name(queue), "key 2");
    sli_evq_destroy(queue);
}

/* A slot is used again at once; the old handle must not reach the new event. */
static void a_stale_handle_reaches_nothing(void **state) {
    (void)state;
    sli_evq *queue;
    sli_event event;
    assert_int_equal(sli_evq_create(&queue), SL_OK);
    sli_event_handle fired = post(queue, 1, SLI_EVENT_TIMER, 0, "fired");
    assert_true(sli_evq_pop(queue, &event));
    sli_event_handle cancelled = post(queue, 2, SLI_EVENT_TIMER, 0, "cancelled");
    assert_true(sli_evq_cancel(queue, cancelled));
    sli_event_handle pending = post(queue, 3, SLI_EVENT_TIMER, 0, "pending");
    assert_int_equal(fired.slot, pending.slot);
    assert_int_equal(cancelled.slot, pending.slot);
    assert_false(sli_evq_cancel(queue, fired));
    assert_false(sli_evq_move(queue, fired, 0));
    assert_false(sli_evq_cancel(queue, cancelled));
    assert_false(sli_evq_is_pending(queue, cancelled));
    assert_true(sli_evq_is_pending(queue, pending));
    assert_int_equal(sli_evq_peek(queue)->at_ns, 3);
    sli_evq_destroy(queue);
}

static void a_zeroed_handle_is_no_event(void **state) {
    (void)state;
    sli_evq *queue;
    sli_event event;
    assert_int_equal(sli_evq_create(&queue), SL_OK);
    post(queue, 1, SLI_EVENT_TIMER, 0, NULL);
    assert_false(sli_evq_is_pending(queue, (sli_event_handle){0}));
    assert_false(sli_evq_cancel(queue, (sli_event_handle){0}));
    assert_true(sli_evq_pop(queue, &event));
    assert_false(sli_evq_pop(queue, &event));
    assert_null(sli_evq_peek(queue));
    sli_evq_destroy(queue);
    sli_evq_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_list_on_random_operations),
        cmocka_unit_test(lower_classes_go_first_at_ties),
        cmocka_unit_test(then_lower_keys_then_earlier_posts),
        cmocka_unit_test(a_stale_handle_reaches_nothing),
        cmocka_unit_test(a_zeroed_handle_is_no_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
