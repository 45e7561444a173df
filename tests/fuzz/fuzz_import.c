/*
 * Any bytes as a config.json: they are refused with reasons, or become a model file that says the
 * same when it is read, and that comes out again from the same text.
 */
#include "entry.h"
#include "import/import.h"
#include "model/architecture.h"
#include "model/params.h"
#include "model/state.h"

#include <limits.h>
#include <string.h>

const char *const entry_words[] = {
    "{",
    "}",
    "[",
    "]",
    ", ",
    ": ",
    "\"",
    "\\u00e9",
    "\\ud83d",
    "\\",
    "\t",
    "\xef\xbb\xbf",
    "\xc3",
    "null",
    "true",
    "NaN",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "64",
    "1e3",
    "4.0",
    "99999999999",
    "\"full_attention\", ",
    "\"sliding_attention\", ",
    "\"linear_attention\", ",
    "\"architectures\": [\"LlamaForCausalLM\"],",
    "\"text_config\": {",
    "\"model_type\": \"llama\",",
    "\"model_type\": \"qwen3_moe\",",
    "\"model_type\": \"deepseek_v3\",",
    "\"num_hidden_layers\": 2,",
    "\"num_hidden_layers\": 10000,",
    "\"num_key_value_heads\": 1,",
    "\"head_dim\": 128,",
    "\"sliding_window\": 64,",
    "\"num_nextn_predict_layers\": 1,",
    "\"layer_types\": [",
    "\"_name_or_path\": \"a/b: #c\",",
    NULL,
};

static const char *const nothing[] = {NULL};

typedef struct imported {
    sli_arena arena;
    sli_diag diag;
    sl_err err;
    const char *yaml;
} imported;

static void import_open(imported *made, const char *text, size_t length, const char *path) {
    sli_import_request request = {.path = path};
    *made = (imported){0};
    made->err = text != NULL ? sli_import_text(&made->arena, &request, text, length, &made->diag,
                                               &made->yaml)
                             : sli_import_file(&made->arena, &request, &made->diag, &made->yaml);
    MUST((made->err == SL_OK) == (made->yaml != NULL));
}

static void import_close(imported *made) {
    sli_diag_fini(&made->diag);
    sli_arena_fini(&made->arena);
}

/* What no field was wrong about by itself is said of the model file, which has lines of its own. */
static int lines_known(const sli_diag *diag, const char *path, int line_count) {
    for (const sli_diag_entry *entry = diag->first; entry != NULL; entry = entry->next) {
        if (strcmp(entry->mark.file, path) != 0) {
            return INT_MAX - 1;
        }
    }
    return line_count;
}

/* The file is read without a word, and has layers. */
static void check_model(const char *yaml) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_node *root = NULL;
    const sli_architecture *model = NULL;
    MUST(sli_tree_read_text(&arena, "m.yaml", yaml, strlen(yaml), &diag, &root) == SL_OK);
    MUST(sli_architecture_resolve(&arena, "m", root, &diag, &model) == SL_OK);
    MUST(diag.first == NULL);
    MUST(sli_architecture_layers(model) > 0);
    MUST(sli_params_total(model) > 0 && sli_params_matmul(model) > 0);
    MUST(sli_state_kept(model, &sli_cache_formats[0], 1).cached >= 0);
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
}

/* From a file, to which nothing is added, the same comes out. */
static void check_file(const uint8_t *bytes, size_t length, const imported *made) {
    imported again;
    import_open(&again, NULL, 0, input_file(bytes, length));
    MUST(again.err == made->err);
    MUST(again.diag.error_count == made->diag.error_count);
    MUST(made->yaml == NULL || strcmp(again.yaml, made->yaml) == 0);
    import_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static const char path[] = "config.json";
    imported made;
    import_open(&made, (const char *)bytes, length, path);
    must_be_explained(made.err, &made.diag,
                      lines_known(&made.diag, path, count_lines(bytes, length)), nothing);
    if (made.err == SL_OK) {
        check_model(made.yaml);
    }
    check_file(bytes, length, &made);
    import_close(&made);
    return 0;
}
