#include "base/units.h"
#include "kernel/time.h"
#include "workloads/drawn.h"
#include "workloads/sources.h"

#include <gsl/gsl_randist.h>
#include <stdio.h>

/* Poisson arrivals: gaps are exponential, each drawn from the stream of its own request. */

typedef struct poisson_values {
    sli_drawn_spec drawn; /* first: the shared tables count from here */
    double rate_per_s;
    int64_t requests;
} poisson_values;

static const sl_param params[] = {
    {.name = "rate",
     .type = SL_TYPE_REAL,
     .dim = SL_DIM_PER_S,
     .min = 1e-9,
     .max = 1e9,
     .help = "mean number of arrivals a second",
     .offset = offsetof(poisson_values, rate_per_s)},
    {.name = "requests",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e12,
     .help = "how many requests arrive in all",
     .offset = offsetof(poisson_values, requests)},
    SLI_DRAWN_MAX_TOKENS_PARAM,
};

const sli_section sli_poisson_section = {
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .fields = sli_drawn_fields,
    .field_count = SLI_DRAWN_FIELD_COUNT,
    .struct_size = sizeof(poisson_values),
};

typedef struct poisson {
    sli_drawn drawn;
    double mean_gap_ns;
    uint64_t count;
    uint64_t next_index;
    int64_t next_ns;
} poisson;

static int64_t draw_gap_ns(const poisson *self, uint64_t index) {
    sli_rng rng;
    sli_rng_init(&rng, self->drawn.seed, "gap", self->drawn.number, index);
    return sli_time_round(gsl_ran_exponential(&rng.gsl, self->mean_gap_ns));
}

static sl_source_event peek(const void *self, int64_t *at_ns) {
    const poisson *source = self;
    if (source->next_index == source->count) {
        return SL_SOURCE_IDLE;
    }
    *at_ns = source->next_ns;
    return SL_SOURCE_ARRIVAL;
}

static void pop(void *self, uint64_t *index, sl_request_desc *desc) {
    poisson *source = self;
    *index = source->next_index;
    sli_drawn_request(&source->drawn, source->next_index, desc);
    source->next_index++;
    source->next_ns = sli_time_add(source->next_ns, draw_gap_ns(source, source->next_index));
}

static void destroy(void *self) {
    (void)self; /* all of it lies in the arena */
}

static const sl_source_ops ops = {.peek = peek, .pop = pop, .destroy = destroy};

sl_err sli_poisson_create(const void *values, const sli_source_env *env, sl_source *source) {
    const poisson_values *spec = values;
    poisson *self = sli_arena_alloc(env->arena, sizeof *self);
    if (self == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_drawn_init(&spec->drawn, env, &self->drawn));
    self->mean_gap_ns = (double)SLI_NS_PER_S / spec->rate_per_s;
    self->count = (uint64_t)spec->requests;
    self->next_ns = draw_gap_ns(self, 0); /* the process starts at 0, its first arrival later */
    *source = (sl_source){.ops = &ops, .self = self};
    return SL_OK;
}

void sli_poisson_describe(const void *values, char *text, size_t size) {
    const poisson_values *spec = values;
    snprintf(text, size, "poisson %s req/s", sli_say_number(spec->rate_per_s).text);
    sli_drawn_describe(&spec->drawn, text, size);
}
