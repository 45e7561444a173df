/*
 * The rows of a section: its params, then its fields, counted through.
 *
 * Floor config, internal. A section may be NULL: it has no rows.
 */
#ifndef SLUICE_CONFIG_SECTION_H
#define SLUICE_CONFIG_SECTION_H

#include "config/schema.h"

size_t sli_row_count(const sli_section *section);
bool sli_row_is_param(const sli_section *section, size_t row);
const sli_field *sli_row_field(const sli_section *section, size_t row);
const char *sli_row_name(const sli_section *section, size_t row);
const char *sli_row_fallback(const sli_section *section, size_t row);

/* The row of a name, or sli_row_count. O(rows). */
size_t sli_row_find(const sli_section *section, const char *name);

/* What to say of a key that the section does not have on purpose; NULL = nothing. O(such keys). */
const char *sli_absent_key(const sli_section *section, const char *name);

/* All names of rows, behind `extra` unless that is NULL. */
SL_NODISCARD sl_err sli_row_names(sli_arena *arena, const sli_section *section, const char *extra,
                                  const char *const **names, size_t *count);

/* All names of rows as `a, b, c`. */
SL_NODISCARD sl_err sli_row_text(sli_arena *arena, const sli_section *section, const char **text);

#endif
