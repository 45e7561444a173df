#include "base/check.h"
#include "base/sort.h"
#include "base/units.h"
#include "kernel/rng.h"
#include "kernel/time.h"
#include "workloads/drawn.h"
#include "workloads/sources.h"

#include <stdio.h>

/*
 * A closed loop: each user asks again at the moment its last request ended, whatever the outcome.
 *
 * Without think time users are alike (requests are drawn by index, not by user), so nobody needs
 * to know which user issued what: there are first starts, sorted, and users that came back, in
 * the order in which they did. Both lists run forward in time, so the earlier head is next.
 */

typedef struct closed_values {
    sli_drawn_spec drawn; /* first: the shared tables count from here */
    int64_t concurrency;
    int64_t requests;
    int64_t jitter_ns;
} closed_values;

static const sl_param params[] = {
    {.name = "concurrency",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e7,
     .help = "how many users there are, each with one request at a time",
     .offset = offsetof(closed_values, concurrency)},
    {.name = "requests",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e12,
     .help = "how many requests are issued in all",
     .offset = offsetof(closed_values, requests)},
    {.name = "start_jitter",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 9e15,
     .fallback = "0 s",
     .help = "users start at uniform times between 0 and this",
     .offset = offsetof(closed_values, jitter_ns)},
    SLI_DRAWN_MAX_TOKENS_PARAM,
};

const sli_section sli_closed_section = {
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .fields = sli_drawn_fields,
    .field_count = SLI_DRAWN_FIELD_COUNT,
    .struct_size = sizeof(closed_values),
};

typedef struct closed {
    sli_drawn drawn;
    uint64_t count;
    uint64_t next_index;
    size_t user_count;
    const int64_t *starts_ns; /* sorted */
    size_t started_count;
    int64_t *returns_ns; /* a ring of user_count: users that came back and have not asked again */
    size_t return_first;
    size_t return_count;
} closed;

static sl_source_event peek(const void *self, int64_t *at_ns) {
    const closed *source = self;
    if (source->next_index == source->count) {
        return SL_SOURCE_IDLE;
    }
    int64_t next_ns = SLI_NEVER;
    if (source->started_count < source->user_count) {
        next_ns = source->starts_ns[source->started_count];
    }
    if (source->return_count > 0 && source->returns_ns[source->return_first] < next_ns) {
        next_ns = source->returns_ns[source->return_first];
    }
    if (next_ns == SLI_NEVER) {
        return SL_SOURCE_IDLE; /* all users wait */
    }
    *at_ns = next_ns;
    return SL_SOURCE_ARRIVAL;
}

static void pop(void *self, uint64_t *index, sl_request_desc *desc) {
    closed *source = self;
    int64_t at_ns = 0;
    sl_source_event event = peek(source, &at_ns);
    SL_ASSERT(event == SL_SOURCE_ARRIVAL);
    if (source->return_count > 0 && source->returns_ns[source->return_first] == at_ns) {
        source->return_first = (source->return_first + 1) % source->user_count;
        source->return_count--;
    } else {
        source->started_count++;
    }
    *index = source->next_index++;
    sli_drawn_request(&source->drawn, *index, desc);
}

static void done(void *self, uint64_t index, sl_outcome outcome, int64_t now_ns) {
    closed *source = self;
    (void)index;
    (void)outcome;
    SL_ASSERT(source->return_count < source->user_count);
    size_t last = (source->return_first + source->return_count) % source->user_count;
    source->returns_ns[last] = now_ns;
    source->return_count++;
}

static void destroy(void *self) {
    (void)self; /* all of it lies in the arena */
}

static const sl_source_ops ops = {.peek = peek, .pop = pop, .done = done, .destroy = destroy};

sl_err sli_closed_create(const void *values, const sli_source_env *env, sl_source *source) {
    const closed_values *spec = values;
    size_t user_count = (size_t)spec->concurrency;
    closed *self = sli_arena_alloc(env->arena, sizeof *self);
    int64_t *starts_ns = sli_arena_array(env->arena, user_count, sizeof *starts_ns);
    int64_t *returns_ns = sli_arena_array(env->arena, user_count, sizeof *returns_ns);
    if (self == NULL || starts_ns == NULL || returns_ns == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_drawn_init(&spec->drawn, env, &self->drawn));
    for (size_t user = 0; user < user_count; user++) {
        sli_rng rng;
        sli_rng_init(&rng, env->seed, "start", env->number, user);
        starts_ns[user] = (int64_t)sli_rng_below(&rng, (uint64_t)spec->jitter_ns + 1);
    }
    sli_sort_i64(starts_ns, user_count);
    self->count = (uint64_t)spec->requests;
    self->user_count = user_count;
    self->starts_ns = starts_ns;
    self->returns_ns = returns_ns;
    *source = (sl_source){.ops = &ops, .self = self};
    return SL_OK;
}

void sli_closed_describe(const void *values, char *text, size_t size) {
    const closed_values *spec = values;
    snprintf(text, size, "closed loop of %s user%s", sli_say_number((double)spec->concurrency).text,
             spec->concurrency == 1 ? "" : "s");
    sli_drawn_describe(&spec->drawn, text, size);
}
