#include "cli/progress.h"

#include "base/units.h"

#include <stdio.h>
#include <time.h>

double sli_wall_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void on_transition(void *self, const sl_transition *transition) {
    sli_progress *progress = self;
    progress->arrived += transition->kind == SL_ARRIVE;
}

static void on_terminal(void *self, const sl_request_record *record) {
    sli_progress *progress = self;
    (void)record;
    progress->ended++;
}

static void show(sli_progress *progress, int64_t now_ns) {
    char arrived[32];
    char ended[32];
    sli_format_count(progress->arrived, arrived, sizeof arrived);
    sli_format_count(progress->ended, ended, sizeof ended);
    fprintf(stderr, "\r%s of %s requests ended, %.1f s simulated\033[K", ended, arrived,
            (double)now_ns / 1e9);
    progress->is_shown = true;
}

static void on_step(void *self, const sl_step_record *step) {
    const double interval_s = 0.2;
    sli_progress *progress = self;
    if (++progress->steps % 1024 != 0) {
        return;
    }
    double wall_s = sli_wall_s();
    if (wall_s - progress->last_s >= interval_s) {
        progress->last_s = wall_s;
        show(progress, step->end_ns);
    }
}

static const sl_probe_ops progress_ops = {
    .transition = on_transition, .step = on_step, .terminal = on_terminal};

sl_probe sli_progress_probe(sli_progress *progress) {
    *progress = (sli_progress){.start_s = sli_wall_s()};
    progress->last_s = progress->start_s;
    return (sl_probe){.ops = &progress_ops, .self = progress};
}

void sli_progress_end(sli_progress *progress) {
    if (progress->is_shown) {
        fputs("\r\033[K", stderr);
        progress->is_shown = false;
    }
}
