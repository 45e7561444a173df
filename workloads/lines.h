/*
 * Text files read line by line, and complaints about their lines.
 *
 * Part workloads. The reader copes with CRLF, blank lines, a byte order mark and a missing last
 * newline, and refuses what is not a text at all: nothing, binary bytes, the pointer that Git LFS
 * leaves in place of a file. Complaints name file and line; those beyond the first 20 are counted.
 */
#ifndef WORKLOADS_LINES_H
#define WORKLOADS_LINES_H

#include "base/diag.h"
#include "sluice/err.h"

#include <stdio.h>

/* Complaints about one file. */
typedef struct sli_line_errors {
    sli_diag *diag;
    const char *file; /* outlives diag */
    int count;
} sli_line_errors;

/* Adds `file:line: message`; line 0 = the file as a whole. */
void sli_line_error(sli_line_errors *errors, int line, const char *format, ...) SL_PRINTF(3, 4);

/* Says how many were not listed; SL_ERR_CONFIG if there was any, else SL_OK. Call it once. */
SL_NODISCARD sl_err sli_line_errors_close(sli_line_errors *errors);

typedef struct sli_lines {
    FILE *file;
    sli_line_errors *errors;
    char *text; /* the line without its end, NUL-terminated; owned */
    size_t length;
    size_t capacity;
    int number;       /* of the line, from 1 */
    int filled_count; /* lines that are not blank, so far */
    bool is_broken;   /* has complained about the file as a whole; no more lines will come */
    bool is_ahead;    /* the line was only peeked at */
} sli_lines;

/* Opens errors->file; SL_ERR_IO and errno where it cannot be read: who named it says so there. */
SL_NODISCARD sl_err sli_lines_open(sli_lines *lines, sli_line_errors *errors);

/*
 * Moves to the next line that is not blank; false at the end of the file or when it makes no sense
 * to go on, which has been said then. Amortised O(length).
 */
bool sli_lines_next(sli_lines *lines);

/* The same, but the next call of sli_lines_next will give this line again. */
bool sli_lines_peek(sli_lines *lines);

void sli_lines_close(sli_lines *lines);

#endif
