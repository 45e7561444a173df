/*
 * The life of an output file: written as FILE.part, renamed to FILE when all went well.
 *
 * Floor out. So FILE either holds all of it or is as it was. A file that exists is replaced only
 * with `force`, and only at the commit; what is not a regular file never is. A symbolic link stands
 * for the file that it leads to. A FILE.part that exists is never touched: another run may be
 * writing it.
 *
 * Troubles are described in the diagnostics list: SL_ERR_IO. The caller owns the struct.
 */
#ifndef SLUICE_OUT_FILE_H
#define SLUICE_OUT_FILE_H

#include "base/diag.h"
#include "sluice/err.h"

#include <stdbool.h>
#include <stdio.h>

/* Zeroed is valid and closed. */
typedef struct sli_file {
    FILE *stream;    /* to write to, until finished */
    const char *key; /* the setting that names the file, for messages; borrowed */
    char *path;      /* FILE; where it leads if it is a link */
    char *part_path; /* FILE.part */
    bool is_open;    /* FILE.part is there and ours */
    bool is_replacing;
} sli_file;

/* Makes FILE.part. Folders above it have to exist. */
SL_NODISCARD sl_err sli_file_open(sli_file *file, const char *path, const char *key, bool force,
                                  sli_diag *diag);

/* Closes FILE.part with all of it. `earlier_why` is the errno of a write that failed, or 0. */
SL_NODISCARD sl_err sli_file_finish(sli_file *file, int earlier_why, sli_diag *diag);

/* A finished FILE.part becomes FILE. On failure FILE.part stands. */
SL_NODISCARD sl_err sli_file_commit(sli_file *file, sli_diag *diag);

/* Removes FILE.part if it was not committed. Safe on a zeroed one. */
void sli_file_fini(sli_file *file);

/* A copy of a path; if it is a symbolic link that leads somewhere, of where. NULL without memory.
 * The caller frees it. */
char *sli_follow_link(const char *path);

/* Whether two paths lead to one thing on the disk; false when there is nothing. */
bool sli_is_same_file(const char *a, const char *b);

#endif
