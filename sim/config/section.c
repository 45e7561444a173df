#include "config/section.h"

#include "config/text.h"

#include <string.h>

size_t sli_row_count(const sli_section *section) {
    return section != NULL ? section->param_count + section->field_count : 0;
}

bool sli_row_is_param(const sli_section *section, size_t row) {
    return row < section->param_count;
}

const sli_field *sli_row_field(const sli_section *section, size_t row) {
    return &section->fields[row - section->param_count];
}

const char *sli_row_name(const sli_section *section, size_t row) {
    return sli_row_is_param(section, row) ? section->params[row].name
                                          : sli_row_field(section, row)->name;
}

const char *sli_row_fallback(const sli_section *section, size_t row) {
    return sli_row_is_param(section, row) ? section->params[row].fallback
                                          : sli_row_field(section, row)->fallback;
}

size_t sli_row_find(const sli_section *section, const char *name) {
    size_t row = 0;
    while (row < sli_row_count(section) && strcmp(sli_row_name(section, row), name) != 0) {
        row++;
    }
    return row;
}

const char *sli_absent_key(const sli_section *section, const char *name) {
    const sli_absent *absent = section != NULL ? section->absent : NULL;
    for (; absent != NULL && absent->name != NULL; absent++) {
        if (strcmp(absent->name, name) == 0) {
            return absent->instead;
        }
    }
    return NULL;
}

sl_err sli_row_names(sli_arena *arena, const sli_section *section, const char *extra,
                     const char *const **names, size_t *count) {
    size_t rows = sli_row_count(section);
    const char **array = sli_arena_array(arena, rows + 1, sizeof *array);
    if (array == NULL) {
        return SL_ERR_NOMEM;
    }
    size_t used = 0;
    if (extra != NULL) {
        array[used++] = extra;
    }
    for (size_t row = 0; row < rows; row++) {
        array[used++] = sli_row_name(section, row);
    }
    *names = array;
    *count = used;
    return SL_OK;
}

sl_err sli_row_text(sli_arena *arena, const sli_section *section, const char **text) {
    const char *const *names;
    size_t count;
    SL_TRY(sli_row_names(arena, section, NULL, &names, &count));
    *text = sli_join(arena, names, count);
    return *text != NULL ? SL_OK : SL_ERR_NOMEM;
}
