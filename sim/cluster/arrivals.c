#include "cluster/arrivals.h"

#include "base/check.h"

static void fire(void *subject, int64_t now_ns);

/* Puts the event where the source's next one is. */
static void follow_source(sli_arrivals *arrivals) {
    sli_evq *events = arrivals->world->loop.events;
    int64_t at_ns;
    if (arrivals->source.ops->peek(arrivals->source.self, &at_ns) == SL_SOURCE_IDLE) {
        sli_evq_cancel(events, arrivals->event);
        return;
    }
    SL_ASSERT(at_ns >= arrivals->world->loop.now_ns);
    if (sli_evq_move(events, arrivals->event, at_ns)) {
        return;
    }
    if (sli_evq_post(events, at_ns, SLI_EVENT_ARRIVAL, arrivals->number, fire, arrivals,
                     &arrivals->event) != SL_OK) {
        sli_world_fail(arrivals->world, SL_ERR_NOMEM, "out of memory for events");
    }
}

static void fire(void *subject, int64_t now_ns) {
    sli_arrivals *arrivals = subject;
    int64_t at_ns;
    sl_source_event event = arrivals->source.ops->peek(arrivals->source.self, &at_ns);
    SL_ASSERT(event != SL_SOURCE_IDLE && at_ns == now_ns);
    uint64_t index;
    sl_request_desc desc = {0};
    arrivals->source.ops->pop(arrivals->source.self, &index, &desc);
    uint64_t request = SL_REQUEST_ID(arrivals->number, index);
    if (event == SL_SOURCE_ARRIVAL) {
        arrivals->ops->arrive(arrivals->self, request, &desc);
    } else {
        arrivals->ops->cancel(arrivals->self, request);
    }
    follow_source(arrivals);
}

void sli_arrivals_start(sli_arrivals *arrivals) {
    follow_source(arrivals);
}

void sli_arrivals_done(sli_arrivals *arrivals, uint64_t request, sl_outcome outcome) {
    if (arrivals->source.ops->done != NULL) {
        arrivals->source.ops->done(arrivals->source.self, SL_REQUEST_INDEX(request), outcome,
                                   arrivals->world->loop.now_ns);
        follow_source(arrivals);
    }
}
