/*
 * Experts that tokens are routed to, and shared ones that all tokens pass. Experts may work on a
 * narrower stream than the model's (Kimi K3: latent experts), with a projection on either side.
 */
#include "model/kinds.h"

#include <math.h>

typedef struct moe {
    int64_t experts;
    int64_t top_k;
    int64_t width;
    int64_t shared;
    int64_t shared_width;  /* of each; 0 = width */
    int64_t expert_hidden; /* 0 = the residual stream's */
    bool is_gated;
} moe;

static const sl_word same_words[] = {{"same", 0}, {NULL, 0}};

static const sl_param moe_params[] = {
    {.name = "experts",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .help = "routed experts",
     .offset = offsetof(moe, experts)},
    {.name = "top_k",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .help = "experts that a token is routed to",
     .offset = offsetof(moe, top_k)},
    {.name = "width",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e7,
     .help = "width of the inner layer of an expert",
     .offset = offsetof(moe, width)},
    {.name = "shared",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 1e6,
     .fallback = "0",
     .help = "experts that all tokens pass",
     .offset = offsetof(moe, shared)},
    {.name = "shared_width",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e7,
     .words = same_words,
     .fallback = "same",
     .help = "width of a shared expert; same = width",
     .offset = offsetof(moe, shared_width)},
    {.name = "expert_hidden",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .words = same_words,
     .fallback = "same",
     .help = "width of the stream that routed experts work on; same = hidden",
     .offset = offsetof(moe, expert_hidden)},
    {.name = "gated",
     .type = SL_TYPE_BOOL,
     .fallback = "on",
     .help = "whether a second projection gates the inner layer of an expert",
     .offset = offsetof(moe, is_gated)},
};

const sli_section sli_moe_section = {
    .params = moe_params,
    .param_count = sizeof moe_params / sizeof moe_params[0],
    .struct_size = sizeof(moe),
};

static const char *check_moe(const void *values) {
    const moe *self = values;
    return self->top_k > self->experts ? "top_k is more than there are experts" : NULL;
}

/* All of them can be cut by their columns; how many routed ones a rank has whole is a matter of
 * the placement. */
static void describe_moe(const void *values, int64_t hidden, sli_part_facts *facts) {
    const moe *self = values;
    int64_t ups = self->is_gated ? 2 : 1;
    int64_t stream = self->expert_hidden > 0 ? self->expert_hidden : hidden;
    int64_t latent = self->expert_hidden;
    int64_t wide = self->shared_width > 0 ? self->shared_width : self->width;
    int64_t width = self->width;
    int64_t count = self->experts;
    int64_t shared = self->shared;
    int64_t used = self->top_k;
    sli_facts_matrix(facts, (sli_matrix){"router", hidden, count, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"latent in", hidden, latent, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"expert up", stream, ups * width, width, count, used});
    sli_facts_matrix(facts, (sli_matrix){"expert down", width, stream, width, count, used});
    sli_facts_matrix(facts, (sli_matrix){"latent out", latent, hidden, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"shared up", hidden, ups * wide, wide, shared, shared});
    sli_facts_matrix(facts, (sli_matrix){"shared down", wide, hidden, wide, shared, shared});
}

double sli_moe_distinct(int64_t experts, int64_t top_k, int64_t tokens) {
    double missed = 1.0 - (double)top_k / (double)experts;
    return (double)experts * (1.0 - pow(missed, (double)tokens));
}

const sli_layer_kind sli_moe_kind = {
    .name = "moe",
    .help = "experts that tokens are routed to",
    .check = check_moe,
    .describe = describe_moe,
};
