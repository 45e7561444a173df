#include "workloads/drawn.h"

#include "base/minmax.h"
#include "base/units.h"
#include "workloads/preset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longest prompt or output that can be asked for; keeps every sum of two lengths in range. */
#define MAX_LENGTH_TOKENS 1e9

/* In the order of the one-of field: parameters first, then fields. */
typedef enum length_kind {
    LENGTH_FIXED,
    LENGTH_PRESET,
    LENGTH_UNIFORM,
    LENGTH_EXPONENTIAL,
    LENGTH_LOGNORMAL,
    LENGTH_QUANTILES,
} length_kind;

const sl_word sli_drawn_no_limit[] = {{"none", 0}, {NULL, 0}};

#define MEMBER_SIZE(member) sizeof(((sli_length_spec *)0)->member)
#define MEMBER_OFFSET(outer, name)                                                                 \
    (offsetof(sli_length_spec, outer.name) - offsetof(sli_length_spec, outer))

static const sl_param uniform_params[] = {
    {.name = "min",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = MAX_LENGTH_TOKENS,
     .help = "shortest length",
     .offset = MEMBER_OFFSET(uniform, min_tokens)},
    {.name = "max",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = MAX_LENGTH_TOKENS,
     .help = "longest length",
     .offset = MEMBER_OFFSET(uniform, max_tokens)},
};

static const sli_section uniform_section = {
    .params = uniform_params,
    .param_count = sizeof uniform_params / sizeof uniform_params[0],
    .struct_size = MEMBER_SIZE(uniform),
};

static const sl_param exponential_params[] = {
    {.name = "mean",
     .type = SL_TYPE_REAL,
     .dim = SL_DIM_TOKENS,
     .min = 1e-3,
     .max = MAX_LENGTH_TOKENS,
     .help = "mean before rounding to whole tokens",
     .offset = MEMBER_OFFSET(exponential, mean_tokens)},
};

static const sli_section exponential_section = {
    .params = exponential_params,
    .param_count = sizeof exponential_params / sizeof exponential_params[0],
    .struct_size = MEMBER_SIZE(exponential),
};

static const sl_param lognormal_params[] = {
    {.name = "mean",
     .type = SL_TYPE_REAL,
     .dim = SL_DIM_TOKENS,
     .min = 1e-3,
     .max = MAX_LENGTH_TOKENS,
     .help = "mean of the length itself, not of its logarithm",
     .offset = MEMBER_OFFSET(lognormal, mean_tokens)},
    {.name = "cv",
     .type = SL_TYPE_REAL,
     .min = 1e-6,
     .max = 100,
     .help = "standard deviation divided by the mean",
     .offset = MEMBER_OFFSET(lognormal, cv)},
};

static const sli_section lognormal_section = {
    .params = lognormal_params,
    .param_count = sizeof lognormal_params / sizeof lognormal_params[0],
    .struct_size = MEMBER_SIZE(lognormal),
};

/* Prompt and output take the same keys at different places of one struct. */
#define LENGTH_TABLES(side)                                                                        \
    static const sl_param side##_params[] = {                                                      \
        {.name = "fixed",                                                                          \
         .type = SL_TYPE_INT,                                                                      \
         .dim = SL_DIM_TOKENS,                                                                     \
         .min = 1,                                                                                 \
         .max = MAX_LENGTH_TOKENS,                                                                 \
         .help = "always this length",                                                             \
         .offset = offsetof(sli_drawn_spec, side.fixed_tokens)},                                   \
        {.name = "preset",                                                                         \
         .type = SL_TYPE_STRING,                                                                   \
         .help = "lengths of a published trace, as azure-conv-2023",                               \
         .offset = offsetof(sli_drawn_spec, side.preset)},                                         \
    };                                                                                             \
    static const sli_field side##_fields[] = {                                                     \
        {.name = "uniform",                                                                        \
         .kind = SLI_FIELD_SECTION,                                                                \
         .help = "every length in {min, max} equally often",                                       \
         .offset = offsetof(sli_drawn_spec, side.uniform),                                         \
         .section = &uniform_section},                                                             \
        {.name = "exponential",                                                                    \
         .kind = SLI_FIELD_SECTION,                                                                \
         .help = "exponential with {mean}",                                                        \
         .offset = offsetof(sli_drawn_spec, side.exponential),                                     \
         .section = &exponential_section},                                                         \
        {.name = "lognormal",                                                                      \
         .kind = SLI_FIELD_SECTION,                                                                \
         .help = "lognormal with {mean, cv}",                                                      \
         .offset = offsetof(sli_drawn_spec, side.lognormal),                                       \
         .section = &lognormal_section},                                                           \
        {.name = "quantiles",                                                                      \
         .kind = SLI_FIELD_TABLE,                                                                  \
         .help = "rows of [share, tokens] with shares from 0 to 1, linear between them",           \
         .offset = offsetof(sli_drawn_spec, side.quantiles),                                       \
         .section = &sli_quantile_section,                                                         \
         .min_rows = 2,                                                                            \
         .max_rows = 100000},                                                                      \
    };                                                                                             \
    static const sli_section side##_section = {                                                    \
        .params = side##_params,                                                                   \
        .param_count = sizeof side##_params / sizeof side##_params[0],                             \
        .fields = side##_fields,                                                                   \
        .field_count = sizeof side##_fields / sizeof side##_fields[0],                             \
        .struct_size = sizeof(sli_drawn_spec),                                                     \
    };

LENGTH_TABLES(prompt)
LENGTH_TABLES(output)

#define SYSTEM_OFFSET(name)                                                                        \
    (offsetof(sli_drawn_spec, system_prompts.name) - offsetof(sli_drawn_spec, system_prompts))

static const sl_param system_params[] = {
    {.name = "count",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 1e6,
     .fallback = "0",
     .help = "how many different system prompts there are",
     .offset = SYSTEM_OFFSET(count)},
    {.name = "length",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 0,
     .max = MAX_LENGTH_TOKENS,
     .fallback = "0 tokens",
     .help = "tokens of each, in front of the drawn prompt",
     .offset = SYSTEM_OFFSET(length_tokens)},
    {.name = "zipf",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 20,
     .fallback = "1",
     .help = "exponent of popularity: the n-th is chosen in proportion to 1/n^zipf",
     .offset = SYSTEM_OFFSET(zipf)},
};

static const sli_section system_section = {
    .params = system_params,
    .param_count = sizeof system_params / sizeof system_params[0],
    .struct_size = sizeof(((sli_drawn_spec *)0)->system_prompts),
};

static const sl_param priority_params[] = {
    {.name = "share",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .help = "share of the requests",
     .offset = offsetof(sli_priority_share, share_frac)},
    {.name = "priority",
     .type = SL_TYPE_INT,
     .min = -1e9,
     .max = 1e9,
     .help = "their priority, lower is more urgent",
     .offset = offsetof(sli_priority_share, priority)},
};

static const sli_section priority_section = {
    .params = priority_params,
    .param_count = sizeof priority_params / sizeof priority_params[0],
    .struct_size = sizeof(sli_priority_share),
};

const sli_field sli_drawn_fields[SLI_DRAWN_FIELD_COUNT] = {
    {.name = "prompt",
     .kind = SLI_FIELD_ONE_OF,
     .help = "lengths of prompts",
     .offset = offsetof(sli_drawn_spec, prompt.kind),
     .section = &prompt_section},
    {.name = "output",
     .kind = SLI_FIELD_ONE_OF,
     .help = "lengths of outputs",
     .offset = offsetof(sli_drawn_spec, output.kind),
     .section = &output_section},
    {.name = "system_prompts",
     .kind = SLI_FIELD_SECTION,
     .help = "shared beginnings of prompts",
     .offset = offsetof(sli_drawn_spec, system_prompts),
     .section = &system_section,
     .fallback = "{}"},
    {.name = "priorities",
     .kind = SLI_FIELD_TABLE,
     .help = "rows of [share, priority]; none = all 0",
     .offset = offsetof(sli_drawn_spec, priorities),
     .section = &priority_section,
     .fallback = "[]",
     .min_rows = 0,
     .max_rows = 1000},
};

static sl_err check_quantiles(const sli_table *table, const sli_source_env *env, const char *key) {
    const sli_quantile *rows = table->rows;
    if (rows[0].frac != 0 || rows[table->count - 1].frac != 1) {
        sli_source_error(env, key, "shares must begin with 0 and end with 1");
        return SL_ERR_CONFIG;
    }
    for (size_t i = 1; i < table->count; i++) {
        if (rows[i].frac <= rows[i - 1].frac) {
            sli_source_error(env, key, "shares must rise from row to row; row %zu does not", i + 1);
            return SL_ERR_CONFIG;
        }
        if (rows[i].value < rows[i - 1].value) {
            sli_source_error(env, key, "tokens must not fall from row to row; row %zu does", i + 1);
            return SL_ERR_CONFIG;
        }
    }
    return SL_OK;
}

static sl_err use_preset(const sli_length_spec *spec, const sli_source_env *env, const char *side,
                         sli_dist *dist) {
    const sli_preset *preset = NULL;
    if (sli_embedded_find(sli_workload_presets, spec->preset) == NULL) {
        char key[32];
        snprintf(key, sizeof key, "%s.preset", side);
        const char *names = sli_preset_names(env->arena);
        if (names == NULL) {
            return SL_ERR_NOMEM;
        }
        sli_source_error(env, key, "unknown preset '%s'; known are %s", spec->preset, names);
        return SL_ERR_CONFIG;
    }
    SL_TRY(sli_preset_read(env->arena, spec->preset, env->diag, &preset));
    const sli_table *table = strcmp(side, "prompt") == 0 ? &preset->prompt : &preset->output;
    dist->kind = SLI_DIST_QUANTILES;
    dist->quantiles = table->rows;
    dist->quantile_count = table->count;
    return SL_OK;
}

static sl_err init_length(const sli_length_spec *spec, const sli_source_env *env, const char *side,
                          sli_dist *dist) {
    char key[32];
    switch ((length_kind)spec->kind) {
    case LENGTH_FIXED:
        *dist = (sli_dist){.kind = SLI_DIST_FIXED, .value = spec->fixed_tokens};
        return SL_OK;
    case LENGTH_PRESET:
        return use_preset(spec, env, side, dist);
    case LENGTH_UNIFORM:
        if (spec->uniform.max_tokens < spec->uniform.min_tokens) {
            snprintf(key, sizeof key, "%s.uniform", side);
            sli_source_error(env, key, "max (%lld tokens) is below min (%lld tokens)",
                             (long long)spec->uniform.max_tokens,
                             (long long)spec->uniform.min_tokens);
            return SL_ERR_CONFIG;
        }
        *dist = (sli_dist){.kind = SLI_DIST_UNIFORM,
                           .min = spec->uniform.min_tokens,
                           .max = spec->uniform.max_tokens};
        return SL_OK;
    case LENGTH_EXPONENTIAL:
        *dist = (sli_dist){.kind = SLI_DIST_EXPONENTIAL, .mean = spec->exponential.mean_tokens};
        return SL_OK;
    case LENGTH_LOGNORMAL:
        *dist = (sli_dist){.kind = SLI_DIST_LOGNORMAL,
                           .mean = spec->lognormal.mean_tokens,
                           .cv = spec->lognormal.cv};
        return SL_OK;
    case LENGTH_QUANTILES:
        snprintf(key, sizeof key, "%s.quantiles", side);
        *dist = (sli_dist){.kind = SLI_DIST_QUANTILES,
                           .quantiles = spec->quantiles.rows,
                           .quantile_count = spec->quantiles.count};
        return check_quantiles(&spec->quantiles, env, key);
    }
    return SL_ERR_BUG;
}

/* Zipf's law over a finite number of ranks, as cumulated shares. */
static sl_err init_system_prompts(const sli_drawn_spec *spec, const sli_source_env *env,
                                  sli_drawn *drawn) {
    size_t count = (size_t)spec->system_prompts.count;
    if (count == 0) {
        if (spec->system_prompts.length_tokens > 0) {
            sli_source_warning(env, "system_prompts.length", "has no effect: count is 0");
        }
        return SL_OK;
    }
    if (spec->system_prompts.length_tokens == 0) {
        sli_source_error(env, "system_prompts.length", "must be at least 1 token with %zu of them",
                         count);
        return SL_ERR_CONFIG;
    }
    uint64_t *ids = sli_arena_array(env->arena, count, sizeof *ids);
    double *cum_frac = sli_arena_array(env->arena, count, sizeof *cum_frac);
    if (ids == NULL || cum_frac == NULL) {
        return SL_ERR_NOMEM;
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        ids[i] = i;
        sum += pow((double)(i + 1), -spec->system_prompts.zipf);
        cum_frac[i] = sum;
    }
    for (size_t i = 0; i < count; i++) {
        cum_frac[i] /= sum;
    }
    drawn->system_count = count;
    drawn->system_tokens = spec->system_prompts.length_tokens;
    drawn->system_ids = ids;
    drawn->system_cum_frac = cum_frac;
    return SL_OK;
}

static sl_err init_priorities(const sli_drawn_spec *spec, const sli_source_env *env,
                              sli_drawn *drawn) {
    drawn->priorities = spec->priorities.rows;
    drawn->priority_count = spec->priorities.count;
    double sum = 0;
    for (size_t i = 0; i < drawn->priority_count; i++) {
        sum += drawn->priorities[i].share_frac;
    }
    if (drawn->priority_count > 0 && fabs(sum - 1) > 1e-9) {
        sli_source_error(env, "priorities", "shares must sum to 1, found %.10g", sum);
        return SL_ERR_CONFIG;
    }
    return SL_OK;
}

sl_err sli_drawn_init(const sli_drawn_spec *spec, const sli_source_env *env, sli_drawn *drawn) {
    sli_drawn ready = {.seed = env->seed, .number = env->number, .max_tokens = spec->max_tokens};
    sl_err errs[] = {
        init_length(&spec->prompt, env, "prompt", &ready.prompt),
        init_length(&spec->output, env, "output", &ready.output),
        init_system_prompts(spec, env, &ready),
        init_priorities(spec, env, &ready),
    };
    for (size_t i = 0; i < sizeof errs / sizeof errs[0]; i++) { /* after all have complained */
        SL_TRY(errs[i]);
    }
    *drawn = ready;
    return SL_OK;
}

static int64_t draw_length(const sli_drawn *drawn, const sli_dist *dist, const char *purpose,
                           uint64_t index) {
    sli_rng rng;
    sli_rng_init(&rng, drawn->seed, purpose, drawn->number, index);
    return sli_min_i64(sli_dist_draw(dist, &rng), (int64_t)MAX_LENGTH_TOKENS);
}

static double draw_uniform(const sli_drawn *drawn, const char *purpose, uint64_t index) {
    sli_rng rng;
    sli_rng_init(&rng, drawn->seed, purpose, drawn->number, index);
    return sli_rng_uniform(&rng);
}

/* The first rank whose cumulated share is above u. */
static size_t find_rank(const double *cum_frac, size_t count, double u) {
    size_t low = 0;
    size_t high = count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cum_frac[middle] > u) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static int32_t draw_priority(const sli_drawn *drawn, uint64_t index) {
    if (drawn->priority_count == 0) {
        return 0;
    }
    double left = draw_uniform(drawn, "priority", index);
    size_t last = drawn->priority_count - 1;
    for (size_t i = 0; i < last; i++) {
        left -= drawn->priorities[i].share_frac;
        if (left < 0) {
            return (int32_t)drawn->priorities[i].priority;
        }
    }
    return (int32_t)drawn->priorities[last].priority;
}

void sli_drawn_request(const sli_drawn *drawn, uint64_t index, sl_request_desc *desc) {
    *desc = (sl_request_desc){
        .prompt_tokens = draw_length(drawn, &drawn->prompt, "prompt", index),
        .output_tokens = draw_length(drawn, &drawn->output, "output", index),
        .max_tokens = drawn->max_tokens,
        .priority = draw_priority(drawn, index),
    };
    if (drawn->max_tokens > 0 && desc->output_tokens > drawn->max_tokens) {
        desc->output_tokens = drawn->max_tokens;
    }
    if (drawn->system_count > 0) {
        double u = draw_uniform(drawn, "system_prompt", index);
        size_t rank = find_rank(drawn->system_cum_frac, drawn->system_count, u);
        desc->prompt_tokens += drawn->system_tokens;
        desc->content = (sl_content){.ids = &drawn->system_ids[rank],
                                     .id_count = 1,
                                     .id_tokens = drawn->system_tokens,
                                     .scope = drawn->number + 1};
    }
}

static void describe_length(const sli_length_spec *spec, const char *side, char *text,
                            size_t size) {
    switch ((length_kind)spec->kind) {
    case LENGTH_FIXED:
        snprintf(text, size, ", %s %s", side, sli_say_number((double)spec->fixed_tokens).text);
        break;
    case LENGTH_PRESET:
        snprintf(text, size, ", %s %s", side, spec->preset);
        break;
    case LENGTH_UNIFORM:
        snprintf(text, size, ", %s %s to %s", side,
                 sli_say_number((double)spec->uniform.min_tokens).text,
                 sli_say_number((double)spec->uniform.max_tokens).text);
        break;
    case LENGTH_EXPONENTIAL:
        snprintf(text, size, ", %s exponential %s", side,
                 sli_say_number(spec->exponential.mean_tokens).text);
        break;
    case LENGTH_LOGNORMAL:
        snprintf(text, size, ", %s lognormal %s cv %g", side,
                 sli_say_number(spec->lognormal.mean_tokens).text, spec->lognormal.cv);
        break;
    case LENGTH_QUANTILES:
        snprintf(text, size, ", %s by quantiles", side);
        break;
    }
}

static void append_length(const sli_length_spec *spec, const char *side, char *text, size_t size) {
    size_t used = strlen(text);
    describe_length(spec, side, text + used, size - used);
}

void sli_drawn_describe(const sli_drawn_spec *spec, char *text, size_t size) {
    bool is_one_preset = spec->prompt.kind == LENGTH_PRESET && spec->output.kind == LENGTH_PRESET &&
                         strcmp(spec->prompt.preset, spec->output.preset) == 0;
    if (is_one_preset) {
        append_length(&spec->prompt, "lengths", text, size);
        return;
    }
    append_length(&spec->prompt, "prompt", text, size);
    append_length(&spec->output, "output", text, size);
}
