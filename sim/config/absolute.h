/*
 * Paths in a tree: which texts are some, and what they are relative to.
 *
 * Floor config. A path is relative to the file that says it, so that scenarios can be moved with
 * what they refer to; one from the command line is relative to the working directory.
 */
#ifndef SLUICE_CONFIG_ABSOLUTE_H
#define SLUICE_CONFIG_ABSOLUTE_H

#include "config/tree.h"

/* Whether a text is a path and not a name: it holds a slash or ends in .yaml, .json or
 * .so. */
bool sli_is_path(const char *text);

/*
 * Makes the path in a scalar absolute, in the node; anything else is left alone. `dir/..` is
 * dropped where dir is a directory and no link, as it only lengthens messages.
 */
SL_NODISCARD sl_err sli_absolute_path(sli_arena *arena, sli_node *node);

#endif
