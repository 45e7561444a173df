/*
 * Things that are known by name or by file: models and hardware profiles.
 *
 * Floor config. A plain word names a file that was compiled into the program; a text with a slash
 * or ending in .yaml or .json is the path of the user's own file. Must not know what the files
 * describe.
 */
#ifndef SLUICE_CONFIG_CATALOGUE_H
#define SLUICE_CONFIG_CATALOGUE_H

#include "base/embedded.h"
#include "config/tree.h"

#include <stdbool.h>

/* Where a scenario names the thing, for messages. */
typedef struct sli_catalogue_site {
    sli_mark mark;
    const char *key; /* dotted path, or NULL */
} sli_catalogue_site;

/*
 * Reads the tree of a name or path, taken relative to the working directory. An unknown name is an
 * error that says the nearest and all known ones (SL_ERR_CONFIG). *id, when wanted, is the name, or
 * the file name without directory and extension. `noun` as "model". O(entries + text).
 */
SL_NODISCARD sl_err sli_catalogue_read(sli_arena *arena, const sli_embedded *table,
                                       const char *noun, const char *name_or_path,
                                       sli_catalogue_site site, sli_diag *diag, sli_node **root,
                                       const char **id);

#endif
