#include "history.h"

#include "base/grow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void grow(void *array, size_t *capacity, size_t needed, size_t item_size) {
    if (sli_grow(array, capacity, needed, item_size) != SL_OK) {
        fail_msg("out of memory");
    }
}

static void keep_transition(void *self, const sl_transition *transition) {
    sli_history *history = self;
    grow(&history->transitions, &history->transition_capacity, history->transition_count + 1,
         sizeof *history->transitions);
    history->transitions[history->transition_count++] = *transition;
}

static void keep_step(void *self, const sl_step_record *step) {
    sli_history *history = self;
    grow(&history->steps, &history->step_capacity, history->step_count + 1, sizeof *history->steps);
    history->steps[history->step_count++] = *step;
}

static void keep_gap(void *self, int64_t gap_ns, int64_t count) {
    sli_history *history = self;
    history->gap_count += count;
    history->gap_sum_ns += gap_ns * count;
}

/* Places that nobody has ended at yet are marked by a record of no prompt. */
static void keep_record(void *self, const sl_request_record *record) {
    sli_history *history = self;
    size_t index = SL_REQUEST_INDEX(record->request);
    size_t old_capacity = history->record_capacity;
    grow(&history->records, &history->record_capacity, index + 1, sizeof *history->records);
    memset(history->records + old_capacity, 0,
           (history->record_capacity - old_capacity) * sizeof *history->records);
    assert_int_equal(SL_REQUEST_SOURCE(record->request), 0);
    assert_int_equal(history->records[index].prompt_tokens, 0); /* ends once */
    history->records[index] = *record;
    history->record_count++;
}

static const sl_probe_ops history_ops = {
    .transition = keep_transition,
    .step = keep_step,
    .gap = keep_gap,
    .terminal = keep_record,
};

sl_probe sli_history_probe(sli_history *history) {
    return (sl_probe){.ops = &history_ops, .self = history};
}

void sli_history_fini(sli_history *history) {
    free(history->transitions);
    free(history->steps);
    free(history->records);
    *history = (sli_history){0};
}
