#include "config/tree.h"

#include "config/bytes.h"
#include "config/node.h"
#include "config/parse.h"
#include "config/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that is being read, on top of the one that extends it. */
typedef struct source {
    const struct source *below;
    const char *name;
    struct stat status;
    bool is_file; /* false for a text: it has no status */
} source;

/* --- Files --------------------------------------------------------------------------------- */

/* Who asked for a file, for the message when it cannot be read. */
typedef struct request {
    sli_mark mark;
    const sli_path *path;
} request;

/* The mark of the first file is its name. */
static sl_err cannot_read(sli_diag *diag, const request *asker, const char *name, int error) {
    if (asker->path == NULL) {
        sli_diag_error(diag, asker->mark, NULL, "cannot be read: %s", sli_reason_of(error).text);
        return SL_ERR_CONFIG;
    }
    sli_path_error(diag, asker->path, asker->mark, "%s", sli_unread_of(name, error).text);
    return SL_ERR_CONFIG;
}

static sl_err read_file(const char *name, const request *asker, sli_diag *diag, struct stat *status,
                        char **text, size_t *length) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        return cannot_read(diag, asker, name, errno);
    }
    sl_err err = SL_OK;
    char *bytes = NULL;
    size_t count = 0;
    if (fstat(fileno(file), status) != 0) {
        err = cannot_read(diag, asker, name, errno);
        goto out;
    }
    if (S_ISDIR(status->st_mode)) {
        sli_path_error(diag, asker->path, asker->mark, "expected a file, found the directory '%s'",
                       sli_excerpt_of(name).text);
        err = SL_ERR_CONFIG;
        goto out;
    }
    err = sli_bytes_read(file, &bytes, &count);
    if (err != SL_OK) {
        goto out;
    }
    if (ferror(file)) {
        err = cannot_read(diag, asker, name, errno);
        goto out;
    }
    *text = bytes;
    *length = count;
    bytes = NULL;
out:
    free(bytes);
    fclose(file);
    return err;
}

/* --- Extends ------------------------------------------------------------------------------- */

/* Puts what `top` says over `base`: mappings merge, anything else replaces. */
static void merge(sli_node *base, sli_node *top) {
    sli_node *next;
    for (sli_node *child = top->first; child != NULL; child = next) {
        next = child->next;
        sli_node *old = sli_node_find(base, child->key);
        if (old != NULL && old->kind == SLI_NODE_MAP && child->kind == SLI_NODE_MAP) {
            merge(old, child);
        } else {
            sli_node_put(base, child);
        }
    }
    base->key_mark = top->key_mark;
    base->mark = top->mark;
    base->is_flawed |= top->is_flawed;
}

/* `a.yaml -> b.yaml -> a.yaml`, from the first time that the file was met. */
static char *cycle_text(sli_arena *arena, const source *link, const source *first,
                        const char *tail) {
    char *text = sli_arena_printf(arena, "%s -> %s", link->name, tail);
    return link == first || text == NULL ? text : cycle_text(arena, link->below, first, text);
}

static sl_err refuse_cycle(sli_arena *arena, const source *file, const request *asker,
                           sli_diag *diag) {
    int depth = 0;
    for (const source *link = file->below; link != NULL; link = link->below) {
        if (link->is_file && link->status.st_dev == file->status.st_dev &&
            link->status.st_ino == file->status.st_ino) {
            const char *text = cycle_text(arena, file->below, link, file->name);
            if (text == NULL) {
                return SL_ERR_NOMEM;
            }
            sli_path_error(diag, asker->path, asker->mark, "makes a cycle: %s", text);
            return SL_ERR_CONFIG;
        }
        if (++depth > SLI_DEPTH_MAX) {
            sli_path_error(diag, asker->path, asker->mark, "more than %d files extend one another",
                           SLI_DEPTH_MAX);
            return SL_ERR_CONFIG;
        }
    }
    return SL_OK;
}

static sl_err read_chain(sli_arena *arena, const source *file, const char *text, size_t length,
                         sli_diag *diag, sli_node **root);

static sl_err read_named(sli_arena *arena, const char *name, const source *below,
                         const request *asker, sli_diag *diag, sli_node **root) {
    source file = {.below = below, .name = name, .is_file = true};
    char *text = NULL;
    size_t length = 0;
    SL_TRY(read_file(name, asker, diag, &file.status, &text, &length));
    sl_err err = refuse_cycle(arena, &file, asker, diag);
    if (err == SL_OK) {
        err = read_chain(arena, &file, text, length, diag, root);
    }
    free(text);
    return err;
}

/* The name, seen from the directory of the file that says it. NULL when memory is out. */
static const char *beside(sli_arena *arena, const char *file, const char *name) {
    const char *slash = strrchr(file, '/');
    if (name[0] == '/' || slash == NULL) {
        return sli_arena_strdup(arena, name);
    }
    return sli_arena_printf(arena, "%.*s/%s", (int)(slash - file), file, name);
}

static sl_err extend(sli_arena *arena, const source *file, const sli_node *extends, sli_diag *diag,
                     sli_node **root) {
    if (extends->is_flawed) {
        return SL_OK;
    }
    sli_path path = {.key = "extends"};
    request asker = {.mark = extends->mark, .path = &path};
    if (extends->kind != SLI_NODE_SCALAR || extends->text[0] == '\0') {
        sli_path_error(diag, &path, extends->mark, "expected the name of one file");
        return SL_ERR_CONFIG;
    }
    const char *name = beside(arena, file->name, extends->text);
    if (name == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_node *base;
    SL_TRY(read_named(arena, name, file, &asker, diag, &base));
    merge(base, *root);
    *root = base;
    return SL_OK;
}

/* Reads a text and, underneath it, the file that it extends. */
static sl_err read_chain(sli_arena *arena, const source *file, const char *text, size_t length,
                         sli_diag *diag, sli_node **root) {
    sli_yaml yaml = {.name = file->name, .text = text, .length = length, .origin = SLI_ORIGIN_FILE};
    sli_node *tree;
    SL_TRY(sli_yaml_parse(arena, &yaml, diag, &tree));
    if (tree == NULL) {
        sli_path_error(diag, NULL, (sli_mark){.file = file->name},
                       "expected a mapping of keys, found nothing");
        return SL_ERR_CONFIG;
    }
    if (tree->kind != SLI_NODE_MAP) {
        if (!tree->is_flawed) {
            sli_path_error(diag, NULL, tree->mark, "expected a mapping of keys, found %s",
                           tree->kind == SLI_NODE_LIST ? "a list" : "a single value");
        }
        return SL_ERR_CONFIG;
    }
    const sli_node *extends = sli_node_detach(tree, "extends");
    if (extends != NULL) {
        SL_TRY(extend(arena, file, extends, diag, &tree));
    }
    *root = tree;
    return SL_OK;
}

static sl_err read_first(sli_arena *arena, const char *name, const request *asker, sli_diag *diag,
                         sli_node **root) {
    sl_err err = read_named(arena, name, NULL, asker, diag, root);
    return diag->is_out_of_memory ? SL_ERR_NOMEM : err;
}

sl_err sli_tree_read_file(sli_arena *arena, const char *path, sli_diag *diag, sli_node **root) {
    const char *name = sli_arena_strdup(arena, path);
    if (name == NULL) {
        return SL_ERR_NOMEM;
    }
    return read_first(arena, name, &(request){.mark = {.file = name}}, diag, root);
}

sl_err sli_tree_read_asked(sli_arena *arena, const char *path, sli_mark mark, const char *key,
                           sli_diag *diag, sli_node **root) {
    const char *name = sli_arena_strdup(arena, path);
    if (name == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_path asked = {.key = key};
    return read_first(arena, name, &(request){.mark = mark, .path = &asked}, diag, root);
}

sl_err sli_tree_read_text(sli_arena *arena, const char *name, const char *text, size_t length,
                          sli_diag *diag, sli_node **root) {
    source file = {.name = sli_arena_strdup(arena, name)};
    if (file.name == NULL) {
        return SL_ERR_NOMEM;
    }
    sl_err err = read_chain(arena, &file, text, length, diag, root);
    return diag->is_out_of_memory ? SL_ERR_NOMEM : err;
}

/* --- Set ----------------------------------------------------------------------------------- */

/* The keys of an assignment, each linked to the one before, so that the last is the path. */
typedef struct key_list {
    sli_path path[SLI_DEPTH_MAX];
    size_t count;
    const char *value;
} key_list;

static const sli_mark set_mark = {.file = "--set"};

static sl_err split(sli_arena *arena, const char *assignment, sli_diag *diag, key_list *keys) {
    const char *equals = strchr(assignment, '=');
    if (equals == NULL) {
        sli_path_error(diag, NULL, set_mark, "expected key=value, found '%s'",
                       sli_excerpt_of(assignment).text);
        return SL_ERR_CONFIG;
    }
    const char *start = assignment;
    for (;;) {
        size_t length = strcspn(start, ".=");
        if (length == 0) {
            sli_path_error(diag, NULL, set_mark, "expected key=value, found an empty key in '%s'",
                           sli_excerpt_of(assignment).text);
            return SL_ERR_CONFIG;
        }
        if (keys->count == SLI_DEPTH_MAX) {
            sli_path_error(diag, NULL, set_mark, "nested deeper than %d levels", SLI_DEPTH_MAX);
            return SL_ERR_CONFIG;
        }
        const char *key = sli_arena_copy(arena, start, length);
        if (key == NULL) {
            return SL_ERR_NOMEM;
        }
        const sli_path *parent = keys->count > 0 ? &keys->path[keys->count - 1] : NULL;
        keys->path[keys->count++] = (sli_path){.parent = parent, .key = key};
        if (start[length] == '=') {
            keys->value = start + length + 1;
            return SL_OK;
        }
        start += length + 1;
    }
}

static sl_err parse_value(sli_arena *arena, const key_list *keys, sli_diag *diag,
                          sli_node **value) {
    const sli_path *path = &keys->path[keys->count - 1];
    sli_yaml yaml = {.name = set_mark.file,
                     .text = keys->value,
                     .length = strlen(keys->value),
                     .origin = SLI_ORIGIN_SET,
                     .path = path};
    sli_node *node;
    SL_TRY(sli_yaml_parse(arena, &yaml, diag, &node));
    if (node == NULL) {
        sli_path_error(diag, path, set_mark, "expected a value after '=', found nothing");
        return SL_ERR_CONFIG;
    }
    if (node->is_flawed) {
        return SL_ERR_CONFIG;
    }
    *value = node;
    return SL_OK;
}

/* Makes a scalar a map without keys that remembers it; false without memory. */
static bool open_scalar(sli_arena *arena, sli_node *node) {
    sli_node *bare = sli_arena_alloc(arena, sizeof *bare);
    if (bare == NULL) {
        return false;
    }
    *bare = *node;
    bare->next = NULL;
    bare->key = NULL;
    bare->key_mark = node->mark;
    node->kind = SLI_NODE_MAP;
    node->text = NULL;
    node->bare = bare;
    return true;
}

static sl_err set_value(sli_arena *arena, sli_node *root, const key_list *keys, sli_diag *diag) {
    sli_node *value;
    SL_TRY(parse_value(arena, keys, diag, &value));
    sli_node *map = root;
    size_t depth = 0; /* of the children of `map` */
    for (; depth + 1 < keys->count; depth++) {
        sli_node *child = sli_node_find(map, keys->path[depth].key);
        if (child == NULL) {
            break;
        }
        if (child->kind == SLI_NODE_LIST) {
            sli_path_error(diag, &keys->path[keys->count - 1], set_mark,
                           "'%s' is a list, not a mapping", keys->path[depth].key);
            return SL_ERR_CONFIG;
        }
        if (child->kind == SLI_NODE_SCALAR && !open_scalar(arena, child)) {
            return SL_ERR_NOMEM;
        }
        map = child;
    }
    /* The maps that are missing, from the innermost, so that the tree changes in one go. */
    for (size_t i = keys->count - 1; i > depth; i--) {
        if (!sli_node_wrap(arena, value, keys->path[i].key)) {
            return SL_ERR_NOMEM;
        }
    }
    value->key = keys->path[depth].key;
    value->key_mark = set_mark;
    sli_node_put(map, value);
    return SL_OK;
}

sl_err sli_tree_set(sli_arena *arena, sli_node *root, const char *assignment, sli_diag *diag) {
    key_list keys = {0};
    sl_err err = split(arena, assignment, diag, &keys);
    if (err == SL_OK && strcmp(keys.path[0].key, "extends") == 0) {
        sli_path_error(diag, &keys.path[0], set_mark, "can only be said in a file");
        err = SL_ERR_CONFIG;
    }
    if (err == SL_OK) {
        err = set_value(arena, root, &keys, diag);
    }
    return diag->is_out_of_memory ? SL_ERR_NOMEM : err;
}
