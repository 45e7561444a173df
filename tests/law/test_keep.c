/*
 * Runs in which tokens are thrown out: what must not change a result, how many requests that makes
 * room for, and one request by hand.
 */
#include "history.h"
#include "simulation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SERVED "model: llama-3.1-8b\nhardware: h100-sxm\noutput: {dir: none}\n"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static void hear(const char *text, const char *const *sets, sli_history *history) {
    *history = (sli_history){0};
    sl_probe probe = sli_history_probe(history);
    sli_simulation simulation;
    sli_simulation_open(text, sets, &simulation);
    sli_simulation_run(&simulation, &probe);
    sli_simulation_fini(&simulation);
}

/* ---- What changes nothing ---- */

/* Small budgets, so that prompts are cut and answers go on for long. */
static const char *const methods[] = {
    "keep={method: streaming_llm, recent: 60 tokens}",
    "keep={method: streaming_llm, recent: 300 tokens}",
    "keep=h2o",
    "keep={method: scissorhands, budget: 150 tokens, drop: 70 tokens}",
    "keep={method: snapkv, capacity: 100 tokens}",
    "keep={method: pyramid_kv, capacity: 200 tokens}",
    "keep=pyramid_infer",
};

/* Few blocks and small steps: preemptions, chunks of prompts, recomputation. */
static const char *const tight_worlds[] = {
    SERVED "memory: {kv_blocks: 40}\n"
           "engine: {max_batched_tokens: 200 tokens}\n"
           "workload: {source: poisson, rate: 12 /s, requests: 300,\n"
           "  prompt: {uniform: {min: 20 tokens, max: 400 tokens}},\n"
           "  output: {uniform: {min: 1 tokens, max: 200 tokens}}}\n",
    SERVED "memory: {kv_blocks: 80}\n"
           "engine: {order: priority, max_seqs: 9, block: 7 tokens}\n"
           "cost: {fixed: {step: 10 ms, token: 3 us}}\n"
           "workload: {source: closed, concurrency: 20, requests: 300,\n"
           "  prompt: {uniform: {min: 1 tokens, max: 380 tokens}},\n"
           "  output: {exponential: {mean: 90 tokens}}}\n",
    SERVED "engine: {policy: orca, max_seqs: 8, max_model_len: 2048 tokens}\n"
           "memory: {kv_blocks: 400}\n"
           "prefix: {index: none}\n"
           "workload: {source: closed, concurrency: 16, requests: 200,\n"
           "  prompt: {uniform: {min: 20 tokens, max: 1500 tokens}},\n"
           "  output: {uniform: {min: 1 tokens, max: 300 tokens}}}\n",
    /* windows beside what is kept, and states */
    "model: gpt-oss-20b\nhardware: h100-sxm\noutput: {dir: none}\n"
    "memory: {kv_blocks: 120}\n"
    "engine: {max_batched_tokens: 300 tokens}\n"
    "workload: {source: poisson, rate: 12 /s, requests: 200,\n"
    "  prompt: {uniform: {min: 20 tokens, max: 500 tokens}},\n"
    "  output: {uniform: {min: 1 tokens, max: 200 tokens}}}\n",
    "model: qwen3.5-9b\nhardware: h100-sxm\noutput: {dir: none}\n"
    "memory: {kv_blocks: 40}\n"
    "workload: {source: poisson, rate: 12 /s, requests: 200,\n"
    "  prompt: {uniform: {min: 20 tokens, max: 1500 tokens}},\n"
    "  output: {uniform: {min: 1 tokens, max: 200 tokens}}}\n",
};

/* A run ends with a recount of all blocks, so it is one that conserves them. */
static void keeping_promises_changes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tight_worlds); i++) {
        for (size_t j = 0; j < COUNT_OF(methods); j++) {
            const char *const kept[] = {methods[j], "engine.coalesce=on", NULL};
            const char *const asked[] = {methods[j], "engine.coalesce=off", NULL};
            assert_int_equal(sli_simulation_digest(tight_worlds[i], kept),
                             sli_simulation_digest(tight_worlds[i], asked));
        }
    }
}

static void whoever_comes_is_served_or_refused(void **state) {
    (void)state;
    int64_t preemptions = 0;
    for (size_t i = 0; i < COUNT_OF(tight_worlds); i++) {
        for (size_t j = 0; j < COUNT_OF(methods); j++) {
            const char *const sets[] = {methods[j], NULL};
            sli_history history;
            hear(tight_worlds[i], sets, &history);
            for (size_t k = 0; k < history.record_count; k++) {
                const sl_request_record *record = &history.records[k];
                preemptions += record->preemption_count;
                assert_true(record->outcome == SL_FINISHED || record->outcome == SL_REJECTED);
                assert_int_equal(record->hit_tokens + record->rehit_tokens, 0);
            }
            sli_history_fini(&history);
        }
    }
    assert_true(preemptions > 100);
}

/* With budgets that nothing reaches all tokens stay, and the time of a step does not ask. */
static void who_throws_nothing_out_changes_nothing(void **state) {
    (void)state;
    static const char *const idle[] = {
        "keep={method: streaming_llm, recent: 100000 tokens}",
        "keep={method: scissorhands, budget: 100000 tokens, drop: 1000 tokens}",
        "keep={method: snapkv, capacity: 100000 tokens}",
        "keep={method: pyramid_kv, capacity: 100000 tokens}",
        "keep={method: pyramid_infer, first: 1, last: 1, generated: 1 tokens}",
    };
    for (size_t i = 0; i < 3; i++) {
        const char *const whole[] = {"prefix.index=none", "cost={fixed: {step: 9 ms, token: 1 us}}",
                                     NULL};
        uint64_t digest = sli_simulation_digest(tight_worlds[i], whole);
        for (size_t j = 0; j < COUNT_OF(idle); j++) {
            const char *const sets[] = {idle[j], whole[0], whole[1], NULL};
            assert_int_equal(sli_simulation_digest(tight_worlds[i], sets), digest);
        }
        const char *const some[] = {methods[0], whole[0], whole[1], NULL};
        assert_int_not_equal(sli_simulation_digest(tight_worlds[i], some), digest);
    }
}

/* ---- Room ---- */

/* A hundred requests at once, none of which has to wait for anything but blocks. */
static const char crowd[] = SERVED "cost: {fixed: {step: 1 ms}}\n"
                                   "memory: {kv_blocks: 500}\n"
                                   "prefix: {index: none}\n"
                                   "engine: {max_batched_tokens: 200000 tokens}\n"
                                   "workload: {source: closed, concurrency: 100, requests: 100,\n"
                                   "  prompt: {fixed: 1600 tokens}, output: {fixed: 161 tokens}}\n";

static int64_t most_running(const char *keep) {
    const char *const sets[] = {keep, NULL};
    sli_history history;
    int64_t most = 0;
    hear(crowd, sets, &history);
    for (size_t i = 0; i < history.step_count; i++) {
        most = history.steps[i].running > most ? history.steps[i].running : most;
        assert_true(history.steps[i].held_blocks <= 500);
    }
    sli_history_fini(&history);
    return most;
}

/*
 * 1,600 tokens are 100 blocks of 16, so five fit in 500. Sinks and window of 400 tokens are 25: 20
 * fit. 20 % of the prompt are 20: while one prompt of 100 blocks is computed there is room for 20
 * others, and none has more than 20 in the end, so as the last comes in 21 run. Three tenths of the
 * prompt and one of two behind it: 480 to 560 tokens, 30 to 35 blocks, so 16 begin together.
 */
static void more_requests_fit_as_more_is_thrown_out(void **state) {
    (void)state;
    assert_int_equal(most_running("keep=none"), 5);
    assert_int_equal(most_running("keep={method: streaming_llm, recent: 396 tokens}"), 20);
    assert_int_equal(most_running("keep=h2o"), 21);
    assert_int_equal(most_running("keep=pyramid_infer"), 16);
}

/* ---- One request ---- */

static const char alone[] = SERVED "cost: {fixed: {step: 1 ms}}\n"
                                   "memory: {kv_blocks: 100}\n"
                                   "prefix: {index: none}\n"
                                   "engine: {block: 10 tokens, max_batched_tokens: 64 tokens}\n"
                                   "workload: {source: closed, concurrency: 1, requests: 1,\n"
                                   "  prompt: {fixed: 150 tokens}, output: {fixed: 26 tokens}}\n";

static void expect_held(const char *keep, const int64_t *blocks, size_t count) {
    const char *const sets[] = {keep, NULL};
    sli_history history;
    hear(alone, sets, &history);
    assert_int_equal(history.step_count, count);
    for (size_t i = 0; i < count; i++) {
        if (history.steps[i].held_blocks != blocks[i]) {
            fail_msg("%s: step %zu holds %lld blocks instead of %lld", keep, i,
                     (long long)history.steps[i].held_blocks, (long long)blocks[i]);
        }
    }
    sli_history_fini(&history);
}

/*
 * Chunks of 64, 64 and 22 tokens, then 25 more tokens. SnapKV with 45 leaves 45 + 1, 2 ... tokens:
 * 5 blocks up to 50, 6 up to 60, 7 up to 70. H2O leaves 30 tokens; a window of 4 + 61 fills at 65;
 * Scissorhands with 38, dropping 9, has a place for 38 all the time. PyramidInfer leaves a third in
 * the mean: of 64 tokens 22, of 128 tokens 43, of 150 tokens 50, and one of 5 behind it: 50 .. 55.
 */
static void one_request_by_hand(void **state) {
    (void)state;
    static const int64_t whole[28] = {7,  13, 15, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17,
                                      17, 17, 17, 17, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18};
    static const int64_t snapkv[28] = {7, 13, 15, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6,
                                       6, 6,  6,  6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    static const int64_t h2o[28] = {7, 13, 15, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
                                    3, 3,  3,  3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    static const int64_t window[28] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
                                       7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    static const int64_t pivotal[28] = {7, 13, 15, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
                                        4, 4,  4,  4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    static const int64_t pyramid[28] = {3, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6,
                                        6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6};
    expect_held("keep=none", whole, 28);
    expect_held("keep={method: snapkv, capacity: 45 tokens}", snapkv, 28);
    expect_held("keep=h2o", h2o, 28);
    expect_held("keep={method: streaming_llm, recent: 61 tokens}", window, 28);
    expect_held("keep={method: scissorhands, budget: 38 tokens, drop: 9 tokens}", pivotal, 28);
    expect_held(
        "keep={method: pyramid_infer, first: 0.433334, last: 0.233332, generated: 5 tokens}",
        pyramid, 28);
}

/*
 * Every token is read by attention at .874 x 3.35e3 bytes a nanosecond, 32 layers x 4,096 bytes of
 * it. SnapKV with 4,096 of 32,768 tokens reads 28,672 fewer in each step of the answer. For that
 * each token of the prompt costs 32 more pairs, the i-th of the first 31 only i, of 32 heads x (2 x
 * 128 + 1) FLOPs and 5 x 32 for pooling in each layer, at .814 x 989e3 a nanosecond.
 */
static void steps_of_the_answer_are_shorter_by_what_is_not_read(void **state) {
    (void)state;
    static const char text[] = SERVED
        "cost: roofline\n"
        "prefix: {index: none}\n"
        "workload: {source: closed, concurrency: 1, requests: 1,\n"
        "  prompt: {fixed: 32768 tokens}, output: {fixed: 50 tokens}}\n";
    const char *const none[] = {"keep=none", NULL};
    const char *const snapkv[] = {"keep=snapkv", NULL};
    sli_history a;
    sli_history b;
    hear(text, none, &a);
    hear(text, snapkv, &b);
    assert_int_equal(a.step_count, 4 + 49);
    assert_int_equal(b.step_count, 4 + 49);
    double saved_ns = 28672.0 * 32.0 * 4096.0 / (0.874 * 3350.0);
    double pair_ns = 32.0 * 32 * 257 / (0.814 * 989e3);
    double paid_ns = 8192.0 * (32.0 * pair_ns + 32.0 * 32 * 5 / (0.814 * 989e3));
    double first_ns = paid_ns - 31.0 * 32 / 2 * pair_ns;
    for (size_t i = 0; i < a.step_count; i++) {
        int64_t a_ns = a.steps[i].end_ns - a.steps[i].start_ns;
        int64_t b_ns = b.steps[i].end_ns - b.steps[i].start_ns;
        double more_ns = i == 0 ? first_ns : i < 4 ? paid_ns : -saved_ns;
        assert_true(fabs((double)(b_ns - a_ns) - more_ns) <= 1.0);
    }
    sli_history_fini(&a);
    sli_history_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeping_promises_changes_nothing),
        cmocka_unit_test(whoever_comes_is_served_or_refused),
        cmocka_unit_test(who_throws_nothing_out_changes_nothing),
        cmocka_unit_test(more_requests_fit_as_more_is_thrown_out),
        cmocka_unit_test(one_request_by_hand),
        cmocka_unit_test(steps_of_the_answer_are_shorter_by_what_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
