/*
 * How a list of layers is written in few rows: groups of runs that come again become one repeat
 * (model/repeats.h).
 *
 * Floor import. Of all ways that repeat a group as often as it comes in a row, the one that needs
 * the fewest rows, a repeat counting as one more than the rows in it. Where some need as few the
 * first repeat begins as early as it can, and then has the shortest period. Groups of more than 64
 * runs are not looked for: no model has them. Must not know how rows look.
 *
 * Dynamic programming from the last run to the first, O(64 runs).
 */
#ifndef SLUICE_IMPORT_GROUPS_H
#define SLUICE_IMPORT_GROUPS_H

#include "import/model.h"

/* `rows` runs that stand there `times` times in a row. */
typedef struct sli_import_group {
    size_t rows;
    size_t times;
} sli_import_group;

typedef struct sli_import_groups {
    sli_import_group *entries; /* all runs, first to last; in the arena */
    size_t count;
} sli_import_groups;

SL_NODISCARD sl_err sli_import_group_runs(sli_arena *arena, const sli_import_runs *runs,
                                          sli_import_groups *groups);

#endif
