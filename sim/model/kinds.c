#include "model/kinds.h"

static const sli_named_type mixers[] = {
    {.name = "gqa", .section = &sli_gqa_section, .item = &sli_gqa_kind},
    {.name = "mla", .section = &sli_mla_section, .item = &sli_mla_kind},
    {.name = "compressed", .section = &sli_compressed_section, .item = &sli_compressed_kind},
    {.name = "recurrent", .section = &sli_recurrent_section, .item = &sli_recurrent_kind},
    {.name = "none", .item = &sli_none_kind},
};

static const sli_named_type ffns[] = {
    {.name = "dense", .section = &sli_dense_section, .item = &sli_dense_kind},
    {.name = "moe", .section = &sli_moe_section, .item = &sli_moe_kind},
    {.name = "none", .item = &sli_none_kind},
};

const sli_named_type *sli_mixer_types(const void *context, size_t *count) {
    (void)context; /* the same for all models */
    *count = sizeof mixers / sizeof mixers[0];
    return mixers;
}

const sli_named_type *sli_ffn_types(const void *context, size_t *count) {
    (void)context;
    *count = sizeof ffns / sizeof ffns[0];
    return ffns;
}
