#include "base/embedded.h"

#include <string.h>

const sli_embedded *sli_embedded_find(const sli_embedded *table, const char *name) {
    for (const sli_embedded *row = table; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}
