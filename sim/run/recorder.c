#include "run/recorder.h"

#include "workloads/export.h"

#include <errno.h>

static sl_source_event peek(const void *self, int64_t *at_ns) {
    const sli_recorder *recorder = self;
    return recorder->source.ops->peek(recorder->source.self, at_ns);
}

static void pop(void *self, uint64_t *index, sl_request_desc *desc) {
    sli_recorder *recorder = self;
    int64_t at_ns;
    sl_source_event event = peek(self, &at_ns);
    recorder->source.ops->pop(recorder->source.self, index, desc);
    if (event == SL_SOURCE_ARRIVAL && recorder->status == SL_OK) {
        recorder->status = sli_export_arrival(recorder->file, at_ns, desc);
        recorder->why = recorder->status == SL_OK ? 0 : errno;
    }
}

static void done(void *self, uint64_t index, sl_outcome outcome, int64_t now_ns) {
    sli_recorder *recorder = self;
    if (recorder->source.ops->done != NULL) {
        recorder->source.ops->done(recorder->source.self, index, outcome, now_ns);
    }
}

static void destroy(void *self) {
    (void)self;
}

static const sl_source_ops recorder_ops = {
    .peek = peek, .pop = pop, .done = done, .destroy = destroy};

sl_source sli_recorder_source(sli_recorder *recorder) {
    return (sl_source){.ops = &recorder_ops, .self = recorder};
}
