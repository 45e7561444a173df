/* The loop: order, horizon, stopping, and events that post events. */
#include "kernel/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct log {
    sli_loop loop;
    int64_t times_ns[16];
    size_t count;
} log;

static void note(void *subject, int64_t now_ns) {
    log *to = subject;
    assert_int_equal(to->loop.now_ns, now_ns);
    to->times_ns[to->count++] = now_ns;
}

static void post(log *to, int64_t at_ns, sli_event_fn *fire) {
    assert_int_equal(sli_evq_post(to->loop.events, at_ns, SLI_EVENT_TIMER, 0, fire, to, NULL),
                     SL_OK);
}

static void note_and_stop(void *subject, int64_t now_ns) {
    log *to = subject;
    note(subject, now_ns);
    sli_loop_stop(&to->loop);
}

static void note_and_post(void *subject, int64_t now_ns) {
    log *to = subject;
    note(subject, now_ns);
    post(to, now_ns, note); /* at the same instant, but after what is there already */
    post(to, now_ns + 5, note);
}

static void fires_in_order_until_drained(void **state) {
    (void)state;
    log to = {0};
    assert_int_equal(sli_loop_init(&to.loop), SL_OK);
    post(&to, 30, note);
    post(&to, 10, note_and_post);
    post(&to, 12, note);
    assert_int_equal(sli_loop_run(&to.loop, INT64_MAX), SLI_LOOP_DRAINED);
    static const int64_t expected_ns[] = {10, 10, 12, 15, 30};
    assert_int_equal(to.count, 5);
    assert_memory_equal(to.times_ns, expected_ns, sizeof expected_ns);
    assert_int_equal(to.loop.fired_count, 5);
    assert_int_equal(to.loop.now_ns, 30);
    sli_loop_fini(&to.loop);
}

static void the_horizon_is_included(void **state) {
    (void)state;
    log to = {0};
    assert_int_equal(sli_loop_init(&to.loop), SL_OK);
    post(&to, 10, note);
    post(&to, 11, note);
    assert_int_equal(sli_loop_run(&to.loop, 10), SLI_LOOP_HORIZON);
    assert_int_equal(to.count, 1);
    assert_int_equal(to.loop.now_ns, 10);
    assert_int_equal(sli_loop_run(&to.loop, 11), SLI_LOOP_DRAINED);
    assert_int_equal(to.count, 2);
    sli_loop_fini(&to.loop);
}

static void stops_after_the_event_that_asks_and_can_go_on(void **state) {
    (void)state;
    log to = {0};
    assert_int_equal(sli_loop_init(&to.loop), SL_OK);
    post(&to, 1, note_and_stop);
    post(&to, 1, note);
    assert_int_equal(sli_loop_run(&to.loop, INT64_MAX), SLI_LOOP_STOPPED);
    assert_int_equal(to.count, 1);
    assert_int_equal(sli_loop_run(&to.loop, INT64_MAX), SLI_LOOP_DRAINED);
    assert_int_equal(to.count, 2);
    sli_loop_fini(&to.loop);
}

static volatile int interrupted;

static void note_and_interrupt(void *subject, int64_t now_ns) {
    note(subject, now_ns);
    interrupted = 1;
}

static void an_interrupt_is_seen_before_the_next_event(void **state) {
    (void)state;
    log to = {0};
    assert_int_equal(sli_loop_init(&to.loop), SL_OK);
    interrupted = 0;
    to.loop.interrupt = &interrupted;
    post(&to, 1, note_and_interrupt);
    post(&to, 2, note);
    assert_int_equal(sli_loop_run(&to.loop, INT64_MAX), SLI_LOOP_STOPPED);
    assert_int_equal(to.count, 1);
    assert_int_equal(sli_loop_run(&to.loop, INT64_MAX), SLI_LOOP_STOPPED);
    assert_int_equal(to.count, 1);
    sli_loop_fini(&to.loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_in_order_until_drained),
        cmocka_unit_test(the_horizon_is_included),
        cmocka_unit_test(stops_after_the_event_that_asks_and_can_go_on),
        cmocka_unit_test(an_interrupt_is_seen_before_the_next_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
