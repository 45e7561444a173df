/*
 * One YAML document as a tree.
 *
 * Floor config, internal. The only file that knows libyaml. Checks what holds for every text of
 * ours: it is UTF-8 without tabs, one document, without anchors, aliases, tags, duplicate keys and
 * keys without value, not too deep and not too large.
 */
#ifndef SLUICE_CONFIG_PARSE_H
#define SLUICE_CONFIG_PARSE_H

#include "config/path.h"
#include "config/tree.h"

typedef struct sli_yaml {
    const char *name; /* for marks; lives as long as the tree */
    const char *text;
    size_t length;
    sli_origin origin;    /* of all nodes; marks have lines only if it is FILE */
    const sli_path *path; /* where the text stands in a larger tree; NULL = at the root */
} sli_yaml;

/*
 * Reads the text; *root is NULL when it says nothing. SL_ERR_CONFIG when there is no tree; after
 * other mistakes the root is flawed. Linear in the length but for keys, which are compared with
 * those of the same mapping.
 */
SL_NODISCARD sl_err sli_yaml_parse(sli_arena *arena, const sli_yaml *yaml, sli_diag *diag,
                                   sli_node **root);

#endif
