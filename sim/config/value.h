/*
 * One scalar of a tree as the value of a parameter.
 *
 * Floor config, internal. Knows types, dimensions and ranges, not sections.
 */
#ifndef SLUICE_CONFIG_VALUE_H
#define SLUICE_CONFIG_VALUE_H

#include "config/path.h"
#include "config/text.h"
#include "config/tree.h"
#include "sluice/param.h"

/*
 * Checks the node and stores its value at values + param->offset. In the node a path becomes
 * absolute, and a choice goes by its own name. A mistake goes to diag (SL_ERR_CONFIG).
 */
SL_NODISCARD sl_err sli_value_read(sli_arena *arena, const sl_param *param, sli_node *node,
                                   const sli_path *path, sli_diag *diag, char *values);

/* Whether the node is a number as the parameter takes it, in its range or not. */
bool sli_value_is_number(const sl_param *param, const sli_node *node);

/* Type, unit and range for help pages, as `time (ns, us, ms, s, min, h), at least 0 ns`. */
SL_NODISCARD sl_err sli_value_describe(sli_arena *arena, const sl_param *param, const char **text);

typedef struct sli_phrase {
    char text[2 * SLI_EXCERPT_BYTES];
} sli_phrase;

/* What stands in place of something else: `'fifo'`, `a mapping`, `a list`. */
sli_phrase sli_value_found(const sli_node *node);

/* `; did you mean 'x'?` when a candidate is near, else "". */
sli_phrase sli_value_hint(const char *word, const char *const *candidates, size_t count);

#endif
