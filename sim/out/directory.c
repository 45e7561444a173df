#include "out/directory.h"

#include "out/database.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every name that sluice writes into an output directory; nothing else is ever removed. */
static const char *const our_names[] = {SLI_DATABASE_NAME, SLI_DIRECTORY_SCENARIO};

static const sli_mark no_mark = {0};

/* Looking ----------------------------------------------------------------------------------- */

typedef enum standing {
    STANDING_ABSENT,
    STANDING_EMPTY,
    STANDING_OURS,
    STANDING_FOREIGN, /* holds something that sluice did not write, or no run.sqlite */
    STANDING_NO_DIR,  /* a file, a link or the like */
    STANDING_UNREADABLE,
} standing;

static char *join(const char *head, const char *middle, const char *tail) {
    size_t size = strlen(head) + strlen(middle) + strlen(tail) + 1;
    char *text = malloc(size);
    if (text != NULL) {
        snprintf(text, size, "%s%s%s", head, middle, tail);
    }
    return text;
}

static bool is_our_name(const char *name) {
    for (size_t i = 0; i < sizeof our_names / sizeof our_names[0]; i++) {
        if (strcmp(name, our_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A directory of one of our names would not be ours; unlink would refuse it anyway. */
static standing look_inside(DIR *stream) {
    bool is_empty = true;
    bool has_database = false;
    const struct dirent *entry = NULL;
    while ((entry = readdir(stream)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            continue;
        }
        if (!is_our_name(name)) {
            return STANDING_FOREIGN;
        }
        is_empty = false;
        has_database = has_database || strcmp(name, SLI_DATABASE_NAME) == 0;
    }
    if (is_empty) {
        return STANDING_EMPTY;
    }
    return has_database ? STANDING_OURS : STANDING_FOREIGN;
}

static standing look_at(const char *path) {
    struct stat status;
    if (lstat(path, &status) != 0) {
        return errno == ENOENT ? STANDING_ABSENT : STANDING_UNREADABLE;
    }
    if (!S_ISDIR(status.st_mode)) {
        return STANDING_NO_DIR;
    }
    DIR *stream = opendir(path);
    if (stream == NULL) {
        return STANDING_UNREADABLE;
    }
    standing found = look_inside(stream);
    closedir(stream);
    return found;
}

/*
 * Removes a directory that was found empty or ours. What is not ours makes rmdir fail. Takes no
 * memory: what is half written goes away even when memory has run out.
 */
static bool remove_ours(const char *path) {
    int dir = open(path, O_RDONLY | O_DIRECTORY);
    if (dir < 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof our_names / sizeof our_names[0]; i++) {
        (void)unlinkat(dir, our_names[i], 0);
    }
    close(dir);
    return rmdir(path) == 0;
}

/* Opening ----------------------------------------------------------------------------------- */

static bool is_usable_name(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    return *name != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* What may stand in the way at DIR. */
static sl_err check_target(sli_directory *directory, bool force, sli_diag *diag) {
    const char *path = directory->path;
    switch (look_at(path)) {
    case STANDING_ABSENT:
        return SL_OK;
    case STANDING_EMPTY:
        directory->is_replacing = true;
        return SL_OK;
    case STANDING_OURS:
        if (!force) {
            sli_diag_error(diag, no_mark, NULL,
                           "%s holds an earlier result: give another directory, or --force to "
                           "replace it",
                           path);
            return SL_ERR_IO;
        }
        directory->is_replacing = true;
        return SL_OK;
    case STANDING_FOREIGN:
        sli_diag_error(diag, no_mark, NULL,
                       "%s exists and holds files that sluice did not write: give another "
                       "directory (it is not replaced, even with --force)",
                       path);
        return SL_ERR_IO;
    case STANDING_NO_DIR:
        sli_diag_error(diag, no_mark, NULL, "%s exists and is not a directory", path);
        return SL_ERR_IO;
    case STANDING_UNREADABLE:
        break;
    }
    sli_diag_error(diag, no_mark, NULL, "cannot read %s: %s", path, strerror(errno));
    return SL_ERR_IO;
}

/* Makes the folders above a path that do not exist yet; the first failure shows in mkdir(path). */
static void make_parents(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
}

/* Clears what a killed run left behind, then makes DIR.part anew. */
static sl_err make_part(const sli_directory *directory, sli_diag *diag) {
    const char *part = directory->part_path;
    standing found = look_at(part);
    bool is_cleared = found == STANDING_ABSENT;
    if (found == STANDING_EMPTY || found == STANDING_OURS) {
        is_cleared = remove_ours(part);
    }
    if (!is_cleared) {
        sli_diag_error(diag, no_mark, NULL,
                       "%s is in the way and is not the rest of an earlier run: move it away",
                       part);
        return SL_ERR_IO;
    }
    make_parents(directory->part_path);
    if (mkdir(part, 0777) != 0) {
        sli_diag_error(diag, no_mark, NULL, "cannot create %s: %s", part, strerror(errno));
        return SL_ERR_IO;
    }
    return SL_OK;
}

static void forget(sli_directory *directory) {
    free(directory->path);
    free(directory->part_path);
    free(directory->old_path);
    *directory = (sli_directory){0};
}

static sl_err set_paths(sli_directory *directory, const char *path) {
    *directory = (sli_directory){.path = strdup(path)};
    if (directory->path == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--) {
        directory->path[end - 1] = '\0';
    }
    directory->part_path = join(directory->path, ".part", "");
    directory->old_path = join(directory->path, ".old", "");
    if (directory->part_path == NULL || directory->old_path == NULL) {
        return SL_ERR_NOMEM;
    }
    return SL_OK;
}

sl_err sli_directory_open(sli_directory *directory, const char *path, bool force, sli_diag *diag) {
    sli_directory made = {0};
    sl_err err = set_paths(&made, path);
    if (err != SL_OK) {
        goto out;
    }
    if (!is_usable_name(made.path)) {
        sli_diag_error(diag, no_mark, NULL, "'%s' cannot be an output directory", path);
        err = SL_ERR_IO;
        goto out;
    }
    err = check_target(&made, force, diag);
    if (err != SL_OK) {
        goto out;
    }
    if (look_at(made.old_path) != STANDING_ABSENT) {
        sli_diag_error(diag, no_mark, NULL, "%s is in the way: move it away", made.old_path);
        err = SL_ERR_IO;
        goto out;
    }
    err = make_part(&made, diag);
out:
    if (err != SL_OK) {
        forget(&made);
        return err;
    }
    made.is_open = true;
    *directory = made;
    return SL_OK;
}

/* Writing ----------------------------------------------------------------------------------- */

sl_err sli_directory_file(const sli_directory *directory, const char *name, char **path) {
    char *joined = join(directory->part_path, "/", name);
    if (joined == NULL) {
        return SL_ERR_NOMEM;
    }
    *path = joined;
    return SL_OK;
}

sl_err sli_directory_write(const sli_directory *directory, const char *name, const char *text,
                           sli_diag *diag) {
    char *path = NULL;
    SL_TRY(sli_directory_file(directory, name, &path));
    sl_err err = SL_OK;
    FILE *file = fopen(path, "wb");
    bool is_written = file != NULL && fputs(text, file) != EOF;
    int why = errno;
    if (file != NULL && fclose(file) != 0 && is_written) {
        is_written = false;
        why = errno;
    }
    if (!is_written) {
        sli_diag_error(diag, no_mark, NULL, "cannot write %s: %s", path, strerror(why));
        err = SL_ERR_IO;
    }
    free(path);
    return err;
}

/* Ending ------------------------------------------------------------------------------------ */

static sl_err commit_failed(const sli_directory *directory, sli_diag *diag) {
    sli_diag_error(diag, no_mark, NULL, "cannot rename %s to %s: %s; the results stay in %s",
                   directory->part_path, directory->path, strerror(errno), directory->part_path);
    return SL_ERR_IO;
}

sl_err sli_directory_commit(sli_directory *directory, sli_diag *diag) {
    bool is_replacing = directory->is_replacing;
    /* Renaming onto a name that appeared since would replace an empty directory, or fail. */
    if (is_replacing && rename(directory->path, directory->old_path) != 0) {
        directory->is_open = false;
        return commit_failed(directory, diag);
    }
    if (rename(directory->part_path, directory->path) != 0) {
        sl_err err = commit_failed(directory, diag);
        if (is_replacing && rename(directory->old_path, directory->path) != 0) {
            sli_diag_error(diag, no_mark, NULL, "the earlier result stands in %s",
                           directory->old_path);
        }
        directory->is_open = false;
        return err;
    }
    directory->is_open = false;
    if (is_replacing && !remove_ours(directory->old_path)) {
        sli_diag_warning(diag, no_mark, NULL, "cannot remove the replaced result %s: %s",
                         directory->old_path, strerror(errno));
    }
    return SL_OK;
}

void sli_directory_fini(sli_directory *directory) {
    if (directory->is_open) {
        remove_ours(directory->part_path);
    }
    forget(directory);
}
