#include "out/directory.h"

#include "out/database.h"
#include "out/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
    STANDING_NO_DIR,  /* a file or the like */
    STANDING_LOST,    /* a symbolic link that leads nowhere */
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
    if (S_ISLNK(status.st_mode)) {
        return STANDING_LOST;
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

static void clear_ours(int dir_fd) {
    for (size_t i = 0; i < sizeof our_names / sizeof our_names[0]; i++) {
        (void)unlinkat(dir_fd, our_names[i], 0);
    }
}

/*
 * Removes a directory that was found empty or ours. What is not ours makes rmdir fail. Takes no
 * memory: what is half written goes away even when memory has run out.
 */
static bool remove_ours(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        return false;
    }
    clear_ours(fd);
    close(fd);
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
    case STANDING_LOST:
        sli_diag_error(diag, no_mark, NULL,
                       "%s is a symbolic link that leads nowhere: make the folder that it names",
                       path);
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

/*
 * Whether the open folder is ours alone from now on. Between mkdir and lock another run may have
 * taken the folder for the rest of a dead one and have renamed it since.
 */
static bool is_locked(int fd, const char *path) {
    struct stat locked;
    struct stat named;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return false;
    }
    return fstat(fd, &locked) == 0 && lstat(path, &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

/* Takes what a killed run left behind, if nothing else is in it. */
static sl_err take_part(int fd, const char *part, sli_diag *diag) {
    if (fd >= 0 && !is_locked(fd, part)) {
        sli_diag_error(diag, no_mark, NULL, "another run is writing there: %s is in use", part);
        return SL_ERR_IO;
    }
    standing found = fd >= 0 ? look_at(part) : STANDING_NO_DIR;
    if (found != STANDING_EMPTY && found != STANDING_OURS) {
        sli_diag_error(diag, no_mark, NULL,
                       "%s is in the way and is not the rest of an earlier run: move it away",
                       part);
        return SL_ERR_IO;
    }
    clear_ours(fd);
    return SL_OK;
}

/* DIR.part: there, empty and locked. */
static sl_err make_part(sli_directory *directory, sli_diag *diag) {
    const char *part = directory->part_path;
    make_parents(directory->part_path);
    bool is_new = mkdir(part, 0777) == 0;
    if (!is_new && errno != EEXIST) {
        sli_diag_error(diag, no_mark, NULL, "cannot create %s: %s", part, strerror(errno));
        return SL_ERR_IO;
    }
    int fd = open(part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    sl_err err = take_part(fd, part, diag);
    if (err == SL_OK) {
        directory->lock_fd = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    if (err != SL_OK && is_new) {
        rmdir(part);
    }
    return err;
}

static void forget(sli_directory *directory) {
    free(directory->path);
    free(directory->part_path);
    free(directory->old_path);
    *directory = (sli_directory){0};
}

static sl_err set_paths(sli_directory *directory, const char *path) {
    char *trimmed = strdup(path);
    if (trimmed == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--) {
        trimmed[end - 1] = '\0';
    }
    *directory = (sli_directory){.path = sli_follow_link(trimmed)};
    free(trimmed);
    if (directory->path == NULL) {
        return SL_ERR_NOMEM;
    }
    directory->part_path = join(directory->path, ".part", "");
    directory->old_path = join(directory->path, ".old", "");
    if (directory->part_path == NULL || directory->old_path == NULL) {
        return SL_ERR_NOMEM;
    }
    return SL_OK;
}

sl_err sli_directory_init(sli_directory *directory, const char *path, sli_diag *diag) {
    sli_directory made = {0};
    sl_err err = set_paths(&made, path);
    if (err == SL_OK && !is_usable_name(made.path)) {
        sli_diag_error(diag, no_mark, NULL, "'%s' cannot be an output directory", path);
        err = SL_ERR_IO;
    }
    if (err != SL_OK) {
        forget(&made);
        return err;
    }
    *directory = made;
    return SL_OK;
}

sl_err sli_directory_open(sli_directory *directory, bool force, sli_diag *diag) {
    SL_TRY(check_target(directory, force, diag));
    if (look_at(directory->old_path) != STANDING_ABSENT) {
        sli_diag_error(diag, no_mark, NULL, "%s is in the way: move it away", directory->old_path);
        return SL_ERR_IO;
    }
    SL_TRY(make_part(directory, diag));
    directory->is_open = true;
    return SL_OK;
}

static const char *skip_dots(const char *path) {
    while (strncmp(path, "./", 2) == 0) {
        path += 2;
    }
    return path;
}

/* What is not there yet is known by its name alone. */
static bool is_same_place(const char *a, const char *b) {
    return strcmp(skip_dots(a), skip_dots(b)) == 0 || sli_is_same_file(a, b);
}

static bool is_replaced(const sli_directory *directory, const char *path) {
    return is_same_place(path, directory->path) || is_same_place(path, directory->part_path) ||
           is_same_place(path, directory->old_path);
}

sl_err sli_directory_covers(const sli_directory *directory, const char *path, bool *covers) {
    char *above = strdup(path);
    if (above == NULL) {
        return SL_ERR_NOMEM;
    }
    bool is_covered = is_replaced(directory, above);
    for (char *slash = strrchr(above, '/'); slash != NULL; slash = strrchr(above, '/')) {
        *slash = '\0';
        is_covered = is_covered || is_replaced(directory, above);
    }
    bool stands_here = above[0] != '\0' && strcmp(above, "..") != 0; /* the first part of it */
    *covers = is_covered || (stands_here && is_replaced(directory, "."));
    free(above);
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
    directory->is_settled = true;
    /* Renaming onto a name that appeared since would replace an empty directory, or fail. */
    if (is_replacing && rename(directory->path, directory->old_path) != 0) {
        return commit_failed(directory, diag);
    }
    if (rename(directory->part_path, directory->path) != 0) {
        sl_err err = commit_failed(directory, diag);
        if (is_replacing && rename(directory->old_path, directory->path) != 0) {
            sli_diag_error(diag, no_mark, NULL, "the earlier result stands in %s",
                           directory->old_path);
        }
        return err;
    }
    if (is_replacing && !remove_ours(directory->old_path)) {
        sli_diag_warning(diag, no_mark, NULL, "cannot remove the replaced result %s: %s",
                         directory->old_path, strerror(errno));
    }
    return SL_OK;
}

void sli_directory_fini(sli_directory *directory) {
    if (directory->is_open && !directory->is_settled) {
        remove_ours(directory->part_path);
    }
    if (directory->is_open) {
        close(directory->lock_fd);
    }
    forget(directory);
}
