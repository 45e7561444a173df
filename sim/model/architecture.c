#include "model/architecture.h"

#include "base/check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const char *const attention_names[] = {"full", NULL};
static const char *const ffn_names[] = {"dense", NULL};

static const sl_param full_params[] = {
    {.name = "q_heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "query heads",
     .offset = offsetof(sli_full_attention, q_heads)},
    {.name = "kv_heads",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "key and value heads; divides the query heads",
     .offset = offsetof(sli_full_attention, kv_heads)},
    {.name = "head_dim",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 65536,
     .help = "width of a head",
     .offset = offsetof(sli_full_attention, head_dim)},
    {.name = "qk_norm",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "whether queries and keys are normalised head by head",
     .offset = offsetof(sli_full_attention, has_qk_norm)},
};

static const sli_section full_section = {
    .params = full_params,
    .param_count = COUNT_OF(full_params),
    .struct_size = sizeof(sli_full_attention),
};

static const sli_field attention_fields[] = {
    {.name = "full",
     .kind = SLI_FIELD_SECTION,
     .help = "grouped-query attention over all that came before",
     .offset = 0,
     .section = &full_section},
};

static const sli_section attention_section = {
    .fields = attention_fields,
    .field_count = COUNT_OF(attention_fields),
    .struct_size = sizeof(sli_full_attention),
};

static const sl_param dense_params[] = {
    {.name = "width",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e7,
     .help = "width of the inner layer",
     .offset = offsetof(sli_dense_ffn, width)},
};

static const sli_section dense_section = {
    .params = dense_params,
    .param_count = COUNT_OF(dense_params),
    .struct_size = sizeof(sli_dense_ffn),
};

static const sli_field ffn_fields[] = {
    {.name = "dense",
     .kind = SLI_FIELD_SECTION,
     .help = "gated feed-forward: down(act(gate x) * up x)",
     .offset = 0,
     .section = &dense_section},
};

static const sli_section ffn_section = {
    .fields = ffn_fields,
    .field_count = COUNT_OF(ffn_fields),
    .struct_size = sizeof(sli_dense_ffn),
};

static const sl_param run_params[] = {
    {.name = "count",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 10000,
     .help = "equal layers in a row",
     .offset = offsetof(sli_layer_run, count)},
    {.name = "attention",
     .type = SL_TYPE_CHOICE,
     .choices = attention_names,
     .help = "a kind under attention",
     .offset = offsetof(sli_layer_run, attention)},
    {.name = "ffn",
     .type = SL_TYPE_CHOICE,
     .choices = ffn_names,
     .help = "a kind under ffn",
     .offset = offsetof(sli_layer_run, ffn)},
};

static const sli_section run_section = {
    .params = run_params,
    .param_count = COUNT_OF(run_params),
    .struct_size = sizeof(sli_layer_run),
};

static const sl_param architecture_params[] = {
    {.name = "name",
     .type = SL_TYPE_STRING,
     .help = "the model as its makers write it",
     .offset = offsetof(sli_architecture, name)},
    {.name = "source",
     .type = SL_TYPE_STRING,
     .help = "where the figures come from",
     .offset = offsetof(sli_architecture, source)},
    {.name = "hidden",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .help = "width of the residual stream",
     .offset = offsetof(sli_architecture, hidden)},
    {.name = "vocab",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e8,
     .help = "entries of the vocabulary",
     .offset = offsetof(sli_architecture, vocab_tokens)},
    {.name = "tie_embeddings",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "whether the head is the embedding",
     .offset = offsetof(sli_architecture, has_tied_embeddings)},
    {.name = "context_native",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .help = "longest context the model was made for",
     .offset = offsetof(sli_architecture, context_native_tokens)},
    {.name = "published_params",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1e14,
     .fallback = "0",
     .help = "parameters as advertised, for comparison only; 0 = unknown",
     .offset = offsetof(sli_architecture, published_params)},
};

static const sli_field architecture_fields[] = {
    {.name = "attention",
     .kind = SLI_FIELD_SECTION,
     .help = "geometry of each kind of attention",
     .offset = offsetof(sli_architecture, full),
     .section = &attention_section},
    {.name = "ffn",
     .kind = SLI_FIELD_SECTION,
     .help = "geometry of each kind of feed-forward",
     .offset = offsetof(sli_architecture, dense),
     .section = &ffn_section},
    {.name = "layers",
     .kind = SLI_FIELD_TABLE,
     .help = "runs of equal layers, first to last",
     .offset = offsetof(sli_architecture, layers),
     .section = &run_section,
     .min_rows = 1,
     .max_rows = 10000},
};

const sli_section sli_architecture_section = {
    .params = architecture_params,
    .param_count = COUNT_OF(architecture_params),
    .fields = architecture_fields,
    .field_count = COUNT_OF(architecture_fields),
    .struct_size = sizeof(sli_architecture),
};

sl_err sli_architecture_read(sli_arena *arena, const char *name_or_path, sli_catalogue_site site,
                             sli_diag *diag, const sli_architecture **architecture) {
    sli_node *root = NULL;
    const char *id = NULL;
    SL_TRY(
        sli_catalogue_read(arena, sli_model_files, "model", name_or_path, site, diag, &root, &id));
    sli_architecture *read = sli_arena_alloc(arena, sizeof *read);
    if (read == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_schema_resolve(arena, &sli_architecture_section, NULL, root, diag, read));
    if (read->full.q_heads % read->full.kv_heads != 0) {
        const sli_node *node = sli_tree_path(root, "attention.full.kv_heads");
        SL_ASSERT(node != NULL);
        sli_diag_error(diag, node->mark, "attention.full.kv_heads",
                       "%lld key-value heads do not divide %lld query heads",
                       (long long)read->full.kv_heads, (long long)read->full.q_heads);
        return SL_ERR_CONFIG;
    }
    read->id = id;
    *architecture = read;
    return SL_OK;
}

int64_t sli_architecture_layers(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t layers = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        layers += runs[i].count;
    }
    return layers;
}
