/*
 * Where in a tree we are: the chain of keys from the root, for messages.
 *
 * Floor config, internal. A path lives on the stack of the walk that made it; the empty path is
 * NULL. Printed as `workload.prompt.quantiles[2].tokens`.
 */
#ifndef SLUICE_CONFIG_PATH_H
#define SLUICE_CONFIG_PATH_H

#include "base/diag.h"

typedef struct sli_path {
    const struct sli_path *parent;
    const char *key; /* NULL = item `index` of a list */
    size_t index;
} sli_path;

/* Trees are no deeper than this, so that walks may recurse. */
enum { SLI_DEPTH_MAX = 64 };

/* Adds an error about the place; see sli_diag_error. */
void sli_path_error(sli_diag *diag, const sli_path *path, sli_mark mark, const char *format, ...)
    SL_PRINTF(4, 5);

#endif
