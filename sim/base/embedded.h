/*
 * Files that were compiled into the program: models, hardware profiles, presets, help pages.
 *
 * Floor base. cmake/embed.cmake makes one table a folder; each ends with a row whose name is NULL.
 */
#ifndef SLUICE_BASE_EMBEDDED_H
#define SLUICE_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct sli_embedded {
    const char *name; /* file name without extension */
    const char *text; /* NUL-terminated */
    size_t length;
} sli_embedded;

/* The row of a name, or NULL. O(rows). */
const sli_embedded *sli_embedded_find(const sli_embedded *table, const char *name);

#endif
