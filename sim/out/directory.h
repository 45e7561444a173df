/*
 * The life of an output directory: written as DIR.part, renamed to DIR when all went well.
 *
 * Floor out. So DIR either holds a whole result or does not exist. An existing result is replaced
 * only with `force`, and only at the commit: a run that fails leaves the earlier one untouched. A
 * symbolic link to a directory stands for that directory.
 *
 * Nothing is ever deleted that sluice did not write: a directory is ours when it holds run.sqlite
 * and no file of a name that sluice does not use; else it is refused, force or not. A DIR.part that
 * an earlier run left behind is cleared under the same rule, or when it is empty.
 *
 * Two runs never write into one directory: DIR.part is locked (flock) from opening to the end. The
 * kernel releases the lock of a process that dies, so what a killed run left is not taken for a
 * run. Where directories cannot be locked (some network filesystems), nothing looks like a run.
 *
 * Troubles are described in the diagnostics list: SL_ERR_IO. The caller owns the struct.
 */
#ifndef SLUICE_OUT_DIRECTORY_H
#define SLUICE_OUT_DIRECTORY_H

#include "base/diag.h"
#include "sluice/err.h"

#include <stdbool.h>

#define SLI_DIRECTORY_SCENARIO "scenario.resolved.yaml"

/* Zeroed is valid and closed. */
typedef struct sli_directory {
    char *path;      /* DIR, without a trailing slash; where it leads if it is a link */
    char *part_path; /* DIR.part */
    char *old_path;  /* DIR.old: where the replaced result stands during the commit */
    int lock_fd;     /* of DIR.part, while open */
    bool is_replacing;
    bool is_open;    /* DIR.part is there, ours and locked */
    bool is_settled; /* a commit was tried: DIR.part is no longer to be removed */
} sli_directory;

/* Names DIR and makes nothing yet. */
SL_NODISCARD sl_err sli_directory_init(sli_directory *directory, const char *path, sli_diag *diag);

/* Whether a path is DIR, DIR.part or DIR.old, or below one of them: what the commit replaces. */
SL_NODISCARD sl_err sli_directory_covers(const sli_directory *directory, const char *path,
                                         bool *covers);

/* Makes DIR.part, and the folders above it that do not exist. */
SL_NODISCARD sl_err sli_directory_open(sli_directory *directory, bool force, sli_diag *diag);

/* The path of a file in DIR.part, which the caller frees. */
SL_NODISCARD sl_err sli_directory_file(const sli_directory *directory, const char *name,
                                       char **path);

/* Writes a text as a file of DIR.part. */
SL_NODISCARD sl_err sli_directory_write(const sli_directory *directory, const char *name,
                                        const char *text, sli_diag *diag);

/* DIR.part becomes DIR. On failure nothing is lost: DIR.part stands, and so does an earlier DIR. */
SL_NODISCARD sl_err sli_directory_commit(sli_directory *directory, sli_diag *diag);

/* Removes DIR.part with our files in it if it was opened and not committed. Safe on a zeroed one.
 */
void sli_directory_fini(sli_directory *directory);

#endif
