#include "import/import.h"

#include "base/check.h"
#include "config/json.h"
#include "import/families.h"
#include "model/architecture.h"

#include <stdlib.h>
#include <string.h>

/* ---- What a file calls itself ---- */

/* A text in quotes, or NULL. */
static const sli_node *find_text(const sli_node *map, const char *key) {
    const sli_node *node = sli_node_find(map, key);
    bool is_text = node != NULL && node->kind == SLI_NODE_SCALAR && node->is_quoted;
    return is_text ? node : NULL;
}

/* Most telling first. */
typedef struct model_types {
    const char *texts[3];
    sli_mark marks[3];
    size_t count;
} model_types;

static void add_type(model_types *types, const char *text, sli_mark mark) {
    types->texts[types->count] = text;
    types->marks[types->count++] = mark;
}

/* The class of the model: `Qwen3Moe` of `Qwen3MoeForCausalLM`. */
static sl_err add_architecture(sli_arena *arena, const sli_node *root, model_types *types) {
    static const char *const endings[] = {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel"};
    const sli_node *list = sli_node_find(root, "architectures");
    const sli_node *first = list != NULL && list->kind == SLI_NODE_LIST ? list->first : NULL;
    if (first == NULL || first->kind != SLI_NODE_SCALAR) {
        return SL_OK;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(first->text);
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(first->text + length - ending, endings[i]) == 0) {
            const char *text = sli_arena_copy(arena, first->text, length - ending);
            if (text == NULL) {
                return SL_ERR_NOMEM;
            }
            add_type(types, text, first->mark);
            return SL_OK;
        }
    }
    return SL_OK;
}

static sl_err read_types(sli_arena *arena, const sli_node *root, const sli_node *text,
                         model_types *types) {
    const sli_node *own = find_text(root, "model_type");
    const sli_node *inner = text != root ? find_text(text, "model_type") : NULL;
    types->count = 0;
    if (own != NULL) {
        add_type(types, own->text, own->mark);
    }
    if (inner != NULL) {
        add_type(types, inner->text, inner->mark);
    }
    SL_TRY(add_architecture(arena, root, types));
    const sli_node *mixer = sli_node_find(root, "ssm_cfg");
    if (types->count == 0 && mixer != NULL) { /* state-spaces/mamba names no type */
        add_type(types, "mamba_ssm", mixer->mark);
    }
    return SL_OK;
}

/* ---- The model ---- */

/* A reading of one file as one family. */
typedef struct reading {
    sli_arena *arena;
    sli_diag *diag;
    sli_fields *file;
    sli_fields *text; /* the object in it that is the model; the file itself as a rule */
    const sli_family *family;
    const char *type; /* as the file says it; NULL = it does not */
    sli_import_model model;
} reading;

/* Fills `file` and `text`. */
static sl_err open_file(reading *r, const sli_node *root) {
    r->file = sli_fields_open(r->arena, root, r->diag);
    if (r->file == NULL) {
        return SL_ERR_NOMEM;
    }
    r->text = sli_fields_object(r->file, "text_config|language_config|llm_config");
    if (r->text != NULL) {
        r->text->outer = r->file;
    } else {
        r->text = r->file;
    }
    return r->file->state->is_out_of_memory ? SL_ERR_NOMEM : SL_OK;
}

static sl_err read_model(reading *r, int errors_before) {
    r->model = (sli_import_model){.arena = r->arena};
    r->text->defaults = r->family->defaults;
    r->family->read(r->text, &r->model, r->family->traits);
    return sli_fields_close(r->file, r->family->name, errors_before);
}

/* Whether the file would do as a plain Llama, without a mistake or an unknown field. */
static sl_err try_llama(sli_arena *arena, const sli_node *root, bool *is_llama) {
    sli_diag diag = {0};
    reading r = {.arena = arena, .diag = &diag, .family = sli_family_find("llama")};
    sl_err err = open_file(&r, root);
    if (err == SL_OK) {
        err = read_model(&r, 0);
    }
    *is_llama = err == SL_OK && diag.warning_count == 0;
    sli_diag_fini(&diag);
    return err == SL_ERR_NOMEM ? err : SL_OK;
}

static sl_err report_unknown(sli_arena *arena, const sli_node *root, const model_types *types,
                             sli_diag *diag) {
    size_t count = 0;
    bool is_llama = false;
    const char *const *names = sli_family_names(arena, &count);
    if (names == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(try_llama(arena, root, &is_llama));
    const char *offer = is_llama ? "it has the fields of a llama and no others: "
                                   "--family llama reads it; "
                                 : "";
    if (types->count == 0) {
        sli_diag_error(diag, root->mark, "model_type", "missing; %swhich family is it?", offer);
        return SL_ERR_CONFIG;
    }
    const char *near = sli_nearest(types->texts[0], names, count);
    const char *hint = near != NULL ? sli_arena_printf(arena, "did you mean '%s'?", near)
                                    : sli_arena_printf(arena, "%zu are known", count);
    if (hint == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_diag_error(diag, types->marks[0], "model_type", "unknown model type '%s'; %s%s",
                   types->texts[0], offer, hint);
    return SL_ERR_CONFIG;
}

/* A file that would have been understood by itself. */
static void warn_of_family(const reading *r, const model_types *types) {
    for (size_t i = 0; i < types->count; i++) {
        const sli_family *known = sli_family_find(types->texts[i]);
        if (known != NULL && known != r->family) {
            sli_diag_warning(r->diag, types->marks[i], "model_type",
                             "'%s' is known as %s, and is read as %s as --family says",
                             types->texts[i], known->name, r->family->name);
            return;
        }
    }
}

static sl_err find_family(reading *r, const sli_import_request *request) {
    model_types types;
    SL_TRY(read_types(r->arena, r->file->map, r->text->map, &types));
    r->type = types.count > 0 ? types.texts[0] : NULL;
    if (request->family != NULL) {
        r->family = sli_family_find(request->family);
        SL_ASSERT(r->family != NULL);
        warn_of_family(r, &types);
        return SL_OK;
    }
    for (size_t i = 0; i < types.count && r->family == NULL; i++) {
        r->family = sli_family_find(types.texts[i]);
    }
    return r->family != NULL ? SL_OK : report_unknown(r->arena, r->file->map, &types, r->diag);
}

/* The last part of a path or of `owner/model`. */
static const char *name_of(const reading *r, const sli_import_request *request) {
    const sli_node *path = find_text(r->file->map, "_name_or_path");
    if (request->name != NULL) {
        return request->name;
    }
    const char *slash = path != NULL ? strrchr(path->text, '/') : NULL;
    const char *last = slash != NULL ? slash + 1 : path != NULL ? path->text : "";
    if (last[0] != '\0' && last[0] != '.') {
        return last;
    }
    return r->type != NULL ? r->type : r->family->name;
}

/* ---- The result ---- */

static sl_err write_yaml(const sli_import_model *model, const char **yaml, size_t *length) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL) {
        return SL_ERR_NOMEM;
    }
    sl_err err = sli_import_write(model, file);
    /* A stream to memory fails when there is none, and may say so by being empty. */
    bool is_written = fclose(file) == 0 && err == SL_OK && size > 0;
    char *copy = is_written ? sli_arena_copy(model->arena, text, size) : NULL;
    free(text);
    if (copy == NULL) {
        return SL_ERR_NOMEM;
    }
    *yaml = copy;
    *length = size;
    return SL_OK;
}

/* What no single field was wrong about, such as groups that do not divide heads. */
static sl_err check_yaml(const reading *r, const char *path, const char *yaml, size_t length) {
    const char *name = sli_arena_printf(r->arena, "%s, as imported", path);
    const sli_architecture *architecture;
    sli_node *root;
    if (name == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_tree_read_text(r->arena, name, yaml, length, r->diag, &root));
    return sli_architecture_resolve(r->arena, r->model.name, root, r->diag, &architecture);
}

static sl_err import_tree(sli_arena *arena, const sli_import_request *request, const sli_node *root,
                          sli_diag *diag, const char **yaml) {
    reading r = {.arena = arena, .diag = diag};
    int errors_before = diag->error_count;
    const char *text = NULL;
    size_t length = 0;
    SL_TRY(open_file(&r, root));
    SL_TRY(find_family(&r, request));
    SL_TRY(read_model(&r, errors_before));
    r.model.name = name_of(&r, request);
    SL_TRY(write_yaml(&r.model, &text, &length));
    SL_TRY(check_yaml(&r, request->path, text, length));
    *yaml = text;
    return SL_OK;
}

/* A message that was lost makes more of a failure than what it was about. */
static sl_err answer(sl_err err, const sli_diag *diag) {
    return diag->is_out_of_memory ? SL_ERR_NOMEM : err;
}

sl_err sli_import_file(sli_arena *arena, const sli_import_request *request, sli_diag *diag,
                       const char **yaml) {
    sli_node *root;
    sl_err err = sli_json_read_file(arena, request->path, diag, &root);
    if (err == SL_OK) {
        err = import_tree(arena, request, root, diag, yaml);
    }
    return answer(err, diag);
}

sl_err sli_import_text(sli_arena *arena, const sli_import_request *request, const char *text,
                       size_t length, sli_diag *diag, const char **yaml) {
    sli_node *root;
    sl_err err = sli_json_read_text(arena, request->path, text, length, diag, &root);
    if (err == SL_OK) {
        err = import_tree(arena, request, root, diag, yaml);
    }
    return answer(err, diag);
}
