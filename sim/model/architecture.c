#include "model/architecture.h"

#include "base/check.h"
#include "config/json.h"
#include "model/params.h"
#include "model/repeats.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- The schema ---- */

static const sl_word zero_words[] = {{"none", 0}, {NULL, 0}};
static const sl_word unlimited_words[] = {{"unlimited", SLI_GROWTH_TOKENS_MAX}, {NULL, 0}};
static const char *const confidences[] = {"solid", "mixed", NULL};
static const char *const roles[] = {"catalogue", "experiment", NULL};

static const sl_param run_params[] = {
    {.name = "count",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 10000,
     .help = "equal layers in a row",
     .offset = offsetof(sli_layer_run, count)},
    {.name = "attention",
     .type = SL_TYPE_STRING,
     .help = "a name under attention",
     .offset = offsetof(sli_layer_run, attention_name)},
    {.name = "ffn",
     .type = SL_TYPE_STRING,
     .help = "a name under ffn",
     .offset = offsetof(sli_layer_run, ffn_name)},
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
    {.name = "confidence",
     .type = SL_TYPE_CHOICE,
     .choices = confidences,
     .fallback = "solid",
     .help = "mixed = some figures are assumed, as the note says",
     .offset = offsetof(sli_architecture, confidence)},
    {.name = "role",
     .type = SL_TYPE_CHOICE,
     .choices = roles,
     .fallback = "catalogue",
     .help = "experiment = kept because a published experiment needs it",
     .offset = offsetof(sli_architecture, role)},
    {.name = "note",
     .type = SL_TYPE_STRING,
     .fallback = "\"\"",
     .help = "what a reader should know about the figures",
     .offset = offsetof(sli_architecture, note)},
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
    {.name = "layer_embedding",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .words = zero_words,
     .fallback = "none",
     .help = "width of an embedding that every layer has",
     .offset = offsetof(sli_architecture, layer_embedding)},
    {.name = "hyper_streams",
     .type = SL_TYPE_INT,
     .min = 2,
     .max = 64,
     .words = zero_words,
     .fallback = "none",
     .help = "residual streams that every part mixes (hyper-connections)",
     .offset = offsetof(sli_architecture, hyper_streams)},
    {.name = "context_native",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .words = unlimited_words,
     .help = "longest context the model was made for",
     .offset = offsetof(sli_architecture, context_native_tokens)},
    {.name = "published_params",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1e14,
     .fallback = "0",
     .help = "parameters as advertised, for comparison only; 0 = unknown",
     .offset = offsetof(sli_architecture, published_params)},
    {.name = "published_active_params",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1e14,
     .fallback = "0",
     .help = "active parameters as advertised, for comparison only; 0 = unknown",
     .offset = offsetof(sli_architecture, published_active_params)},
    {.name = "published_difference",
     .type = SL_TYPE_STRING,
     .fallback = "\"\"",
     .help = "what the published figures count otherwise, where rounding is not all of it",
     .offset = offsetof(sli_architecture, published_difference)},
};

enum { PART_MAX = 64, RUN_MAX = 10000 };

static const sli_field architecture_fields[] = {
    {.name = "weights",
     .kind = SLI_FIELD_SECTION,
     .help = "the format that its weights are published in, or one for each sort of them",
     .offset = offsetof(sli_architecture, weights_config),
     .section = &sli_weights_section,
     .fallback = "{}"},
    {.name = "attention",
     .kind = SLI_FIELD_MAP,
     .help = "the mixers of the model, each by a name of its own",
     .offset = offsetof(sli_architecture, attention),
     .name_key = "type",
     .types = sli_mixer_types,
     .min_rows = 1,
     .max_rows = PART_MAX},
    {.name = "ffn",
     .kind = SLI_FIELD_MAP,
     .help = "the feed-forwards of the model, each by a name of its own",
     .offset = offsetof(sli_architecture, ffns),
     .name_key = "type",
     .types = sli_ffn_types,
     .min_rows = 1,
     .max_rows = PART_MAX},
    {.name = "layers",
     .kind = SLI_FIELD_TABLE,
     .help = "runs of equal layers, first to last; [times, [run, ...]] repeats some",
     .offset = offsetof(sli_architecture, layers),
     .section = &run_section,
     .min_rows = 1,
     .max_rows = RUN_MAX},
    {.name = "mtp_layers",
     .kind = SLI_FIELD_TABLE,
     .help = "layers of multi-token prediction behind them, not counted as parameters of the model",
     .offset = offsetof(sli_architecture, mtp_layers),
     .section = &run_section,
     .fallback = "[]",
     .max_rows = RUN_MAX},
};

const sli_section sli_architecture_section = {
    .params = architecture_params,
    .param_count = COUNT_OF(architecture_params),
    .fields = architecture_fields,
    .field_count = COUNT_OF(architecture_fields),
    .struct_size = sizeof(sli_architecture),
};

/* ---- Parts ---- */

/* Where mistakes are reported. */
typedef struct part_reader {
    sli_arena *arena;
    sli_node *root;
    sli_diag *diag;
    sli_repeats layers;
    sli_repeats mtp_layers;
} part_reader;

static void report_part(const part_reader *reader, const char *group, const sli_layer_part *part,
                        sli_mark mark, const char *mistake) {
    const char *path = sli_arena_printf(reader->arena, "%s.%s", group, part->name);
    sli_diag_error(reader->diag, mark, path, "%s", mistake);
}

static sl_err read_parts(const part_reader *reader, const char *group, sli_part_role role,
                         const sli_map_values *map, int64_t hidden, const sli_layer_part **parts) {
    sli_layer_part *made = sli_arena_array(reader->arena, map->count, sizeof *made);
    if (made == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < map->count; i++) {
        const sli_named_entry *entry = &map->entries[i];
        const sli_layer_kind *kind = entry->value.type->item;
        made[i] = (sli_layer_part){.name = entry->key,
                                   .kind = kind,
                                   .values = entry->value.values,
                                   .facts = {.role = role}};
        const char *mistake = kind->check != NULL ? kind->check(made[i].values) : NULL;
        if (mistake != NULL) {
            report_part(reader, group, &made[i], entry->value.mark, mistake);
        } else {
            kind->describe(made[i].values, hidden, &made[i].facts);
        }
    }
    *parts = made;
    return SL_OK;
}

/* ---- Layers ---- */

/* The item of a list. */
static const sli_node *nth(const sli_node *list, size_t index) {
    const sli_node *item = list->first;
    while (index-- > 0) {
        item = item->next;
    }
    return item;
}

/* The part of a name, or NULL after saying which there are. */
static sl_err find_part(const part_reader *reader, const char *group, const sli_map_values *map,
                        const sli_layer_part *parts, const char *name, const sli_node *node,
                        const sli_layer_part **part) {
    const char **names = sli_arena_array(reader->arena, map->count, sizeof *names);
    if (names == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            *part = &parts[i];
            return SL_OK;
        }
        names[i] = parts[i].name;
    }
    const char *near = sli_nearest(name, names, map->count);
    const char *hint = near != NULL ? sli_arena_printf(reader->arena, "; did you mean '%s'?", near)
                                    : "";
    sli_diag_error(reader->diag, node->mark, "layers", "there is no '%s' under %s%s", name, group,
                   hint != NULL ? hint : "");
    return SL_OK;
}

static sl_err link_runs(const part_reader *reader, sli_architecture *architecture,
                        sli_table *layers, const char *key) {
    const sli_node *table = sli_tree_path(reader->root, key);
    sli_layer_run *runs = layers->rows;
    for (size_t i = 0; i < layers->count; i++) {
        const sli_node *row = nth(table, i);
        SL_TRY(find_part(reader, "attention", &architecture->attention, architecture->mixer_parts,
                         runs[i].attention_name, nth(row, 1), &runs[i].mixer));
        SL_TRY(find_part(reader, "ffn", &architecture->ffns, architecture->ffn_parts,
                         runs[i].ffn_name, nth(row, 2), &runs[i].ffn));
    }
    return SL_OK;
}

/* The nearest of the runs before `last` whose mixer a borrower can read, or NULL. */
static const sli_layer_part *find_lender(const sli_layer_run *runs, size_t last,
                                         const sli_layer_part *borrower) {
    for (size_t i = last; i > 0; i--) {
        const sli_layer_part *mixer = runs[i - 1].mixer;
        if (mixer->kind == borrower->kind && mixer->kind->lends != NULL &&
            mixer->kind->lends(mixer->values, borrower->values)) {
            return mixer;
        }
    }
    return NULL;
}

static void check_lenders(const part_reader *reader, const sli_architecture *architecture) {
    const sli_node *table = sli_tree_path(reader->root, "layers");
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_layer_part *mixer = runs[i].mixer;
        if (mixer->facts.is_borrower && find_lender(runs, i, mixer) == NULL) {
            sli_diag_error(reader->diag, nth(table, i)->mark, "layers",
                           "'%s' shares what no earlier layer keeps", mixer->name);
        }
    }
}

/* ---- Weights ---- */

static void check_weights(const part_reader *reader, const sli_architecture *architecture) {
    const char *key = "weights.experts";
    if (architecture->weights_config.of[SLI_WEIGHT_EXPERT] > 0 &&
        sli_params_fewest_experts(architecture) == 0) {
        sli_diag_error(reader->diag, sli_tree_path(reader->root, key)->mark, key,
                       "no layer has routed experts; leave it out");
    }
}

/* ---- Reading ---- */

static sl_err unfold(part_reader *reader) {
    SL_TRY(
        sli_repeats_unfold(reader->arena, reader->root, "layers", reader->diag, &reader->layers));
    return sli_repeats_unfold(reader->arena, reader->root, "mtp_layers", reader->diag,
                              &reader->mtp_layers);
}

static sl_err expand(const part_reader *reader, const sli_repeats *repeats, sli_table *layers) {
    return sli_repeats_expand(reader->arena, repeats, sizeof(sli_layer_run), RUN_MAX, reader->diag,
                              layers);
}

/* While each row stands there once: a repeat of a layer has at least the lenders of the first. */
static sl_err complete(const part_reader *reader, sli_architecture *architecture) {
    int errors_before = reader->diag->error_count;
    SL_TRY(read_parts(reader, "attention", SLI_PART_MIXER, &architecture->attention,
                      architecture->hidden, &architecture->mixer_parts));
    SL_TRY(read_parts(reader, "ffn", SLI_PART_FFN, &architecture->ffns, architecture->hidden,
                      &architecture->ffn_parts));
    SL_TRY(link_runs(reader, architecture, &architecture->layers, "layers"));
    SL_TRY(link_runs(reader, architecture, &architecture->mtp_layers, "mtp_layers"));
    if (reader->diag->error_count == errors_before) {
        check_lenders(reader, architecture);
        check_weights(reader, architecture);
    }
    if (reader->diag->is_out_of_memory) {
        return SL_ERR_NOMEM;
    }
    if (reader->diag->error_count > errors_before) {
        return SL_ERR_CONFIG;
    }
    SL_TRY(expand(reader, &reader->layers, &architecture->layers));
    return expand(reader, &reader->mtp_layers, &architecture->mtp_layers);
}

sl_err sli_architecture_resolve(sli_arena *arena, const char *id, sli_node *root, sli_diag *diag,
                                const sli_architecture **architecture) {
    sli_architecture *read = sli_arena_alloc(arena, sizeof *read);
    if (read == NULL) {
        return SL_ERR_NOMEM;
    }
    part_reader reader = {.arena = arena, .root = root, .diag = diag};
    SL_TRY(unfold(&reader));
    SL_TRY(sli_schema_resolve(arena, &sli_architecture_section, NULL, root, diag, read));
    SL_TRY(complete(&reader, read));
    read->weights = sli_weights_read(&read->weights_config);
    read->id = id;
    *architecture = read;
    return SL_OK;
}

/* The names that a config.json has for what it is; state-spaces/mamba has the last alone. */
static bool is_config(const sli_node *root) {
    return sli_node_find(root, "model_type") != NULL ||
           sli_node_find(root, "architectures") != NULL || sli_node_find(root, "ssm_cfg") != NULL;
}

sl_err sli_architecture_refuse_config(sli_arena *arena, const char *path, sli_catalogue_site site,
                                      sli_diag *diag) {
    static const char extension[] = ".json";
    size_t length = strlen(path);
    size_t tail = strlen(extension);
    if (length < tail || strcmp(path + length - tail, extension) != 0) {
        return SL_OK;
    }
    sli_diag unsaid = {0}; /* whoever reads it as what it was given for says what is wrong */
    sli_node *root = NULL;
    sl_err err = sli_json_read_file(arena, path, &unsaid, &root);
    sli_diag_fini(&unsaid);
    if (err != SL_OK || !is_config(root)) {
        return err == SL_ERR_NOMEM ? err : SL_OK;
    }
    sli_diag_error(diag, site.mark, site.key,
                   "'%s' looks like a config.json of Hugging Face; sluice models import %s -o "
                   "MODEL.yaml makes a model file of it",
                   path, path);
    return SL_ERR_CONFIG;
}

sl_err sli_architecture_read(sli_arena *arena, const char *name_or_path, sli_catalogue_site site,
                             sli_diag *diag, const sli_architecture **architecture) {
    sli_node *root = NULL;
    const char *id = NULL;
    SL_TRY(sli_architecture_refuse_config(arena, name_or_path, site, diag));
    SL_TRY(
        sli_catalogue_read(arena, sli_model_files, "model", name_or_path, site, diag, &root, &id));
    return sli_architecture_resolve(arena, id, root, diag, architecture);
}

/* ---- Questions ---- */

bool sli_architecture_is_file(const sli_node *root) {
    return sli_node_find(root, "attention") != NULL && sli_node_find(root, "ffn") != NULL &&
           sli_node_find(root, "layers") != NULL;
}

int64_t sli_architecture_layers(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t layers = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        layers += runs[i].count;
    }
    return layers;
}

int64_t sli_architecture_layers_of(const sli_architecture *architecture,
                                   const sli_layer_part *part) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t layers = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        layers += runs[i].mixer == part || runs[i].ffn == part ? runs[i].count : 0;
    }
    return layers;
}

bool sli_layer_part_is_plain(const sli_layer_part *part) {
    return part->kind == &sli_dense_kind ||
           (part->kind == &sli_gqa_kind && sli_gqa_is_plain(part->values));
}

const sli_layer_part *sli_architecture_unplain(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        if (!sli_layer_part_is_plain(runs[i].mixer)) {
            return runs[i].mixer;
        }
        if (!sli_layer_part_is_plain(runs[i].ffn)) {
            return runs[i].ffn;
        }
    }
    return NULL;
}
