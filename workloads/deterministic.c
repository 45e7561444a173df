#include "base/units.h"
#include "kernel/time.h"
#include "workloads/drawn.h"
#include "workloads/sources.h"

#include <stdio.h>

/* Equal gaps: request i arrives at i / rate, rounded to the nanosecond; rounding never adds up. */

typedef struct deterministic_values {
    sli_drawn_spec drawn; /* first: the shared tables count from here */
    double rate_per_s;
    int64_t requests;
} deterministic_values;

static const sl_param params[] = {
    {.name = "rate",
     .type = SL_TYPE_REAL,
     .dim = SL_DIM_PER_S,
     .min = 1e-9,
     .max = 1e9,
     .help = "arrivals a second, the first at 0",
     .offset = offsetof(deterministic_values, rate_per_s)},
    {.name = "requests",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e12,
     .help = "how many requests arrive in all",
     .offset = offsetof(deterministic_values, requests)},
    SLI_DRAWN_MAX_TOKENS_PARAM,
};

const sli_section sli_deterministic_section = {
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .fields = sli_drawn_fields,
    .field_count = SLI_DRAWN_FIELD_COUNT,
    .struct_size = sizeof(deterministic_values),
};

typedef struct deterministic {
    sli_drawn drawn;
    double rate_per_s;
    uint64_t count;
    uint64_t next_index;
} deterministic;

static sl_source_event peek(const void *self, int64_t *at_ns) {
    const deterministic *source = self;
    if (source->next_index == source->count) {
        return SL_SOURCE_IDLE;
    }
    *at_ns = sli_time_round((double)source->next_index * (double)SLI_NS_PER_S / source->rate_per_s);
    return SL_SOURCE_ARRIVAL;
}

static void pop(void *self, uint64_t *index, sl_request_desc *desc) {
    deterministic *source = self;
    *index = source->next_index++;
    sli_drawn_request(&source->drawn, *index, desc);
}

static void destroy(void *self) {
    (void)self; /* all of it lies in the arena */
}

static const sl_source_ops ops = {.peek = peek, .pop = pop, .destroy = destroy};

sl_err sli_deterministic_create(const void *values, const sli_source_env *env, sl_source *source) {
    const deterministic_values *spec = values;
    deterministic *self = sli_arena_alloc(env->arena, sizeof *self);
    if (self == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_drawn_init(&spec->drawn, env, &self->drawn));
    self->rate_per_s = spec->rate_per_s;
    self->count = (uint64_t)spec->requests;
    *source = (sl_source){.ops = &ops, .self = self};
    return SL_OK;
}

void sli_deterministic_describe(const void *values, char *text, size_t size) {
    const deterministic_values *spec = values;
    snprintf(text, size, "every 1/%s s", sli_say_number(spec->rate_per_s).text);
    sli_drawn_describe(&spec->drawn, text, size);
}
