#include "config/schema.h"

#include "config/section.h"
#include "config/value.h"

#include <string.h>

enum { HELP_COLUMN = 28 };

typedef struct help_page {
    sli_arena arena; /* for texts of one page */
    const void *context;
    FILE *file;
} help_page;

/* A key in the first column, what it may be in the second. */
static void print_key(const help_page *page, const char *key, const char *what,
                      const char *fallback, const char *help) {
    if (strlen(key) + 2 > HELP_COLUMN) {
        fprintf(page->file, "%s\n%*s", key, HELP_COLUMN, "");
    } else {
        fprintf(page->file, "%-*s", HELP_COLUMN, key);
    }
    if (fallback != NULL) {
        fprintf(page->file, "%s (default %s)\n", what, fallback);
    } else {
        fprintf(page->file, "%s (required)\n", what);
    }
    if (help != NULL && help[0] != '\0') {
        fprintf(page->file, "%*s%s\n", HELP_COLUMN, "", help);
    }
}

static sl_err describe(help_page *page, const sli_section *section, const char *prefix);

static sl_err describe_named(help_page *page, const sli_field *field, const char *key) {
    size_t count = 0;
    const sli_named_type *types = field->types(page->context, &count);
    const char *names = "";
    for (size_t i = 0; i < count && names != NULL; i++) {
        names = sli_arena_printf(&page->arena, "%s%s%s", names, i > 0 ? ", " : "", types[i].name);
    }
    if (names == NULL) {
        return SL_ERR_NOMEM;
    }
    const char *what = sli_arena_printf(&page->arena, "one of %s", names);
    if (what == NULL) {
        return SL_ERR_NOMEM;
    }
    print_key(page, key, what, field->fallback, field->help);
    return SL_OK;
}

/* What may stand at a field whose keys are described on their own, or nowhere. */
static sl_err describe_field(help_page *page, const sli_field *field, const char *key) {
    const char *names = NULL;
    const char *what = NULL;
    if (field->kind == SLI_FIELD_NAMED) {
        return describe_named(page, field, key);
    }
    SL_TRY(sli_row_text(&page->arena, field->section, &names));
    switch (field->kind) {
    case SLI_FIELD_ONE_OF:
        what = sli_arena_printf(&page->arena, "exactly one of %s", names);
        break;
    case SLI_FIELD_TABLE:
        what = sli_arena_printf(&page->arena, "a list of rows [%s]", names);
        break;
    case SLI_FIELD_SOURCED:
        SL_TRY(sli_value_describe(&page->arena, &field->section->params[0], &names));
        what = sli_arena_printf(&page->arena, "{value, source, date}: %s", names);
        break;
    default:
        return describe(page, field->section, key);
    }
    if (what == NULL) {
        return SL_ERR_NOMEM;
    }
    print_key(page, key, what, field->fallback, field->help);
    return field->kind == SLI_FIELD_ONE_OF ? describe(page, field->section, key) : SL_OK;
}

/* All rows of a section, their keys behind the prefix. */
static sl_err describe(help_page *page, const sli_section *section, const char *prefix) {
    for (size_t row = 0; row < sli_row_count(section); row++) {
        const char *key = sli_arena_printf(&page->arena, "%s%s%s", prefix,
                                           prefix[0] != '\0' ? "." : "",
                                           sli_row_name(section, row));
        if (key == NULL) {
            return SL_ERR_NOMEM;
        }
        if (!sli_row_is_param(section, row)) {
            SL_TRY(describe_field(page, sli_row_field(section, row), key));
            continue;
        }
        const sl_param *param = &section->params[row];
        const char *what;
        SL_TRY(sli_value_describe(&page->arena, param, &what));
        print_key(page, key, what, param->fallback, param->help);
    }
    return SL_OK;
}

void sli_schema_describe(const sli_section *section, const void *context, FILE *file) {
    help_page page = {.context = context, .file = file};
    if (describe(&page, section, "") != SL_OK) {
        fputs("(out of memory)\n", file);
    }
    sli_arena_fini(&page.arena);
}
