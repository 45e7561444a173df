#include "import/fields.h"

#include "base/units.h"
#include "config/json.h"
#include "config/text.h"

#include <string.h>

/* ---- Fields that nobody asked for ---- */

/* Names, with a star in front or behind for any beginning or end. Ordered by what they are about:
 * identity; tokens; training and initial values; activations, norms and biases, which are not
 * counted; positions; routing beyond who is chosen; generation; other modalities; engines. */
static const char *const harmless[] = {
    /* clang-format off */
    "_*", "architectures", "model_type", "auto_map", "transformers_version", "name_or_path",
    "tokenizer_class", "problem_type", "id2label", "label2id", "finetuning_task",
    "*_token_id", "*_token_ids", "*_token_index", "prefix", "task_specific_params",
    "initializer_*", "init_*", "*_std", "dropout", "*_dropout", "*dropout_prob",
    "*_pdrop", "layerdrop",
    "classifier_*", "summary_*", "pretraining_tp", "aux_loss_*", "*_loss_coef", "*_loss_alpha",
    "seq_aux", "rescale_*", "gradient_*",
    "hidden_act", "*_act", "*activation*", "*_func", "swiglu_*", "*_softcapping",
    "norm_*", "*_norm", "*_norm_*", "*_layernorms", "rms_*", "layer_norm*", "layernorm_*", "*_eps", "*_epsilon",
    "qk_layernorm", "postnorm", "residual_*", "apply_residual_*", "bias", "*_bias",
    "*_multiplier", "*_alpha_factor", "*_beta_factor", "clip_qkv", "scale_attn_*", "logit_*",
    "logits_*", "query_pre_attn_scalar", "attn_scale", "attn_temperature_tuning", "floor_scale",
    "do_layer_norm_before", "hc_eps", "hc_sinkhorn_iters", "latent_moe_use_norm",
    "attn_res_block_size", "num_ln_in_parallel_attn", "parallel_attn", "use_parallel_residual",
    "gate_lower_bound", "reorder_and_upcast_attn", "bias_dropout_fusion", "softmax_in_fp32",
    "rope_*", "*_rope", "*_rope_theta", "*_rope_interleave", "*_rope_scaling", "rotary*",
    "partial_rotary_factor", "alibi", "*_alibi", "use_dynamic_ntk", "*logn*", "n_ctx",
    "position_embedding_type", "max_window_layers", "original_max_position_embeddings",
    "initial_context_length", "mla_use_nope", "no_rope_layer*",
    "router_*", "moe_router_*", "moe_renormalize", "norm_topk_prob", "scoring_func",
    "routed_scaling_factor", "topk_*", "n_group", "num_expert_group", "use_grouped_topk",
    "use_routing_bias", "ep_size", "num_hash_layers", "moe_shared_expert_overlap",
    "shared_moe_mode",
    "output_*", "use_cache*", "calc_logits_*", "return_dict", "use_return_dict", "is_decoder", "add_cross_attention",
    "cross_attention_hidden_size", "tie_encoder_decoder", "pruned_heads", "torchscript",
    "chunk_size_feed_forward", "use_bfloat16", "tf_legacy_loss", "temperature", "top_k", "top_p",
    "typical_p", "max_length", "min_length", "max_new_tokens", "do_sample", "num_beams",
    "num_beam_groups", "num_return_sequences", "early_stopping", "*_penalty", "*_ngram_size",
    "bad_words_ids", "*suppress_tokens", "remove_invalid_values", "cache_implementation",
    "vision_*", "audio_*", "video_*", "image_*", "mm_*", "projector_*", "multimodal_*", "vt_*",
    "ignore_index", "language_model_only", "use_unified_*",
    "torch_dtype", "dtype", "*_dtype", "fp16", "bf16", "fp32", "quantization", "quantization_config", "compression_config",
    "attn_implementation", "use_flash*", "onnx_safe", "for_llm_compressor", "chunk_size", "mamba_chunk_size", "time_step_*", "mamba_dt_*",
    "use_mamba_kernels", "num_logits_to_keep", "fuse_*", "attn_mode", "use_l2warp", "unsloth_*",
    "index_share_for_mtp_iteration", "mtp_use_dedicated_embeddings", "slow_but_exact",
    "masked_softmax_fusion", "attention_softmax_in_fp32", "skip_bias_add*",
    /* clang-format on */
};

/* The same of fields that change what layers keep or compute, where a family does not read them. */
static const char *const decisive[] = {
    /* clang-format off */
    "layer_types", "layers_block_type", "block_configs", "hybrid_*", "attn_type_list", "attn_layer_*",
    "attn", "full_attention_*", "full_attn_*", "cross_attention_layers", "is_encoder_decoder",
    "encoder_layers", "*sliding_window*", "attention_chunk_size", "window_size",
    "attn_window*", "sparse_*", "index_*", "indexer_*", "compress_*", "num_kv_shared_layers",
    "hidden_size_per_layer_input", "per_layer_*", "attention_k_eq_v", "global_head_dim",
    "num_global_key_value_heads", "value_dim", "v_head_dim", "qk_nope_head_dim", "qk_rope_head_dim", "kv_lora_rank",
    "q_lora_rank", "o_lora_rank", "o_groups", "hc_mult", "*output_gate", "multi_query*",
    "linear_*", "mamba_*", "ssm_*", "conv_kernel", "state_size",
    "num_experts*", "num_local_experts", "n_routed_experts", "n_shared_experts",
    "num_shared_experts", "moe_*", "interleave_moe_*", "expert_layer_*", "first_k_dense_replace",
    "shared_intermediate_size", "shared_expert_*", "mlp_only_layers", "mlp_layer_types",
    "decoder_sparse_step", "routed_expert_hidden_size", "use_double_wide_mlp", "enable_moe_block",
    "word_embed_proj_dim", "altup_*", "laurel_*",
    "num_nextn_predict_layers", "num_mtp_modules", "use_mtp", "mtp_*",
    /* clang-format on */
};

static bool matches(const char *pattern, const char *name) {
    size_t length = strlen(pattern);
    bool is_open_front = pattern[0] == '*';
    bool is_open_back = pattern[length - 1] == '*';
    const char *core = pattern + is_open_front;
    size_t core_length = length - is_open_front - is_open_back;
    size_t name_length = strlen(name);
    if (name_length < core_length) {
        return false;
    }
    if (is_open_front && is_open_back) {
        for (size_t i = 0; i + core_length <= name_length; i++) {
            if (strncmp(name + i, core, core_length) == 0) {
                return true;
            }
        }
        return false;
    }
    size_t start = is_open_front ? name_length - core_length : 0;
    bool is_whole = is_open_front || is_open_back || name_length == core_length;
    return is_whole && strncmp(name + start, core, core_length) == 0;
}

static bool is_among(const char *name, const char *const *patterns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (matches(patterns[i], name)) {
            return true;
        }
    }
    return false;
}

/* null, false, 0, "", [] and {} say that there is no such thing. */
static bool is_neutral(const sli_node *node) {
    if (node->kind != SLI_NODE_SCALAR) {
        return node->count == 0;
    }
    return sli_json_is_null(node) || node->text[0] == '\0' || strcmp(node->text, "false") == 0 ||
           strcmp(node->text, "0") == 0;
}

/* The harmless ones that were not known, for one warning. */
typedef struct unknown_list {
    sli_mark mark; /* of the first */
    char *names;
} unknown_list;

static void judge(sli_fields *fields, const char *family, const sli_node *child,
                  unknown_list *unknown) {
    enum { DECISIVE = sizeof decisive / sizeof decisive[0] };
    enum { HARMLESS = sizeof harmless / sizeof harmless[0] };
    if (is_neutral(child) || is_among(child->key, harmless, HARMLESS)) {
        return;
    }
    if (is_among(child->key, decisive, DECISIVE)) {
        sli_fields_conflict(fields, child->key,
                            "changes what layers keep or compute, and how is not known for '%s'",
                            family);
        return;
    }
    if (unknown->names == NULL) {
        unknown->mark = child->key_mark;
    }
    unknown->names = sli_arena_printf(
        fields->arena, "%s%s%s%s", unknown->names != NULL ? unknown->names : "",
        unknown->names != NULL ? ", " : "", fields->path, sli_excerpt_of(child->key).text);
    fields->state->is_out_of_memory |= unknown->names == NULL;
}

static void judge_all(sli_fields *fields, const char *family, unknown_list *unknown) {
    size_t i = 0;
    for (const sli_node *child = fields->map->first; child != NULL; child = child->next, i++) {
        if (!fields->is_read[i]) {
            judge(fields, family, child, unknown);
        }
    }
    for (sli_fields *inner = fields->inner; inner != NULL; inner = inner->next) {
        judge_all(inner, family, unknown);
    }
}

sl_err sli_fields_close(sli_fields *fields, const char *family, int errors_before) {
    unknown_list unknown = {.names = NULL};
    if (!fields->state->is_flawed) { /* else some may not have been come to */
        judge_all(fields, family, &unknown);
    }
    if (unknown.names != NULL) {
        sli_diag_warning(fields->diag, unknown.mark, NULL,
                         "fields that are not known, and look harmless: %s", unknown.names);
    }
    if (fields->state->is_out_of_memory || fields->diag->is_out_of_memory) {
        return SL_ERR_NOMEM;
    }
    return fields->diag->error_count > errors_before ? SL_ERR_CONFIG : SL_OK;
}

/* ---- Looking up ---- */

static sli_fields *open_object(sli_arena *arena, const sli_node *map, sli_diag *diag,
                               sli_fields_state *state) {
    sli_fields *fields = sli_arena_alloc(arena, sizeof *fields);
    bool *is_read = sli_arena_array(arena, map->count, sizeof *is_read);
    if (fields == NULL || is_read == NULL) {
        return NULL;
    }
    *fields = (sli_fields){
        .arena = arena, .diag = diag, .state = state, .map = map, .path = "", .is_read = is_read};
    return fields;
}

sli_fields *sli_fields_open(sli_arena *arena, const sli_node *map, sli_diag *diag) {
    sli_fields_state *state = sli_arena_alloc(arena, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->before = diag->last;
    return open_object(arena, map, diag, state);
}

/* The length of the first name of `a|b|c`. */
static size_t name_length(const char *names) {
    return strcspn(names, "|");
}

static bool is_named(const char *key, const char *name) {
    size_t length = name_length(name);
    return strncmp(key, name, length) == 0 && key[length] == '\0';
}

static bool is_any_of(const char *key, const char *names) {
    for (const char *name = names; *name != '\0'; name += name_length(name)) {
        name += *name == '|';
        if (is_named(key, name)) {
            return true;
        }
    }
    return false;
}

static const sli_node *find_here(const sli_fields *fields, const char *names) {
    for (const char *name = names; *name != '\0'; name += name_length(name)) {
        name += *name == '|';
        for (const sli_node *child = fields->map->first; child != NULL; child = child->next) {
            if (is_named(child->key, name) && !sli_json_is_null(child)) {
                return child;
            }
        }
    }
    return NULL;
}

/* The other names say the same thing, so they are looked at too. */
static void mark_read(sli_fields *fields, const char *names) {
    for (const char *name = names; *name != '\0'; name += name_length(name)) {
        name += *name == '|';
        size_t i = 0;
        for (const sli_node *child = fields->map->first; child != NULL; child = child->next, i++) {
            fields->is_read[i] |= is_named(child->key, name);
        }
    }
}

static const sli_node *take(sli_fields *fields, const char *names) {
    const sli_node *node = NULL;
    for (sli_fields *at = fields; at != NULL; at = at->outer) {
        mark_read(at, names);
        node = node != NULL ? node : find_here(at, names);
    }
    return node;
}

bool sli_fields_has(const sli_fields *fields, const char *names) {
    for (const sli_fields *at = fields; at != NULL; at = at->outer) {
        if (find_here(at, names) != NULL) {
            return true;
        }
    }
    return false;
}

bool sli_fields_is_absent(const sli_fields *fields, const char *names) {
    for (const sli_fields *at = fields; at != NULL; at = at->outer) {
        for (const sli_node *child = at->map->first; child != NULL; child = child->next) {
            if (is_any_of(child->key, names)) {
                return false;
            }
        }
    }
    return true;
}

bool sli_fields_is_text(const sli_fields *fields, const char *names) {
    const sli_node *node = find_here(fields, names);
    return node != NULL && node->kind == SLI_NODE_SCALAR && node->is_quoted;
}

bool sli_fields_is_list(const sli_fields *fields, const char *names) {
    const sli_node *node = find_here(fields, names);
    return node != NULL && node->kind == SLI_NODE_LIST;
}

void sli_fields_skip(sli_fields *fields, const char *names) {
    (void)take(fields, names);
}

void sli_fields_skip_rest(sli_fields *fields) {
    for (size_t i = 0; i < fields->map->count; i++) {
        fields->is_read[i] = true;
    }
}

static const sli_field_default *find_default(const sli_fields *fields, const char *names) {
    for (const sli_field_default *row = fields->defaults; row != NULL && row->name != NULL; row++) {
        if (is_any_of(row->name, names)) {
            return row;
        }
    }
    return NULL;
}

/* ---- Mistakes ---- */

/* Where the field stands, in this object or in an outer one. */
static const sli_fields *owner_of(const sli_fields *fields, const char *names,
                                  const sli_node **node) {
    for (const sli_fields *at = fields; at != NULL; at = at->outer) {
        *node = find_here(at, names);
        if (*node != NULL) {
            return at;
        }
    }
    return fields;
}

/* A field may be asked for more than once; what is wrong with it is said once. */
static void add_once(sli_fields *fields, bool is_error, sli_mark mark, const char *path,
                     const char *message) {
    fields->state->is_out_of_memory |= path == NULL || message == NULL;
    if (path == NULL || message == NULL) {
        return;
    }
    const sli_diag_entry *before = fields->state->before;
    const sli_diag_entry *entry = before != NULL ? before->next : fields->diag->first;
    for (; entry != NULL; entry = entry->next) {
        if (entry->path != NULL && strcmp(entry->path, path) == 0 &&
            strcmp(entry->message, message) == 0) {
            return;
        }
    }
    if (is_error) {
        sli_diag_error(fields->diag, mark, path, "%s", message);
    } else {
        sli_diag_warning(fields->diag, mark, path, "%s", message);
    }
}

/* `text_config.head_dim`, or with an item `text_config.layer_types[3]`. */
static const char *path_of(sli_fields *fields, const char *names, size_t item) {
    const sli_node *node = NULL;
    const sli_fields *owner = owner_of(fields, names, &node);
    char index[32] = "";
    if (item != SIZE_MAX) {
        snprintf(index, sizeof index, "[%zu]", item);
    }
    const char *key = node != NULL ? node->key : names;
    return sli_arena_printf(fields->arena, "%s%.*s%s", owner->path, (int)name_length(key), key,
                            index);
}

static void report(sli_fields *fields, const char *names, size_t item, sli_mark mark,
                   const char *message) {
    add_once(fields, true, mark, path_of(fields, names, item), message);
}

static void report_field(sli_fields *fields, bool is_error, const char *names, const char *format,
                         va_list args) {
    const sli_node *node = NULL;
    (void)owner_of(fields, names, &node);
    add_once(fields, is_error, node != NULL ? node->mark : fields->map->mark,
             path_of(fields, names, SIZE_MAX), sli_arena_vprintf(fields->arena, format, args));
}

void sli_fields_warn(sli_fields *fields, const char *names, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report_field(fields, false, names, format, args);
    va_end(args);
}

void sli_fields_error(sli_fields *fields, const char *names, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report_field(fields, true, names, format, args);
    va_end(args);
    fields->state->is_flawed = true;
}

void sli_fields_conflict(sli_fields *fields, const char *names, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!fields->state->is_flawed) {
        report_field(fields, true, names, format, args);
    }
    va_end(args);
}

static const char *describe(const sli_node *node, sli_excerpt *excerpt) {
    switch (node->kind) {
    case SLI_NODE_MAP:
        return "an object";
    case SLI_NODE_LIST:
        return "a list";
    case SLI_NODE_SCALAR:
        break;
    }
    sli_excerpt text = sli_excerpt_of(node->text);
    char quote = node->is_quoted ? '"' : '\'';
    snprintf(excerpt->text, sizeof excerpt->text, "%c%.70s%c", quote, text.text, quote);
    return excerpt->text;
}

static void report_type(sli_fields *fields, const char *names, size_t item, const sli_node *node,
                        const char *expected) {
    sli_excerpt excerpt;
    report(fields, names, item, node->mark,
           sli_arena_printf(fields->arena, "expected %s, found %s", expected,
                            describe(node, &excerpt)));
    fields->state->is_flawed = true;
}

/* `head_dim`, or `vocab_size (or n_vocab)`. */
static void report_missing(sli_fields *fields, const char *names) {
    size_t length = name_length(names);
    const char *others = names[length] == '|' ? names + length + 1 : "";
    char text[160] = "";
    size_t used = 0;
    for (const char *name = others; *name != '\0' && used < sizeof text;
         name += name_length(name)) {
        name += *name == '|';
        used += (size_t)snprintf(text + used, sizeof text - used, " or '%.*s'",
                                 (int)name_length(name), name);
    }
    size_t depth = strlen(fields->path);
    const char *path = sli_arena_copy(fields->arena, fields->path, depth - (depth > 0));
    add_once(fields, true, fields->map->mark, path,
             sli_arena_printf(fields->arena, "missing field '%.*s'%s", (int)length, names, text));
    fields->state->is_flawed = true;
}

/* ---- Scalars ---- */

static bool is_plain(const sli_node *node) {
    return node->kind == SLI_NODE_SCALAR && !node->is_quoted;
}

/* False after a message. */
static bool read_int(sli_fields *fields, const char *names, size_t item, const sli_node *node,
                     int64_t min, int64_t max, int64_t *value) {
    if (!is_plain(node) || sli_parse_int(node->text, SL_DIM_NONE, value) != SLI_UNIT_OK) {
        report_type(fields, names, item, node, "a whole number");
        return false;
    }
    if (*value < min || *value > max) {
        char expected[96];
        snprintf(expected, sizeof expected, "a number between %lld and %lld", (long long)min,
                 (long long)max);
        report_type(fields, names, item, node, expected);
        return false;
    }
    return true;
}

int64_t sli_fields_int(sli_fields *fields, const char *names, int64_t min, int64_t max) {
    if (!sli_fields_has(fields, names) && find_default(fields, names) == NULL) {
        report_missing(fields, names);
    }
    return sli_fields_int_or(fields, names, min, max, min);
}

int64_t sli_fields_int_or(sli_fields *fields, const char *names, int64_t min, int64_t max,
                          int64_t fallback) {
    const sli_node *node = take(fields, names);
    const sli_field_default *of_family = find_default(fields, names);
    int64_t value = of_family != NULL ? of_family->value : fallback;
    return node == NULL || read_int(fields, names, SIZE_MAX, node, min, max, &value) ? value : min;
}

bool sli_fields_bool_or(sli_fields *fields, const char *names, bool fallback) {
    const sli_node *node = take(fields, names);
    if (node == NULL) {
        return fallback;
    }
    bool is_true = is_plain(node) && strcmp(node->text, "true") == 0;
    bool is_false = is_plain(node) && strcmp(node->text, "false") == 0;
    if (!is_true && !is_false) {
        report_type(fields, names, SIZE_MAX, node, "true or false");
    }
    return is_true;
}

const char *sli_fields_text_or(sli_fields *fields, const char *names, const char *fallback) {
    const sli_node *node = take(fields, names);
    if (node == NULL) {
        return fallback;
    }
    if (node->kind != SLI_NODE_SCALAR) {
        report_type(fields, names, SIZE_MAX, node, "a text");
        return fallback;
    }
    return node->text;
}

/* ---- Words ---- */

enum { WORDS_MAX = 16 };

/* `full_attention or sliding_attention`, with the nearest one; NULL when memory is out. */
static const char *word_message(sli_arena *arena, const sli_field_word *words,
                                const sli_node *node) {
    const char *names[WORDS_MAX] = {NULL};
    size_t count = 0;
    const char *list = "";
    for (; words[count].word != NULL && count < WORDS_MAX && list != NULL; count++) {
        names[count] = words[count].word;
        const char *between = count == 0 ? "" : words[count + 1].word == NULL ? " or " : ", ";
        list = sli_arena_printf(arena, "%s%s'%s'", list, between, words[count].word);
    }
    sli_excerpt excerpt;
    const char *near = node->kind == SLI_NODE_SCALAR ? sli_nearest(node->text, names, count) : NULL;
    return list == NULL
               ? NULL
               : sli_arena_printf(arena, "expected %s, found %s%s%s%s", list,
                                  describe(node, &excerpt), near != NULL ? "; did you mean '" : "",
                                  near != NULL ? near : "", near != NULL ? "'?" : "");
}

static bool read_word(sli_fields *fields, const char *names, size_t item, const sli_node *node,
                      const sli_field_word *words, int64_t *code) {
    for (const sli_field_word *word = words; word->word != NULL; word++) {
        if (node->kind == SLI_NODE_SCALAR && strcmp(node->text, word->word) == 0) {
            *code = word->code;
            return true;
        }
    }
    report(fields, names, item, node->mark, word_message(fields->arena, words, node));
    fields->state->is_flawed = true;
    return false;
}

int64_t sli_fields_word_or(sli_fields *fields, const char *names, const sli_field_word *words,
                           int64_t fallback) {
    const sli_node *node = take(fields, names);
    int64_t code = fallback;
    return node == NULL || read_word(fields, names, SIZE_MAX, node, words, &code) ? code : fallback;
}

/* ---- Lists ---- */

const sli_node *sli_fields_list(sli_fields *fields, const char *names) {
    const sli_node *node = take(fields, names);
    if (node != NULL && node->kind != SLI_NODE_LIST) {
        report_type(fields, names, SIZE_MAX, node, "a list");
        return NULL;
    }
    return node;
}

static void *allocate(sli_fields *fields, size_t count, size_t size) {
    void *array = sli_arena_array(fields->arena, count, size);
    fields->state->is_out_of_memory |= array == NULL;
    return array;
}

const int64_t *sli_fields_codes(sli_fields *fields, const char *names, const sli_field_word *words,
                                size_t count) {
    const sli_node *list = sli_fields_list(fields, names);
    if (list == NULL || list->count == 0) {
        return NULL;
    }
    if (list->count != count) {
        sli_fields_error(fields, names, "expected %zu items, one a layer, found %zu", count,
                         list->count);
        return NULL;
    }
    int64_t *codes = allocate(fields, count, sizeof *codes);
    bool is_read = codes != NULL;
    size_t i = 0;
    for (const sli_node *item = list->first; item != NULL && is_read; item = item->next, i++) {
        is_read = read_word(fields, names, i, item, words, &codes[i]);
    }
    return is_read ? codes : NULL;
}

const int64_t *sli_fields_letters(sli_fields *fields, const char *names,
                                  const sli_field_word *words, size_t *count) {
    const sli_node *node = take(fields, names);
    if (node == NULL) {
        return NULL;
    }
    if (node->kind != SLI_NODE_SCALAR || node->text[0] == '\0') {
        report_type(fields, names, SIZE_MAX, node, "a text with a letter for each layer");
        return NULL;
    }
    *count = strlen(node->text);
    int64_t *codes = allocate(fields, *count, sizeof *codes);
    for (size_t i = 0; i < *count && codes != NULL; i++) {
        sli_node letter = {.kind = SLI_NODE_SCALAR,
                           .is_quoted = true,
                           .mark = node->mark,
                           .text = (const char[]){node->text[i], '\0'}};
        if (!read_word(fields, names, i, &letter, words, &codes[i])) {
            return NULL;
        }
    }
    return codes;
}

const bool *sli_fields_places(sli_fields *fields, const char *names, int64_t base, size_t count) {
    const sli_node *list = sli_fields_list(fields, names);
    bool *places = list != NULL ? allocate(fields, count, sizeof *places) : NULL;
    if (places == NULL) {
        return NULL;
    }
    size_t i = 0;
    for (const sli_node *item = list->first; item != NULL; item = item->next, i++) {
        int64_t place;
        if (!read_int(fields, names, i, item, base, base + (int64_t)count - 1, &place)) {
            return NULL;
        }
        places[place - base] = true;
    }
    return places;
}

/* ---- Objects ---- */

sli_fields *sli_fields_object(sli_fields *fields, const char *names) {
    const sli_node *node = take(fields, names);
    if (node == NULL) {
        return NULL;
    }
    if (node->kind != SLI_NODE_MAP) {
        report_type(fields, names, SIZE_MAX, node, "an object");
        return NULL;
    }
    sli_fields *object = open_object(fields->arena, node, fields->diag, fields->state);
    if (object != NULL) {
        const char *above = owner_of(fields, names, &node)->path;
        object->path = sli_arena_printf(fields->arena, "%s%s.", above, node->key);
        object->next = fields->inner;
        fields->inner = object;
    }
    fields->state->is_out_of_memory |= object == NULL || object->path == NULL;
    return object != NULL && object->path != NULL ? object : NULL;
}
