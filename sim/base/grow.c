#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

sl_err sli_grow(void *array, size_t *capacity, size_t needed, size_t item_size) {
    if (needed <= *capacity) {
        return SL_OK;
    }
    size_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < needed) {
        if (grown > SIZE_MAX / 2) {
            return SL_ERR_NOMEM;
        }
        grown *= 2;
    }
    if (grown > SIZE_MAX / 2 / item_size) {
        return SL_ERR_NOMEM;
    }
    void *items;
    memcpy(&items, array, sizeof items); /* the array is a T **, of any T */
    items = realloc(items, grown * item_size);
    if (items == NULL) {
        return SL_ERR_NOMEM;
    }
    memcpy(array, &items, sizeof items);
    *capacity = grown;
    return SL_OK;
}
