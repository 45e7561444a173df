#include "model/weights.h"

#include "base/divide.h"

#include <stddef.h>
#include <stdio.h>

/* ---- In a file ---- */

#define SORT(key, sort, text)                                                                      \
    {                                                                                              \
        .name = key, .type = SL_TYPE_CHOICE, .choices = sli_weight_format_or_same,                 \
        .words = sli_weight_format_or_same_words, .fallback = "same", .help = text,                \
        .offset = offsetof(sli_weights_config, of[sort])                                           \
    }

static const sl_param weights_params[] = {
    {.name = "else",
     .type = SL_TYPE_CHOICE,
     .choices = sli_weight_format_names,
     .words = sli_weight_format_words,
     .fallback = "bf16",
     .help = "what has no format of its own",
     .offset = offsetof(sli_weights_config, of[SLI_WEIGHT_ELSE])},
    SORT("experts", SLI_WEIGHT_EXPERT, "routed experts; same = as all else"),
    SORT("attention", SLI_WEIGHT_ATTENTION, "the matrices of mixers, recurrent ones too"),
    SORT("embeddings", SLI_WEIGHT_EMBEDDING, "embeddings and head"),
};

const sli_section sli_weights_section = {
    .params = weights_params,
    .param_count = sizeof weights_params / sizeof weights_params[0],
    .struct_size = sizeof(sli_weights_config),
    .shorthand = "else",
};

sli_weights sli_weights_read(const sli_weights_config *config) {
    const sli_weight_format *other = &sli_weight_formats[config->of[SLI_WEIGHT_ELSE]];
    sli_weights weights = sli_weights_all(other);
    for (int sort = 0; sort < SLI_WEIGHT_ELSE; sort++) {
        int chosen = config->of[sort];
        weights.of[sort] = chosen > 0 ? &sli_weight_formats[chosen - 1] : other;
    }
    return weights;
}

/* ---- Values ---- */

sli_weights sli_weights_all(const sli_weight_format *format) {
    sli_weights weights;
    for (int sort = 0; sort < SLI_WEIGHT_SORTS; sort++) {
        weights.of[sort] = format;
    }
    return weights;
}

bool sli_weights_are(const sli_weights *weights, const sli_weight_format *format) {
    for (int sort = 0; sort < SLI_WEIGHT_SORTS; sort++) {
        if (weights->of[sort] != format) {
            return false;
        }
    }
    return true;
}

sli_weights_text sli_weights_say(const sli_weights *weights) {
    static const char *const sorts[] = {[SLI_WEIGHT_EXPERT] = "experts",
                                        [SLI_WEIGHT_ATTENTION] = "attention",
                                        [SLI_WEIGHT_EMBEDDING] = "embeddings"};
    const sli_weight_format *other = weights->of[SLI_WEIGHT_ELSE];
    sli_weights_text said;
    int used = 0;
    for (int sort = 0; sort < SLI_WEIGHT_ELSE; sort++) {
        if (weights->of[sort] != other) {
            used += snprintf(said.text + used, sizeof said.text - (size_t)used, "%s %s, ",
                             weights->of[sort]->name, sorts[sort]);
        }
    }
    snprintf(said.text + used, sizeof said.text - (size_t)used, "%s%s", other->name,
             used > 0 ? " else" : "");
    return said;
}

/* ---- Bytes ---- */

/* Whether an earlier sort has the format too. */
static bool is_counted(const sli_weights *weights, int sort) {
    for (int earlier = 0; earlier < sort; earlier++) {
        if (weights->of[earlier] == weights->of[sort]) {
            return true;
        }
    }
    return false;
}

int64_t sli_weights_bytes(const sli_weights *weights, const sli_weight_params *params) {
    int64_t bytes = 0;
    for (int first = 0; first < SLI_WEIGHT_SORTS; first++) {
        const sli_weight_format *format = weights->of[first];
        int64_t together = 0;
        for (int sort = first; sort < SLI_WEIGHT_SORTS && !is_counted(weights, first); sort++) {
            together += weights->of[sort] == format ? params->of[sort] : 0;
        }
        bytes += sli_divide_up(together, format->group_params) * format->group_bytes;
    }
    return bytes;
}

double sli_weights_share_bytes(const sli_weights *weights, sli_weight_sort sort, double params) {
    const sli_weight_format *format = weights->of[sort];
    return params * (double)format->group_bytes / (double)format->group_params;
}
