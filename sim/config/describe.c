#include "config/schema.h"

#include "config/section.h"
#include "config/value.h"

#include <string.h>

enum { HELP_COLUMN = 28 };

typedef struct help_page {
    sli_arena arena; /* for texts of one page */
    const void *context;
    FILE *file;
    bool is_choice; /* the keys are those of which one is chosen: none of them is required */
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
        fprintf(page->file, "%s%s\n", what, page->is_choice ? "" : " (required)");
    }
    if (help != NULL && help[0] != '\0') {
        fprintf(page->file, "%*s%s\n", HELP_COLUMN, "", help);
    }
}

static sl_err describe_row(help_page *page, const sli_section *section, size_t row,
                           const char *prefix);
static sl_err describe(help_page *page, const sli_section *section, const char *prefix);

static const char *row_help(const sli_section *section, size_t row) {
    const char *help = sli_row_is_param(section, row) ? section->params[row].help
                                                      : sli_row_field(section, row)->help;
    return help != NULL ? help : "";
}

/* Whether a type takes the same key, meant in the same way; types may share keys. */
static bool takes_row(const sli_named_type *type, const sli_section *section, size_t row) {
    size_t own = sli_row_find(type->section, sli_row_name(section, row));
    return own < sli_row_count(type->section) &&
           strcmp(row_help(type->section, own), row_help(section, row)) == 0;
}

/* The names of the types that take a key, or "" when one before `first` does. */
static sl_err takers(help_page *page, const sli_named_type *types, size_t count, size_t first,
                     size_t row, const char **names) {
    const sli_section *section = types[first].section;
    const char *text = "";
    for (size_t i = 0; i < count; i++) {
        if (!takes_row(&types[i], section, row)) {
            continue;
        }
        if (i < first) {
            *names = "";
            return SL_OK;
        }
        text = sli_arena_printf(&page->arena, "%s%s%s", text, i > first ? ", " : "", types[i].name);
        if (text == NULL) {
            return SL_ERR_NOMEM;
        }
    }
    *names = text;
    return SL_OK;
}

/* The keys of every type, each once, under a line that says who takes it. */
static sl_err describe_types(help_page *page, const sli_field *field, const char *key,
                             const sli_named_type *types, size_t count) {
    const char *heading = "";
    for (size_t i = 0; i < count; i++) {
        for (size_t row = 0; row < sli_row_count(types[i].section); row++) {
            const char *names;
            SL_TRY(takers(page, types, count, i, row, &names));
            if (names[0] == '\0') {
                continue;
            }
            if (strcmp(names, heading) != 0) {
                fprintf(page->file, "  with %s.%s: %s\n", key, field->name_key, names);
                heading = names;
            }
            SL_TRY(describe_row(page, types[i].section, row, key));
        }
    }
    return SL_OK;
}

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
    return describe_types(page, field, key, types, count);
}

/* The map, then what may stand under each of its names. */
static sl_err describe_map(help_page *page, const sli_field *field, const char *key) {
    const char *entry = sli_arena_printf(&page->arena, "%s.NAME", key);
    if (entry == NULL) {
        return SL_ERR_NOMEM;
    }
    print_key(page, key, "a mapping of names of your own", field->fallback, field->help);
    sli_field item = *field;
    item.fallback = NULL;
    item.help = NULL;
    return describe_named(page, &item, entry);
}

/* The keys below a field; `is_choice` when only one of them is given. */
static sl_err describe_below(help_page *page, const sli_field *field, const char *key,
                             bool is_choice) {
    bool was_choice = page->is_choice;
    page->is_choice = is_choice;
    sl_err err = describe(page, field->section, key);
    page->is_choice = was_choice;
    return err;
}

/* What may stand at a field whose keys are described on their own, or nowhere. */
static sl_err describe_field(help_page *page, const sli_field *field, const char *key) {
    const char *names = NULL;
    const char *what = NULL;
    if (field->kind == SLI_FIELD_NAMED) {
        return describe_named(page, field, key);
    }
    if (field->kind == SLI_FIELD_MAP) {
        return describe_map(page, field, key);
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
        return describe_below(page, field, key, false);
    }
    if (what == NULL) {
        return SL_ERR_NOMEM;
    }
    print_key(page, key, what, field->fallback, field->help);
    return field->kind == SLI_FIELD_ONE_OF ? describe_below(page, field, key, true) : SL_OK;
}

static sl_err describe_row(help_page *page, const sli_section *section, size_t row,
                           const char *prefix) {
    const char *key = sli_arena_printf(&page->arena, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "",
                                       sli_row_name(section, row));
    if (key == NULL) {
        return SL_ERR_NOMEM;
    }
    if (!sli_row_is_param(section, row)) {
        return describe_field(page, sli_row_field(section, row), key);
    }
    const sl_param *param = &section->params[row];
    const char *what;
    SL_TRY(sli_value_describe(&page->arena, param, &what));
    print_key(page, key, what, param->fallback, param->help);
    return SL_OK;
}

/* All rows of a section, their keys behind the prefix. */
static sl_err describe(help_page *page, const sli_section *section, const char *prefix) {
    for (size_t row = 0; row < sli_row_count(section); row++) {
        SL_TRY(describe_row(page, section, row, prefix));
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
