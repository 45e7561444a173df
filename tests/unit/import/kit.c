#include "kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

int set_up_world(void **state) {
    static world fresh;
    fresh = (world){0};
    *state = &fresh;
    return 0;
}

int tear_down_world(void **state) {
    world *w = *state;
    sli_arena_fini(&w->arena);
    sli_diag_fini(&w->diag);
    return 0;
}

sl_err import_as(world *w, const char *text, const char *family, const char *name,
                 const char **yaml) {
    const char *json = import_config_json(&w->arena, text);
    sli_import_request request = {.path = "c.json", .name = name, .family = family};
    assert_non_null(json);
    return sli_import_text(&w->arena, &request, json, strlen(json), &w->diag, yaml);
}

const char *yaml_of(world *w, const char *text) {
    const char *yaml = NULL;
    if (import_as(w, text, NULL, "m", &yaml) != SL_OK) {
        sli_diag_print(&w->diag, stderr);
        fail_msg("not imported: %s", text);
    }
    return yaml;
}

const sli_architecture *resolve_yaml(world *w, const char *yaml) {
    const sli_architecture *model = NULL;
    sli_node *root = NULL;
    assert_int_equal(sli_tree_read_text(&w->arena, "m", yaml, strlen(yaml), &w->diag, &root),
                     SL_OK);
    assert_int_equal(sli_architecture_resolve(&w->arena, "m", root, &w->diag, &model), SL_OK);
    return model;
}

const sli_architecture *model_of(world *w, const char *text) {
    return resolve_yaml(w, yaml_of(w, text));
}

enum { LINES = 11 };
static const char *const llama[LINES] = {
    "{",
    "  'model_type': 'llama',",
    "  'hidden_size': 4096,",
    "  'num_hidden_layers': 4,",
    "  'num_attention_heads': 32,",
    "  'num_key_value_heads': 8,",
    "  'intermediate_size': 14336,",
    "  'vocab_size': 128256,",
    "",
    "  'max_position_embeddings': 8192",
    "}",
};

const char *llama_with(world *w, int line, const char *text) {
    const char *joined = "";
    for (int i = 0; i < LINES; i++) {
        joined = sli_arena_printf(&w->arena, "%s%s\n", joined, i + 1 == line ? text : llama[i]);
        assert_non_null(joined);
    }
    return joined;
}

void has_error(const world *w, const char *path, const char *words) {
    for (const sli_diag_entry *entry = w->diag.first; entry != NULL; entry = entry->next) {
        if (strcmp(entry->path != NULL ? entry->path : "", path) == 0 &&
            strstr(entry->message, words) != NULL) {
            return;
        }
    }
    sli_diag_print(&w->diag, stderr);
    fail_msg("no error at '%s' with '%s'", path, words);
}

void refuses(world *w, const char *text, const char *path, const char *words) {
    const char *yaml = NULL;
    int errors_before = w->diag.error_count;
    assert_int_equal(import_as(w, text, NULL, NULL, &yaml), SL_ERR_CONFIG);
    assert_null(yaml);
    has_error(w, path, words);
    if (w->diag.error_count != errors_before + 1) {
        sli_diag_print(&w->diag, stderr);
        fail_msg("%d errors", w->diag.error_count - errors_before);
    }
}
