/*
 * What may be written: a schema made of parameter tables, and the walk that applies it.
 *
 * Floor config. A section is a mapping whose keys are plain parameters and fields of richer kinds.
 * Resolving a tree against a section fills a C struct, adds the defaults to the tree (so that it
 * says everything that the run depends on) and reports every mistake at once, with the nearest
 * valid name. Tables are constant data; see workloads/ and run/scenario.c for examples.
 */
#ifndef SLUICE_CONFIG_SCHEMA_H
#define SLUICE_CONFIG_SCHEMA_H

#include "base/arena.h"
#include "base/diag.h"
#include "config/tree.h"
#include "sluice/param.h"

#include <stdio.h>

typedef struct sli_field sli_field;

/* A key that somebody may look for, and that there is not: why, and what to do instead. */
typedef struct sli_absent {
    const char *name;
    const char *instead; /* behind `unknown key 'NAME': ` */
} sli_absent;

/* A mapping. All offsets are into one struct of struct_size bytes. */
typedef struct sli_section {
    const sl_param *params;
    size_t param_count;
    const sli_field *fields;
    size_t field_count;
    size_t struct_size;
    const char *shorthand; /* a scalar in place of the mapping sets this key; NULL = not allowed */
    const sli_absent *absent; /* ends with a NULL name; NULL = no such keys */
} sli_section;

typedef enum sli_field_kind {
    SLI_FIELD_SECTION, /* a nested mapping; its struct lies at offset */
    SLI_FIELD_ONE_OF,  /* a mapping with exactly one of the keys of `section`, or that key as a
                          scalar if its value may be left out; int at offset = which key, counted
                          over params, then fields. Its section's offsets are into the same struct
                          as the field's. The section's defaults are not applied to other keys. */
    SLI_FIELD_NAMED,   /* a mapping whose keys depend on a name; sli_named at offset */
    SLI_FIELD_MAP,     /* a mapping whose keys the file chooses, each value as of a named field;
                          sli_map_values at offset */
    SLI_FIELD_TABLE,   /* a list of rows, each a list with one value a parameter; sli_table */
    SLI_FIELD_SOURCED, /* {value, source, date[, assumed: on]} for the single parameter in
                          `section`; its value goes to that parameter's offset, sli_sourced to
                          offset. All figures about hardware are of this kind. A bare value
                          is allowed only if it is the fallback, which may be bare. */
} sli_field_kind;

/* What a name of a named field stands for. */
typedef struct sli_named_type {
    const char *name;
    const sli_section *section; /* keys besides the name; NULL = none */
    const void *item;           /* what the name means, for the owner of the table */
} sli_named_type;

struct sli_field {
    const char *name;
    sli_field_kind kind;
    const char *help;
    size_t offset;
    const sli_section *section; /* all kinds but named and map */
    const char *fallback; /* as YAML text (flow style); NULL = required. A section whose keys all
                             have defaults may say "{}". */
    const char
        *name_key; /* named, map: the key of the name; a scalar in place of the mapping is it */
    /* named, map: the types to choose from; called with the context given to sli_schema_resolve. */
    const sli_named_type *(*types)(const void *context, size_t *count);
    /* named, map: what to say of a name that is near to none, as "; try this"; NULL = nothing. */
    const char *(*advise)(const void *context);
    int64_t min_rows; /* table, map */
    int64_t max_rows;
};

typedef struct sli_named {
    const sli_named_type *type;
    void *values; /* struct of type->section, in the arena; NULL without a section */
    sli_mark mark;
} sli_named;

typedef struct sli_named_entry {
    const char *key; /* as in the file */
    sli_named value;
} sli_named_entry;

typedef struct sli_map_values {
    sli_named_entry *entries; /* in the order of the file, in the arena */
    size_t count;
} sli_map_values;

typedef struct sli_table {
    void *rows; /* count structs of section->struct_size, in the arena */
    size_t count;
} sli_table;

typedef struct sli_sourced {
    const char *source;
    const char *date;
    bool is_assumed;
    bool is_set; /* false when the fallback was taken */
} sli_sourced;

/*
 * Checks the tree, completes it with defaults and fills `values`, a zeroed struct of
 * section->struct_size bytes. Every mistake goes to diag (then SL_ERR_CONFIG, and the tree
 * and the struct are complete only in part). The tree and the arena must outlive the values.
 */
SL_NODISCARD sl_err sli_schema_resolve(sli_arena *arena, const sli_section *section,
                                       const void *context, sli_node *root, sli_diag *diag,
                                       void *values);

/* The index of a choice, by its name or by a word for it (NULL = there are none); -1 when the text
 * is neither. As a schema reads one. O(names). */
int sli_choice_find(const char *const *choices, const sl_word *words, const char *text);

/* The node of a dotted path in a resolved tree, for later messages about it; NULL if absent. */
const sli_node *sli_tree_path(const sli_node *root, const char *path);

/*
 * Writes a resolved tree as YAML that resolves to the same values, the origin of each as a comment
 * (`# default`, `# file.yaml:12`, `# --set`). Paths are written absolute.
 */
SL_NODISCARD sl_err sli_tree_write(const sli_node *root, FILE *file);

/* Lists the keys of a section with type, range, default and help, for `sluice help` pages. */
void sli_schema_describe(const sli_section *section, const void *context, FILE *file);

#endif
