#include "config/absolute.h"

#include <string.h>
#include <unistd.h>

static bool ends_in(const char *text, const char *extension) {
    size_t length = strlen(text);
    size_t tail = strlen(extension);
    return length > tail && strcmp(text + length - tail, extension) == 0;
}

bool sli_is_path(const char *text) {
    return strchr(text, '/') != NULL || ends_in(text, ".yaml") || ends_in(text, ".so");
}

/* The working directory in the arena; NULL when memory is out or it has no name. */
static const char *working_directory(sli_arena *arena) {
    for (size_t size = 256; size <= (size_t)1 << 20; size *= 2) {
        char *text = sli_arena_alloc(arena, size);
        if (text == NULL || getcwd(text, size) != NULL) {
            return text;
        }
    }
    return NULL;
}

/* Drops the `./` in front, which only clutters absolute paths. */
static const char *plain_path(const char *path) {
    while (path[0] == '.' && path[1] == '/') {
        path += 2 + strspn(path + 2, "/");
    }
    return path;
}

sl_err sli_absolute_path(sli_arena *arena, sli_node *node) {
    if (node->kind != SLI_NODE_SCALAR || node->text[0] == '\0' || node->text[0] == '/') {
        return SL_OK;
    }
    const char *file = node->origin == SLI_ORIGIN_FILE ? plain_path(node->mark.file) : "";
    const char *slash = strrchr(file, '/');
    int length = slash != NULL ? (int)(slash - file) : 0;
    const char *directory = file[0] == '/' ? "" : working_directory(arena);
    if (directory == NULL) {
        return SL_ERR_NOMEM;
    }
    const char *separator = length > 0 && file[0] != '/' ? "/" : "";
    const char *text = sli_arena_printf(arena, "%s%s%.*s/%s", directory, separator, length, file,
                                        plain_path(node->text));
    if (text == NULL) {
        return SL_ERR_NOMEM;
    }
    node->text = text;
    return SL_OK;
}
