#include "kernel/loop.h"

#include "base/check.h"

sl_err sli_loop_init(sli_loop *loop) {
    sli_evq *events;
    SL_TRY(sli_evq_create(&events));
    *loop = (sli_loop){.events = events};
    return SL_OK;
}

void sli_loop_fini(sli_loop *loop) {
    sli_evq_destroy(loop->events);
    *loop = (sli_loop){0};
}

static bool is_interrupted(const sli_loop *loop) {
    return loop->interrupt != NULL && *loop->interrupt != 0;
}

sli_loop_end sli_loop_run(sli_loop *loop, int64_t horizon_ns) {
    loop->is_stopping = false;
    while (!loop->is_stopping) {
        const sli_event *next = sli_evq_peek(loop->events);
        if (next == NULL) {
            return SLI_LOOP_DRAINED;
        }
        if (is_interrupted(loop) && next->at_ns > loop->now_ns) {
            return SLI_LOOP_STOPPED;
        }
        if (next->at_ns > horizon_ns) {
            return SLI_LOOP_HORIZON;
        }
        SL_ASSERT(next->at_ns >= loop->now_ns);
        sli_event event;
        sli_evq_pop(loop->events, &event);
        loop->now_ns = event.at_ns;
        loop->fired_count++;
        loop->class = event.class;
        loop->key = event.key;
        event.fire(event.subject, event.at_ns);
    }
    return SLI_LOOP_STOPPED;
}

void sli_loop_stop(sli_loop *loop) {
    loop->is_stopping = true;
}
