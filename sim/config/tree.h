/*
 * What a YAML text says, with the place of every value.
 *
 * Floor config. A tree is plain data in one arena; keys keep the order of the file. Reading is
 * strict: duplicate keys, anchors, aliases, tags, several documents, tabs and bytes that are not
 * UTF-8 are errors with line and column. `extends: FILE` (relative to the file that says it) puts
 * another file underneath: mappings merge, anything else replaces; a cycle is an error.
 */
#ifndef SLUICE_CONFIG_TREE_H
#define SLUICE_CONFIG_TREE_H

#include "base/arena.h"
#include "base/diag.h"

typedef enum sli_node_kind { SLI_NODE_SCALAR, SLI_NODE_MAP, SLI_NODE_LIST } sli_node_kind;

typedef enum sli_origin {
    SLI_ORIGIN_FILE,    /* mark says where */
    SLI_ORIGIN_SET,     /* --set on the command line */
    SLI_ORIGIN_DEFAULT, /* the parameter table */
} sli_origin;

typedef struct sli_node {
    struct sli_node *next;  /* sibling */
    struct sli_node *first; /* children of a map or list */
    struct sli_node *last;
    size_t count;
    const char *key;       /* in a map: NUL-terminated, else NULL */
    const char *text;      /* of a scalar, NUL-terminated */
    struct sli_node *bare; /* of a map: the scalar that stood in its place before --set gave it
                              keys; the schema knows which key it is short for. NULL = none */
    sli_mark key_mark;
    sli_mark mark; /* of the value */
    sli_node_kind kind;
    sli_origin origin;
    bool is_quoted;
    bool is_flawed; /* a mistake in it is reported already: resolving skips it and fails. The root
                       has it when any node of the tree does, or when a key had to be dropped. */
} sli_node;

/*
 * Reads a file and those that it extends. Mistakes go to diag. Those that leave no tree behind
 * (bad syntax, a file that cannot be read) answer SL_ERR_CONFIG; after the others (a duplicate
 * key, a key without value) the answer is SL_OK and the root is flawed, so that the schema can
 * report its own mistakes at the same time; resolving a flawed tree always fails. File names in
 * marks are as the user wrote them and live in the arena.
 */
SL_NODISCARD sl_err sli_tree_read_file(sli_arena *arena, const char *path, sli_diag *diag,
                                       sli_node **root);

/* The same of a file that a key asks for, which is where it is missed if it cannot be read. */
SL_NODISCARD sl_err sli_tree_read_asked(sli_arena *arena, const char *path, sli_mark mark,
                                        const char *key, sli_diag *diag, sli_node **root);

/* Reads a text; `name` stands for the file in messages, extends is relative to its directory. */
SL_NODISCARD sl_err sli_tree_read_text(sli_arena *arena, const char *name, const char *text,
                                       size_t length, sli_diag *diag, sli_node **root);

/*
 * Applies `a.b.c=YAML` on top of a tree, as if the file had said it. The value is YAML, so lists
 * and mappings work; a mapping replaces what was there. A key below a scalar makes it a map with
 * the scalar as `bare`. An empty key or value is an error.
 */
SL_NODISCARD sl_err sli_tree_set(sli_arena *arena, sli_node *root, const char *assignment,
                                 sli_diag *diag);

/* The child of a map, or NULL. O(children). */
sli_node *sli_node_find(const sli_node *map, const char *key);

#endif
