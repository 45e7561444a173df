#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sli_check_failed(const char *file, int line, const char *what) {
    const char *slash = strrchr(file, '/');
    fprintf(stderr, "sluice: bug: %s:%d: %s does not hold\n", slash != NULL ? slash + 1 : file,
            line, what);
    abort();
}
