/*
 * Families whose layers have attention over keys and values of heads, in all of the context or in a
 * window, and one feed-forward or experts.
 *
 * Field names and defaults: configuration classes of huggingface/transformers (2026) and published
 * files. Qwen 1 counts the gate and the up projection together as intermediate_size; BLOOM and
 * GPT-J leave the width out, which is four times the hidden size; Falcon without its new decoder
 * has one key-value head, whatever num_kv_heads says.
 */
#include "import/families.h"
#include "import/shared.h"

/* Which layers have a window, where layer_types does not say it. */
typedef enum window_rule {
    WINDOWS_NONE,     /* sliding_window is then not understood */
    WINDOWS_ALL,      /* all, when there is a sliding_window */
    WINDOWS_SWITCHED, /* when use_sliding_window says so, from max_window_layers on */
    WINDOWS_PERIODIC, /* all but the last of `period` */
} window_rule;

typedef enum ffn_rule { FFN_DENSE, FFN_MIXTRAL, FFN_QWEN, FFN_DEEPSEEK } ffn_rule;

typedef struct plain_traits {
    window_rule windows;
    ffn_rule ffn;
    bool is_tied;
    bool has_qk_norm;
    bool is_ungated;
    bool has_multi_query;
    bool is_open;   /* files leave the longest context out; the default of the family is assumed */
    int64_t period; /* of windows */
    int64_t width_factor;  /* of hidden, where the file has no width; 0 = it has to */
    int64_t kv_heads;      /* of the configuration class; 0 = as many as query heads */
    int64_t window_tokens; /* the same; 0 = no window */
    int64_t width_parts;   /* projections that the width counts together; 0 = 1 */
} plain_traits;

static bool has_window(const int64_t *types, int64_t layers) {
    for (int64_t i = 0; i < layers; i++) {
        if (types[i] == 1) {
            return true;
        }
    }
    return false;
}

/* Null is full attention; of what is not there the class has a number. */
static bool takes_window_of_class(const sli_fields *fields, const plain_traits *traits) {
    return traits->window_tokens > 0 && sli_fields_is_absent(fields, "sliding_window");
}

/* Whether any layer has one, by the rule of the family. */
static bool follow_rule(sli_fields *fields, const plain_traits *traits, int64_t layers,
                        sli_import_windows *windows) {
    bool has_size = sli_fields_has(fields, "sliding_window");
    switch (traits->windows) {
    case WINDOWS_NONE:
        return false;
    case WINDOWS_ALL:
        return has_size || takes_window_of_class(fields, traits);
    case WINDOWS_SWITCHED:
        if (!sli_fields_bool_or(fields, "use_sliding_window", false) || !has_size) {
            return false;
        }
        windows->first = sli_fields_int(fields, "max_window_layers", 0, layers);
        return true;
    case WINDOWS_PERIODIC:
        windows->period = sli_fields_int_or(fields,
                                            "sliding_window_pattern|_sliding_window_pattern", 1,
                                            SLI_IMPORT_LAYERS_MAX, traits->period);
        return true;
    }
    return false;
}

static int64_t read_window(sli_fields *fields, sli_import_model *model,
                           const plain_traits *traits) {
    if (takes_window_of_class(fields, traits)) {
        sli_import_assume(model, "sliding window, where null would be none", traits->window_tokens);
        return traits->window_tokens;
    }
    return sli_fields_int(fields, "sliding_window", 1, SLI_IMPORT_TOKENS_MAX);
}

static sli_import_windows read_windows(sli_fields *fields, sli_import_model *model,
                                       const plain_traits *traits, int64_t layers) {
    sli_import_windows windows = {.types = sli_import_layer_types(fields, layers)};
    bool is_needed = windows.types != NULL ? has_window(windows.types, layers)
                                           : follow_rule(fields, traits, layers, &windows);
    if (is_needed) {
        windows.tokens = read_window(fields, model, traits);
    }
    if (windows.types != NULL || traits->windows != WINDOWS_NONE) {
        sli_fields_skip(fields, "sliding_window|use_sliding_window|sliding_window_pattern");
    }
    return windows;
}

static sli_import_heads read_heads(sli_fields *fields, sli_import_model *model,
                                   const plain_traits *traits) {
    sli_import_heads heads = sli_import_read_heads(fields, model->hidden);
    sli_import_assume_kv_heads(fields, model, traits->kv_heads, &heads);
    if (traits->has_multi_query) {
        bool is_new = sli_fields_bool_or(fields, "new_decoder_architecture", false);
        bool is_single = sli_fields_bool_or(fields, "multi_query", true);
        heads.kv = !is_new && is_single ? 1 : heads.kv;
    }
    return heads;
}

static sli_import_experts read_dense(sli_fields *fields, sli_import_model *model,
                                     const plain_traits *traits) {
    static const char names[] = "intermediate_size|ffn_dim|n_inner|ffn_hidden_size";
    int64_t parts = traits->width_parts > 0 ? traits->width_parts : 1;
    int64_t width = traits->width_factor * model->hidden;
    width = width > 0 ? sli_fields_int_or(fields, names, parts, SLI_IMPORT_INNER_MAX, width)
                      : sli_fields_int(fields, names, parts, SLI_IMPORT_INNER_MAX);
    sli_import_dense(model, "dense", width / parts, !traits->is_ungated);
    return (sli_import_experts){.has_any = false};
}

static sli_import_experts read_ffn(sli_fields *fields, sli_import_model *model,
                                   const plain_traits *traits, int64_t layers) {
    switch (traits->ffn) {
    case FFN_MIXTRAL:
        return sli_import_read_mixtral(fields, model);
    case FFN_QWEN:
        return sli_import_read_qwen(fields, model, layers);
    case FFN_DEEPSEEK:
        return sli_import_read_deepseek(fields, model, layers);
    case FFN_DENSE:
        break;
    }
    return read_dense(fields, model, traits);
}

/* OPT 350M takes its embeddings from a narrower space, which is not modelled. */
static void check_embedding(sli_fields *fields, int64_t hidden) {
    int64_t width = sli_fields_int_or(fields, "word_embed_proj_dim", 1, SLI_IMPORT_WIDTH_MAX,
                                      hidden);
    if (width != hidden) {
        sli_fields_conflict(fields, "word_embed_proj_dim",
                            "expected the hidden size, %lld: others are not modelled",
                            (long long)hidden);
    }
}

static void add_mixers(sli_import_model *model, sli_import_heads heads, bool has_qk_norm,
                       int64_t window_tokens) {
    sli_import_part *sliding = sli_import_gqa(model, "sliding", heads);
    sli_import_tokens(sliding, "window", window_tokens);
    sli_import_switch(sliding, "qk_norm", has_qk_norm);
    sli_import_part *full = sli_import_gqa(model, "full", heads);
    sli_import_switch(full, "qk_norm", has_qk_norm);
}

static void read_plain(sli_fields *fields, sli_import_model *model, const void *values) {
    const plain_traits *traits = values;
    sli_import_shell(fields, model, traits->is_tied);
    if (traits->is_open && !sli_import_has_context(fields)) {
        sli_import_note(model, "The file names no longest context; that of the training is taken");
    }
    int64_t layers = sli_import_layer_count(fields);
    sli_import_heads heads = read_heads(fields, model, traits);
    sli_import_windows windows = read_windows(fields, model, traits, layers);
    bool has_qk_norm = sli_fields_bool_or(fields, "use_qk_norm", traits->has_qk_norm);
    add_mixers(model, heads, has_qk_norm, windows.tokens);
    sli_import_experts experts = read_ffn(fields, model, traits, layers);
    check_embedding(fields, model->hidden);
    for (int64_t i = 0; i < layers; i++) {
        const char *mixer = sli_import_is_windowed(&windows, i) ? "sliding" : "full";
        sli_import_layers(model, 1, mixer, sli_import_ffn_of(&experts, i));
    }
    if (traits->ffn == FFN_DEEPSEEK) {
        int64_t mtp_layers = sli_fields_int_or(fields, "num_nextn_predict_layers", 0,
                                               SLI_IMPORT_MTP_MAX, 0);
        sli_import_mtp_layers(model, mtp_layers, "full", sli_import_ffn_of(&experts, layers - 1));
    }
}

/* ---- Llama 4 ---- */

/* Layers without rotary positions see everything, the others their chunk. */
static bool is_chunked(const int64_t *types, const int64_t *rotary, int64_t interval,
                       int64_t layer) {
    if (types != NULL) {
        return types[layer] == 1;
    }
    return rotary != NULL ? rotary[layer] == 1 : (layer + 1) % interval != 0;
}

/* With one shared expert as wide as the others. */
static sli_import_experts read_llama4_experts(sli_fields *fields, sli_import_model *model,
                                              int64_t layers) {
    int64_t step = sli_fields_int(fields, "interleave_moe_layer_step", 1, SLI_IMPORT_LAYERS_MAX);
    int64_t width = sli_fields_int(fields, "intermediate_size_mlp", 1, SLI_IMPORT_INNER_MAX);
    sli_import_moe moe = sli_import_read_moe(fields, "intermediate_size");
    moe.shared = 1;
    moe.shared_width = moe.width;
    sli_import_add_moe(model, moe);
    sli_import_dense(model, "dense", width, true);
    return (sli_import_experts){
        .has_any = true,
        .chosen = sli_fields_places(fields, "moe_layers", 0, (size_t)layers),
        .period = step,
        .offset = step - 1,
    };
}

static void read_llama4(sli_fields *fields, sli_import_model *model, const void *values) {
    static const sli_field_word kinds[] = {
        {"full_attention", 0}, {"chunked_attention", 1}, {NULL, 0}};
    static const sli_field_word flags[] = {{"0", 0}, {"1", 1}, {NULL, 0}};
    (void)values;
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    const int64_t *types = sli_fields_codes(fields, "layer_types", kinds, (size_t)layers);
    const int64_t *rotary = sli_fields_codes(fields, "no_rope_layers", flags, (size_t)layers);
    int64_t interval = sli_fields_int_or(fields, "no_rope_layer_interval", 1, SLI_IMPORT_LAYERS_MAX,
                                         4);
    sli_import_heads heads = sli_import_read_heads(fields, model->hidden);
    sli_import_part *chunked = sli_import_gqa(model, "chunked", heads);
    sli_import_tokens(chunked, "chunk",
                      sli_fields_int(fields, "attention_chunk_size", 1, SLI_IMPORT_TOKENS_MAX));
    sli_import_gqa(model, "full", heads);
    sli_import_experts experts = read_llama4_experts(fields, model, layers);
    for (int64_t i = 0; i < layers; i++) {
        const char *mixer = is_chunked(types, rotary, interval, i) ? "chunked" : "full";
        sli_import_layers(model, 1, mixer, sli_import_ffn_of(&experts, i));
    }
}

/* ---- The families ---- */

static const plain_traits llama = {.windows = WINDOWS_NONE};
static const plain_traits mistral = {.windows = WINDOWS_ALL, .kv_heads = 8, .window_tokens = 4096};
static const plain_traits mixtral = {.windows = WINDOWS_ALL, .ffn = FFN_MIXTRAL, .kv_heads = 8};
static const plain_traits phi3 = {.windows = WINDOWS_ALL};
static const plain_traits qwen1 = {.width_parts = 2};
static const plain_traits qwen2 = {.windows = WINDOWS_SWITCHED};
static const plain_traits qwen2_moe = {.windows = WINDOWS_SWITCHED, .ffn = FFN_QWEN};
static const plain_traits qwen3 = {.windows = WINDOWS_SWITCHED, .has_qk_norm = true};
static const plain_traits qwen3_moe = {
    .windows = WINDOWS_SWITCHED, .ffn = FFN_QWEN, .has_qk_norm = true, .kv_heads = 4};
static const plain_traits gemma = {.is_tied = true};
static const plain_traits gemma2 = {
    .windows = WINDOWS_PERIODIC, .period = 2, .is_tied = true, .kv_heads = 4};
static const plain_traits gemma3 = {
    .windows = WINDOWS_PERIODIC, .period = 6, .is_tied = true, .has_qk_norm = true};
static const plain_traits gpt_oss = {
    .windows = WINDOWS_PERIODIC, .period = 2, .ffn = FFN_MIXTRAL, .kv_heads = 8};
static const plain_traits glm4_moe = {.ffn = FFN_DEEPSEEK};
static const plain_traits gpt2 = {.is_ungated = true, .is_tied = true, .width_factor = 4};
static const plain_traits bloom = {
    .is_ungated = true, .is_tied = true, .width_factor = 4, .is_open = true};
static const plain_traits gptj = {.is_ungated = true, .width_factor = 4};
static const plain_traits falcon = {.is_ungated = true,
                                    .is_tied = true,
                                    .width_factor = 4,
                                    .has_multi_query = true,
                                    .is_open = true};

/* Positions are biases or rotations, which end nowhere. Both were trained on 2,048 tokens (Scao et
 * al. 2022; Almazrouei et al. 2023), and FalconConfig says as much. */
static const sli_field_default open_defaults[] = {{"max_position_embeddings", 2048}, {NULL, 0}};

/* Saved inside of a file for several modalities, a text_config says only what differs. */
static const sli_field_default gemma3_defaults[] = {
    {"vocab_size", 262208},      {"max_position_embeddings", 131072},
    {"num_attention_heads", 8},  {"num_key_value_heads", 4},
    {"head_dim", 256},           {"num_hidden_layers", 26},
    {"intermediate_size", 9216}, {"hidden_size", 2304},
    {"sliding_window", 4096},    {NULL, 0}};

static const sli_field_default llama4_defaults[] = {{"vocab_size", 202048},
                                                    {"max_position_embeddings", 131072},
                                                    {"attention_chunk_size", 8192},
                                                    {"num_local_experts", 16},
                                                    {"num_experts_per_tok", 1},
                                                    {"intermediate_size", 8192},
                                                    {"intermediate_size_mlp", 16384},
                                                    {"interleave_moe_layer_step", 1},
                                                    {NULL, 0}};

const sli_family sli_plain_families[] = {
    {"llama", "yi|internlm|internlm2|granite|seed_oss", read_plain, &llama, NULL},
    {"llama4", "llama4_text", read_llama4, NULL, llama4_defaults},
    {"mistral", "ministral", read_plain, &mistral, NULL},
    {"mixtral", NULL, read_plain, &mixtral, NULL},
    {"phi3", NULL, read_plain, &phi3, NULL},
    {"qwen", NULL, read_plain, &qwen1, NULL},
    {"qwen2", NULL, read_plain, &qwen2, NULL},
    {"qwen2_moe", NULL, read_plain, &qwen2_moe, NULL},
    {"qwen3", "qwen3_vl|qwen3_vl_text", read_plain, &qwen3, NULL},
    {"qwen3_moe", "qwen3_vl_moe|qwen3_vl_moe_text", read_plain, &qwen3_moe, NULL},
    {"gemma", NULL, read_plain, &gemma, NULL},
    {"gemma2", NULL, read_plain, &gemma2, NULL},
    {"gemma3", "gemma3_text", read_plain, &gemma3, gemma3_defaults},
    {"gpt_oss", NULL, read_plain, &gpt_oss, NULL},
    {"glm4_moe", NULL, read_plain, &glm4_moe, NULL},
    {"gpt2", "opt", read_plain, &gpt2, NULL},
    {"bloom", NULL, read_plain, &bloom, open_defaults},
    {"gptj", "gpt_neox", read_plain, &gptj, NULL},
    {"falcon", NULL, read_plain, &falcon, open_defaults},
    {.name = NULL},
};
