/*
 * Diagnostics: what is wrong with what the user gave us, all of it at once.
 *
 * Floor base. Readers add one entry a mistake and go on; the caller prints the list and stops.
 * Entries print as `file:line:col: key.path: message`, the parts that are unknown left out.
 */
#ifndef SLUICE_BASE_DIAG_H
#define SLUICE_BASE_DIAG_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* A place in a file; line and column count from 1, 0 = unknown. */
typedef struct sli_mark {
    const char *file; /* NULL = unknown; outlives the list it is given to */
    int line;
    int column;
} sli_mark;

typedef enum sli_severity { SLI_ERROR, SLI_WARNING } sli_severity;

typedef struct sli_diag_entry {
    struct sli_diag_entry *next;
    sli_severity severity;
    sli_mark mark;
    const char *path; /* dotted keys, or NULL */
    const char *message;
} sli_diag_entry;

/* Zeroed is valid and empty. Owns its texts. */
typedef struct sli_diag {
    sli_arena arena;
    sli_diag_entry *first;
    sli_diag_entry *last;
    int error_count;
    int warning_count;
    bool is_out_of_memory; /* an entry was lost; error_count still counts it */
} sli_diag;

void sli_diag_fini(sli_diag *diag);

/* The message is one sentence without a full stop; path may be NULL. */
void sli_diag_error(sli_diag *diag, sli_mark mark, const char *path, const char *format, ...)
    SL_PRINTF(4, 5);
void sli_diag_warning(sli_diag *diag, sli_mark mark, const char *path, const char *format, ...)
    SL_PRINTF(4, 5);

/* Prints all entries, one a line, in order of addition. */
void sli_diag_print(const sli_diag *diag, FILE *file);

/*
 * The candidate that `word` begins, else the nearest by edit distance, or NULL when none is near
 * enough to suggest. Capitals do not matter. Numbers do: one with other numbers (70b for 8b) is
 * something else and no slip, unless the numbers of one are all among those of the other.
 */
const char *sli_nearest(const char *word, const char *const *candidates, size_t count);

/*
 * The same where digits are letters like others: for names that a format has fixed, where p90 is
 * what there is for one who writes p95.
 */
const char *sli_nearest_spelling(const char *word, const char *const *candidates, size_t count);

#endif
