/*
 * The fields of a config.json, each asked for by name and type.
 *
 * Floor import. A getter answers a value that can be gone on with and reports what is wrong, so
 * that all mistakes of a file come at once; null counts as absent. Names are `a|b|c` where makers
 * disagree: the first one that is there is taken. What nobody has asked for is looked through at
 * the end (sli_fields_close): a field that is known to change what a model keeps or computes is an
 * error then, as the importer would be wrong without a word. Must not know families of models.
 *
 * All memory comes from one arena; when it is out, getters answer as if the field was absent, and
 * sli_fields_close answers SL_ERR_NOMEM.
 */
#ifndef SLUICE_IMPORT_FIELDS_H
#define SLUICE_IMPORT_FIELDS_H

#include "base/arena.h"
#include "base/diag.h"
#include "config/tree.h"

#include <stdint.h>

/* What a family takes for a field that its published files leave out. */
typedef struct sli_field_default {
    const char *name; /* NULL ends a table */
    int64_t value;
} sli_field_default;

/* A word of a list or a text, and what it stands for. */
typedef struct sli_field_word {
    const char *word; /* NULL ends a table */
    int64_t code;
} sli_field_word;

/* How reading goes, for all objects of a file. */
typedef struct sli_fields_state {
    const sli_diag_entry *before; /* the last entry of earlier readings; NULL = there is none */
    bool is_flawed;               /* a field was wrong or missing */
    bool is_out_of_memory;
} sli_fields_state;

/* One object of the file. */
typedef struct sli_fields {
    sli_arena *arena;
    sli_diag *diag;
    sli_fields_state *state;
    const sli_node *map;
    const char *path;                  /* of the object, with a dot behind; "" = the file */
    const sli_field_default *defaults; /* NULL = none */
    struct sli_fields *outer;          /* asked for what this one lacks; NULL = none */
    struct sli_fields *inner;          /* the objects in it that were opened */
    struct sli_fields *next;
    bool *is_read; /* of the children of map, in their order */
} sli_fields;

/* The object of a node; NULL when memory is out. */
sli_fields *sli_fields_open(sli_arena *arena, const sli_node *map, sli_diag *diag);

/* Reports what was not asked for; SL_ERR_CONFIG when there was any error since the diagnostics
 * list had `errors_before`. `family` for the messages. */
SL_NODISCARD sl_err sli_fields_close(sli_fields *fields, const char *family, int errors_before);

/* Whether the field is there and not null. */
bool sli_fields_has(const sli_fields *fields, const char *names);

/* Whether it is not there at all, not even as null: what a class takes for null may differ from
 * what it takes for nothing. */
bool sli_fields_is_absent(const sli_fields *fields, const char *names);

/* Whether it is a text in quotes, or a list. */
bool sli_fields_is_text(const sli_fields *fields, const char *names);
bool sli_fields_is_list(const sli_fields *fields, const char *names);

/* Looks at a field that makes no difference here, or at all that are left. */
void sli_fields_skip(sli_fields *fields, const char *names);
void sli_fields_skip_rest(sli_fields *fields);

/* Whole numbers, also when written as 4.0 or 1e6. Absent: the default of the family; without one
 * the fallback, or an error and `min`. */
int64_t sli_fields_int(sli_fields *fields, const char *names, int64_t min, int64_t max);
int64_t sli_fields_int_or(sli_fields *fields, const char *names, int64_t min, int64_t max,
                          int64_t fallback);

bool sli_fields_bool_or(sli_fields *fields, const char *names, bool fallback);

/* Any text. */
const char *sli_fields_text_or(sli_fields *fields, const char *names, const char *fallback);

/* One of the words; absent: the fallback. */
int64_t sli_fields_word_or(sli_fields *fields, const char *names, const sli_field_word *words,
                           int64_t fallback);

/* A list of `count` words or numbers of the table (a number as its text), as codes. NULL when it is
 * absent or empty, and after an error. */
const int64_t *sli_fields_codes(sli_fields *fields, const char *names, const sli_field_word *words,
                                size_t count);

/* The same from a text with a letter for each. */
const int64_t *sli_fields_letters(sli_fields *fields, const char *names,
                                  const sli_field_word *words, size_t *count);

/* A list of the places, counted from `base`, that have something: true for those of 0 .. count - 1.
 * NULL as above, but an empty list is one without places. */
const bool *sli_fields_places(sli_fields *fields, const char *names, int64_t base, size_t count);

/* The items of a list; NULL when it is absent. */
const sli_node *sli_fields_list(sli_fields *fields, const char *names);

/* An object inside of this one; NULL when it is absent or none. */
sli_fields *sli_fields_object(sli_fields *fields, const char *names);

/* An error about a field; where it is absent, about the object. */
void sli_fields_error(sli_fields *fields, const char *names, const char *format, ...)
    SL_PRINTF(3, 4);

/* A warning about a field, in the same way. */
void sli_fields_warn(sli_fields *fields, const char *names, const char *format, ...)
    SL_PRINTF(3, 4);

/* An error about fields that do not fit together, at one of them; said only when none was wrong by
 * itself, since then the getter has answered something else. */
void sli_fields_conflict(sli_fields *fields, const char *names, const char *format, ...)
    SL_PRINTF(3, 4);

#endif
