#include "impatience.h"

#include "kernel/time.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { REQUESTS_MAX = 5000 };

typedef struct impatient {
    sl_source source; /* borrowed */
    int64_t mean_patience_ns;
    int64_t last_ns;                /* of the last pop */
    int64_t leave_ns[REQUESTS_MAX]; /* SLI_NEVER once it has ended or left */
    uint64_t count;
} impatient;

static uint64_t first_to_leave(const impatient *self) {
    uint64_t first = 0;
    for (uint64_t i = 1; i < self->count; i++) {
        first = self->leave_ns[i] < self->leave_ns[first] ? i : first;
    }
    return first;
}

static sl_source_event peek(const void *source, int64_t *at_ns) {
    const impatient *self = source;
    int64_t arrival_ns = SLI_NEVER;
    sl_source_event event = self->source.ops->peek(self->source.self, &arrival_ns);
    int64_t leave_ns = self->count > 0 ? self->leave_ns[first_to_leave(self)] : SLI_NEVER;
    if (leave_ns < arrival_ns) {
        *at_ns = leave_ns;
        return SL_SOURCE_CANCEL;
    }
    *at_ns = arrival_ns;
    return event;
}

static void pop(void *source, uint64_t *index, sl_request_desc *desc) {
    impatient *self = source;
    int64_t at_ns;
    if (peek(self, &at_ns) == SL_SOURCE_CANCEL) {
        *index = first_to_leave(self);
        self->leave_ns[*index] = SLI_NEVER;
        return;
    }
    self->source.ops->pop(self->source.self, index, desc);
    assert_int_equal(*index, self->count);
    assert_in_range(self->count, 0, REQUESTS_MAX - 1);
    int64_t per_mille = (int64_t)(*index * 617 % 1000); /* 617 is prime to 1000: all occur */
    self->leave_ns[self->count++] = at_ns + 2 * self->mean_patience_ns / 1000 * per_mille;
}

static void done(void *source, uint64_t index, sl_outcome outcome, int64_t now_ns) {
    impatient *self = source;
    self->leave_ns[index] = SLI_NEVER;
    if (self->source.ops->done != NULL) {
        self->source.ops->done(self->source.self, index, outcome, now_ns);
    }
}

static void destroy(void *source) {
    impatient *self = source;
    self->source.ops->destroy(self->source.self);
}

static const sl_source_ops impatient_ops = {
    .peek = peek, .pop = pop, .done = done, .destroy = destroy};

void sli_simulation_run_impatient(sli_simulation *simulation, const sl_probe *watcher,
                                  int64_t mean_patience_ns) {
    sli_scenario_file *file = &simulation->file;
    sli_execution *execution = &simulation->execution;
    impatient *self = test_calloc(1, sizeof *self);
    self->mean_patience_ns = mean_patience_ns;
    assert_int_equal(sli_deployment_create(file, &simulation->diag, &execution->deployment), SL_OK);
    assert_int_equal(sli_deployment_source(file, &simulation->diag, &self->source), SL_OK);
    sli_cluster_config *cluster = &execution->deployment.cluster;
    cluster->source = (sl_source){.ops = &impatient_ops, .self = self};
    sli_collector_options options = {.replica_count = cluster->replica_count,
                                     .slo = file->values.slo};
    assert_int_equal(sli_collector_init(&execution->collector, &options), SL_OK);
    sl_probe probes[] = {sli_collector_probe(&execution->collector), *watcher};
    sli_trial trial = {
        .cluster = cluster,
        .seed = (uint64_t)file->values.seed,
        .until_ns = SLI_NEVER,
        .time_limit_ns = file->values.run.time_limit_ns,
        .probes = probes,
        .probe_count = 2,
    };
    assert_int_equal(sli_trial_run(&trial, &execution->result), SL_OK);
    assert_int_equal(sli_metrics_make(&execution->collector, &execution->metrics), SL_OK);
    destroy(self);
    test_free(self);
}
