/*
 * Nothing is lost and nothing is counted twice: requests, time and tokens, in every small world.
 */
#include "worlds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const sl_request_record *record_of(const sli_history *history, uint64_t request) {
    uint64_t index = SL_REQUEST_INDEX(request);
    assert_true(index < history->record_count);
    return &history->records[index];
}

/* ---- Requests ---- */

static void count_outcomes(const sli_history *history, int64_t counts[SL_UNFINISHED + 1]) {
    for (size_t i = 0; i < history->record_count; i++) {
        assert_true(history->records[i].prompt_tokens >= 1); /* there is one for each index */
        counts[history->records[i].outcome]++;
    }
}

static void law_requests(const sli_law_run *run) {
    const sli_metrics *metrics = &run->simulation.execution.metrics;
    int64_t counts[SL_UNFINISHED + 1] = {0};
    count_outcomes(&run->history, counts);
    int64_t arrivals = 0;
    for (size_t i = 0; i < run->history.transition_count; i++) {
        arrivals += run->history.transitions[i].kind == SL_ARRIVE;
    }
    assert_int_equal(arrivals, run->history.record_count);
    assert_int_equal(arrivals, metrics->arrived_count);
    assert_int_equal(counts[SL_FINISHED], metrics->finished_count);
    assert_int_equal(counts[SL_REJECTED], metrics->rejected_count);
    assert_int_equal(counts[SL_ABORTED], metrics->aborted_count);
    assert_int_equal(counts[SL_UNFINISHED], metrics->unfinished_count);
}

static void every_arrival_ends_once(void **state) {
    (void)state;
    sli_hold_worlds_to(law_requests);
}

/* A law that is never put to the test is no law. */
static void law_worlds_do_what_they_say(const sli_law_run *run) {
    const sli_metrics *metrics = &run->simulation.execution.metrics;
    assert_true(metrics->finished_count > 100);
    assert_int_equal(metrics->unfinished_count > 0, run->world->is_cut);
    assert_int_equal(metrics->rejected_count > 0, run->world->has_rejects);
    assert_int_equal(metrics->aborted_count > 0, run->world->patience_ns > 0);
    assert_int_equal(metrics->preemption_count > 0, run->world->is_tight);
    int64_t hit_tokens = 0;
    for (size_t i = 0; i < run->history.record_count; i++) {
        hit_tokens += run->history.records[i].hit_tokens;
    }
    assert_int_equal(hit_tokens > 0, run->world->is_shared);
}

static void worlds_do_what_they_say(void **state) {
    (void)state;
    sli_hold_worlds_to(law_worlds_do_what_they_say);
}

/* Counted again from the records, with the comparison as the definition has it. */
static bool meets(const sli_slo *slo, const sl_request_record *record) {
    int64_t span_ns = record->last_token_ns - record->first_token_ns;
    return record->outcome == SL_FINISHED &&
           record->first_token_ns - record->arrival_ns <= slo->ttft_ns &&
           span_ns <= slo->tpot_ns * (record->generated_tokens - 1);
}

static void law_objective(const sli_law_run *run) {
    const sli_metrics *metrics = &run->simulation.execution.metrics;
    int64_t met = 0;
    int64_t last_ns = 0;
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        met += meets(&run->simulation.file.values.slo, record);
        if (record->outcome == SL_FINISHED && record->end_ns > last_ns) {
            last_ns = record->end_ns;
        }
    }
    assert_true(met > 0 && met < metrics->finished_count);
    assert_int_equal(met, metrics->slo_met_count);
    double attained_frac = (double)met / (double)run->history.record_count;
    double window_s = (double)(last_ns - run->history.records[0].arrival_ns) / 1e9;
    assert_true(fabs(metrics->slo_attainment_frac.real - attained_frac) < 1e-12);
    assert_true(fabs(metrics->goodput_per_s.real * window_s - (double)met) < 1e-9 * (double)met);
}

static void objective_is_met_as_the_records_say(void **state) {
    (void)state;
    sli_hold_worlds_to(law_objective);
}

/* ---- The story of a request ---- */

typedef struct story {
    enum { UNKNOWN, WAITING, RUNNING, GONE } place;
    int64_t preemptions;
    int64_t first_ns; /* 0 = not yet */
    int64_t admit_ns;
} story;

static void tell_start(story *told, const sl_transition *transition,
                       const sl_request_record *record) {
    if (transition->kind == SL_ARRIVE) {
        assert_int_equal(told->place, UNKNOWN);
        assert_int_equal(transition->at_ns, record->arrival_ns);
        assert_int_equal(transition->tokens, record->prompt_tokens);
        told->place = WAITING;
    } else { /* SL_ADMIT */
        assert_int_equal(told->place, WAITING);
        told->admit_ns = told->admit_ns > 0 ? told->admit_ns : transition->at_ns;
        told->place = RUNNING;
    }
}

static void tell_end(story *told, const sl_transition *transition,
                     const sl_request_record *record) {
    static const sl_outcome outcomes[] = {
        [SL_REJECT] = SL_REJECTED, [SL_FINISH] = SL_FINISHED, [SL_ABORT] = SL_ABORTED};
    assert_true(told->place == (transition->kind == SL_FINISH ? RUNNING : told->place));
    assert_true(told->place == WAITING || told->place == RUNNING);
    assert_int_equal(record->outcome, outcomes[transition->kind]);
    assert_int_equal(record->end_ns, transition->at_ns);
    told->place = GONE;
}

static void tell(story *told, const sl_transition *transition, const sl_request_record *record) {
    switch ((sl_transition_kind)transition->kind) {
    case SL_ARRIVE:
    case SL_ADMIT:
        tell_start(told, transition, record);
        break;
    case SL_FIRST:
        assert_int_equal(told->place, RUNNING);
        assert_int_equal(told->first_ns, 0);
        told->first_ns = transition->at_ns;
        break;
    case SL_PREEMPT:
        assert_int_equal(told->place, RUNNING);
        told->preemptions++;
        told->place = WAITING;
        break;
    case SL_REJECT:
    case SL_FINISH:
    case SL_ABORT:
        tell_end(told, transition, record);
        break;
    }
}

static void law_stories(const sli_law_run *run) {
    const sli_history *history = &run->history;
    story *stories = test_calloc(history->record_count, sizeof *stories);
    int64_t now_ns = 0;
    for (size_t i = 0; i < history->transition_count; i++) {
        const sl_transition *transition = &history->transitions[i];
        assert_true(transition->at_ns >= now_ns);
        now_ns = transition->at_ns;
        const sl_request_record *record = record_of(history, transition->request);
        tell(&stories[SL_REQUEST_INDEX(transition->request)], transition, record);
    }
    for (size_t i = 0; i < history->record_count; i++) {
        const sl_request_record *record = &history->records[i];
        assert_int_equal(stories[i].place == GONE, record->outcome != SL_UNFINISHED);
        assert_int_equal(stories[i].preemptions, record->preemption_count);
        assert_int_equal(stories[i].admit_ns, record->admit_ns < 0 ? 0 : record->admit_ns);
        assert_int_equal(stories[i].first_ns,
                         record->first_token_ns < 0 ? 0 : record->first_token_ns);
    }
    test_free(stories);
}

static void transitions_and_records_tell_the_same_story(void **state) {
    (void)state;
    sli_hold_worlds_to(law_stories);
}

/* ---- Time ---- */

static void law_phases(const sli_law_run *run) {
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        int64_t sum_ns = 0;
        for (int phase = 0; phase < SL_PHASE_COUNT; phase++) {
            assert_true(record->phase_ns[phase] >= 0);
            sum_ns += record->phase_ns[phase];
        }
        assert_int_equal(sum_ns, record->end_ns - record->arrival_ns);
        int64_t left_queue_ns = record->admit_ns < 0 ? record->end_ns : record->admit_ns;
        assert_int_equal(record->phase_ns[SL_PHASE_QUEUED], left_queue_ns - record->arrival_ns);
        if (record->outcome == SL_FINISHED) {
            assert_int_equal(record->end_ns, record->last_token_ns);
            assert_true(record->first_token_ns > record->admit_ns);
        }
        if (record->preemption_count == 0 && record->first_token_ns >= 0) {
            assert_int_equal(record->phase_ns[SL_PHASE_PREFILL],
                             record->first_token_ns - record->admit_ns);
            assert_int_equal(record->phase_ns[SL_PHASE_DECODE],
                             record->end_ns - record->first_token_ns);
        }
    }
}

static void phases_sum_to_the_stay(void **state) {
    (void)state;
    sli_hold_worlds_to(law_phases);
}

/* Request nanoseconds spent waiting and running, from the changes of the two numbers present. */
typedef struct presence {
    int64_t waiting;
    int64_t running;
    int64_t waiting_ns;
    int64_t running_ns;
} presence;

static void pass_time(presence *present, int64_t ns) {
    present->waiting_ns += present->waiting * ns;
    present->running_ns += present->running * ns;
}

static presence integrate(const sli_history *history, int64_t end_ns) {
    presence present = {0};
    int64_t now_ns = 0;
    for (size_t i = 0; i < history->transition_count; i++) {
        const sl_transition *transition = &history->transitions[i];
        pass_time(&present, transition->at_ns - now_ns);
        now_ns = transition->at_ns;
        bool is_seated = transition->kind == SL_FINISH ||
                         (transition->kind == SL_ABORT &&
                          transition->blocks > 0); /* a waiting request holds none */
        present.waiting += transition->kind == SL_ARRIVE || transition->kind == SL_PREEMPT;
        present.running += transition->kind == SL_ADMIT;
        present.waiting -= transition->kind == SL_ADMIT || transition->kind == SL_REJECT ||
                           (transition->kind == SL_ABORT && !is_seated);
        present.running -= transition->kind == SL_PREEMPT || is_seated;
    }
    pass_time(&present, end_ns - now_ns);
    return present;
}

/*
 * Little's law without limits or averages: over a run, the integral of the number present equals
 * the sum of the stays, in whole nanoseconds. For the queue, the batch and so for both together.
 */
static void law_little(const sli_law_run *run) {
    presence present = integrate(&run->history, run->simulation.execution.result.end_ns);
    int64_t waiting_ns = 0;
    int64_t running_ns = 0;
    int64_t stay_ns = 0;
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        waiting_ns += record->phase_ns[SL_PHASE_QUEUED] + record->phase_ns[SL_PHASE_PREEMPTED];
        running_ns += record->phase_ns[SL_PHASE_PREFILL] + record->phase_ns[SL_PHASE_DECODE] +
                      record->phase_ns[SL_PHASE_RECOMPUTE];
        stay_ns += record->end_ns - record->arrival_ns;
    }
    assert_int_equal(present.waiting_ns, waiting_ns);
    assert_int_equal(present.running_ns, running_ns);
    assert_int_equal(present.waiting_ns + present.running_ns, stay_ns);
    assert_true(waiting_ns > 0 && running_ns > 0);
}

static void littles_law_holds_to_the_nanosecond(void **state) {
    (void)state;
    sli_hold_worlds_to(law_little);
}

/* ---- Tokens ---- */

static void law_step_tokens(const sli_law_run *run) {
    const sli_history *history = &run->history;
    int64_t step_tokens = 0;
    for (size_t i = 0; i < history->step_count; i++) {
        step_tokens += history->steps[i].tokens;
    }
    int64_t computed_tokens = 0;
    int64_t gaps = 0;
    int64_t gap_sum_ns = 0;
    for (size_t i = 0; i < history->record_count; i++) {
        const sl_request_record *record = &history->records[i];
        computed_tokens += record->computed_tokens;
        if (record->generated_tokens > 0) {
            gaps += record->generated_tokens - 1;
            gap_sum_ns += record->last_token_ns - record->first_token_ns;
        }
    }
    assert_int_equal(computed_tokens, step_tokens);
    assert_int_equal(gaps, history->gap_count);
    assert_int_equal(gap_sum_ns, history->gap_sum_ns);
}

static void steps_and_requests_count_the_same_tokens(void **state) {
    (void)state;
    sli_hold_worlds_to(law_step_tokens);
}

/*
 * The KV of a finished request is that of its prompt and all its output but the last token. Each
 * was computed for the first time or found; what preemptions made it compute again is counted
 * apart. Only contents that others share can be found further than the request ever was itself.
 */
static void law_request_tokens(const sli_law_run *run) {
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        if (record->outcome != SL_FINISHED) {
            assert_true(record->generated_tokens < record->output_tokens);
            continue;
        }
        assert_int_equal(record->generated_tokens, record->output_tokens);
        int64_t new_tokens = record->computed_tokens - record->recomputed_tokens;
        int64_t kv_tokens = record->prompt_tokens + record->output_tokens - 1;
        int64_t beyond_tokens = run->world->is_shared ? record->rehit_tokens : 0;
        assert_true(new_tokens <= kv_tokens - record->hit_tokens);
        assert_true(new_tokens >= kv_tokens - record->hit_tokens - beyond_tokens);
        if (record->preemption_count == 0) {
            assert_int_equal(record->recomputed_tokens, 0);
            assert_int_equal(record->rehit_tokens, 0);
        }
    }
}

static void finished_requests_computed_their_kv_once(void **state) {
    (void)state;
    sli_hold_worlds_to(law_request_tokens);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SLI_LAW_TEST(every_arrival_ends_once),
        SLI_LAW_TEST(worlds_do_what_they_say),
        SLI_LAW_TEST(objective_is_met_as_the_records_say),
        SLI_LAW_TEST(transitions_and_records_tell_the_same_story),
        SLI_LAW_TEST(phases_sum_to_the_stay),
        SLI_LAW_TEST(littles_law_holds_to_the_nanosecond),
        SLI_LAW_TEST(steps_and_requests_count_the_same_tokens),
        SLI_LAW_TEST(finished_requests_computed_their_kv_once),
    };
    return cmocka_run_group_tests(tests, sli_worlds_open, sli_worlds_close);
}
