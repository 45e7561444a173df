/*
 * Every model of the catalogue again, made from what its config.json says (import_configs.c): the
 * same layers in the same order, each with the same matrices, stores and work, and so the same
 * counts of parameters. The catalogue's figures come from other sources than the importer's rules.
 */
#include "configs.h"
#include "import/import.h"
#include "model/architecture.h"
#include "model/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

/* ---- Both sides ---- */

static const char *yaml_of_json(const char *id, const char *json) {
    const char *yaml = NULL;
    sli_import_request request = {.path = "config.json", .name = id};
    assert_non_null(json);
    if (sli_import_text(&arena, &request, json, strlen(json), &diag, &yaml) != SL_OK) {
        sli_diag_print(&diag, stderr);
        fail_msg("%s is not imported", id);
    }
    return yaml;
}

static const char *yaml_of(const import_config *config) {
    return yaml_of_json(config->id, import_config_json(&arena, config->text));
}

static const sli_architecture *resolve(const char *id, const char *yaml) {
    const sli_architecture *model = NULL;
    sli_node *root = NULL;
    assert_int_equal(sli_tree_read_text(&arena, id, yaml, strlen(yaml), &diag, &root), SL_OK);
    assert_int_equal(sli_architecture_resolve(&arena, id, root, &diag, &model), SL_OK);
    return model;
}

static const sli_architecture *import_model(const import_config *config) {
    return resolve(config->id, yaml_of(config));
}

static const sli_architecture *read_model(const char *id) {
    const sli_architecture *model = NULL;
    sli_catalogue_site nowhere = {.key = NULL};
    assert_int_equal(sli_architecture_read(&arena, id, nowhere, &diag, &model), SL_OK);
    return model;
}

/* ---- Comparison ---- */

static bool is_same_text(const char *a, const char *b) {
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool is_same_growth(const sli_growth *a, const sli_growth *b) {
    return a->kind == b->kind && a->step_tokens == b->step_tokens && a->cap_rows == b->cap_rows;
}

static bool is_same_matrix(const sli_matrix *a, const sli_matrix *b) {
    return is_same_text(a->name, b->name) && a->in == b->in && a->out == b->out &&
           a->pieces == b->pieces && a->count == b->count && a->active == b->active;
}

static bool is_same_store(const sli_store *a, const sli_store *b) {
    return is_same_text(a->name, b->name) && a->sort == b->sort && a->heads == b->heads &&
           a->elements == b->elements && a->element_bytes == b->element_bytes &&
           is_same_growth(&a->kept, &b->kept) && is_same_growth(&a->read, &b->read) &&
           a->is_rewritten == b->is_rewritten;
}

/* Sums of products of whole numbers: the same to the bit. */
static bool is_same_work(const sli_core_work *a, const sli_core_work *b) {
    return is_same_text(a->name, b->name) && memcmp(&a->row_flops, &b->row_flops, 8) == 0 &&
           is_same_growth(&a->visible, &b->visible);
}

static bool is_same_facts(const sli_part_facts *a, const sli_part_facts *b) {
    bool is_same = a->matrix_count == b->matrix_count && a->store_count == b->store_count &&
                   a->decode_count == b->decode_count && a->prefill_count == b->prefill_count &&
                   a->is_borrower == b->is_borrower &&
                   memcmp(&a->prefix_flops, &b->prefix_flops, 8) == 0;
    for (int i = 0; is_same && i < a->matrix_count; i++) {
        is_same = is_same_matrix(&a->matrices[i], &b->matrices[i]);
    }
    for (int i = 0; is_same && i < a->store_count; i++) {
        is_same = is_same_store(&a->stores[i], &b->stores[i]);
    }
    for (int i = 0; is_same && i < a->decode_count; i++) {
        is_same = is_same_work(&a->decode[i], &b->decode[i]);
    }
    for (int i = 0; is_same && i < a->prefill_count; i++) {
        is_same = is_same_work(&a->prefill[i], &b->prefill[i]);
    }
    return is_same;
}

/* The norm of queries and keys is no matrix, so it is compared by itself. */
static bool is_same_part(const sli_layer_part *a, const sli_layer_part *b) {
    if (a->kind != b->kind || !is_same_facts(&a->facts, &b->facts)) {
        return false;
    }
    return a->kind != &sli_gqa_kind ||
           ((const sli_gqa *)a->values)->has_qk_norm == ((const sli_gqa *)b->values)->has_qk_norm;
}

/* The run that a layer is in. */
static const sli_layer_run *run_of(const sli_table *layers, int64_t layer) {
    const sli_layer_run *run = layers->rows;
    while (layer >= run->count) {
        layer -= run->count;
        run++;
    }
    return run;
}

static int64_t count_layers(const sli_table *layers) {
    const sli_layer_run *runs = layers->rows;
    int64_t count = 0;
    for (size_t i = 0; i < layers->count; i++) {
        count += runs[i].count;
    }
    return count;
}

static void has_same_layers(const char *id, const sli_table *found, const sli_table *wanted) {
    assert_int_equal(count_layers(found), count_layers(wanted));
    for (int64_t i = 0; i < count_layers(wanted); i++) {
        const sli_layer_run *a = run_of(found, i);
        const sli_layer_run *b = run_of(wanted, i);
        if (!is_same_part(a->mixer, b->mixer) || !is_same_part(a->ffn, b->ffn)) {
            fail_msg("%s: layer %lld is %s and %s, not %s and %s", id, (long long)i, a->mixer->name,
                     a->ffn->name, b->mixer->name, b->ffn->name);
        }
    }
}

/* ---- Tests ---- */

static void the_catalogue_has_no_other_models(void **state) {
    size_t models = 0;
    (void)state;
    for (; sli_model_files[models].name != NULL; models++) {
        size_t found = 0;
        for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
            found += strcmp(import_configs[i].id, sli_model_files[models].name) == 0;
        }
        if (found != 1) {
            fail_msg("%zu configurations of %s", found, sli_model_files[models].name);
        }
    }
    assert_int_equal(models, IMPORT_CONFIGS);
}

static void layers_have_the_facts_of_the_catalogue(void **state) {
    (void)state;
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        const sli_architecture *found = import_model(&import_configs[i]);
        const sli_architecture *wanted = read_model(import_configs[i].id);
        has_same_layers(found->id, &found->layers, &wanted->layers);
        has_same_layers(found->id, &found->mtp_layers, &wanted->mtp_layers);
    }
}

static void models_have_the_figures_of_the_catalogue(void **state) {
    (void)state;
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        const import_config *config = &import_configs[i];
        const sli_architecture *found = import_model(config);
        sli_architecture wanted = *read_model(config->id);
        wanted.context_native_tokens = config->context_tokens > 0 ? config->context_tokens
                                                                  : wanted.context_native_tokens;
        wanted.vocab_tokens = config->vocab_tokens > 0 ? config->vocab_tokens : wanted.vocab_tokens;
        assert_int_equal(found->hidden, wanted.hidden);
        assert_int_equal(found->vocab_tokens, wanted.vocab_tokens);
        assert_int_equal(found->has_tied_embeddings, wanted.has_tied_embeddings);
        assert_int_equal(found->layer_embedding, wanted.layer_embedding);
        assert_int_equal(found->hyper_streams, wanted.hyper_streams);
        assert_int_equal(found->context_native_tokens, wanted.context_native_tokens);
        assert_int_equal(sli_params_total(found), sli_params_total(&wanted));
        assert_int_equal(sli_params_matmul(found), sli_params_matmul(&wanted));
        assert_int_equal(sli_params_mtp(found), sli_params_mtp(&wanted));
    }
}

/* No other model has a note or mixed confidence. */
static void what_is_assumed_is_said(void **state) {
    static const struct {
        const char *id;
        const char *note;
        int confidence;
    } assuming[] = {
        {"kimi-k3.1-pro", "That queries of the index come from the query latent is assumed",
         SLI_CONFIDENCE_MIXED},
        {"minimax-m3",
         "One index key a token and layer is assumed; multi-token modules are not modelled",
         SLI_CONFIDENCE_MIXED},
        {"minimax-m1", "fp32 states are assumed", SLI_CONFIDENCE_SOLID},
        {"jamba-v0.1", "fp32 states are assumed", SLI_CONFIDENCE_SOLID},
        {"rwkv-7-0.4b", "fp32 states are assumed", SLI_CONFIDENCE_SOLID},
        {"rwkv-7-1.5b", "fp32 states are assumed", SLI_CONFIDENCE_SOLID},
        {"rwkv-7-2.9b", "fp32 states are assumed", SLI_CONFIDENCE_SOLID},
        {"rwkv-7-7.2b", "fp32 states are assumed", SLI_CONFIDENCE_SOLID},
    };
    (void)state;
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        const sli_architecture *model = import_model(&import_configs[i]);
        const char *note = "";
        int confidence = SLI_CONFIDENCE_SOLID;
        for (size_t k = 0; k < sizeof assuming / sizeof assuming[0]; k++) {
            if (strcmp(assuming[k].id, model->id) == 0) {
                note = assuming[k].note;
                confidence = assuming[k].confidence;
            }
        }
        assert_string_equal(model->note, note);
        assert_int_equal(model->confidence, confidence);
    }
}

/* Where the field is missing, which is overwritten here by one that makes no difference, the class
 * decides: of these the embedding is the head, of no others. */
static void silent_files_tie_as_their_class_does(void **state) {
    static const char *const tied[] = {"opt-", "bloom-", "falcon-", "gemma-"};
    static const char key[] = "tie_word_embeddings";
    static const char other[] = "initializer_of_them";
    (void)state;
    assert_int_equal(sizeof key, sizeof other);
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        const char *id = import_configs[i].id;
        char *json = sli_arena_strdup(&arena, import_config_json(&arena, import_configs[i].text));
        for (char *at = strstr(json, key); at != NULL; at = strstr(json, key)) {
            memcpy(at, other, sizeof other - 1);
        }
        bool is_tied = false;
        for (size_t k = 0; k < sizeof tied / sizeof tied[0]; k++) {
            is_tied |= strncmp(id, tied[k], strlen(tied[k])) == 0;
        }
        if (resolve(id, yaml_of_json(id, json))->has_tied_embeddings != is_tied) {
            fail_msg("%s is not %s", id, is_tied ? "tied" : "untied");
        }
    }
}

static const import_config *find_config(const char *id) {
    size_t i = 0;
    while (strcmp(import_configs[i].id, id) != 0) {
        i++;
    }
    return &import_configs[i];
}

/* Of a few the files are known; the others name no format, which is bf16. */
static void weights_are_those_of_the_file(void **state) {
    static const struct {
        const char *id;
        const char *words;
    } files[] = {
        {"llama-3.1-8b", "bf16"},
        {"gpt-oss-20b", "mxfp4 experts, bf16 else"},
        {"gpt-oss-120b", "mxfp4 experts, bf16 else"},
        {"deepseek-v3", "fp8"},
        {"deepseek-v4-pro", "mxfp4 experts, fp8 else"},
        {"deepseek-v4-flash", "mxfp4 experts, fp8 else"},
        {"kimi-k2", "fp8"},
        {"kimi-k2.5", "int4 experts, bf16 else"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const sli_architecture *found = import_model(find_config(files[i].id));
        const sli_architecture *wanted = read_model(files[i].id);
        assert_string_equal(sli_weights_say(&found->weights).text, files[i].words);
        assert_memory_equal(&found->weights, &wanted->weights, sizeof wanted->weights);
    }
}

/* Equal layers in a row are one run, and no part is without a layer. */
static void files_are_as_short_as_they_can_be(void **state) {
    (void)state;
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        const sli_architecture *model = import_model(&import_configs[i]);
        const sli_layer_run *runs = model->layers.rows;
        for (size_t k = 1; k < model->layers.count; k++) {
            assert_true(runs[k].mixer != runs[k - 1].mixer || runs[k].ffn != runs[k - 1].ffn);
        }
        for (size_t p = 0; p < model->attention.count; p++) {
            bool is_used = false;
            for (size_t k = 0; k < model->layers.count; k++) {
                is_used |= runs[k].mixer == &model->mixer_parts[p];
            }
            assert_true(is_used || model->mtp_layers.count > 0);
        }
    }
}

static void lines_are_shorter_than_100_characters(void **state) {
    (void)state;
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        for (const char *line = yaml_of(&import_configs[i]); *line != '\0';) {
            size_t length = strcspn(line, "\n");
            if (length >= 100 || (length > 0 && line[length - 1] == ' ')) {
                fail_msg("%s: '%.*s'", import_configs[i].id, (int)length, line);
            }
            line += length + 1;
        }
    }
}

/* All fields of these files are known. */
static void nothing_is_warned_about(void **state) {
    (void)state;
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        (void)yaml_of(&import_configs[i]);
    }
    sli_diag_print(&diag, stderr);
    assert_int_equal(diag.warning_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_catalogue_has_no_other_models),
        cmocka_unit_test(layers_have_the_facts_of_the_catalogue),
        cmocka_unit_test(models_have_the_figures_of_the_catalogue),
        cmocka_unit_test(what_is_assumed_is_said),
        cmocka_unit_test(silent_files_tie_as_their_class_does),
        cmocka_unit_test(weights_are_those_of_the_file),
        cmocka_unit_test(files_are_as_short_as_they_can_be),
        cmocka_unit_test(lines_are_shorter_than_100_characters),
        cmocka_unit_test(nothing_is_warned_about),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
