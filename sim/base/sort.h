/*
 * Sorting numbers.
 *
 * Floor base.
 */
#ifndef SLUICE_BASE_SORT_H
#define SLUICE_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending, in place. O(count log count). */
void sli_sort_i64(int64_t *values, size_t count);

#endif
