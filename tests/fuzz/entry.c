#include "entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t entry_accepted_count;

void must(bool holds, const char *condition, const char *file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: must be: %s\n", file, line, condition);
        abort();
    }
}

static char path[64];

static void remove_input(void) {
    unlink(path);
}

const char *input_file(const void *bytes, size_t length) {
    static int descriptor = -1;
    if (descriptor < 0) {
        snprintf(path, sizeof path, "/tmp/sluice-fuzz-XXXXXX");
        descriptor = mkstemp(path);
        MUST(descriptor >= 0);
        atexit(remove_input);
    }
    /* Written, then cut: some file systems go to the disk for a file that was empty before. */
    MUST(pwrite(descriptor, bytes, length, 0) == (ssize_t)length);
    MUST(ftruncate(descriptor, (off_t)length) == 0);
    return path;
}

int count_lines(const void *bytes, size_t length) {
    const char *text = bytes;
    int count = length > 0 && text[length - 1] != '\n';
    for (size_t i = 0; i < length; i++) {
        count += text[i] == '\n';
    }
    return count;
}

static bool is_about_the_whole(const char *message, const char *const *whole) {
    for (size_t i = 0; whole[i] != NULL; i++) {
        if (strncmp(message, whole[i], strlen(whole[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void check_entry(const sli_diag_entry *entry, int line_count, const char *const *whole) {
    MUST(entry->message != NULL && entry->message[0] != '\0');
    MUST(entry->mark.line <=
         line_count + 1); /* libyaml means the end by the line behind the last */
    bool has_line = entry->mark.line > 0;
    if (entry->severity == SLI_ERROR && !has_line && !is_about_the_whole(entry->message, whole)) {
        fprintf(stderr, "no line: %s: %s\n", entry->path != NULL ? entry->path : "-",
                entry->message);
        abort();
    }
}

void must_be_explained(sl_err err, const sli_diag *diag, int line_count, const char *const *whole) {
    MUST(err == SL_OK || err == SL_ERR_CONFIG);
    MUST((diag->error_count > 0) == (err != SL_OK));
    MUST(!diag->is_out_of_memory);
    int error_count = 0;
    int warning_count = 0;
    for (const sli_diag_entry *entry = diag->first; entry != NULL; entry = entry->next) {
        check_entry(entry, line_count, whole);
        error_count += entry->severity == SLI_ERROR;
        warning_count += entry->severity == SLI_WARNING;
    }
    MUST(error_count == diag->error_count);
    MUST(warning_count == diag->warning_count);
    entry_accepted_count += err == SL_OK;
}
