#define _XOPEN_SOURCE 700 /* realpath */
#include "out/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const sli_mark no_mark = {0};

/* `what` follows the name of the file. */
static sl_err refuse(const sli_file *file, const char *what, sli_diag *diag) {
    sli_diag_error(diag, no_mark, file->key, "%s %s", file->path, what);
    return SL_ERR_IO;
}

static sl_err not_written(const sli_file *file, int why, sli_diag *diag) {
    sli_diag_error(diag, no_mark, file->key, "cannot write %s: %s", file->path, strerror(why));
    return SL_ERR_IO;
}

/* ---- Opening ---- */

static sl_err set_paths(sli_file *file, const char *path, const char *key) {
    *file = (sli_file){.key = key, .path = sli_follow_link(path)};
    if (file->path == NULL) {
        return SL_ERR_NOMEM;
    }
    size_t size = strlen(file->path) + sizeof ".part";
    file->part_path = malloc(size);
    if (file->part_path == NULL) {
        return SL_ERR_NOMEM;
    }
    snprintf(file->part_path, size, "%s.part", file->path);
    return SL_OK;
}

/* What may stand in the way at FILE. */
static sl_err check_target(sli_file *file, bool force, sli_diag *diag) {
    struct stat status;
    if (lstat(file->path, &status) != 0) {
        return errno == ENOENT ? SL_OK : not_written(file, errno, diag);
    }
    if (S_ISLNK(status.st_mode)) {
        return refuse(file, "is a symbolic link that leads nowhere", diag);
    }
    if (S_ISDIR(status.st_mode)) {
        return refuse(file, "is a directory: give the name of a file", diag);
    }
    if (!S_ISREG(status.st_mode)) {
        return refuse(file, "is not a regular file: give another name", diag);
    }
    if (!force) {
        return refuse(file, "exists: give another name, or --force to replace it", diag);
    }
    file->is_replacing = true;
    return SL_OK;
}

static sl_err make_part(sli_file *file, sli_diag *diag) {
    file->stream = fopen(file->part_path, "wx");
    if (file->stream != NULL) {
        file->is_open = true;
        return SL_OK;
    }
    if (errno != EEXIST) {
        return not_written(file, errno, diag);
    }
    sli_diag_error(diag, no_mark, file->key,
                   "%s is in the way: another run is writing it, or was killed; move it away",
                   file->part_path);
    return SL_ERR_IO;
}

static void forget(sli_file *file) {
    free(file->path);
    free(file->part_path);
    *file = (sli_file){0};
}

sl_err sli_file_open(sli_file *file, const char *path, const char *key, bool force,
                     sli_diag *diag) {
    sli_file made;
    sl_err err = set_paths(&made, path, key);
    if (err == SL_OK) {
        err = check_target(&made, force, diag);
    }
    if (err == SL_OK) {
        err = make_part(&made, diag);
    }
    if (err != SL_OK) {
        forget(&made);
        return err;
    }
    *file = made;
    return SL_OK;
}

/* ---- Ending ---- */

sl_err sli_file_finish(sli_file *file, int earlier_why, sli_diag *diag) {
    int why = earlier_why;
    if (fclose(file->stream) != 0 && why == 0) {
        why = errno;
    }
    file->stream = NULL;
    return why == 0 ? SL_OK : not_written(file, why, diag);
}

/* Renaming replaces whatever stands there, so what appeared during the run is looked for first. */
sl_err sli_file_commit(sli_file *file, sli_diag *diag) {
    struct stat status;
    bool is_free = file->is_replacing || lstat(file->path, &status) != 0;
    file->is_open = false;
    if (is_free && rename(file->part_path, file->path) == 0) {
        return SL_OK;
    }
    sli_diag_error(diag, no_mark, file->key,
                   "cannot rename %s to %s: %s; what was written stays in %s", file->part_path,
                   file->path, is_free ? strerror(errno) : "it appeared meanwhile",
                   file->part_path);
    return SL_ERR_IO;
}

void sli_file_fini(sli_file *file) {
    if (file->stream != NULL) {
        fclose(file->stream);
    }
    if (file->is_open) {
        remove(file->part_path);
    }
    forget(file);
}

/* ---- Paths ---- */

char *sli_follow_link(const char *path) {
    struct stat status;
    bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    char *target = is_link ? realpath(path, NULL) : NULL;
    return target != NULL ? target : strdup(path);
}

bool sli_is_same_file(const char *a, const char *b) {
    struct stat at_a;
    struct stat at_b;
    return stat(a, &at_a) == 0 && stat(b, &at_b) == 0 && at_a.st_dev == at_b.st_dev &&
           at_a.st_ino == at_b.st_ino;
}
