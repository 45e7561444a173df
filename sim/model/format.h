/*
 * How many bytes a row of the cache takes.
 *
 * Floor model. A cache holds rows (a key of one head, a latent, an index key); a format says for
 * each sort of row what it weighs, scales and all. Recurrent state is not part of it: its type
 * belongs to the model. Formats are constant data.
 */
#ifndef SLUICE_MODEL_FORMAT_H
#define SLUICE_MODEL_FORMAT_H

#include <stdint.h>

/* What a row is. */
typedef enum sli_row_sort {
    SLI_ROW_KEY,
    SLI_ROW_VALUE,
    SLI_ROW_LATENT, /* MLA: compressed keys and values, and the rotary part of the key */
    SLI_ROW_ENTRY,  /* DeepSeek V4: one vector that is key and value */
    SLI_ROW_INDEX,  /* the key that a sparse layer is searched by */
    SLI_ROW_COUNT
} sli_row_sort;

/* Elements are stored in groups that share scales; a part of a group counts as a whole one. */
typedef struct sli_row_format {
    int64_t group_elements;
    int64_t group_bytes;
    int64_t row_bytes; /* on top; with no groups (0 elements) the whole row, whatever its width */
} sli_row_format;

typedef struct sli_cache_format {
    const char *name;
    const char *help;
    sli_row_format rows[SLI_ROW_COUNT];
} sli_cache_format;

/* Ends with a row whose name is NULL; the first is bf16. */
extern const sli_cache_format sli_cache_formats[];

/* The format of a name, or NULL. */
const sli_cache_format *sli_cache_format_find(const char *name);

int64_t sli_format_row_bytes(const sli_cache_format *format, sli_row_sort sort, int64_t elements);

#endif
