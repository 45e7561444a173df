#include "config/absolute.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_in(const char *text, const char *extension) {
    size_t length = strlen(text);
    size_t tail = strlen(extension);
    return length > tail && strcmp(text + length - tail, extension) == 0;
}

bool sli_is_path(const char *text) {
    return strchr(text, '/') != NULL || ends_in(text, ".yaml") || ends_in(text, ".json") ||
           ends_in(text, ".so");
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

static bool is_directory(const char *path) {
    struct stat status; /* of a link itself: what is above its target is not above the link */
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Takes `dir/..` out of an absolute path, in place, where it leads back to where it started. */
static void drop_detours(char *path) {
    char *up = path;
    while ((up = strstr(up, "/..")) != NULL) {
        char *rest = up + strlen("/..");
        *up = '\0';
        char *parent = strrchr(path, '/');
        bool is_detour = (rest[0] == '/' || rest[0] == '\0') && parent != NULL &&
                         is_directory(path);
        *up = '/';
        if (is_detour) {
            memmove(parent, rest, strlen(rest) + 1);
            up = parent;
        } else {
            up = rest;
        }
    }
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
    char *text = sli_arena_printf(arena, "%s%s%.*s/%s", directory, separator, length, file,
                                  plain_path(node->text));
    if (text == NULL) {
        return SL_ERR_NOMEM;
    }
    drop_detours(text);
    node->text = text;
    return SL_OK;
}
