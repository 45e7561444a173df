/*
 * In which formats a checkpoint stores its weights, as quantization_config, expert_dtype and
 * torch_dtype say it.
 *
 * Methods and their keys: huggingface/transformers (2026), compressed-tensors and NVIDIA's
 * modelopt. mxfp4 of transformers is for experts alone; the others convert all linear layers but
 * those that the file leaves out. What is not known is named in a warning, with what is counted
 * instead.
 */
#include "import/shared.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- Words ---- */

typedef struct word {
    const char *word;   /* as the files have it, in any case */
    const char *format; /* a name of model/format.h */
} word;

static const word words[] = {
    {"bfloat16", "bf16"},   {"bf16", "bf16"},
    {"float16", "bf16"},    {"fp16", "bf16"},
    {"half", "bf16"},       {"fp8", "fp8"},
    {"fbgemm_fp8", "fp8"},  {"float8_e4m3fn", "fp8"},
    {"float8_e5m2", "fp8"}, {"float-quantized", "fp8"},
    {"int8", "int8"},       {"int-quantized", "int8"},
    {"int4", "int4"},       {"fp4", "mxfp4"},
    {"mxfp4", "mxfp4"},     {"mxfp4-pack-quantized", "mxfp4"},
    {"nvfp4", "nvfp4"},     {"nvfp4-pack-quantized", "nvfp4"},
    {NULL, NULL},
};

static const char *find_format(const char *text) {
    const word *row = words;
    while (text != NULL && row->word != NULL && strcasecmp(row->word, text) != 0) {
        row++;
    }
    return text != NULL ? row->format : NULL;
}

/* ---- Integers ---- */

/* The object of the first group of compressed-tensors; NULL where there is none. */
static sli_fields *open_group(sli_fields *quantisation) {
    sli_fields *groups = sli_fields_object(quantisation, "config_groups");
    if (groups == NULL || groups->map->first == NULL) {
        return NULL;
    }
    sli_fields *first = sli_fields_object(groups, groups->map->first->key);
    sli_fields *weights = first != NULL ? sli_fields_object(first, "weights") : NULL;
    if (groups->map->count > 1) {
        sli_fields_warn(quantisation, "config_groups",
                        "layers in %zu groups; all are counted as the first", groups->map->count);
    }
    sli_fields_skip_rest(groups);
    if (first != NULL) {
        sli_fields_skip_rest(first);
    }
    return weights;
}

/* By bits and group, where the method is known by no word; NULL = there are none. */
static const char *find_integers(sli_fields *quantisation) {
    enum { BITS_MAX = 16, GROUP_MAX = 1 << 20, INT4_GROUP = 32 };
    sli_fields *group = open_group(quantisation);
    sli_fields *from = group != NULL ? group : quantisation;
    int64_t bits = sli_fields_int_or(from, "num_bits|bits|w_bit", 1, BITS_MAX, 0);
    int64_t size = sli_fields_int_or(from, "group_size|q_group_size", -1, GROUP_MAX, INT4_GROUP);
    const char *type = sli_fields_text_or(from, "type", "int");
    if (group != NULL) {
        sli_fields_skip_rest(group);
    }
    if (strcmp(type, "float") == 0) {
        return bits == 8 ? "fp8" : bits == 4 ? size == 16 ? "nvfp4" : "mxfp4" : NULL;
    }
    if (bits == 4 && size != INT4_GROUP) {
        sli_fields_warn(from, "group_size|q_group_size",
                        "4 bits in groups of %lld are counted as int4, in groups of %d",
                        (long long)size, INT4_GROUP);
    }
    return bits == 8 ? "int8" : bits == 4 ? "int4" : NULL;
}

/* ---- What is left as it was ---- */

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

/* One of the layers, as `model.layers.3.self_attn`. */
static bool is_single(const char *module) {
    const char *at = strstr(module, "layers.");
    return at != NULL && isdigit((unsigned char)at[strlen("layers.")]);
}

/* Of a name, or of one of several ways that a pattern has for a part of one: `gate` and `up` are no
 * names in `(gate|up)_proj`. */
static bool is_of_name(char character) {
    return isalnum((unsigned char)character) || character == '_' || character == '|';
}

/* `gate` in `model.layers.3.mlp.gate`, in `re:.*mlp\.gate$` and in `*.gate.*`, but not in
 * `mlp.gate_up_proj`. */
static bool has_whole(const char *module, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(module, name); at != NULL; at = strstr(at + 1, name)) {
        bool begins = at == module || !is_of_name(at[-1]);
        if (begins && !is_of_name(at[length])) {
            return true;
        }
    }
    return false;
}

/* Routers, norms and short convolutions are too small to count, and other modalities are not
 * modelled. */
static bool is_small(const char *module) {
    static const char *const names[] = {"gate", "shared_expert_gate", "router", "conv1d", NULL};
    static const char *const parts[] = {"norm",      "score", "vis", "mm_",     "multi_modal",
                                        "projector", "audio", "mtp", "eh_proj", NULL};
    for (size_t i = 0; names[i] != NULL; i++) {
        if (has_whole(module, names[i])) {
            return true;
        }
    }
    for (size_t i = 0; parts[i] != NULL; i++) {
        if (has(module, parts[i])) {
            return true;
        }
    }
    return false;
}

/* Whether it is known what sort of weights the module is. */
static bool leave_out(sli_import_weights *weights, const char *module, const char *plain) {
    if (is_small(module)) {
        return true;
    }
    if (is_single(module)) {
        return false;
    }
    if (has(module, "attn")) {
        weights->attention = plain;
    } else if (has(module, "lm_head") || has(module, "embed")) {
        weights->embeddings = plain;
    } else if (has(module, "shared_expert") || (has(module, "mlp") && !has(module, "experts"))) {
        weights->other = plain;
    } else {
        return false;
    }
    return true;
}

static void leave_all_out(sli_fields *quantisation, sli_import_weights *weights,
                          const char *plain) {
    static const char names[] = "modules_to_not_convert|ignore|ignored_layers|exclude_modules";
    const sli_node *list = sli_fields_list(quantisation, names);
    const sli_node *unknown = NULL;
    for (const sli_node *item = list != NULL ? list->first : NULL; item != NULL;
         item = item->next) {
        bool is_known = item->kind == SLI_NODE_SCALAR && leave_out(weights, item->text, plain);
        unknown = unknown != NULL || is_known ? unknown : item;
    }
    if (unknown != NULL) {
        sli_fields_warn(quantisation, names, "'%s' is counted as quantised like the others",
                        unknown->kind == SLI_NODE_SCALAR ? unknown->text : "a list or an object");
    }
}

/* ---- All of it ---- */

/* The type of what is not quantised. fp32 is for training: engines load it in 16 bits. */
static const char *read_type(sli_fields *fields) {
    static const char names[] = "torch_dtype|dtype";
    const char *type = sli_fields_text_or(fields, names, "bfloat16");
    const char *format = find_format(type);
    if (format == NULL) {
        sli_fields_warn(fields, names, "weights in '%s' are counted in bf16", type);
    }
    return format != NULL ? format : "bf16";
}

static void read_quantisation(sli_fields *fields, sli_import_weights *weights) {
    static const char name[] = "quantization_config";
    sli_fields *quantisation = sli_fields_object(fields, name);
    if (quantisation == NULL) {
        return;
    }
    const char *plain = weights->other;
    const char *method = sli_fields_text_or(quantisation, "quant_method", NULL);
    const char *detail = sli_fields_text_or(quantisation, "quant_algo|format", method);
    const char *format = find_format(detail);
    format = format != NULL ? format : find_integers(quantisation);
    format = format != NULL ? format : find_format(method);
    if (format == NULL) {
        sli_fields_warn(fields, name, "what '%s' does to weights is not known; counted in %s",
                        detail != NULL ? detail : "no quant_method", plain);
    } else {
        bool is_for_experts = method != NULL && strcmp(method, "mxfp4") == 0;
        const char *linear = is_for_experts ? plain : format;
        *weights = (sli_import_weights){
            .experts = format, .attention = linear, .embeddings = linear, .other = linear};
        leave_all_out(quantisation, weights, plain);
    }
    sli_fields_skip_rest(quantisation); /* how to read tensors */
}

static void read_expert_type(sli_fields *fields, sli_import_weights *weights) {
    static const char name[] = "expert_dtype";
    const char *type = sli_fields_text_or(fields, name, NULL);
    const char *format = find_format(type);
    if (format != NULL) {
        weights->experts = format;
    } else if (type != NULL) {
        sli_fields_warn(fields, name, "experts in '%s' are counted like all else", type);
    }
}

void sli_import_read_weights(sli_fields *fields, sli_import_model *model) {
    model->weights = (sli_import_weights){.other = read_type(fields)};
    read_quantisation(fields, &model->weights);
    read_expert_type(fields, &model->weights);
}
