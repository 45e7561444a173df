/*
 * Families of Mamba and RWKV, whose layers keep a state or, some of them, keys and values: Mamba-2,
 * Nemotron-H, Jamba (Mamba-1) and RWKV-7.
 *
 * Field names: configuration classes of huggingface/transformers (2026), and of flash-linear-
 * attention for RWKV-7. States are fp32 where the file does not say their type, as reference codes
 * keep them. How many tokens prefill computes together (chunk_size) is left to the schema: engines
 * choose their own.
 */
#include "base/divide.h"
#include "import/families.h"
#include "import/shared.h"

#include <stdio.h>

enum { CONV_MAX = 64, CHANNELS_MAX = 1000000 };

/* ---- Mamba-2 and Nemotron-H ---- */

/* Field names of a mixer of Mamba-2. */
typedef struct mamba2_names {
    const char *heads; /* NULL = as many as find place in the inner width */
    const char *head_dim;
    const char *state;
    const char *groups;
    const char *conv;
} mamba2_names;

/* Heads by the inner width, where the file does not count them. */
static int64_t read_ssm_heads(sli_fields *fields, const mamba2_names *names, int64_t dim,
                              int64_t inner) {
    if (names->heads != NULL) {
        return sli_fields_int(fields, names->heads, 1, CHANNELS_MAX);
    }
    if (inner % dim != 0) {
        sli_fields_conflict(fields, names->head_dim, "heads of %lld do not divide a width of %lld",
                            (long long)dim, (long long)inner);
    }
    return inner >= dim ? inner / dim : 1;
}

/* Answers the inner width; `inner` is that of a file without heads. */
static int64_t add_mamba2(sli_fields *fields, sli_import_model *model, const mamba2_names *names,
                          int64_t inner) {
    sli_import_part *part = sli_import_mixer(model, "mamba2", "recurrent");
    int64_t groups = sli_fields_int(fields, names->groups, 1, CHANNELS_MAX);
    int64_t dim = sli_fields_int(fields, names->head_dim, 1, SLI_IMPORT_DIM_MAX);
    int64_t heads = read_ssm_heads(fields, names, dim, inner);
    if (heads % groups != 0) {
        sli_fields_conflict(fields, names->groups, "%lld groups do not divide the %lld heads",
                            (long long)groups, (long long)heads);
    }
    sli_import_word(part, "rule", "mamba2");
    sli_import_number(part, "heads", heads);
    sli_import_number(part, "key_heads", groups);
    sli_import_number(part, "key_dim", sli_fields_int(fields, names->state, 1, SLI_IMPORT_DIM_MAX));
    sli_import_number(part, "value_dim", dim);
    sli_import_number(part, "conv", sli_fields_int(fields, names->conv, 2, CONV_MAX));
    sli_import_word(part, "gate", "full");
    sli_import_word(part, "state", sli_import_state_type(fields, "mamba_ssm_cache_dtype"));
    return heads * dim;
}

static void read_mamba2(sli_fields *fields, sli_import_model *model, const void *traits) {
    static const mamba2_names names = {"num_heads", "head_dim", "state_size", "n_groups",
                                       "conv_kernel"};
    (void)traits; /* one form */
    sli_import_widths(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    int64_t inner = add_mamba2(fields, model, &names, 0);
    int64_t factor = sli_fields_int_or(fields, "expand", 1, CHANNELS_MAX, 2);
    if (inner != factor * model->hidden) {
        sli_fields_conflict(fields, "expand", "%lld x %lld is not the width of all heads, %lld",
                            (long long)factor, (long long)model->hidden, (long long)inner);
    }
    sli_import_ffn(model, "none", "none");
    sli_import_layers(model, layers, "mamba2", "none");
}

/* The files of state-spaces/mamba: no model type, and what differs from the defaults of the module
 * in ssm_cfg (mamba_ssm/modules/mamba2.py, models/mixer_seq_simple.py). */
static const sli_field_default mamba2_defaults[] = {
    {"headdim", 64}, {"ngroups", 1}, {"d_state", 128}, {"d_conv", 4}, {NULL, 0}};

static void read_ssm(sli_fields *fields, sli_import_model *model, const void *traits) {
    static const mamba2_names names = {NULL, "headdim", "d_state", "ngroups", "d_conv"};
    static const sli_field_word layer_words[] = {{"Mamba2", 0}, {NULL, 0}};
    (void)traits; /* one form */
    sli_import_widths(fields, model, true);
    model->has_tied_embeddings = sli_fields_bool_or(fields, "tie_embeddings", true);
    int64_t multiple = sli_fields_int_or(fields, "pad_vocab_size_multiple", 1, 65536, 8);
    model->vocab_tokens = sli_divide_up(model->vocab_tokens, multiple) * multiple;
    int64_t layers = sli_import_layer_count(fields);
    int64_t width = sli_fields_int_or(fields, "d_intermediate", 0, SLI_IMPORT_INNER_MAX, 0);
    sli_fields *mixer = sli_fields_object(fields, "ssm_cfg");
    if (mixer == NULL) {
        sli_fields_error(fields, "ssm_cfg", "missing; its layer is Mamba2, or it is not read");
        return;
    }
    mixer->defaults = mamba2_defaults;
    if (!sli_fields_has(mixer, "layer")) {
        sli_fields_error(mixer, "layer", "missing, which means Mamba1; only Mamba2 is read");
    }
    (void)sli_fields_word_or(mixer, "layer", layer_words, 0);
    int64_t inner = sli_fields_int_or(mixer, "expand", 1, CHANNELS_MAX, 2) * model->hidden;
    add_mamba2(mixer, model, &names, inner);
    if (width > 0) {
        sli_import_dense(model, "dense", width, true);
    } else {
        sli_import_ffn(model, "none", "none");
    }
    sli_import_layers(model, layers, "mamba2", width > 0 ? "dense" : "none");
}

/* A block of Nemotron-H is a mixer or a feed-forward. */
typedef struct nemotron_block {
    const char *mixer;
    const char *ffn;
} nemotron_block;

enum { BLOCK_MAMBA, BLOCK_ATTENTION, BLOCK_DENSE, BLOCK_MOE };

static const nemotron_block blocks[] = {
    [BLOCK_MAMBA] = {"mamba2", "none"},
    [BLOCK_ATTENTION] = {"full", "none"},
    [BLOCK_DENSE] = {"none", "dense"},
    [BLOCK_MOE] = {"none", "moe"},
};

static const sli_field_word block_letters[] = {
    {"M", BLOCK_MAMBA}, {"*", BLOCK_ATTENTION}, {"-", BLOCK_DENSE}, {"E", BLOCK_MOE}, {NULL, 0}};

static const sli_field_word block_words[] = {{"mamba", BLOCK_MAMBA},
                                             {"linear_attention", BLOCK_MAMBA},
                                             {"attention", BLOCK_ATTENTION},
                                             {"full_attention", BLOCK_ATTENTION},
                                             {"mlp", BLOCK_DENSE},
                                             {"moe", BLOCK_MOE},
                                             {NULL, 0}};

/* From a list of words or a text of letters; NULL when both are absent, and after a message. */
static const int64_t *read_blocks(sli_fields *fields, const char *list_name, const char *text_name,
                                  size_t *count) {
    const sli_node *list = sli_fields_list(fields, list_name);
    const int64_t *letters = sli_fields_letters(fields, text_name, block_letters, count);
    if (list == NULL || letters != NULL) {
        return letters;
    }
    *count = list->count;
    return sli_fields_codes(fields, list_name, block_words, list->count);
}

static bool has_block(const int64_t *codes, size_t count, int64_t wanted) {
    for (size_t i = 0; i < count; i++) {
        if (codes[i] == wanted) {
            return true;
        }
    }
    return false;
}

/* Squared ReLU has no gate. */
static void add_nemotron_moe(sli_fields *fields, sli_import_model *model) {
    sli_import_moe moe = sli_import_read_moe(fields, "moe_intermediate_size");
    moe.shared = sli_fields_int_or(fields, "n_shared_experts", 0, SLI_IMPORT_EXPERTS_MAX, 0);
    moe.shared_width = sli_fields_int_or(fields, "moe_shared_expert_intermediate_size", 1,
                                         SLI_IMPORT_INNER_MAX, moe.width);
    int64_t stream = sli_fields_int_or(fields, "moe_latent_size", 1, SLI_IMPORT_WIDTH_MAX, 0);
    sli_import_part *part = sli_import_add_moe(model, moe);
    sli_import_number(part, "expert_hidden", stream);
    sli_import_word(part, "gated", "off");
}

/* A file may hold the widths of blocks that it does not have. */
static void add_nemotron_ffns(sli_fields *fields, sli_import_model *model, bool has_dense,
                              bool has_moe) {
    sli_import_ffn(model, "none", "none");
    if (has_dense) {
        int64_t width = sli_fields_int(fields, "intermediate_size", 1, SLI_IMPORT_INNER_MAX);
        sli_import_dense(model, "dense", width, false);
    }
    if (has_moe) {
        add_nemotron_moe(fields, model);
    }
    sli_fields_skip(fields, "intermediate_size|moe_intermediate_size|n_shared_experts|"
                            "moe_shared_expert_intermediate_size|n_routed_experts|"
                            "num_experts_per_tok|moe_latent_size");
    sli_fields_skip(fields, "expand"); /* times hidden: as wide as the heads in older files only */
}

static void add_nemotron_mtp(sli_fields *fields, sli_import_model *model) {
    size_t count = 0;
    int64_t times = sli_fields_int_or(fields, "num_nextn_predict_layers", 0, SLI_IMPORT_MTP_MAX, 0);
    const int64_t *codes = read_blocks(fields, "mtp_layers_block_type",
                                       "mtp_hybrid_override_pattern", &count);
    for (int64_t k = 0; k < times; k++) {
        for (size_t i = 0; i < count && codes != NULL; i++) {
            sli_import_mtp_layers(model, 1, blocks[codes[i]].mixer, blocks[codes[i]].ffn);
        }
    }
}

static void read_nemotron(sli_fields *fields, sli_import_model *model, const void *traits) {
    static const mamba2_names names = {"mamba_num_heads", "mamba_head_dim", "ssm_state_size",
                                       "n_groups|mamba_n_groups", "conv_kernel|mamba_d_conv"};
    (void)traits; /* one form */
    sli_import_shell(fields, model, false);
    size_t count = 0;
    const int64_t *codes = read_blocks(fields, "layers_block_type|layer_types",
                                       "hybrid_override_pattern", &count);
    if (codes == NULL) {
        if (!sli_fields_has(fields, "layers_block_type|layer_types|hybrid_override_pattern")) {
            sli_fields_error(fields, "hybrid_override_pattern",
                             "missing: a text with M, *, - or E for each layer");
        }
        return;
    }
    int64_t layers = sli_fields_int_or(fields, "num_hidden_layers", 1, SLI_IMPORT_LAYERS_MAX,
                                       (int64_t)count);
    if ((size_t)layers != count) {
        sli_fields_conflict(fields, "num_hidden_layers", "expected %zu, the layers of the pattern",
                            count);
    }
    add_mamba2(fields, model, &names, 0);
    sli_import_gqa(model, "full", sli_import_read_heads(fields, model->hidden));
    sli_import_mixer(model, "none", "none");
    add_nemotron_ffns(fields, model, has_block(codes, count, BLOCK_DENSE),
                      has_block(codes, count, BLOCK_MOE));
    for (size_t i = 0; i < count; i++) {
        sli_import_layers(model, 1, blocks[codes[i]].mixer, blocks[codes[i]].ffn);
    }
    add_nemotron_mtp(fields, model);
}

/* ---- Jamba ---- */

/* Mamba-1, whose heads are channels; the rank of steps is a sixteenth of the width unless said. */
static void add_mamba1(sli_fields *fields, sli_import_model *model) {
    static const sli_field_word automatic[] = {{"auto", 0}, {NULL, 0}};
    int64_t factor = sli_fields_int(fields, "mamba_expand", 1, 64);
    int64_t rank = (model->hidden + 15) / 16;
    if (sli_fields_is_text(fields, "mamba_dt_rank")) {
        (void)sli_fields_word_or(fields, "mamba_dt_rank", automatic, 0);
    } else {
        rank = sli_fields_int_or(fields, "mamba_dt_rank", 1, SLI_IMPORT_DIM_MAX, rank);
    }
    sli_import_part *part = sli_import_mixer(model, "mamba1", "recurrent");
    sli_import_word(part, "rule", "mamba1");
    sli_import_number(part, "heads", factor * model->hidden);
    sli_import_number(part, "key_dim",
                      sli_fields_int(fields, "mamba_d_state", 1, SLI_IMPORT_DIM_MAX));
    sli_import_number(part, "value_dim", 1);
    sli_import_number(part, "conv", sli_fields_int(fields, "mamba_d_conv", 2, CONV_MAX));
    sli_import_word(part, "gate", "full");
    sli_import_number(part, "low_rank", rank);
}

/* Every so many-th layer from an offset on. */
typedef struct rhythm {
    int64_t period;
    int64_t offset;
} rhythm;

static rhythm read_rhythm(sli_fields *fields, const char *period_name, const char *offset_name) {
    rhythm found;
    found.period = sli_fields_int(fields, period_name, 1, SLI_IMPORT_LAYERS_MAX);
    found.offset = sli_fields_int(fields, offset_name, 0, found.period - 1);
    return found;
}

static void read_jamba(sli_fields *fields, sli_import_model *model, const void *traits) {
    (void)traits; /* one form */
    sli_import_shell(fields, model, false);
    int64_t layers = sli_import_layer_count(fields);
    rhythm attention = read_rhythm(fields, "attn_layer_period", "attn_layer_offset");
    rhythm experts = read_rhythm(fields, "expert_layer_period", "expert_layer_offset");
    add_mamba1(fields, model);
    sli_import_gqa(model, "full", sli_import_read_heads(fields, model->hidden));
    int64_t width = sli_fields_int(fields, "intermediate_size", 1, SLI_IMPORT_INNER_MAX);
    bool has_experts = sli_fields_int(fields, "num_experts", 1, SLI_IMPORT_EXPERTS_MAX) > 1;
    sli_import_dense(model, "dense", width, true);
    if (has_experts) {
        (void)sli_import_read_mixtral(fields, model);
    } else {
        sli_fields_skip(fields, "num_experts_per_tok");
    }
    for (int64_t i = 0; i < layers; i++) {
        bool is_full = i % attention.period == attention.offset;
        bool is_moe = has_experts && i % experts.period == experts.offset;
        sli_import_layers(model, 1, is_full ? "full" : "mamba1", is_moe ? "moe" : "dense");
    }
    sli_import_note(model, "fp32 states are assumed");
}

/* ---- RWKV-7 ---- */

/* The four low-rank projections of decays, rates, values and gates. */
static int64_t read_ranks(sli_fields *fields) {
    enum { RANK_MAX = SLI_IMPORT_DIM_MAX / 4 };
    return sli_fields_int(fields, "decay_low_rank_dim", 1, RANK_MAX) +
           sli_fields_int(fields, "a_low_rank_dim", 1, RANK_MAX) +
           sli_fields_int(fields, "v_low_rank_dim", 1, RANK_MAX) +
           sli_fields_int(fields, "gate_low_rank_dim", 1, RANK_MAX);
}

/* The width of all values, which may be said for each layer: that of the stream. */
static void check_value_width(sli_fields *fields, int64_t hidden, int64_t layers) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)hidden);
    const sli_field_word widths[] = {{text, 0}, {NULL, 0}};
    if (sli_fields_is_list(fields, "value_dim")) {
        (void)sli_fields_codes(fields, "value_dim", widths, (size_t)layers);
    } else {
        (void)sli_fields_word_or(fields, "value_dim", widths, 0);
    }
}

static void read_rwkv7(sli_fields *fields, sli_import_model *model, const void *traits) {
    (void)traits; /* one form */
    sli_import_widths(fields, model, false);
    model->context_tokens = sli_fields_int_or(fields, "max_position_embeddings|context_length", 1,
                                              SLI_IMPORT_TOKENS_MAX, 0);
    int64_t layers = sli_import_layer_count(fields);
    int64_t dim = sli_fields_int(fields, "head_dim|head_size", 1, SLI_IMPORT_DIM_MAX);
    int64_t ratio = sli_fields_int_or(fields, "hidden_ratio", 1, 64, 4);
    int64_t width = sli_fields_int_or(fields, "intermediate_size", 1, SLI_IMPORT_INNER_MAX,
                                      ratio * model->hidden);
    if (model->hidden % dim != 0) {
        sli_fields_conflict(fields, "head_dim|head_size",
                            "heads of %lld do not divide a hidden size of %lld", (long long)dim,
                            (long long)model->hidden);
    }
    check_value_width(fields, model->hidden, layers);
    sli_fields_skip(fields, "num_heads|num_attention_heads"); /* follow from the rest */
    sli_import_part *part = sli_import_mixer(model, "rwkv7", "recurrent");
    sli_import_word(part, "rule", "rwkv7");
    sli_import_number(part, "heads", model->hidden / dim);
    sli_import_number(part, "key_dim", dim);
    sli_import_number(part, "value_dim", dim);
    sli_import_number(part, "low_rank", read_ranks(fields));
    sli_import_number(part, "shifts", 2);
    sli_import_word(part, "state", sli_import_state_type(fields, "wkv_state_dtype"));
    if (!sli_fields_has(fields, "wkv_state_dtype")) {
        sli_import_note(model, "fp32 states are assumed");
    }
    sli_import_dense(model, "cmix", width, false);
    sli_import_layers(model, layers, "rwkv7", "cmix");
}

/* ---- The families ---- */

const sli_family sli_recurrent_families[] = {
    {"nemotron_h", NULL, read_nemotron, NULL, NULL}, {"mamba2", NULL, read_mamba2, NULL, NULL},
    {"mamba_ssm", NULL, read_ssm, NULL, NULL},       {"jamba", NULL, read_jamba, NULL, NULL},
    {"rwkv7", NULL, read_rwkv7, NULL, NULL},         {.name = NULL},
};
