#include "base/sort.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void sli_sort_i64(int64_t *values, size_t count) {
    if (count > 1) {
        qsort(values, count, sizeof *values, compare);
    }
}
