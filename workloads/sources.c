#include "workloads/sources.h"

#include <stdarg.h>
#include <stdio.h>

enum {
#define SOURCE_NUMBER(name, summary) NUMBER_##name,
    SLI_SOURCE_LIST(SOURCE_NUMBER)
#undef SOURCE_NUMBER
        SOURCE_COUNT
};

static const sli_source_type source_types[] = {
#define SOURCE_TYPE(name, summary)                                                                 \
    {#name, summary, &sli_##name##_section, sli_##name##_describe, sli_##name##_create},
    SLI_SOURCE_LIST(SOURCE_TYPE)
#undef SOURCE_TYPE
};

static const sli_named_type source_names[] = {
#define SOURCE_NAME(name, summary) {#name, &sli_##name##_section, &source_types[NUMBER_##name]},
    SLI_SOURCE_LIST(SOURCE_NAME)
#undef SOURCE_NAME
};

const sli_source_type *sli_source_types(size_t *count) {
    *count = SOURCE_COUNT;
    return source_types;
}

const sli_named_type *sli_source_names(const void *context, size_t *count) {
    (void)context;
    *count = SOURCE_COUNT;
    return source_names;
}

void sli_source_error(const sli_source_env *env, const char *key, const char *format, ...) {
    char path[256];
    snprintf(path, sizeof path, "%s.%s", env->path, key);
    const sli_node *node = env->root != NULL ? sli_tree_path(env->root, path) : NULL;
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    sli_diag_error(env->diag, node != NULL ? node->mark : (sli_mark){0}, path, "%s", message);
}
