/*
 * One feed-forward for all tokens: down(act(gate x) * up x), or down(act(up x)) when not gated.
 */
#include "model/kinds.h"

static const sl_param dense_params[] = {
    {.name = "width",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e7,
     .help = "width of the inner layer",
     .offset = offsetof(sli_dense, width)},
    {.name = "gated",
     .type = SL_TYPE_BOOL,
     .fallback = "on",
     .help = "whether a second projection gates the inner layer",
     .offset = offsetof(sli_dense, is_gated)},
};

const sli_section sli_dense_section = {
    .params = dense_params,
    .param_count = sizeof dense_params / sizeof dense_params[0],
    .struct_size = sizeof(sli_dense),
};

static void describe_dense(const void *values, int64_t hidden, sli_part_facts *facts) {
    const sli_dense *dense = values;
    int64_t width = dense->width;
    sli_facts_matrix(facts, (sli_matrix){"gate", hidden, dense->is_gated ? width : 0, width, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"up", hidden, width, width, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"down", width, hidden, width, 1, 1});
}

const sli_layer_kind sli_dense_kind = {
    .name = "dense",
    .help = "one feed-forward for all tokens",
    .describe = describe_dense,
};
