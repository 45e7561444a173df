/*
 * Multi-head latent attention: one latent and one rotary key a token, shared by all heads
 * (DeepSeek-V2, section 2.1), and its sparse form with an index (DeepSeek-V3.2: DSA; GLM-5.2: an
 * index that several layers use).
 *
 * A query is put to the cache in one of two ways. Absorbed: the up-projections go into the query
 * and the output, so that it attends to latents, 2 q (2 c + r) FLOPs a key. Expanded: keys and
 * values are made from the latents first, 2 q (n + r + v) a key, and again for every chunk that is
 * put behind a cached prefix, 2 c q (n + v) a token of it. The up-projections of the tokens of the
 * step itself are the matrix kv_up in both.
 */
#include "model/kinds.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

typedef enum mla_mode { MLA_ABSORBED, MLA_EXPANDED, MLA_AUTO } mla_mode;

typedef enum index_owner { INDEX_NONE, INDEX_OWN, INDEX_SHARED } index_owner;

/* DeepSeek's lightning indexer. */
typedef struct mla_index {
    int owner; /* index_owner */
    int64_t heads;
    int64_t dim;
    int64_t top_tokens;
} mla_index;

typedef struct mla {
    int64_t q_heads;
    int64_t q_lora; /* 0 = queries are projected in one go */
    int64_t kv_lora;
    int64_t rope_dim;
    int64_t nope_dim;
    int64_t value_dim;
    bool has_output_gate;
    int prefill; /* mla_mode */
    mla_index index;
} mla;

static const char *const owners[] = {"none", "own", "shared", NULL};
static const char *const modes[] = {"absorbed", "expanded", "auto", NULL};
static const sl_word none_words[] = {{"none", 0}, {NULL, 0}};

static const sl_param index_params[] = {
    {.name = "keys",
     .type = SL_TYPE_CHOICE,
     .choices = owners,
     .fallback = "none",
     .help = "own = this layer chooses keys by an index; shared = by that of an earlier layer",
     .offset = offsetof(mla_index, owner)},
    {.name = "heads",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .fallback = "0",
     .help = "query heads of the index",
     .offset = offsetof(mla_index, heads)},
    {.name = "dim",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .fallback = "0",
     .help = "width of an index key, one a token",
     .offset = offsetof(mla_index, dim)},
    {.name = "top",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 0,
     .max = 1e9,
     .fallback = "0 tokens",
     .help = "keys that a query attends to",
     .offset = offsetof(mla_index, top_tokens)},
};

static const sli_section index_section = {
    .params = index_params,
    .param_count = COUNT_OF(index_params),
    .struct_size = sizeof(mla_index),
};

static const sl_param mla_params[] = {
    {.name = "q_heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "query heads",
     .offset = offsetof(mla, q_heads)},
    {.name = "q_lora",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .words = none_words,
     .help = "width that queries are made from; none = from the residual stream",
     .offset = offsetof(mla, q_lora)},
    {.name = "kv_lora",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .help = "width of the latent",
     .offset = offsetof(mla, kv_lora)},
    {.name = "rope_dim",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .help = "width of the part of the key that all heads share, rotary as a rule",
     .offset = offsetof(mla, rope_dim)},
    {.name = "nope_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "width of the rest of a key head",
     .offset = offsetof(mla, nope_dim)},
    {.name = "value_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "width of a value head",
     .offset = offsetof(mla, value_dim)},
    {.name = "output_gate",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "whether the output is gated by a projection as wide as the values",
     .offset = offsetof(mla, has_output_gate)},
    {.name = "prefill",
     .type = SL_TYPE_CHOICE,
     .choices = modes,
     .fallback = "auto",
     .help = "keys and values made anew, or absorbed as in decode; auto = absorbed with an index",
     .offset = offsetof(mla, prefill)},
};

static const sli_field mla_fields[] = {
    {.name = "index",
     .kind = SLI_FIELD_SECTION,
     .help = "sparse attention to the keys that an index chooses",
     .offset = offsetof(mla, index),
     .section = &index_section,
     .fallback = "{}"},
};

const sli_section sli_mla_section = {
    .params = mla_params,
    .param_count = COUNT_OF(mla_params),
    .fields = mla_fields,
    .field_count = COUNT_OF(mla_fields),
    .struct_size = sizeof(mla),
};

static const char *check_mla(const void *values) {
    const mla *self = values;
    const mla_index *index = &self->index;
    if (index->owner == INDEX_OWN && (index->heads == 0 || index->dim == 0)) {
        return "an index of its own needs heads and dim";
    }
    if (index->owner != INDEX_NONE && index->top_tokens == 0) {
        return "an index needs top";
    }
    if (index->owner == INDEX_NONE && (index->heads > 0 || index->top_tokens > 0)) {
        return "an index needs keys: own or shared";
    }
    return NULL;
}

static void add_matrices(const mla *self, int64_t hidden, sli_part_facts *facts) {
    int64_t heads = self->q_heads;
    int64_t q_width = heads * (self->nope_dim + self->rope_dim);
    int64_t o_width = heads * self->value_dim;
    int64_t q_in = self->q_lora > 0 ? self->q_lora : hidden;
    sli_facts_matrix(facts, (sli_matrix){"q_down", hidden, self->q_lora, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"q_up", q_in, q_width, heads, 1, 1});
    sli_facts_matrix(facts,
                     (sli_matrix){"kv_down", hidden, self->kv_lora + self->rope_dim, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"kv_up", self->kv_lora,
                                         heads * (self->nope_dim + self->value_dim), heads, 1, 1});
    sli_facts_matrix(
        facts, (sli_matrix){"gate", hidden, self->has_output_gate ? o_width : 0, heads, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"out", o_width, hidden, heads, 1, 1});
}

/* Queries of the index come from the query latent where there is one; a weight a head is added to
 * each. It scores all keys (DeepSeek-V3.2, section 2.1, equation 1). */
static void add_index(const mla *self, int64_t hidden, sli_part_facts *facts) {
    const mla_index *index = &self->index;
    int64_t q_in = self->q_lora > 0 ? self->q_lora : hidden;
    int64_t q_width = index->heads * index->dim;
    sli_facts_matrix(facts, (sli_matrix){"index q", q_in, q_width, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"index k", hidden, index->dim, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"index weights", hidden, index->heads, 1, 1, 1});
    sli_facts_store(facts, (sli_store){.name = "index keys",
                                       .sort = SLI_ROW_INDEX,
                                       .heads = 1,
                                       .elements = index->dim,
                                       .kept = sli_growth_linear(),
                                       .read = sli_growth_linear()});
    sli_facts_work(facts, (sli_core_work){"index", 2.0 * (double)q_width, sli_growth_linear(), 1});
}

static bool is_prefill_expanded(const mla *self) {
    return self->prefill == MLA_EXPANDED ||
           (self->prefill == MLA_AUTO && self->index.owner == INDEX_NONE);
}

static sli_latent_ways latent_ways(const mla *self) {
    double heads = (double)self->q_heads;
    double latent = (double)self->kv_lora;
    double rope = (double)self->rope_dim;
    double nope = (double)self->nope_dim;
    double value = (double)self->value_dim;
    return (sli_latent_ways){
        .absorbed_row_flops = 2.0 * heads * (2.0 * latent + rope),
        .expanded_row_flops = 2.0 * heads * (nope + rope + value),
        .expand_flops = 2.0 * latent * heads * (nope + value),
        .expanded_elements = self->nope_dim + self->rope_dim + self->value_dim,
    };
}

static void add_core(const mla *self, sli_growth visible, sli_part_facts *facts) {
    sli_latent_ways ways = latent_ways(self);
    sli_core_work absorbed = {"absorbed", ways.absorbed_row_flops, visible, self->q_heads};
    sli_core_work expanded = {"expanded", ways.expanded_row_flops, visible, self->q_heads};
    sli_facts_decode(facts, absorbed);
    if (is_prefill_expanded(self)) {
        sli_facts_prefill(facts, expanded);
        facts->prefix_flops = ways.expand_flops;
    } else {
        sli_facts_prefill(facts, absorbed);
    }
    facts->latent = ways;
    facts->summed_elements = self->kv_lora;
}

static void describe_mla(const void *values, int64_t hidden, sli_part_facts *facts) {
    const mla *self = values;
    bool is_sparse = self->index.owner != INDEX_NONE;
    sli_growth visible = is_sparse ? sli_growth_capped(self->index.top_tokens)
                                   : sli_growth_linear();
    add_matrices(self, hidden, facts);
    sli_facts_store(facts, (sli_store){.name = "latents",
                                       .sort = SLI_ROW_LATENT,
                                       .heads = 1,
                                       .elements = self->kv_lora + self->rope_dim,
                                       .kept = sli_growth_linear(),
                                       .read = visible});
    add_core(self, visible, facts);
    if (self->index.owner == INDEX_OWN) {
        add_index(self, hidden, facts);
    }
    facts->is_borrower = self->index.owner == INDEX_SHARED;
}

static bool lends_mla(const void *lender_values, const void *borrower_values) {
    const mla *lender = lender_values;
    const mla *borrower = borrower_values;
    return lender->index.owner == INDEX_OWN &&
           lender->index.top_tokens == borrower->index.top_tokens;
}

const sli_layer_kind sli_mla_kind = {
    .name = "mla",
    .help = "attention over one latent a token, with an index or without",
    .check = check_mla,
    .describe = describe_mla,
    .lends = lends_mla,
};
