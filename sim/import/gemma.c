/*
 * Gemma 4: windows and full attention with heads of different widths, last layers that read keys
 * and values of earlier ones, embeddings that every layer has, and experts beside a dense
 * feed-forward, which is a shared expert here.
 *
 * Field names and defaults: the configuration class of huggingface/transformers (2026). Full layers
 * take global_head_dim; num_global_key_value_heads counts only with attention_k_eq_v. Keys that
 * are values come from one projection and are stored twice, as engines do it.
 */
#include "import/families.h"
#include "import/shared.h"

typedef struct gemma_layers {
    int64_t count;
    sli_import_windows windows;
    int64_t first_shared; /* this one and those behind it keep nothing */
    bool has_experts;
    bool has_wide; /* shared ones have a feed-forward of twice the width */
} gemma_layers;

static void add_mixers(sli_fields *fields, sli_import_model *model, int64_t window_tokens) {
    sli_import_heads heads = sli_import_read_heads(fields, model->hidden);
    sli_import_heads wide = heads;
    bool is_k_eq_v = sli_fields_bool_or(fields, "attention_k_eq_v", false);
    static const char global_heads[] = "num_global_key_value_heads";
    int64_t global_kv = sli_fields_int_or(fields, global_heads, 1, SLI_IMPORT_HEADS_MAX, heads.kv);
    wide.dim = sli_fields_int(fields, "global_head_dim", 1, SLI_IMPORT_HEADS_MAX);
    wide.kv = is_k_eq_v ? sli_import_check_heads(fields, global_heads, heads.q, global_kv)
                        : heads.kv;
    static const char *const names[] = {"sliding", "full", "sliding_shared", "full_shared"};
    for (int i = 0; i < 4; i++) {
        bool is_full = i % 2 == 1;
        sli_import_part *part = sli_import_gqa(model, names[i], is_full ? wide : heads);
        sli_import_tokens(part, "window", is_full ? 0 : window_tokens);
        sli_import_switch(part, "qk_norm", true);
        sli_import_word(part, "k_eq_v", is_full && is_k_eq_v ? "weights" : NULL);
        sli_import_word(part, "kv", i >= 2 ? "shared" : NULL);
    }
}

static void add_ffns(sli_fields *fields, sli_import_model *model, gemma_layers *layers) {
    int64_t width = sli_fields_int(fields, "intermediate_size", 1, SLI_IMPORT_INNER_MAX / 2);
    layers->has_wide = sli_fields_bool_or(fields, "use_double_wide_mlp", false);
    layers->has_experts = sli_fields_bool_or(fields, "enable_moe_block", false);
    sli_import_dense(model, "dense", width, true);
    sli_import_dense(model, "dense_wide", 2 * width, true);
    if (layers->has_experts) {
        sli_import_moe moe = sli_import_read_moe(fields, "moe_intermediate_size");
        moe.shared = 1;
        moe.shared_width = width;
        sli_import_add_moe(model, moe);
    }
}

static void read_layer_embedding(sli_fields *fields, sli_import_model *model) {
    int64_t vocab_tokens = sli_fields_int_or(fields, "vocab_size_per_layer_input", 1,
                                             SLI_IMPORT_VOCAB_MAX, model->vocab_tokens);
    model->layer_embedding = sli_fields_int(fields, "hidden_size_per_layer_input", 0,
                                            SLI_IMPORT_WIDTH_MAX);
    if (model->layer_embedding > 0 && vocab_tokens != model->vocab_tokens) {
        sli_fields_conflict(fields, "vocab_size_per_layer_input",
                            "expected the vocabulary, %lld: another one is not modelled",
                            (long long)model->vocab_tokens);
    }
}

/* An encoder in place of a decoder has windows on both sides. */
static void check_causality(sli_fields *fields) {
    static const sli_field_word causal[] = {{"vision", 0}, {NULL, 0}};
    (void)sli_fields_word_or(fields, "use_bidirectional_attention", causal, 0);
}

static void add_layers(sli_import_model *model, const gemma_layers *layers) {
    for (int64_t i = 0; i < layers->count; i++) {
        bool is_shared = i >= layers->first_shared;
        bool is_windowed = sli_import_is_windowed(&layers->windows, i);
        const char *mixer = is_shared ? (is_windowed ? "sliding_shared" : "full_shared")
                                      : (is_windowed ? "sliding" : "full");
        const char *ffn = layers->has_experts             ? "moe"
                          : layers->has_wide && is_shared ? "dense_wide"
                                                          : "dense";
        sli_import_layers(model, 1, mixer, ffn);
    }
}

static void read_gemma4(sli_fields *fields, sli_import_model *model, const void *traits) {
    (void)traits; /* one form */
    sli_import_shell(fields, model, true);
    gemma_layers layers = {.count = sli_import_layer_count(fields)};
    layers.windows = (sli_import_windows){
        .tokens = sli_fields_int(fields, "sliding_window", 1, SLI_IMPORT_TOKENS_MAX),
        .types = sli_import_layer_types(fields, layers.count),
        .period = 6,
    };
    int64_t shared = sli_fields_int_or(fields, "num_kv_shared_layers", 0, layers.count, 0);
    layers.first_shared = layers.count - shared;
    add_mixers(fields, model, layers.windows.tokens);
    add_ffns(fields, model, &layers);
    read_layer_embedding(fields, model);
    check_causality(fields);
    add_layers(model, &layers);
}

static const sli_field_default gemma4_defaults[] = {
    {"vocab_size", 262144},      {"max_position_embeddings", 131072},
    {"head_dim", 256},           {"global_head_dim", 512},
    {"sliding_window", 512},     {"hidden_size_per_layer_input", 256},
    {"num_attention_heads", 8},  {"num_key_value_heads", 4},
    {"num_hidden_layers", 30},   {"hidden_size", 2304},
    {"intermediate_size", 9216}, {NULL, 0}};

const sli_family sli_gemma_families[] = {
    {"gemma4", "gemma4_text", read_gemma4, NULL, gemma4_defaults},
    {.name = NULL},
};
