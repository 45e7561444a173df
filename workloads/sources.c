#include "workloads/sources.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
#define SOURCE_NUMBER(name, is_closed, summary) NUMBER_##name,
    SLI_SOURCE_LIST(SOURCE_NUMBER)
#undef SOURCE_NUMBER
        SOURCE_COUNT
};

static const sli_source_type source_types[] = {
#define SOURCE_TYPE(name, is_closed, summary)                                                      \
    {#name, summary, is_closed, &sli_##name##_section, sli_##name##_describe, sli_##name##_create},
    SLI_SOURCE_LIST(SOURCE_TYPE)
#undef SOURCE_TYPE
};

static const sli_named_type source_names[] = {
#define SOURCE_NAME(name, is_closed, summary)                                                      \
    {#name, &sli_##name##_section, &source_types[NUMBER_##name]},
    SLI_SOURCE_LIST(SOURCE_NAME)
#undef SOURCE_NAME
};

const sli_named_type *sli_source_names(const void *context, size_t *count) {
    (void)context;
    *count = SOURCE_COUNT;
    return source_names;
}

typedef struct place {
    char path[256];
    sli_mark mark;
} place;

/* Where a dotted path is written. A default stands nowhere: its place is that of the mapping which
 * leaves it out. Shortens the path. */
static sli_mark find_mark(const sli_node *root, char *path) {
    const sli_node *node = sli_tree_path(root, path);
    char *dot = strrchr(path, '.');
    bool is_written = node != NULL && node->mark.file != NULL;
    if (is_written || dot == NULL) {
        return is_written ? node->mark : (sli_mark){0};
    }
    *dot = '\0';
    return find_mark(root, path);
}

static place place_of(const sli_source_env *env, const char *key) {
    place here = {.mark = {0}};
    snprintf(here.path, sizeof here.path, "%s.%s", env->path, key);
    if (env->root != NULL) {
        place above = here;
        here.mark = find_mark(env->root, above.path);
    }
    return here;
}

void sli_source_error(const sli_source_env *env, const char *key, const char *format, ...) {
    place here = place_of(env, key);
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    sli_diag_error(env->diag, here.mark, here.path, "%s", message);
}

void sli_source_warning(const sli_source_env *env, const char *key, const char *what) {
    place here = place_of(env, key);
    sli_diag_warning(env->diag, here.mark, here.path, "%s", what);
}
