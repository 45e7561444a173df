#include "workloads/lines.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { LISTED_ERRORS = 20 };

static const char LFS_START[] = "version https://git-lfs";
static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";

void sli_line_error(sli_line_errors *errors, int line, const char *format, ...) {
    if (errors->count < INT_MAX) {
        errors->count++;
    }
    if (errors->count > LISTED_ERRORS) {
        return;
    }
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    sli_diag_error(errors->diag, (sli_mark){.file = errors->file, .line = line}, NULL, "%s",
                   message);
}

sl_err sli_line_errors_close(sli_line_errors *errors) {
    if (errors->count > LISTED_ERRORS) {
        sli_diag_error(errors->diag, (sli_mark){.file = errors->file}, NULL,
                       "and %d more like these", errors->count - LISTED_ERRORS);
    }
    return errors->count > 0 ? SL_ERR_CONFIG : SL_OK;
}

static void break_off(sli_lines *lines, int line, const char *message) {
    sli_line_error(lines->errors, line, "%s", message);
    lines->is_broken = true;
}

sl_err sli_lines_open(sli_lines *lines, sli_line_errors *errors) {
    FILE *file = fopen(errors->file, "rb");
    if (file == NULL) {
        return SL_ERR_IO;
    }
    *lines = (sli_lines){.file = file, .errors = errors};
    return SL_OK;
}

static bool is_blank(const char *text) {
    return text[strspn(text, " \t")] == '\0';
}

/* Control characters other than the tab do not occur in the texts that we read. */
static bool is_text(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 && byte != '\t') {
            return false;
        }
    }
    return true;
}

static void drop_front(sli_lines *lines, size_t count) {
    lines->length -= count;
    memmove(lines->text, lines->text + count, lines->length + 1);
}

static void trim(sli_lines *lines) {
    size_t length = lines->length;
    if (length > 0 && lines->text[length - 1] == '\n') {
        length--;
    }
    if (length > 0 && lines->text[length - 1] == '\r') {
        length--;
    }
    lines->text[length] = '\0';
    lines->length = length;
    size_t mark_length = sizeof BYTE_ORDER_MARK - 1;
    if (lines->number == 1 && strncmp(lines->text, BYTE_ORDER_MARK, mark_length) == 0) {
        drop_front(lines, mark_length);
    }
}

/* One line, blank or not; false at the end or on trouble. */
static bool read_line(sli_lines *lines) {
    errno = 0;
    ssize_t length = getline(&lines->text, &lines->capacity, lines->file);
    if (length < 0) {
        if (ferror(lines->file) || !feof(lines->file)) {
            int code = errno; /* a directory opens but does not read */
            sli_line_error(lines->errors, 0, "cannot read the trace: %s", strerror(code));
            lines->is_broken = true;
        }
        return false;
    }
    lines->number++;
    lines->length = (size_t)length;
    trim(lines);
    if (!is_text(lines->text, lines->length)) {
        break_off(lines, lines->number, "expected a text file, found binary data");
        return false;
    }
    if (lines->number == 1 && strncmp(lines->text, LFS_START, sizeof LFS_START - 1) == 0) {
        break_off(lines, 0,
                  "is a Git LFS pointer, not the trace itself; fetch it with git lfs pull");
        return false;
    }
    return true;
}

bool sli_lines_next(sli_lines *lines) {
    if (lines->is_ahead) {
        lines->is_ahead = false;
        return true;
    }
    while (!lines->is_broken && read_line(lines)) {
        if (!is_blank(lines->text)) {
            lines->filled_count++;
            return true;
        }
    }
    if (!lines->is_broken && lines->filled_count == 0) {
        break_off(lines, 0, lines->number == 0 ? "is empty" : "has blank lines only");
    }
    lines->is_broken = true;
    return false;
}

bool sli_lines_peek(sli_lines *lines) {
    lines->is_ahead = sli_lines_next(lines);
    return lines->is_ahead;
}

void sli_lines_close(sli_lines *lines) {
    if (lines->file != NULL) {
        fclose(lines->file);
    }
    free(lines->text);
    *lines = (sli_lines){0};
}
