/*
 * Attention with keys and values for each key-value head: MHA, MQA and GQA, over everything, a
 * window, a chunk or chosen blocks; with own keys and values or those of an earlier layer.
 *
 * Scores and weighted values take 2 q (d_k + d_v) FLOPs a query and key (scaling-book, "Transformer
 * accounting").
 */
#include "model/kinds.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const char *const owners[] = {"own", "shared", NULL};
static const char *const equals[] = {"off", "weights", "cache", NULL};
static const sl_word none_words[] = {{"none", 0}, {NULL, 0}};
static const sl_word same_words[] = {{"same", 0}, {NULL, 0}};

static const sl_param sparse_params[] = {
    {.name = "block",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e6,
     .words = none_words,
     .fallback = "none",
     .help = "keys that are chosen together; none = all keys are read",
     .offset = offsetof(sli_block_sparsity, block_tokens)},
    {.name = "top_blocks",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 1e6,
     .fallback = "0",
     .help = "blocks with the best scores",
     .offset = offsetof(sli_block_sparsity, top_blocks)},
    {.name = "local_blocks",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 1e6,
     .fallback = "0",
     .help = "latest blocks, read in any case",
     .offset = offsetof(sli_block_sparsity, local_blocks)},
    {.name = "index_heads",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .fallback = "0",
     .help = "query heads that score blocks",
     .offset = offsetof(sli_block_sparsity, index_heads)},
    {.name = "index_dim",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 65536,
     .fallback = "0",
     .help = "width of an index key, one a token",
     .offset = offsetof(sli_block_sparsity, index_dim)},
};

static const sli_section sparse_section = {
    .params = sparse_params,
    .param_count = COUNT_OF(sparse_params),
    .struct_size = sizeof(sli_block_sparsity),
};

static const sl_param gqa_params[] = {
    {.name = "q_heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "query heads",
     .offset = offsetof(sli_gqa, q_heads)},
    {.name = "kv_heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "key and value heads; divides the query heads",
     .offset = offsetof(sli_gqa, kv_heads)},
    {.name = "head_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "width of a query and key head",
     .offset = offsetof(sli_gqa, head_dim)},
    {.name = "value_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .words = same_words,
     .fallback = "same",
     .help = "width of a value head; same = head_dim",
     .offset = offsetof(sli_gqa, value_dim)},
    {.name = "window",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .words = none_words,
     .fallback = "none",
     .help = "a query sees this many latest keys, its own among them",
     .offset = offsetof(sli_gqa, window_tokens)},
    {.name = "chunk",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .words = none_words,
     .fallback = "none",
     .help = "a query sees the keys of its own chunk of the sequence",
     .offset = offsetof(sli_gqa, chunk_tokens)},
    {.name = "qk_norm",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "whether queries and keys are normalised head by head",
     .offset = offsetof(sli_gqa, has_qk_norm)},
    {.name = "output_gate",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "whether the output is gated by a projection as wide as the queries",
     .offset = offsetof(sli_gqa, has_output_gate)},
    {.name = "k_eq_v",
     .type = SL_TYPE_CHOICE,
     .choices = equals,
     .fallback = "off",
     .help = "keys and values from one projection (weights), stored as one tensor too (cache)",
     .offset = offsetof(sli_gqa, k_eq_v)},
    {.name = "kv",
     .type = SL_TYPE_CHOICE,
     .choices = owners,
     .fallback = "own",
     .help = "shared = keys and values of the nearest earlier layer of the same shape",
     .offset = offsetof(sli_gqa, kv)},
};

static const sli_field gqa_fields[] = {
    {.name = "sparse",
     .kind = SLI_FIELD_SECTION,
     .help = "reading of chosen blocks only",
     .offset = offsetof(sli_gqa, sparse),
     .section = &sparse_section,
     .fallback = "{}"},
};

const sli_section sli_gqa_section = {
    .params = gqa_params,
    .param_count = COUNT_OF(gqa_params),
    .fields = gqa_fields,
    .field_count = COUNT_OF(gqa_fields),
    .struct_size = sizeof(sli_gqa),
};

static int64_t value_dim(const sli_gqa *gqa) {
    return gqa->value_dim > 0 ? gqa->value_dim : gqa->head_dim;
}

static const char *check_gqa(const void *values) {
    const sli_gqa *gqa = values;
    const sli_block_sparsity *sparse = &gqa->sparse;
    int limits = (gqa->window_tokens > 0) + (gqa->chunk_tokens > 0) + (sparse->block_tokens > 0);
    bool has_index = sparse->index_heads > 0 && sparse->index_dim > 0;
    if (gqa->q_heads % gqa->kv_heads != 0) {
        return "kv_heads does not divide q_heads";
    }
    if (limits > 1) {
        return "only one of window, chunk and sparse can limit what a query sees";
    }
    if (gqa->k_eq_v != SLI_K_EQ_V_OFF && value_dim(gqa) != gqa->head_dim) {
        return "k_eq_v needs values as wide as keys";
    }
    if (sparse->block_tokens > 0 && !(has_index && sparse->top_blocks > 0)) {
        return "sparse needs top_blocks, index_heads and index_dim";
    }
    return NULL;
}

static sli_growth visible_keys(const sli_gqa *gqa) {
    const sli_block_sparsity *sparse = &gqa->sparse;
    if (gqa->window_tokens > 0) {
        return sli_growth_capped(gqa->window_tokens);
    }
    if (gqa->chunk_tokens > 0) {
        return sli_growth_sawtooth(gqa->chunk_tokens);
    }
    if (sparse->block_tokens > 0) {
        return sli_growth_capped(sparse->block_tokens *
                                 (sparse->top_blocks + sparse->local_blocks));
    }
    return sli_growth_linear();
}

static void add_matrices(const sli_gqa *gqa, int64_t hidden, sli_part_facts *facts) {
    int64_t q_width = gqa->q_heads * gqa->head_dim;
    int64_t o_width = gqa->q_heads * value_dim(gqa);
    bool has_keys = gqa->kv == SLI_KV_OWN;
    bool has_values = has_keys && gqa->k_eq_v == SLI_K_EQ_V_OFF;
    sli_facts_matrix(facts, (sli_matrix){"q", hidden, q_width, gqa->q_heads, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"gate", hidden, gqa->has_output_gate ? o_width : 0,
                                         gqa->q_heads, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"k", hidden, has_keys ? gqa->kv_heads * gqa->head_dim : 0,
                                         gqa->kv_heads, 1, 1});
    sli_facts_matrix(facts,
                     (sli_matrix){"v", hidden, has_values ? gqa->kv_heads * value_dim(gqa) : 0,
                                  gqa->kv_heads, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"out", o_width, hidden, gqa->q_heads, 1, 1});
}

/* A chunk or window is all that is kept; sparse attention keeps all and reads some. */
static void add_keys_and_values(const sli_gqa *gqa, sli_part_facts *facts) {
    sli_growth read = visible_keys(gqa);
    sli_growth kept = gqa->sparse.block_tokens > 0 ? sli_growth_linear() : read;
    if (gqa->kv == SLI_KV_SHARED) {
        kept = sli_growth_constant(0);
        facts->is_borrower = true;
    }
    sli_store keys = {.name = "keys",
                      .sort = SLI_ROW_KEY,
                      .heads = gqa->kv_heads,
                      .elements = gqa->head_dim,
                      .kept = kept,
                      .read = read};
    sli_store values = keys;
    values.name = "values";
    values.sort = SLI_ROW_VALUE;
    values.elements = gqa->k_eq_v == SLI_K_EQ_V_CACHE ? 0 : value_dim(gqa);
    sli_facts_store(facts, keys);
    sli_facts_store(facts, values);
    double q_heads = (double)gqa->q_heads;
    double widths = (double)(gqa->head_dim + value_dim(gqa));
    sli_facts_work(facts, (sli_core_work){"attention", 2.0 * q_heads * widths, read, gqa->q_heads});
    facts->summed_elements = value_dim(gqa);
}

/* MiniMax M3: index keys of one head, scored by a few query heads over all tokens. */
static void add_index(const sli_block_sparsity *sparse, int64_t hidden, sli_part_facts *facts) {
    int64_t q_width = sparse->index_heads * sparse->index_dim;
    sli_facts_matrix(facts, (sli_matrix){"index q", hidden, q_width, sparse->index_heads, 1, 1});
    sli_facts_matrix(facts, (sli_matrix){"index k", hidden, sparse->index_dim, 1, 1, 1});
    sli_facts_store(facts, (sli_store){.name = "index keys",
                                       .sort = SLI_ROW_INDEX,
                                       .heads = 1,
                                       .elements = sparse->index_dim,
                                       .kept = sli_growth_linear(),
                                       .read = sli_growth_linear()});
    sli_facts_work(facts, (sli_core_work){"index", 2.0 * (double)q_width, sli_growth_linear(),
                                          sparse->index_heads});
}

static void describe_gqa(const void *values, int64_t hidden, sli_part_facts *facts) {
    const sli_gqa *gqa = values;
    add_matrices(gqa, hidden, facts);
    add_keys_and_values(gqa, facts);
    if (gqa->sparse.block_tokens > 0) {
        add_index(&gqa->sparse, hidden, facts);
    }
}

static bool lends_gqa(const void *lender_values, const void *borrower_values) {
    const sli_gqa *lender = lender_values;
    const sli_gqa *borrower = borrower_values;
    return lender->kv == SLI_KV_OWN && lender->kv_heads == borrower->kv_heads &&
           lender->head_dim == borrower->head_dim && value_dim(lender) == value_dim(borrower) &&
           lender->window_tokens == borrower->window_tokens &&
           lender->chunk_tokens == borrower->chunk_tokens &&
           lender->sparse.block_tokens == borrower->sparse.block_tokens;
}

bool sli_gqa_is_plain(const sli_gqa *gqa) {
    return gqa->window_tokens == 0 && gqa->chunk_tokens == 0 && gqa->sparse.block_tokens == 0 &&
           value_dim(gqa) == gqa->head_dim && !gqa->has_output_gate &&
           gqa->k_eq_v == SLI_K_EQ_V_OFF && gqa->kv == SLI_KV_OWN;
}

const sli_layer_kind sli_gqa_kind = {
    .name = "gqa",
    .help = "attention with keys and values for each key-value head",
    .check = check_gqa,
    .describe = describe_gqa,
    .lends = lends_gqa,
};
