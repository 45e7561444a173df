/*
 * Growing arrays: a pointer, a count and a capacity that the caller keeps in plain sight.
 *
 * Floor base. The array is freed with free().
 */
#ifndef SLUICE_BASE_GROW_H
#define SLUICE_BASE_GROW_H

#include "sluice/err.h"

#include <stddef.h>

/*
 * Makes room for `needed` items in the array whose pointer is at `array` (a T **, passed as void
 * *). Doubles, so that appending is amortised O(1). New memory is not zeroed. On SL_ERR_NOMEM
 * nothing has changed.
 */
SL_NODISCARD sl_err sli_grow(void *array, size_t *capacity, size_t needed, size_t item_size);

#endif
