/*
 * A JSON text as the same tree that YAML becomes (config/tree.h), with the place of every value.
 *
 * Floor config. For files that YAML's reader cannot take: they have null where a value is missing,
 * and may be indented by tabs. Strict JSON (RFC 8259) but for NaN and Infinity, which Python
 * writes. The file must hold one object; a key that is there twice is an error. Numbers and words
 * keep their text. Must not know what the keys mean.
 */
#ifndef SLUICE_CONFIG_JSON_H
#define SLUICE_CONFIG_JSON_H

#include "config/tree.h"

/*
 * Reads a text; `name` stands for the file in messages and has to outlive the tree, which lives in
 * the arena. Mistakes go to diag (SL_ERR_CONFIG): the first one of syntax, all keys that are there
 * twice, or more than 16 MiB. Linear, but for keys, which are compared with those of the same
 * object.
 */
SL_NODISCARD sl_err sli_json_read_text(sli_arena *arena, const char *name, const char *text,
                                       size_t length, sli_diag *diag, sli_node **root);

/* The same from a file. */
SL_NODISCARD sl_err sli_json_read_file(sli_arena *arena, const char *path, sli_diag *diag,
                                       sli_node **root);

/* Whether a node is JSON's null. */
bool sli_json_is_null(const sli_node *node);

#endif
