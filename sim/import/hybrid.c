/*
 * Families with layers of linear attention between those with full attention: Qwen3-Next and 3.5
 * (GDN), Kimi Linear and K3 (KDA), MiniMax M1; and MiniMax M2 and M3, which went back to attention
 * over keys, M3 with chosen blocks.
 *
 * Field names: configuration classes of huggingface/transformers (2026), the released
 * configurations of Kimi Linear and K3, and copies of MiniMax's. Not known for sure: that of Kimi
 * K3.1 Pro is not published, and the names of DeepSeek's index are assumed; how MiniMax M3 lays its
 * index keys out is not known either. Qwen3-Next does not say that it has a layer of multi-token
 * prediction, which its checkpoints have. States are fp32 where the file does not say their type,
 * as reference codes keep them.
 */
#include "import/families.h"
#include "import/shared.h"

enum { CONV_MAX = 64, CHANNELS_MAX = 1000000 };

/* ---- Qwen3-Next, Qwen3.5 ---- */

typedef struct gdn_traits {
    bool has_experts;
    int64_t mtp_layers; /* where the file does not say how many */
} gdn_traits;

static void add_gdn(sli_fields *fields, sli_import_model *model) {
    sli_import_part *part = sli_import_mixer(model, "gdn", "recurrent");
    int64_t heads = sli_fields_int(fields, "linear_num_value_heads", 1, CHANNELS_MAX);
    int64_t key_heads = sli_fields_int(fields, "linear_num_key_heads", 1, CHANNELS_MAX);
    if (heads % key_heads != 0) {
        sli_fields_conflict(fields, "linear_num_key_heads",
                            "%lld key heads do not divide the %lld value heads",
                            (long long)key_heads, (long long)heads);
    }
    sli_import_word(part, "rule", "gdn");
    sli_import_number(part, "heads", heads);
    sli_import_number(part, "key_heads", key_heads);
    sli_import_number(part, "key_dim",
                      sli_fields_int(fields, "linear_key_head_dim", 1, SLI_IMPORT_DIM_MAX));
    sli_import_number(part, "value_dim",
                      sli_fields_int(fields, "linear_value_head_dim", 1, SLI_IMPORT_DIM_MAX));
    sli_import_number(part, "conv", sli_fields_int(fields, "linear_conv_kernel_dim", 2, CONV_MAX));
    sli_import_word(part, "gate", "full");
    sli_import_word(part, "state", sli_import_state_type(fields, "mamba_ssm_dtype"));
}

/* Its output has a gate unless the file says otherwise. */
static void add_gated(sli_fields *fields, sli_import_model *model) {
    sli_import_part *full = sli_import_gqa(model, "full",
                                           sli_import_read_heads(fields, model->hidden));
    sli_import_switch(full, "qk_norm", true);
    sli_import_switch(full, "output_gate", sli_fields_bool_or(fields, "attn_output_gate", true));
}

static sli_import_experts read_gdn_ffn(sli_fields *fields, sli_import_model *model,
                                       bool has_experts, int64_t layers) {
    if (has_experts) {
        return sli_import_read_qwen(fields, model, layers);
    }
    sli_import_dense(model, "dense",
                     sli_fields_int(fields, "intermediate_size", 1, SLI_IMPORT_INNER_MAX), true);
    return (sli_import_experts){.has_any = false};
}

static void read_gdn(sli_fields *fields, sli_import_model *model, const void *values) {
    static const sli_field_word types[] = {
        {"full_attention", 0}, {"linear_attention", 1}, {NULL, 0}};
    const gdn_traits *traits = values;
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    const int64_t *kinds = sli_fields_codes(fields, "layer_types", types, (size_t)layers);
    int64_t interval = sli_fields_int_or(fields, "full_attention_interval", 1,
                                         SLI_IMPORT_LAYERS_MAX, 4);
    add_gdn(fields, model);
    add_gated(fields, model);
    sli_import_experts experts = read_gdn_ffn(fields, model, traits->has_experts, layers);
    for (int64_t i = 0; i < layers; i++) {
        bool is_full = kinds != NULL ? kinds[i] == 0 : (i + 1) % interval == 0;
        sli_import_layers(model, 1, is_full ? "full" : "gdn", sli_import_ffn_of(&experts, i));
    }
    int64_t mtp_layers = sli_fields_int_or(fields, "mtp_num_hidden_layers|num_nextn_predict_layers",
                                           0, SLI_IMPORT_MTP_MAX, traits->mtp_layers);
    sli_import_mtp_layers(model, mtp_layers, "full", sli_import_ffn_of(&experts, layers - 1));
}

/* ---- Kimi Linear, Kimi K3 ---- */

static void add_kda(sli_fields *linear, sli_import_model *model) {
    sli_import_part *part = sli_import_mixer(model, "kda", "recurrent");
    int64_t dim = sli_fields_int(linear, "head_dim", 1, SLI_IMPORT_DIM_MAX);
    bool is_full_rank = sli_fields_bool_or(linear, "use_full_rank_gate", false);
    sli_import_word(part, "rule", "kda");
    sli_import_number(part, "heads", sli_fields_int(linear, "num_heads", 1, CHANNELS_MAX));
    sli_import_number(part, "key_dim", dim);
    sli_import_number(part, "value_dim", dim);
    sli_import_number(part, "conv", sli_fields_int(linear, "short_conv_kernel_size", 2, CONV_MAX));
    sli_import_word(part, "gate", is_full_rank ? "full" : "low_rank");
}

/* Layers are counted from 1; each has to be in one of two lists. NULL after a message. */
static const bool *read_kda_layers(sli_fields *linear, int64_t layers) {
    const bool *kda = sli_fields_places(linear, "kda_layers", 1, (size_t)layers);
    const bool *full = sli_fields_places(linear, "full_attn_layers", 1, (size_t)layers);
    if (kda == NULL || full == NULL) {
        if (!sli_fields_has(linear, "kda_layers") || !sli_fields_has(linear, "full_attn_layers")) {
            sli_fields_error(linear, "kda_layers",
                             "missing: kda_layers and full_attn_layers, lists of layers");
        }
        return NULL;
    }
    for (int64_t i = 0; i < layers; i++) {
        if (kda[i] == full[i]) {
            sli_fields_error(linear, "kda_layers",
                             "layer %lld is in %s kda_layers and full_attn_layers",
                             (long long)(i + 1), kda[i] ? "both" : "neither of");
            return NULL;
        }
    }
    return kda;
}

static void read_kimi(sli_fields *fields, sli_import_model *model, const void *traits) {
    (void)traits; /* one form */
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    sli_fields *linear = sli_fields_object(fields, "linear_attn_config");
    bool has_index = sli_import_latent(fields, model, false);
    const char *latent = has_index ? "dsa" : "mla";
    sli_import_experts experts = sli_import_read_deepseek(fields, model, layers);
    if (has_index) {
        model->has_assumptions = true;
        sli_import_note(model, "That queries of the index come from the query latent is assumed");
    }
    if (linear == NULL) {
        if (!sli_fields_has(fields, "linear_attn_config")) {
            sli_fields_error(fields, "linear_attn_config",
                             "missing: an object that says which layers have KDA");
        }
        return;
    }
    add_kda(linear, model);
    const bool *kda = read_kda_layers(linear, layers);
    for (int64_t i = 0; i < layers && kda != NULL; i++) {
        sli_import_layers(model, 1, kda[i] ? "kda" : latent, sli_import_ffn_of(&experts, i));
    }
    int64_t mtp_layers = sli_fields_int_or(fields, "num_nextn_predict_layers", 0,
                                           SLI_IMPORT_MTP_MAX, 0);
    sli_import_mtp_layers(model, mtp_layers, latent, sli_import_ffn_of(&experts, layers - 1));
}

/* ---- MiniMax M1 and M2 ---- */

static void add_lightning(sli_import_model *model, sli_import_heads heads) {
    sli_import_part *part = sli_import_mixer(model, "lightning", "recurrent");
    sli_import_word(part, "rule", "lightning");
    sli_import_number(part, "heads", heads.q);
    sli_import_number(part, "key_dim", heads.dim);
    sli_import_number(part, "value_dim", heads.dim);
    sli_import_word(part, "gate", "full");
}

/* 0 for lightning and 1 for full attention; NULL = all are full. */
static const int64_t *read_attention_types(sli_fields *fields, int64_t layers) {
    static const sli_field_word flags[] = {{"0", 0}, {"1", 1}, {NULL, 0}};
    static const sli_field_word types[] = {
        {"linear_attention", 0}, {"full_attention", 1}, {NULL, 0}};
    const int64_t *list = sli_fields_codes(fields, "attn_type_list", flags, (size_t)layers);
    const int64_t *words = sli_fields_codes(fields, "layer_types", types, (size_t)layers);
    return list != NULL ? list : words;
}

static bool has_lightning(const int64_t *types, int64_t layers) {
    for (int64_t i = 0; types != NULL && i < layers; i++) {
        if (types[i] == 0) {
            return true;
        }
    }
    return false;
}

static void read_minimax(sli_fields *fields, sli_import_model *model, const void *traits) {
    (void)traits; /* one form */
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    sli_import_heads heads = sli_import_read_heads(fields, model->hidden);
    const int64_t *types = read_attention_types(fields, layers);
    add_lightning(model, heads);
    sli_import_part *full = sli_import_gqa(model, "full", heads);
    sli_import_switch(full, "qk_norm", sli_fields_bool_or(fields, "use_qk_norm", false));
    (void)sli_import_read_mixtral(fields, model);
    for (int64_t i = 0; i < layers; i++) {
        sli_import_layers(model, 1, types != NULL && types[i] == 0 ? "lightning" : "full", "moe");
    }
    if (has_lightning(types, layers)) {
        sli_import_note(model, "fp32 states are assumed");
    }
    bool has_mtp = sli_fields_bool_or(fields, "use_mtp", false);
    int64_t modules = sli_fields_int_or(fields, "num_mtp_modules", 0, SLI_IMPORT_MTP_MAX, 0);
    int64_t depth = sli_fields_int_or(fields, "mtp_transformer_layers", 0, SLI_IMPORT_MTP_MAX, 1);
    sli_import_mtp_layers(model, has_mtp ? modules * depth : 0, "full", "moe");
}

/* ---- MiniMax M3 ---- */

/* Block-sparse attention; answers which layers have it, NULL = none. */
static const int64_t *add_sparse(sli_fields *fields, sli_import_model *model,
                                 sli_import_heads heads, bool has_qk_norm, int64_t layers) {
    static const sli_field_word flags[] = {{"0", 0}, {"1", 1}, {NULL, 0}};
    sli_fields *sparse = sli_fields_object(fields, "sparse_attention_config");
    if (sparse == NULL || !sli_fields_bool_or(sparse, "use_sparse_attention", true)) {
        return NULL;
    }
    enum { BLOCKS_MAX = 1000000 };
    int64_t always = sli_fields_int_or(sparse, "sparse_local_block", 0, BLOCKS_MAX, 0) +
                     sli_fields_int_or(sparse, "sparse_init_block", 0, BLOCKS_MAX, 0);
    sli_import_part *part = sli_import_gqa(model, "msa", heads);
    sli_import_switch(part, "qk_norm", has_qk_norm);
    sli_import_open(part, "sparse");
    sli_import_tokens(part, "block", sli_fields_int(sparse, "sparse_block_size", 1, BLOCKS_MAX));
    sli_import_number(part, "top_blocks",
                      sli_fields_int(sparse, "sparse_topk_blocks", 1, BLOCKS_MAX));
    sli_import_number(part, "local_blocks", always);
    sli_import_number(part, "index_heads",
                      sli_fields_int(sparse, "sparse_num_index_heads", 1, SLI_IMPORT_HEADS_MAX));
    sli_import_number(
        part, "index_dim",
        sli_fields_int_or(sparse, "sparse_index_dim", 1, SLI_IMPORT_DIM_MAX, heads.dim));
    sli_import_close(part);
    sli_fields_skip(sparse, "sparse_score_type|sparse_disable_index_value");
    return sli_fields_codes(sparse, "sparse_attention_freq", flags, (size_t)layers);
}

/* The width of an expert is called intermediate_size, that of a dense layer has a name. */
static sli_import_experts read_m3_experts(sli_fields *fields, sli_import_model *model,
                                          int64_t layers) {
    static const sli_field_word flags[] = {{"0", 0}, {"1", 1}, {NULL, 0}};
    sli_import_experts experts = sli_import_read_mixtral(fields, model);
    int64_t shared = sli_fields_int_or(fields, "n_shared_experts", 0, 1, 1);
    if (shared == 0 && sli_fields_has(fields, "shared_intermediate_size")) {
        sli_fields_conflict(fields, "n_shared_experts",
                            "expected 1, with a shared_intermediate_size");
    }
    experts.types = sli_fields_codes(fields, "moe_layer_freq", flags, (size_t)layers);
    sli_import_dense(model, "dense",
                     sli_fields_int(fields, "dense_intermediate_size", 1, SLI_IMPORT_INNER_MAX),
                     true);
    return experts;
}

static void read_minimax_m3(sli_fields *fields, sli_import_model *model, const void *traits) {
    (void)traits; /* one form */
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    sli_import_heads heads = sli_import_read_heads(fields, model->hidden);
    bool has_qk_norm = sli_fields_bool_or(fields, "use_qk_norm", false);
    sli_import_part *full = sli_import_gqa(model, "full", heads);
    sli_import_switch(full, "qk_norm", has_qk_norm);
    const int64_t *sparse = add_sparse(fields, model, heads, has_qk_norm, layers);
    sli_import_experts experts = read_m3_experts(fields, model, layers);
    for (int64_t i = 0; i < layers; i++) {
        bool is_sparse = sparse != NULL && sparse[i] == 1;
        sli_import_layers(model, 1, is_sparse ? "msa" : "full", sli_import_ffn_of(&experts, i));
    }
    sli_fields_skip(fields, "num_mtp_modules|num_nextn_predict_layers|mtp_transformer_layers");
    sli_fields_skip(fields, "use_mtp");
    model->has_assumptions = true;
    sli_import_note(model, "One index key a token and layer is assumed");
    sli_import_note(model, "multi-token modules are not modelled");
}

/* ---- The families ---- */

static const gdn_traits qwen3_next = {.has_experts = true, .mtp_layers = 1};
static const gdn_traits qwen3_5 = {.has_experts = false};
static const gdn_traits qwen3_5_moe = {.has_experts = true};

const sli_family sli_hybrid_families[] = {
    {"qwen3_next", NULL, read_gdn, &qwen3_next, NULL},
    {"qwen3_5", "qwen3_5_text", read_gdn, &qwen3_5, NULL},
    {"qwen3_5_moe", "qwen3_5_moe_text", read_gdn, &qwen3_5_moe, NULL},
    {"kimi_linear", "kimi_k3", read_kimi, NULL, NULL},
    {"minimax_m1", "minimax_m2|minimax|minimax_text_01", read_minimax, NULL, NULL},
    {"minimax_m3", "minimax_m3_vl", read_minimax_m3, NULL, NULL},
    {.name = NULL},
};
