#include "model/keep.h"

#include "base/minmax.h"
#include "base/units.h"

#include <math.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- Figures about quality ---- */

static const sl_param quality_params[] = {
    {.name = "budget",
     .type = SL_TYPE_STRING,
     .help = "that the figure was found with",
     .offset = offsetof(sli_keep_quality, budget)},
    {.name = "measure",
     .type = SL_TYPE_STRING,
     .help = "what was measured",
     .offset = offsetof(sli_keep_quality, measure)},
    {.name = "figure",
     .type = SL_TYPE_REAL,
     .min = -1e15,
     .max = 1e15,
     .help = "what came out",
     .offset = offsetof(sli_keep_quality, figure)},
    {.name = "source",
     .type = SL_TYPE_STRING,
     .help = "who found it",
     .offset = offsetof(sli_keep_quality, source)},
};

static const sli_section quality_section = {
    .params = quality_params,
    .param_count = COUNT_OF(quality_params),
    .struct_size = sizeof(sli_keep_quality),
};

enum { QUALITY_MAX = 1000 };

static const sli_field settings_fields[] = {
    {.name = "quality",
     .kind = SLI_FIELD_TABLE,
     .help = "figures about answers that stand beside the results; nothing is computed from them",
     .offset = offsetof(sli_keep_settings, quality),
     .section = &quality_section,
     .fallback = "[]",
     .max_rows = QUALITY_MAX},
};

/* Of a method whose parameters stand in a table of that name and whose values are of a type. */
#define METHOD_SECTION(table, type)                                                                \
    {                                                                                              \
        .params = (table), .param_count = COUNT_OF(table), .fields = settings_fields,              \
        .field_count = COUNT_OF(settings_fields), .struct_size = sizeof(type),                     \
    }

/* ---- What several methods have ---- */

static int64_t to_ppm(double share) {
    return (int64_t)nearbyint(share * SLI_KEPT_WHOLE_PPM);
}

static sli_said say_tokens(int64_t tokens) {
    return sli_say_number((double)tokens);
}

/* Pruned once, when the prompt is computed; all that follows stays. */
static sli_kept keep_once(int64_t capacity_tokens) {
    return (sli_kept){
        .share_ppm = SLI_KEPT_WHOLE_PPM, .cap_rows = capacity_tokens, .row_tokens = 1};
}

/* ---- StreamingLLM ---- */

typedef struct streaming {
    sli_keep_settings settings;
    int64_t sink_tokens;
    int64_t recent_tokens;
} streaming;

static const sl_param streaming_params[] = {
    {.name = "sinks",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 0,
     .max = 1e9,
     .fallback = "4 tokens",
     .help = "first tokens, which stay",
     .offset = offsetof(streaming, sink_tokens)},
    {.name = "recent",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "2044 tokens",
     .help = "latest tokens, which stay",
     .offset = offsetof(streaming, recent_tokens)},
};

static const sli_section streaming_section = METHOD_SECTION(streaming_params, streaming);

static sli_kept streaming_rule(const void *values) {
    const streaming *self = values;
    return (sli_kept){.is_rolling = true,
                      .share_ppm = SLI_KEPT_WHOLE_PPM,
                      .cap_rows = self->sink_tokens + self->recent_tokens,
                      .drop_rows = 1};
}

static sli_keep_extra streaming_extra(const void *values) {
    (void)values;
    return (sli_keep_extra){.rotates_keys = true};
}

static void describe_streaming(const void *values, char *text, size_t text_bytes) {
    const streaming *self = values;
    snprintf(text, text_bytes, "the first %s and the latest %s tokens",
             say_tokens(self->sink_tokens).text, say_tokens(self->recent_tokens).text);
}

/* mit-han-lab/streaming-llm; 4 + 2,044 of Llama 2 in table 2. */
static const sli_keep_method streaming_method = {
    .name = "streaming_llm",
    .summary = "the first tokens and a window of the latest",
    .when = "in every step, those of the prompt too",
    .paper = "Xiao et al., Efficient Streaming Language Models with Attention Sinks, ICLR 2024",
    .work =
        "keys are rotated anew in each decode step, 3 FLOPs an element, on the way to attention",
    .section = &streaming_section,
    .rule = streaming_rule,
    .extra = streaming_extra,
    .describe = describe_streaming,
};

/* ---- H2O ---- */

typedef struct h2o {
    sli_keep_settings settings;
    double heavy_share;
    double recent_share;
} h2o;

static const sl_param h2o_params[] = {
    {.name = "heavy",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.1",
     .help = "share of the prompt for tokens of the highest accumulated attention",
     .offset = offsetof(h2o, heavy_share)},
    {.name = "recent",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.1",
     .help = "share of the prompt for the latest tokens",
     .offset = offsetof(h2o, recent_share)},
};

static const sli_section h2o_section = METHOD_SECTION(h2o_params, h2o);

static const char *check_h2o(const void *values) {
    const h2o *self = values;
    int64_t share_ppm = to_ppm(self->heavy_share + self->recent_share);
    if (share_ppm > SLI_KEPT_WHOLE_PPM) {
        return "heavy and recent together are more than the whole prompt";
    }
    return share_ppm < 1 ? "heavy and recent together leave nothing" : NULL;
}

/* FMInference/H2O: the budget is a share of the prompt and stays while tokens are generated. It
 * rounds both shares down, here their sum is rounded up. */
static sli_kept h2o_rule(const void *values) {
    const h2o *self = values;
    return (sli_kept){.share_ppm = to_ppm(self->heavy_share + self->recent_share),
                      .cap_rows = INT64_MAX,
                      .row_tokens = INT64_MAX};
}

static sli_keep_extra h2o_extra(const void *values) {
    (void)values;
    return (sli_keep_extra){.has_scores = true, .rescored_share = 1.0};
}

static void describe_h2o(const void *values, char *text, size_t text_bytes) {
    const h2o *self = values;
    snprintf(text, text_bytes, "%.3g %% of the prompt",
             100.0 * (self->heavy_share + self->recent_share));
}

static const sli_keep_method h2o_method = {
    .name = "h2o",
    .summary = "tokens of the highest accumulated attention and the latest",
    .when = "when the prompt is computed, then in every step",
    .paper = "Zhang et al., H2O: Heavy-Hitter Oracle for Efficient Generative Inference of Large "
             "Language Models, NeurIPS 2023",
    .work = "a score of 4 bytes for each row and key head is read, added to and written in each "
            "step; for the prompt the weights of all pairs are computed once more",
    .section = &h2o_section,
    .check = check_h2o,
    .rule = h2o_rule,
    .extra = h2o_extra,
    .describe = describe_h2o,
};

/* ---- Scissorhands ---- */

typedef struct scissorhands {
    sli_keep_settings settings;
    int64_t budget_tokens;
    int64_t drop_tokens;
    int64_t history_tokens;
} scissorhands;

static const sl_param scissorhands_params[] = {
    {.name = "budget",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "2048 tokens",
     .help = "tokens that stay at most",
     .offset = offsetof(scissorhands, budget_tokens)},
    {.name = "drop",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "1024 tokens",
     .help = "thrown out at once when one more would come; the default is assumed",
     .offset = offsetof(scissorhands, drop_tokens)},
    {.name = "history",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "400 tokens",
     .help = "latest queries whose weights count; the default is assumed",
     .offset = offsetof(scissorhands, history_tokens)},
};

static const sli_section scissorhands_section = METHOD_SECTION(scissorhands_params, scissorhands);

static const char *check_scissorhands(const void *values) {
    const scissorhands *self = values;
    return self->drop_tokens > self->budget_tokens ? "drop is more than budget" : NULL;
}

static sli_kept scissorhands_rule(const void *values) {
    const scissorhands *self = values;
    return (sli_kept){.share_ppm = SLI_KEPT_WHOLE_PPM,
                      .cap_rows = self->budget_tokens,
                      .drop_rows = self->drop_tokens};
}

static sli_keep_extra scissorhands_extra(const void *values) {
    const scissorhands *self = values;
    return (sli_keep_extra){.has_scores = true, .observed_tokens = self->history_tokens};
}

static void describe_scissorhands(const void *values, char *text, size_t text_bytes) {
    const scissorhands *self = values;
    snprintf(text, text_bytes, "at most %s tokens, of which %s go at once",
             say_tokens(self->budget_tokens).text, say_tokens(self->drop_tokens).text);
}

static const sli_keep_method scissorhands_method = {
    .name = "scissorhands",
    .summary = "tokens that were pivotal in a window of history",
    .when = "when the prompt is computed, then whenever the budget overflows",
    .paper = "Liu et al., Scissorhands: Exploiting the Persistence of Importance Hypothesis for "
             "LLM KV Cache Compression at Test Time, NeurIPS 2023",
    .work = "a counter of 4 bytes for each row and key head is read, added to and written in each "
            "step; the weights of the last queries of the prompt are computed once more",
    .section = &scissorhands_section,
    .check = check_scissorhands,
    .rule = scissorhands_rule,
    .extra = scissorhands_extra,
    .describe = describe_scissorhands,
};

/* ---- SnapKV ---- */

typedef struct snapkv {
    sli_keep_settings settings;
    int64_t capacity_tokens;
    int64_t observation_tokens;
    int64_t kernel_tokens;
} snapkv;

static const sl_param snapkv_params[] = {
    {.name = "capacity",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "4096 tokens",
     .help = "tokens of the prompt that stay, those of the observation among them",
     .offset = offsetof(snapkv, capacity_tokens)},
    {.name = "observation",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "32 tokens",
     .help = "last tokens of the prompt, whose weights choose the others",
     .offset = offsetof(snapkv, observation_tokens)},
    {.name = "kernel",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e6,
     .fallback = "5 tokens",
     .help = "over which weights are pooled",
     .offset = offsetof(snapkv, kernel_tokens)},
};

static const sli_section snapkv_section = METHOD_SECTION(snapkv_params, snapkv);

static const char *const too_small = "capacity leaves nothing beside observation";

static const char *check_snapkv(const void *values) {
    const snapkv *self = values;
    return self->capacity_tokens <= self->observation_tokens ? too_small : NULL;
}

static sli_kept snapkv_rule(const void *values) {
    return keep_once(((const snapkv *)values)->capacity_tokens);
}

static sli_keep_extra snapkv_extra(const void *values) {
    const snapkv *self = values;
    return (sli_keep_extra){.observed_tokens = self->observation_tokens,
                            .pooled_tokens = self->kernel_tokens};
}

static void describe_snapkv(const void *values, char *text, size_t text_bytes) {
    const snapkv *self = values;
    snprintf(text, text_bytes, "%s tokens of the prompt and all behind it",
             say_tokens(self->capacity_tokens).text);
}

/* FasterDecoding/SnapKV, snapkv_utils.py; there the heads of queries choose, and a cache for each
 * of them is kept, here the heads of keys. */
static const sli_keep_method snapkv_method = {
    .name = "snapkv",
    .summary = "tokens of the prompt that its last ones attend to, and all that follow",
    .when = "once, when the prompt is computed",
    .paper = "Li et al., SnapKV: LLM Knows What You are Looking for Before Generation, "
             "NeurIPS 2024",
    .work = "the weights of the observation for all keys of the prompt are computed once more and "
            "pooled",
    .section = &snapkv_section,
    .check = check_snapkv,
    .rule = snapkv_rule,
    .extra = snapkv_extra,
    .describe = describe_snapkv,
};

/* ---- PyramidKV ---- */

typedef struct pyramid_kv {
    sli_keep_settings settings;
    int64_t capacity_tokens;
    int64_t observation_tokens;
    int64_t kernel_tokens;
    int64_t beta;
} pyramid_kv;

static const sl_param pyramid_kv_params[] = {
    {.name = "capacity",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "2048 tokens",
     .help = "tokens of the prompt that stay in the mean of the layers, those of the observation "
             "among them",
     .offset = offsetof(pyramid_kv, capacity_tokens)},
    {.name = "observation",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "64 tokens",
     .help = "last tokens of the prompt, which stay in all layers and choose the others",
     .offset = offsetof(pyramid_kv, observation_tokens)},
    {.name = "kernel",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e6,
     .fallback = "5 tokens",
     .help = "over which weights are pooled",
     .offset = offsetof(pyramid_kv, kernel_tokens)},
    {.name = "beta",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .fallback = "20",
     .help = "the last layer keeps so small a part of the mean, beside the observation",
     .offset = offsetof(pyramid_kv, beta)},
};

static const sli_section pyramid_kv_section = METHOD_SECTION(pyramid_kv_params, pyramid_kv);

static const char *check_pyramid_kv(const void *values) {
    const pyramid_kv *self = values;
    return self->capacity_tokens <= self->observation_tokens ? too_small : NULL;
}

static sli_kept pyramid_kv_rule(const void *values) {
    return keep_once(((const pyramid_kv *)values)->capacity_tokens);
}

/*
 * Zefan-Cai/KVCache-Factory, pyramidkv_utils.py: budgets fall in equal steps from 2 b - b / beta to
 * b / beta, b that of the mean, or from the whole prompt on where that is shorter; prompts of less
 * than 2 b tokens are cut alike in all layers. Steps are rounded there so that the layers keep a
 * little more than the mean; here each layer is rounded against its mirror image, and they keep the
 * mean exactly.
 */
static int64_t pyramid_kv_rows(const void *values, int64_t layer, int64_t layers,
                               int64_t prompt_tokens) {
    const pyramid_kv *self = values;
    int64_t mean = self->capacity_tokens - self->observation_tokens;
    bool is_short = prompt_tokens < 2 * mean || prompt_tokens < self->capacity_tokens;
    if (is_short || layers == 1) {
        return sli_min_i64(prompt_tokens, self->capacity_tokens);
    }
    int64_t most = sli_min_i64(2 * mean - mean / self->beta,
                               prompt_tokens - self->observation_tokens);
    int64_t mirrored = layers - 1 - layer;
    int64_t fall = 2 * (most - mean) * sli_min_i64(layer, mirrored) / (layers - 1);
    int64_t chosen = layer <= mirrored ? most - fall : 2 * mean - most + fall;
    return self->observation_tokens + (layer == mirrored ? mean : chosen);
}

static sli_keep_extra pyramid_kv_extra(const void *values) {
    const pyramid_kv *self = values;
    return (sli_keep_extra){.observed_tokens = self->observation_tokens,
                            .pooled_tokens = self->kernel_tokens};
}

static void describe_pyramid_kv(const void *values, char *text, size_t text_bytes) {
    const pyramid_kv *self = values;
    snprintf(text, text_bytes,
             "%s tokens of the prompt in the mean of the layers and all behind it",
             say_tokens(self->capacity_tokens).text);
}

static const sli_keep_method pyramid_kv_method = {
    .name = "pyramid_kv",
    .summary = "as snapkv, fewer tokens the deeper the layer",
    .when = "once, when the prompt is computed",
    .paper = "Cai et al., PyramidKV: Dynamic KV Cache Compression based on Pyramidal Information "
             "Funneling, 2024",
    .work = "the weights of the observation for all keys of the prompt are computed once more and "
            "pooled",
    .section = &pyramid_kv_section,
    .check = check_pyramid_kv,
    .rule = pyramid_kv_rule,
    .layer_rows = pyramid_kv_rows,
    .extra = pyramid_kv_extra,
    .describe = describe_pyramid_kv,
};

/* ---- PyramidInfer ---- */

typedef struct pyramid_infer {
    sli_keep_settings settings;
    double first_share;
    double last_share;
    double recent_share;
    int64_t generated_tokens;
} pyramid_infer;

static const sl_param pyramid_infer_params[] = {
    {.name = "first",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.4",
     .help = "share of the prompt that stays in the first layer, the latest tokens among it",
     .offset = offsetof(pyramid_infer, first_share)},
    {.name = "last",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.2",
     .help = "the same in the last layer; those between fall in equal steps",
     .offset = offsetof(pyramid_infer, last_share)},
    {.name = "recent",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.2",
     .help = "share of the latest tokens, whose weights choose the others",
     .offset = offsetof(pyramid_infer, recent_share)},
    {.name = "generated",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1000,
     .fallback = "2 tokens",
     .help = "behind the prompt one of so many stays",
     .offset = offsetof(pyramid_infer, generated_tokens)},
};

static const sli_section pyramid_infer_section = METHOD_SECTION(pyramid_infer_params,
                                                                pyramid_infer);

static int64_t mean_ppm(const pyramid_infer *self) {
    return to_ppm((self->first_share + self->last_share) / 2.0);
}

static const char *check_pyramid_infer(const void *values) {
    const pyramid_infer *self = values;
    if (self->last_share > self->first_share) {
        return "last is more than first";
    }
    return mean_ppm(self) < 1 ? "first and last leave nothing" : NULL;
}

static sli_kept pyramid_infer_rule(const void *values) {
    const pyramid_infer *self = values;
    return (sli_kept){.is_rolling = true,
                      .share_ppm = mean_ppm(self),
                      .cap_rows = INT64_MAX,
                      .row_tokens = self->generated_tokens};
}

static int64_t pyramid_infer_rows(const void *values, int64_t layer, int64_t layers,
                                  int64_t prompt_tokens) {
    const pyramid_infer *self = values;
    double depth = layers > 1 ? (double)layer / (double)(layers - 1) : 0.5;
    double share = self->first_share + (self->last_share - self->first_share) * depth;
    sli_kept rule = {.share_ppm = to_ppm(share), .cap_rows = INT64_MAX};
    return sli_kept_of_prompt(&rule, prompt_tokens);
}

/* Of n (n + 1) / 2 pairs those of the latest r n queries with the (1 - r) n keys before them. */
static sli_keep_extra pyramid_infer_extra(const void *values) {
    const pyramid_infer *self = values;
    return (sli_keep_extra){
        .has_scores = true,
        .rescored_share = 2.0 * self->recent_share * (1.0 - self->recent_share),
    };
}

static void describe_pyramid_infer(const void *values, char *text, size_t text_bytes) {
    const pyramid_infer *self = values;
    snprintf(text, text_bytes,
             "%.3g %% of the prompt in the mean of the layers, behind it one of %s tokens",
             100.0 * (double)mean_ppm(self) / SLI_KEPT_WHOLE_PPM,
             say_tokens(self->generated_tokens).text);
}

/* mutonix/pyramidinfer: of 16 generated tokens that leave the latest ones a layer keeps 0.9 times 1
 * to 0.1, one of two in the mean. Its deeper layers compute fewer tokens of the prompt; here all
 * are computed, so a prompt takes too long. */
static const sli_keep_method pyramid_infer_method = {
    .name = "pyramid_infer",
    .summary = "tokens that the latest ones attend to, fewer the deeper the layer",
    .when = "while the prompt is computed, then in every step",
    .paper = "Yang et al., PyramidInfer: Pyramid KV Cache Compression for High-throughput LLM "
             "Inference, ACL Findings 2024",
    .work = "the weights of the latest tokens of the prompt are computed once more; a score of 4 "
            "bytes for each row and key head is read, added to and written in each step; that "
            "deeper layers compute fewer tokens of the prompt is not counted",
    .section = &pyramid_infer_section,
    .check = check_pyramid_infer,
    .rule = pyramid_infer_rule,
    .layer_rows = pyramid_infer_rows,
    .extra = pyramid_infer_extra,
    .describe = describe_pyramid_infer,
};

/* ---- All of them ---- */

static const sli_named_type types[] = {
    {.name = "none"},
    {.name = "streaming_llm", .section = &streaming_section, .item = &streaming_method},
    {.name = "h2o", .section = &h2o_section, .item = &h2o_method},
    {.name = "scissorhands", .section = &scissorhands_section, .item = &scissorhands_method},
    {.name = "snapkv", .section = &snapkv_section, .item = &snapkv_method},
    {.name = "pyramid_kv", .section = &pyramid_kv_section, .item = &pyramid_kv_method},
    {.name = "pyramid_infer", .section = &pyramid_infer_section, .item = &pyramid_infer_method},
};

const sli_named_type *sli_keep_types(const void *context, size_t *count) {
    (void)context; /* the same for all scenarios */
    *count = COUNT_OF(types);
    return types;
}

int64_t sli_keep_layer_rows(const sli_keep_method *method, const void *values, int64_t layer,
                            int64_t layers, int64_t prompt_tokens) {
    if (method->layer_rows != NULL) {
        return method->layer_rows(values, layer, layers, prompt_tokens);
    }
    sli_kept rule = method->rule(values);
    return sli_kept_of_prompt(&rule, prompt_tokens);
}
