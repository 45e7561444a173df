#include "support.h"

#include "kernel/time.h"

#include <stdlib.h>

#define FIXED "prompt: {fixed: 100 tokens}, output: {fixed: 10 tokens}"

static world open_or_fail(const char *yaml) {
    world w;
    if (world_open(&w, 1, yaml) != SL_OK) {
        fail_msg("%s", world_messages(&w));
    }
    return w;
}

/* A server for any number of requests at once; request i takes service_ns(i). */
typedef struct server {
    int64_t end_ns[4096];
    size_t count; /* issued so far */
    int64_t most_at_once;
} server;

static int64_t next_end(const server *s, size_t *which) {
    int64_t end_ns = SLI_NEVER;
    for (size_t i = 0; i < s->count; i++) {
        if (s->end_ns[i] < end_ns) {
            end_ns = s->end_ns[i];
            *which = i;
        }
    }
    return end_ns;
}

/* Plays the loop in the order of the engine: at one instant, ends come before arrivals. */
static arrivals play(sl_source *source, int64_t (*service_ns)(uint64_t index), server *s) {
    arrivals list = {0};
    int64_t at_once = 0;
    for (;;) {
        size_t which = 0;
        int64_t end_ns = next_end(s, &which);
        arrival next = {.at_ns = SLI_NEVER};
        sl_source_event event = source->ops->peek(source->self, &next.at_ns);
        if (event == SL_SOURCE_IDLE && end_ns == SLI_NEVER) {
            return list;
        }
        if (event == SL_SOURCE_IDLE || end_ns <= next.at_ns) {
            s->end_ns[which] = SLI_NEVER;
            at_once--;
            sl_outcome outcome = which % 3 == 0 ? SL_REJECTED : SL_FINISHED;
            source->ops->done(source->self, which, outcome, end_ns);
            continue;
        }
        source->ops->pop(source->self, &next.index, &next.desc);
        assert_int_equal(next.index, s->count);
        list = arrivals_copy_one(list, &next);
        s->end_ns[s->count++] = next.at_ns + service_ns(next.index);
        at_once++;
        s->most_at_once = at_once > s->most_at_once ? at_once : s->most_at_once;
    }
}

static int64_t one_second(uint64_t index) {
    (void)index;
    return SLI_NS_PER_S;
}

static int64_t varying(uint64_t index) {
    return (int64_t)(index * 7919 % 1009) * 1000;
}

/* n users and a fixed service time: n requests at every multiple of it. */
static void users_ask_again_when_they_are_answered(void **state) {
    (void)state;
    world w = open_or_fail("{source: closed, concurrency: 3, requests: 10, " FIXED "}");
    server *s = calloc(1, sizeof *s);
    assert_non_null(s);
    arrivals list = play(&w.source, one_second, s);
    assert_int_equal(list.count, 10);
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.items[i].at_ns, (int64_t)(i / 3) * SLI_NS_PER_S);
    }
    arrivals_free(&list);
    free(s);
    world_close(&w);
}

static void never_more_requests_than_users(void **state) {
    (void)state;
    world w = open_or_fail(
        "{source: closed, concurrency: 17, requests: 2000, start_jitter: 1 ms, " FIXED "}");
    server *s = calloc(1, sizeof *s);
    assert_non_null(s);
    arrivals list = play(&w.source, varying, s);
    assert_int_equal(list.count, 2000);
    assert_int_equal(s->most_at_once, 17);
    for (size_t i = 1; i < list.count; i++) {
        assert_true(list.items[i].at_ns >= list.items[i - 1].at_ns);
    }
    arrivals_free(&list);
    free(s);
    world_close(&w);
}

static int64_t for_ever(uint64_t index) {
    (void)index;
    return SLI_NEVER / 2;
}

static void first_requests_start_within_the_jitter(void **state) {
    (void)state;
    enum { USERS = 1000 };
    world w = open_or_fail(
        "{source: closed, concurrency: 1000, requests: 1000, start_jitter: 2 s, " FIXED "}");
    server *s = calloc(1, sizeof *s);
    assert_non_null(s);
    arrivals list = play(&w.source, for_ever, s);
    assert_int_equal(list.count, USERS);
    size_t early_count = 0;
    for (size_t i = 0; i < USERS; i++) {
        assert_in_range(list.items[i].at_ns, 0, 2 * SLI_NS_PER_S);
        early_count += list.items[i].at_ns < SLI_NS_PER_S;
    }
    assert_in_range(early_count, 500 - 64, 500 + 64); /* 4 sqrt(1000 / 4) */
    arrivals_free(&list);
    free(s);
    world_close(&w);
}

static void waits_while_all_users_wait(void **state) {
    (void)state;
    world w = open_or_fail("{source: closed, concurrency: 2, requests: 3, " FIXED "}");
    sl_source *source = &w.source;
    sl_request_desc desc;
    uint64_t index = 0;
    int64_t at_ns = -1;
    source->ops->pop(source->self, &index, &desc);
    source->ops->pop(source->self, &index, &desc);
    assert_int_equal(source->ops->peek(source->self, &at_ns), SL_SOURCE_IDLE);
    assert_int_equal(at_ns, -1);
    source->ops->done(source->self, 1, SL_ABORTED, 77);
    assert_int_equal(source->ops->peek(source->self, &at_ns), SL_SOURCE_ARRIVAL);
    assert_int_equal(at_ns, 77);
    source->ops->pop(source->self, &index, &desc);
    assert_int_equal(index, 2);
    source->ops->done(source->self, 0, SL_FINISHED, 78);
    assert_int_equal(source->ops->peek(source->self, &at_ns), SL_SOURCE_IDLE); /* all issued */
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_ask_again_when_they_are_answered),
        cmocka_unit_test(never_more_requests_than_users),
        cmocka_unit_test(first_requests_start_within_the_jitter),
        cmocka_unit_test(waits_while_all_users_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
