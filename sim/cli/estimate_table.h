/*
 * A sweep for people.
 *
 * Floor cli. One axis prints a line a value, and a bar as long as the first of its figures; two
 * print grids, the first axis down, the second across. What is the same everywhere is said once.
 */
#ifndef SLUICE_CLI_ESTIMATE_TABLE_H
#define SLUICE_CLI_ESTIMATE_TABLE_H

#include "cli/estimate_sweep.h"

/* At least one point has an estimate. */
void sli_sweep_print(FILE *file, sli_arena *arena, const sli_sweep *sweep);

#endif
