#include "import/shared.h"

#include <string.h>

/* ---- The model as a whole ---- */

static const char context_names[] = "max_position_embeddings|max_sequence_length|seq_length|"
                                    "n_positions|model_max_length|context_length";

void sli_import_widths(sli_fields *fields, sli_import_model *model, bool is_tied) {
    sli_import_read_weights(fields, model);
    model->hidden = sli_fields_int(fields, "hidden_size|n_embd|n_embed|d_model", 1,
                                   SLI_IMPORT_WIDTH_MAX);
    model->vocab_tokens = sli_fields_int(fields, "vocab_size", 1, SLI_IMPORT_VOCAB_MAX);
    model->has_tied_embeddings = sli_fields_bool_or(fields, "tie_word_embeddings", is_tied);
}

void sli_import_shell(sli_fields *fields, sli_import_model *model, bool is_tied) {
    sli_import_widths(fields, model, is_tied);
    model->context_tokens = sli_fields_int(fields, context_names, 1, SLI_IMPORT_TOKENS_MAX);
}

bool sli_import_has_context(const sli_fields *fields) {
    return sli_fields_has(fields, context_names);
}

int64_t sli_import_layer_count(sli_fields *fields) {
    return sli_fields_int(fields, "num_hidden_layers|n_layer|num_layers", 1, SLI_IMPORT_LAYERS_MAX);
}

/* ---- Attention ---- */

static const char q_names[] = "num_attention_heads|n_head";
static const char kv_names[] = "num_key_value_heads|num_kv_heads|n_head_kv";
static const char dim_names[] = "head_dim|kv_channels|attention_head_dim";

int64_t sli_import_check_heads(sli_fields *fields, const char *names, int64_t q, int64_t kv) {
    if (q % kv != 0) {
        sli_fields_conflict(fields, names,
                            "%lld key-value heads do not divide the %lld query heads",
                            (long long)kv, (long long)q);
        return 1;
    }
    return kv;
}

static int64_t read_head_dim(sli_fields *fields, int64_t hidden, int64_t heads) {
    int64_t dim = sli_fields_int_or(fields, dim_names, 1, SLI_IMPORT_DIM_MAX, 0);
    if (dim == 0 && hidden % heads != 0) {
        sli_fields_conflict(
            fields, q_names,
            "%lld heads do not divide a hidden size of %lld, and there is no head_dim",
            (long long)heads, (long long)hidden);
        return 1;
    }
    return dim > 0 ? dim : hidden / heads;
}

sli_import_heads sli_import_read_heads(sli_fields *fields, int64_t hidden) {
    sli_import_heads heads;
    heads.q = sli_fields_int(fields, q_names, 1, SLI_IMPORT_HEADS_MAX);
    heads.kv = sli_fields_int_or(fields, kv_names, 1, SLI_IMPORT_HEADS_MAX, heads.q);
    heads.kv = sli_import_check_heads(fields, kv_names, heads.q, heads.kv);
    heads.dim = read_head_dim(fields, hidden, heads.q);
    return heads;
}

void sli_import_assume_kv_heads(sli_fields *fields, sli_import_model *model, int64_t of_class,
                                sli_import_heads *heads) {
    if (of_class == 0 || !sli_fields_is_absent(fields, kv_names)) {
        return;
    }
    heads->kv = sli_import_check_heads(fields, kv_names, heads->q, of_class);
    sli_import_assume(model, "key-value heads", of_class);
}

void sli_import_assume(sli_import_model *model, const char *what, int64_t of_class) {
    const char *clause = sli_arena_printf(
        model->arena, "The file names no %s; the %lld of its configuration class are taken", what,
        (long long)of_class);
    model->is_out_of_memory |= clause == NULL;
    if (clause != NULL) {
        sli_import_note(model, clause);
    }
}

sli_import_part *sli_import_gqa(sli_import_model *model, const char *name, sli_import_heads heads) {
    sli_import_part *part = sli_import_mixer(model, name, "gqa");
    sli_import_number(part, "q_heads", heads.q);
    sli_import_number(part, "kv_heads", heads.kv);
    sli_import_number(part, "head_dim", heads.dim);
    return part;
}

bool sli_import_is_windowed(const sli_import_windows *windows, int64_t layer) {
    if (windows->types != NULL) {
        return windows->types[layer] == 1;
    }
    bool is_last = windows->period > 0 && (layer + 1) % windows->period == 0;
    return windows->tokens > 0 && layer >= windows->first && !is_last;
}

const int64_t *sli_import_layer_types(sli_fields *fields, int64_t layers) {
    static const sli_field_word types[] = {
        {"full_attention", 0}, {"sliding_attention", 1}, {NULL, 0}};
    return sli_fields_codes(fields, "layer_types", types, (size_t)layers);
}

/* ---- Latents ---- */

typedef struct latent_index {
    int64_t heads; /* 0 = no index */
    int64_t dim;
    int64_t top_tokens;
} latent_index;

static latent_index read_index(sli_fields *fields, bool is_required) {
    latent_index index = {.heads = 0};
    if (is_required || sli_fields_has(fields, "index_topk")) {
        index.heads = sli_fields_int(fields, "index_n_heads", 1, SLI_IMPORT_HEADS_MAX);
        index.dim = sli_fields_int(fields, "index_head_dim", 1, SLI_IMPORT_DIM_MAX);
        index.top_tokens = sli_fields_int(fields, "index_topk", 1, SLI_IMPORT_TOKENS_MAX);
    }
    return index;
}

/* The keys that all latent mixers have; more can follow. */
static sli_import_part *add_latent(sli_fields *fields, sli_import_model *model, const char *name) {
    sli_import_part *part = sli_import_mixer(model, name, "mla");
    int64_t q_lora = sli_fields_int_or(fields, "q_lora_rank", 1, SLI_IMPORT_WIDTH_MAX, 0);
    int64_t kv_lora = sli_fields_int(fields, "kv_lora_rank", 1, SLI_IMPORT_WIDTH_MAX);
    bool has_gate = sli_fields_bool_or(fields, "mla_use_output_gate", false);
    sli_import_number(part, "q_heads", sli_fields_int(fields, q_names, 1, SLI_IMPORT_HEADS_MAX));
    sli_import_word(part, "q_lora", q_lora == 0 ? "none" : NULL);
    sli_import_number(part, "q_lora", q_lora);
    sli_import_number(part, "kv_lora", kv_lora);
    sli_import_number(part, "rope_dim",
                      sli_fields_int(fields, "qk_rope_head_dim", 1, SLI_IMPORT_DIM_MAX));
    sli_import_number(part, "nope_dim",
                      sli_fields_int(fields, "qk_nope_head_dim", 1, SLI_IMPORT_DIM_MAX));
    sli_import_number(part, "value_dim",
                      sli_fields_int(fields, "v_head_dim", 1, SLI_IMPORT_DIM_MAX));
    sli_import_switch(part, "output_gate", has_gate);
    return part;
}

static void add_index(sli_import_part *part, const latent_index *index, bool is_own) {
    sli_import_open(part, "index");
    sli_import_word(part, "keys", is_own ? "own" : "shared");
    sli_import_number(part, "heads", is_own ? index->heads : 0);
    sli_import_number(part, "dim", is_own ? index->dim : 0);
    sli_import_tokens(part, "top", index->top_tokens);
    sli_import_close(part);
}

bool sli_import_latent(sli_fields *fields, sli_import_model *model, bool is_index_required) {
    latent_index index = read_index(fields, is_index_required);
    bool has_index = index.heads > 0;
    sli_fields_skip(fields, "num_key_value_heads|head_dim|qk_head_dim"); /* follow from the rest */
    sli_import_part *own = add_latent(fields, model, has_index ? "dsa" : "mla");
    if (has_index) {
        add_index(own, &index, true);
        add_index(add_latent(fields, model, "dsa_shared"), &index, false);
    }
    return has_index;
}

/* ---- Feed-forwards ---- */

void sli_import_dense(sli_import_model *model, const char *name, int64_t width, bool is_gated) {
    sli_import_part *part = sli_import_ffn(model, name, "dense");
    sli_import_number(part, "width", width);
    sli_import_word(part, "gated", is_gated ? NULL : "off");
}

sli_import_part *sli_import_add_moe(sli_import_model *model, sli_import_moe moe) {
    sli_import_part *part = sli_import_ffn(model, "moe", "moe");
    bool has_own_width = moe.shared > 0 && moe.shared_width != moe.width;
    sli_import_number(part, "experts", moe.experts);
    sli_import_number(part, "top_k", moe.top_k);
    sli_import_number(part, "width", moe.width);
    sli_import_number(part, "shared", moe.shared);
    sli_import_number(part, "shared_width", has_own_width ? moe.shared_width : 0);
    return part;
}

sli_import_moe sli_import_read_moe(sli_fields *fields, const char *width_name) {
    static const char top_k_names[] =
        "num_experts_per_tok|num_experts_per_token|experts_per_token|top_k_experts";
    sli_import_moe moe = {.shared = 0};
    moe.experts = sli_fields_int(fields, "num_experts|num_local_experts|n_routed_experts", 1,
                                 SLI_IMPORT_EXPERTS_MAX);
    moe.top_k = sli_fields_int(fields, top_k_names, 1, SLI_IMPORT_EXPERTS_MAX);
    moe.width = sli_fields_int(fields, width_name, 1, SLI_IMPORT_INNER_MAX);
    if (moe.top_k > moe.experts) {
        sli_fields_conflict(fields, top_k_names,
                            "a token is routed to %lld experts, and there are %lld",
                            (long long)moe.top_k, (long long)moe.experts);
    }
    return moe;
}

bool sli_import_has_experts(const sli_import_experts *experts, int64_t layer) {
    if (!experts->has_any || (experts->dense != NULL && experts->dense[layer])) {
        return false;
    }
    if (experts->types != NULL) {
        return experts->types[layer] == 1;
    }
    if (experts->chosen != NULL) {
        return experts->chosen[layer];
    }
    return layer >= experts->first && layer % experts->period == experts->offset;
}

const char *sli_import_ffn_of(const sli_import_experts *experts, int64_t layer) {
    return sli_import_has_experts(experts, layer) ? "moe" : "dense";
}

sli_import_experts sli_import_read_mixtral(sli_fields *fields, sli_import_model *model) {
    sli_import_moe moe = sli_import_read_moe(fields, "intermediate_size");
    moe.shared_width = sli_fields_int_or(fields, "shared_intermediate_size", 0,
                                         SLI_IMPORT_INNER_MAX, 0);
    moe.shared = moe.shared_width > 0;
    sli_import_add_moe(model, moe);
    return (sli_import_experts){.has_any = true, .period = 1};
}

/* Some files say the width of dense layers that they do not have. */
static void read_dense(sli_fields *fields, sli_import_model *model,
                       const sli_import_experts *experts, int64_t layers) {
    int64_t layer = 0;
    while (layer < layers && sli_import_has_experts(experts, layer)) {
        layer++;
    }
    if (layer < layers) {
        int64_t width = sli_fields_int(fields, "intermediate_size", 1, SLI_IMPORT_INNER_MAX);
        sli_import_dense(model, "dense", width, true);
    } else {
        sli_fields_skip(fields, "intermediate_size");
    }
}

sli_import_experts sli_import_read_qwen(sli_fields *fields, sli_import_model *model,
                                        int64_t layers) {
    int64_t step = sli_fields_int_or(fields, "decoder_sparse_step", 1, SLI_IMPORT_LAYERS_MAX, 1);
    const bool *dense = sli_fields_places(fields, "mlp_only_layers", 0, (size_t)layers);
    sli_import_experts found = {
        .has_any = true, .dense = dense, .period = step, .offset = step - 1};
    sli_import_moe moe = sli_import_read_moe(fields, "moe_intermediate_size");
    moe.shared_width = sli_fields_int_or(fields, "shared_expert_intermediate_size", 0,
                                         SLI_IMPORT_INNER_MAX, 0);
    moe.shared = moe.shared_width > 0;
    sli_import_add_moe(model, moe);
    read_dense(fields, model, &found, layers);
    return found;
}

static void read_frequency(sli_fields *fields, int64_t layers, sli_import_experts *experts) {
    static const sli_field_word kinds[] = {{"dense", 0}, {"sparse", 1}, {NULL, 0}};
    experts->first = sli_fields_int_or(fields, "first_k_dense_replace", 0, layers, 0);
    experts->period = sli_fields_int_or(fields, "moe_layer_freq", 1, SLI_IMPORT_LAYERS_MAX, 1);
    experts->types = sli_fields_codes(fields, "mlp_layer_types", kinds, (size_t)layers);
}

sli_import_experts sli_import_read_deepseek(sli_fields *fields, sli_import_model *model,
                                            int64_t layers) {
    static const char count_names[] = "num_experts|num_local_experts|n_routed_experts";
    sli_import_experts found = {.has_any = sli_fields_has(fields, count_names), .period = 1};
    read_frequency(fields, layers, &found);
    if (found.has_any) {
        sli_import_moe moe = sli_import_read_moe(fields, "moe_intermediate_size");
        moe.shared = sli_fields_int_or(fields, "n_shared_experts|num_shared_experts", 0,
                                       SLI_IMPORT_EXPERTS_MAX, 0);
        moe.shared_width = moe.width;
        int64_t stream = sli_fields_int_or(fields, "routed_expert_hidden_size", 1,
                                           SLI_IMPORT_WIDTH_MAX, 0);
        sli_import_number(sli_import_add_moe(model, moe), "expert_hidden", stream);
    } else {
        sli_fields_skip(fields, "num_experts_per_tok|num_experts_per_token|moe_intermediate_size|"
                                "n_shared_experts|num_shared_experts");
    }
    read_dense(fields, model, &found, layers);
    return found;
}

/* ---- Recurrent mixers ---- */

const char *sli_import_state_type(sli_fields *fields, const char *names) {
    static const sli_field_word types[] = {
        {"float32", 0}, {"bfloat16", 1}, {"float16", 1}, {"auto", 0}, {NULL, 0}};
    return sli_fields_word_or(fields, names, types, 0) == 1 ? "bf16" : NULL;
}
