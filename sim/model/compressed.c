/*
 * The attention of DeepSeek V4: a window of the latest tokens, and behind it one entry for every
 * `ratio` tokens. An entry is a single vector that is key and value. CSA (ratio 4) chooses entries
 * by an index, HCA (ratio 128) reads all of them, a pure window (ratio none) has none.
 *
 * Figures: the vLLM blog on DeepSeek V4, appendix (1,280 / 4 and 1,024 / 128 bytes a token in
 * bf16; FP32 compressor states that vLLM keeps as sliding-window groups). Core: 4 q d FLOPs a query
 * and entry; index: 2 H d a query and compressed entry.
 */
#include "model/kinds.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

typedef struct entry_index {
    int64_t heads;
    int64_t dim;
    int64_t top_entries;
} entry_index;

typedef struct compressed {
    int64_t q_heads;
    int64_t head_dim;
    int64_t q_lora;
    int64_t o_lora;
    int64_t o_groups;
    int64_t window_tokens;
    int64_t ratio;         /* tokens an entry; 0 = no entries */
    int64_t state_tokens;  /* positions that the compressor holds */
    int64_t state_vectors; /* each of so many vectors as wide as an entry */
    entry_index index;
} compressed;

/* fp32, as vLLM registers them. */
static const int64_t compressor_bytes = 4;

static const sl_word none_words[] = {{"none", 0}, {NULL, 0}};

static const sl_param index_params[] = {
    {.name = "heads",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .fallback = "0",
     .help = "query heads of the index; 0 = all entries are read",
     .offset = offsetof(entry_index, heads)},
    {.name = "dim",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .fallback = "0",
     .help = "width of an index key, one an entry",
     .offset = offsetof(entry_index, dim)},
    {.name = "top",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 1e9,
     .fallback = "0",
     .help = "entries that a query attends to",
     .offset = offsetof(entry_index, top_entries)},
};

static const sli_section index_section = {
    .params = index_params,
    .param_count = COUNT_OF(index_params),
    .struct_size = sizeof(entry_index),
};

static const sl_param compressed_params[] = {
    {.name = "q_heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "query heads",
     .offset = offsetof(compressed, q_heads)},
    {.name = "head_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "width of a query head and of an entry",
     .offset = offsetof(compressed, head_dim)},
    {.name = "q_lora",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .help = "width that queries are made from",
     .offset = offsetof(compressed, q_lora)},
    {.name = "o_lora",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .help = "width that a group of heads is brought down to on the way out",
     .offset = offsetof(compressed, o_lora)},
    {.name = "o_groups",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "groups of heads on the way out; divides the query heads",
     .offset = offsetof(compressed, o_groups)},
    {.name = "window",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .help = "latest tokens that keep a vector of their own",
     .offset = offsetof(compressed, window_tokens)},
    {.name = "ratio",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .words = none_words,
     .fallback = "none",
     .help = "tokens that become one entry; none = the window is all",
     .offset = offsetof(compressed, ratio)},
    {.name = "state_span",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 0,
     .max = 1e6,
     .fallback = "0 tokens",
     .help = "positions that the compressor keeps state of",
     .offset = offsetof(compressed, state_tokens)},
    {.name = "state_vectors",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 64,
     .fallback = "0",
     .help = "vectors as wide as an entry that it makes of a token, and keeps a position in fp32",
     .offset = offsetof(compressed, state_vectors)},
};

static const sli_field compressed_fields[] = {
    {.name = "index",
     .kind = SLI_FIELD_SECTION,
     .help = "choice of the entries that are read",
     .offset = offsetof(compressed, index),
     .section = &index_section,
     .fallback = "{}"},
};

const sli_section sli_compressed_section = {
    .params = compressed_params,
    .param_count = COUNT_OF(compressed_params),
    .fields = compressed_fields,
    .field_count = COUNT_OF(compressed_fields),
    .struct_size = sizeof(compressed),
};

static const char *check_compressed(const void *values) {
    const compressed *self = values;
    const entry_index *index = &self->index;
    bool has_index = index->heads > 0;
    bool has_state = self->state_tokens > 0 && self->state_vectors > 0;
    if (self->q_heads % self->o_groups != 0) {
        return "o_groups does not divide q_heads";
    }
    if (self->ratio > 0 && !has_state) {
        return "a ratio needs state_span and state_vectors of its compressor";
    }
    if (has_index && (self->ratio == 0 || index->dim == 0 || index->top_entries == 0)) {
        return "an index needs a ratio, dim and top";
    }
    return NULL;
}

static void add_matrices(const compressed *self, int64_t hidden, sli_part_facts *facts) {
    int64_t q_width = self->q_heads * self->head_dim;
    int64_t groups = self->o_groups;
    sli_facts_matrix(facts, (sli_matrix){"q_down", hidden, self->q_lora, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"q_up", self->q_lora, q_width, self->q_heads, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"kv", hidden, self->head_dim, 1, 1, 1});
    sli_facts_matrix(
        facts, (sli_matrix){"out_down", q_width / groups, self->o_lora * groups, groups, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"out_up", groups * self->o_lora, hidden, groups, 1, 1});
    if (self->ratio > 0) {
        sli_facts_matrix(facts, (sli_matrix){"compressor", hidden,
                                             self->state_vectors * self->head_dim, 1, 1, 1});
    }
}

static sli_store compressor_state(const compressed *self, const char *name, int64_t width) {
    return (sli_store){
        .name = name,
        .heads = 1,
        .elements = self->state_vectors * width,
        .element_bytes = compressor_bytes,
        .kept = sli_growth_constant(self->state_tokens),
        .read = sli_growth_constant(0), /* a step touches one position: left out */
    };
}

static void add_index(const compressed *self, int64_t hidden, sli_part_facts *facts) {
    const entry_index *index = &self->index;
    sli_growth entries = sli_growth_steps(self->ratio);
    int64_t q_width = index->heads * index->dim;
    sli_facts_matrix(facts, (sli_matrix){"index q", self->q_lora, q_width, 1, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"index weights", hidden, index->heads, 1, 1, 1});
    sli_facts_matrix(
        facts, (sli_matrix){"index compressor", hidden, self->state_vectors * index->dim, 1, 1, 1});
    sli_facts_store(facts, (sli_store){.name = "index keys",
                                       .sort = SLI_ROW_INDEX,
                                       .heads = 1,
                                       .elements = index->dim,
                                       .kept = entries,
                                       .read = entries});
    sli_facts_store(facts, compressor_state(self, "index compressor state", index->dim));
    sli_facts_work(facts, (sli_core_work){"index", 2.0 * (double)q_width, entries, 1});
}

static void describe_compressed(const void *values, int64_t hidden, sli_part_facts *facts) {
    const compressed *self = values;
    double row_flops = 4.0 * (double)(self->q_heads * self->head_dim);
    sli_growth window = sli_growth_capped(self->window_tokens);
    sli_store rows = {.name = "window",
                      .sort = SLI_ROW_ENTRY,
                      .heads = 1,
                      .elements = self->head_dim,
                      .kept = window,
                      .read = window};
    add_matrices(self, hidden, facts);
    sli_facts_store(facts, rows);
    sli_facts_work(facts, (sli_core_work){"window", row_flops, window, self->q_heads});
    facts->summed_elements = self->head_dim;
    if (self->ratio == 0) {
        return;
    }
    bool has_index = self->index.heads > 0;
    rows.name = "entries";
    rows.kept = sli_growth_steps(self->ratio);
    rows.read = has_index ? sli_growth_capped_steps(self->ratio, self->index.top_entries)
                          : rows.kept;
    sli_facts_store(facts, rows);
    sli_facts_store(facts, compressor_state(self, "compressor state", self->head_dim));
    sli_facts_work(facts, (sli_core_work){"entries", row_flops, rows.read, self->q_heads});
    if (has_index) {
        add_index(self, hidden, facts);
    }
}

const sli_layer_kind sli_compressed_kind = {
    .name = "compressed",
    .help = "a window, and one entry for every few tokens behind it",
    .check = check_compressed,
    .describe = describe_compressed,
};
