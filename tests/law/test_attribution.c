/*
 * Whose time it was: own time and interference, in every small world and in worlds where both can
 * be worked out by hand.
 */
#include "worlds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static int64_t own_ns(const sl_request_record *record) {
    int64_t sum_ns = 0;
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        sum_ns += record->own_ns[cause];
    }
    return sum_ns;
}

static int64_t running_ns(const sl_request_record *record) {
    return record->phase_ns[SL_PHASE_PREFILL] + record->phase_ns[SL_PHASE_DECODE] +
           record->phase_ns[SL_PHASE_RECOMPUTE];
}

/* ---- Sums ---- */

static void law_sums(const sli_law_run *run) {
    bool has_interference = false; /* or the law would prove little */
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
            assert_true(record->own_ns[cause] >= 0);
        }
        assert_true(record->interference_ns >= 0);
        assert_int_equal(own_ns(record) + record->interference_ns, running_ns(record));
        has_interference = has_interference || record->interference_ns > 0;
    }
    assert_true(has_interference);
}

static void own_time_and_interference_are_the_running_time(void **state) {
    (void)state;
    sli_hold_worlds_to(law_sums);
}

static void assert_mean(const sli_metrics *metrics, const char *name, int64_t sum_ns) {
    const sli_metric *metric = sli_metrics_find(metrics, name);
    assert_non_null(metric);
    double off_ns = metric->value.real * (double)metric->n - (double)sum_ns;
    assert_true(fabs(off_ns) <= 1e-12 * (double)sum_ns);
}

static void law_means(const sli_law_run *run) {
    static const char *const names[SL_CAUSE_COUNT] = {
        "own_gemm_mean_ns", "own_attention_mean_ns",  "own_elementwise_mean_ns",
        "own_head_mean_ns", "own_collective_mean_ns", "own_engine_mean_ns"};
    const sli_metrics *metrics = &run->simulation.execution.metrics;
    int64_t sums_ns[SL_CAUSE_COUNT] = {0};
    int64_t interference_ns = 0;
    int64_t first_own_ns = 0;
    int64_t first_ns = 0;
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        if (record->outcome != SL_FINISHED) {
            continue;
        }
        for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
            sums_ns[cause] += record->own_ns[cause];
        }
        interference_ns += record->interference_ns;
        first_own_ns += record->first_own_ns;
        first_ns += record->first_token_ns - record->arrival_ns;
    }
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        assert_mean(metrics, names[cause], sums_ns[cause]);
    }
    assert_mean(metrics, "interference_mean_ns", interference_ns);
    double own_frac = (double)first_own_ns / (double)first_ns;
    assert_true(fabs(metrics->ttft_mean_shares.part_frac[SLI_TTFT_OWN] - own_frac) < 1e-12);
}

static void metrics_are_what_the_records_say(void **state) {
    (void)state;
    sli_hold_worlds_to(law_means);
}

/* ---- The first token ---- */

/* What a request spent preempted before its first token, from its transitions. */
typedef struct wait {
    int64_t preempted_at_ns;
    int64_t sum_ns;
    bool has_first;
} wait;

static wait *waits_of(const sli_history *history) {
    wait *waits = test_calloc(history->record_count, sizeof *waits);
    for (size_t i = 0; i < history->transition_count; i++) {
        const sl_transition *transition = &history->transitions[i];
        wait *told = &waits[SL_REQUEST_INDEX(transition->request)];
        if (transition->kind == SL_PREEMPT) {
            told->preempted_at_ns = transition->at_ns;
        } else if (transition->kind == SL_ADMIT && told->preempted_at_ns > 0) {
            told->sum_ns += told->has_first ? 0 : transition->at_ns - told->preempted_at_ns;
        }
        told->has_first = told->has_first || transition->kind == SL_FIRST;
    }
    return waits;
}

/* Over all worlds, or the law would not have been put to the test. */
static int64_t waits_before_count;
static int64_t waits_after_count;

static void law_first(const sli_law_run *run) {
    wait *waits = waits_of(&run->history);
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        if (record->first_token_ns < 0) {
            assert_int_equal(record->first_own_ns, 0);
            assert_int_equal(record->first_preempted_ns, 0);
            continue;
        }
        assert_int_equal(record->first_preempted_ns, waits[i].sum_ns);
        int64_t running_first_ns = record->first_token_ns - record->arrival_ns -
                                   record->phase_ns[SL_PHASE_QUEUED] - waits[i].sum_ns;
        assert_in_range(record->first_own_ns, 1, running_first_ns);
        assert_true(record->first_own_ns <=
                    record->phase_ns[SL_PHASE_PREFILL] + record->phase_ns[SL_PHASE_RECOMPUTE]);
        assert_true(record->first_own_ns <= own_ns(record));
        if (record->outcome == SL_FINISHED) {
            assert_int_equal(record->first_own_ns == own_ns(record), record->output_tokens == 1);
        }
        waits_before_count += waits[i].sum_ns > 0;
        waits_after_count += record->phase_ns[SL_PHASE_PREEMPTED] > waits[i].sum_ns;
    }
    test_free(waits);
}

static void first_tokens_split_as_the_transitions_say(void **state) {
    (void)state;
    sli_hold_worlds_to(law_first);
    assert_true(waits_before_count > 0 && waits_after_count > 0);
}

/* ---- Steps ---- */

enum { REPLICA_MAX = 4 };

/* Some time of each step of a replica, summed up to an instant. */
typedef int64_t time_of_step(const sl_step_record *step);

typedef struct clock {
    size_t next; /* step of the history */
    int64_t sum_ns;
} clock;

/* Steps of one replica come in order. */
static int64_t read_clock(clock *it, const sli_history *history, uint32_t replica, int64_t at_ns,
                          time_of_step *time) {
    for (; it->next < history->step_count; it->next++) {
        const sl_step_record *step = &history->steps[it->next];
        if (step->replica != replica) {
            continue;
        }
        if (step->end_ns > at_ns) {
            break;
        }
        it->sum_ns += time(step);
    }
    return it->sum_ns;
}

/*
 * For each request, the time of the steps while it was running, from an admission, or with
 * `from_first` from its first token, until it left. The caller frees them with test_free.
 */
static int64_t *time_while_running(const sli_history *history, bool from_first,
                                   time_of_step *time) {
    clock clocks[REPLICA_MAX] = {0};
    int64_t *sums_ns = test_calloc(history->record_count, sizeof *sums_ns);
    bool *is_running = test_calloc(history->record_count, sizeof *is_running);
    for (size_t i = 0; i < history->transition_count; i++) {
        const sl_transition *transition = &history->transitions[i];
        uint64_t request = SL_REQUEST_INDEX(transition->request);
        bool begins = transition->kind == (from_first ? SL_FIRST : SL_ADMIT);
        bool ends = is_running[request] &&
                    (transition->kind == SL_PREEMPT || transition->kind == SL_FINISH ||
                     transition->kind == SL_ABORT);
        if (!begins && !ends) {
            continue;
        }
        assert_true(transition->replica < REPLICA_MAX);
        int64_t now_ns = read_clock(&clocks[transition->replica], history, transition->replica,
                                    transition->at_ns, time);
        sums_ns[request] += begins ? -now_ns : now_ns;
        is_running[request] = begins;
    }
    test_free(is_running);
    return sums_ns;
}

static int64_t time_with_prefill(const sl_step_record *step) {
    return step->prefill_tokens > 0 ? step->end_ns - step->start_ns : 0;
}

/* All worlds here give every running request its token in each step of decodes alone. */
static void law_disturbance(const sli_law_run *run) {
    int64_t *limits_ns = time_while_running(&run->history, false, time_with_prefill);
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        /* The step that the end of the run cut off has no record. */
        if (record->outcome != SL_UNFINISHED) {
            assert_in_range(record->interference_ns, 0, limits_ns[i]);
        }
    }
    test_free(limits_ns);
}

static void steps_without_prefill_disturb_nobody(void **state) {
    (void)state;
    sli_hold_worlds_to(law_disturbance);
}

/* ---- Worlds of their own ---- */

#define SERVED "model: llama-3.1-8b\nhardware: h100-sxm\noutput: {dir: none}\n"

typedef struct heard {
    sli_simulation simulation;
    sli_history history;
} heard;

static void hear(heard *it, const char *text, const char *set) {
    const char *const sets[] = {set, NULL};
    it->history = (sli_history){0};
    sli_simulation_open(text, sets, &it->simulation);
    sl_probe probe = sli_history_probe(&it->history);
    sli_simulation_run(&it->simulation, &probe);
    assert_true(it->history.record_count > 0);
}

static void forget(heard *it) {
    sli_history_fini(&it->history);
    sli_simulation_fini(&it->simulation);
}

enum { STEP_NS = 5000000, TOKEN_NS = 10000, SEQUENCE_NS = 100000 };

/* The step of its decode rows alone, in the world below. */
static int64_t time_of_decodes(const sl_step_record *step) {
    int64_t decodes = step->tokens - step->prefill_tokens;
    return STEP_NS + decodes * (TOKEN_NS + SEQUENCE_NS);
}

/*
 * Whole prompts, no preemption, and a step of 5 ms + 10 us a token + 100 us a sequence: a prompt of
 * p tokens has 5.1 ms + p x 10 us of its own, and each later token the step of the decode rows.
 */
static void own_time_is_what_can_be_worked_out_by_hand(void **state) {
    (void)state;
    heard it;
    hear(&it,
         SERVED "cost: {fixed: {step: 5 ms, token: 10 us, sequence: 100 us}}\n"
                "prefix: {index: none}\n"
                "workload: {source: poisson, rate: 30 /s, requests: 600,\n"
                "  prompt: {uniform: {min: 1 tokens, max: 200 tokens}},\n"
                "  output: {uniform: {min: 1 tokens, max: 60 tokens}}}\n",
         NULL);
    int64_t *decode_own_ns = time_while_running(&it.history, true, time_of_decodes);
    int64_t disturbed = 0;
    for (size_t i = 0; i < it.history.record_count; i++) {
        const sl_request_record *record = &it.history.records[i];
        assert_int_equal(record->preemption_count, 0);
        int64_t prompt_ns = STEP_NS + SEQUENCE_NS + record->prompt_tokens * TOKEN_NS;
        assert_int_equal(record->first_own_ns, prompt_ns);
        assert_int_equal(own_ns(record), prompt_ns + decode_own_ns[i]);
        assert_int_equal(record->own_ns[SL_CAUSE_ENGINE], own_ns(record)); /* has no other terms */
        disturbed += record->interference_ns > 0;
    }
    assert_true(disturbed > 300);
    test_free(decode_own_ns);
    forget(&it);
}

/* One seat: whoever runs is alone. */
#define ALONE                                                                                      \
    SERVED "engine: {max_seqs: 1}\n"                                                               \
           "workload: {source: poisson, rate: 2 /s, requests: 100,\n"                              \
           "  prompt: {lognormal: {mean: 1000 tokens, cv: 1}},\n"                                  \
           "  output: {uniform: {min: 1 tokens, max: 60 tokens}}}\n"

static void assert_alone(const char *set) {
    heard it;
    hear(&it, ALONE, set);
    for (size_t i = 0; i < it.history.record_count; i++) {
        const sl_request_record *record = &it.history.records[i];
        assert_int_equal(record->outcome, SL_FINISHED);
        assert_int_equal(record->interference_ns, 0);
        assert_int_equal(record->first_own_ns, record->first_token_ns - record->admit_ns);
        assert_int_equal(own_ns(record), record->end_ns - record->admit_ns);
    }
    forget(&it);
}

static void who_is_alone_has_all_time_to_itself(void **state) {
    (void)state;
    assert_alone(NULL);
    assert_alone("replicas.tp=2");
    assert_alone("engine.max_batched_tokens=96 tokens"); /* prompts in many chunks */
    assert_alone("engine.coalesce=off");
    assert_alone("cost={fixed: {step: 3 ms, token: 7 us}}");
}

/* ---- Causes ---- */

static void sum_causes(const char *set, double sums_ns[SL_CAUSE_COUNT]) {
    heard it;
    hear(&it, ALONE, set);
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        sums_ns[cause] = 0;
        for (size_t i = 0; i < it.history.record_count; i++) {
            sums_ns[cause] += (double)it.history.records[i].own_ns[cause];
        }
    }
    forget(&it);
}

static void every_cause_takes_part_and_only_peers_communicate(void **state) {
    (void)state;
    double one_ns[SL_CAUSE_COUNT];
    double two_ns[SL_CAUSE_COUNT];
    sum_causes("replicas.tp=1", one_ns);
    sum_causes("replicas.tp=2", two_ns);
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        assert_int_equal(one_ns[cause] > 0, cause != SL_CAUSE_COLLECTIVE);
        assert_true(two_ns[cause] > 0);
    }
    /* Half of the weights on each, but not twice as fast. */
    assert_true(two_ns[SL_CAUSE_GEMM] < one_ns[SL_CAUSE_GEMM]);
    assert_true(two_ns[SL_CAUSE_GEMM] > one_ns[SL_CAUSE_GEMM] / 2);
}

/* Gemms see tokens, attention sees pairs of them: ten times the prompt is more than ten times the
 * attention of the first token against the gemms of a decode. */
static void attention_grows_with_the_context_and_the_head_does_not(void **state) {
    (void)state;
    double short_ns[SL_CAUSE_COUNT];
    double long_ns[SL_CAUSE_COUNT];
    sum_causes("workload.prompt={fixed: 1000 tokens}", short_ns);
    sum_causes("workload.prompt={fixed: 10000 tokens}", long_ns);
    assert_true(long_ns[SL_CAUSE_ATTENTION] / short_ns[SL_CAUSE_ATTENTION] >
                long_ns[SL_CAUSE_GEMM] / short_ns[SL_CAUSE_GEMM]);
    assert_true(long_ns[SL_CAUSE_GEMM] > short_ns[SL_CAUSE_GEMM]);
    /* As many rows of the head, step by step. */
    assert_true(fabs(long_ns[SL_CAUSE_HEAD] / short_ns[SL_CAUSE_HEAD] - 1) < 0.01);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SLI_LAW_TEST(own_time_and_interference_are_the_running_time),
        SLI_LAW_TEST(metrics_are_what_the_records_say),
        SLI_LAW_TEST(first_tokens_split_as_the_transitions_say),
        SLI_LAW_TEST(steps_without_prefill_disturb_nobody),
        cmocka_unit_test(own_time_is_what_can_be_worked_out_by_hand),
        cmocka_unit_test(who_is_alone_has_all_time_to_itself),
        cmocka_unit_test(every_cause_takes_part_and_only_peers_communicate),
        cmocka_unit_test(attention_grows_with_the_context_and_the_head_does_not),
    };
    return cmocka_run_group_tests(tests, sli_worlds_open, sli_worlds_close);
}
