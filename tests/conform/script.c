#include "script.h"

#include "kernel/time.h"

static void release(sli_script *script, int64_t from_ns) {
    if (script->released_count < script->world->request_count) {
        int64_t delay_ns = script->world->requests[script->released_count++].delay_ns;
        script->due_ns[script->due_count++] = from_ns + delay_ns;
    }
}

static int earliest(const int64_t *times_ns, int count) {
    int best = -1;
    for (int i = 0; i < count; i++) {
        if (times_ns[i] != SLI_NEVER && (best < 0 || times_ns[i] < times_ns[best])) {
            best = i;
        }
    }
    return best;
}

/* At a tie the arrival goes first. */
static sl_source_event peek(const void *self, int64_t *at_ns) {
    const sli_script *script = self;
    int due = earliest(script->due_ns, script->due_count);
    int cancel = earliest(script->cancel_ns, script->popped_count);
    if (due >= 0 && (cancel < 0 || script->due_ns[due] <= script->cancel_ns[cancel])) {
        *at_ns = script->due_ns[due];
        return SL_SOURCE_ARRIVAL;
    }
    if (cancel >= 0) {
        *at_ns = script->cancel_ns[cancel];
        return SL_SOURCE_CANCEL;
    }
    return SL_SOURCE_IDLE;
}

static void pop(void *self, uint64_t *index, sl_request_desc *desc) {
    sli_script *script = self;
    int64_t now_ns;
    if (peek(script, &now_ns) == SL_SOURCE_CANCEL) {
        int cancel = earliest(script->cancel_ns, script->popped_count);
        script->cancel_ns[cancel] = SLI_NEVER;
        *index = (uint64_t)cancel;
        return;
    }
    script->due_ns[earliest(script->due_ns, script->due_count)] =
        script->due_ns[script->due_count - 1];
    script->due_count--;
    int i = script->popped_count++;
    const sli_small_request *request = &script->world->requests[i];
    script->cancel_ns[i] = sli_time_add(now_ns, request->patience_ns);
    *index = (uint64_t)i;
    *desc = request->desc;
    desc->content.ids = request->ids;
}

static void done(void *self, uint64_t index, sl_outcome outcome, int64_t now_ns) {
    sli_script *script = self;
    (void)outcome;
    script->done_count[index]++;
    if (script->world->concurrency > 0) {
        release(script, now_ns);
    }
}

sl_source sli_script_start(sli_script *script, const sli_small_world *world) {
    static const sl_source_ops ops = {.peek = peek, .pop = pop, .done = done};
    *script = (sli_script){.world = world};
    int at_once = world->concurrency > 0 ? world->concurrency : world->request_count;
    for (int i = 0; i < at_once; i++) {
        release(script, 0);
    }
    return (sl_source){.ops = &ops, .self = script};
}
