#include "base/diag.h"

#include <string.h>

void sli_diag_fini(sli_diag *diag) {
    sli_arena_fini(&diag->arena);
    *diag = (sli_diag){0};
}

static void add(sli_diag *diag, sli_severity severity, sli_mark mark, const char *path,
                const char *format, va_list args) {
    if (severity == SLI_ERROR) {
        diag->error_count++;
    } else {
        diag->warning_count++;
    }
    sli_diag_entry *entry = sli_arena_alloc(&diag->arena, sizeof *entry);
    char *message = sli_arena_vprintf(&diag->arena, format, args);
    char *path_copy = path != NULL ? sli_arena_strdup(&diag->arena, path) : NULL;
    if (entry == NULL || message == NULL || (path != NULL && path_copy == NULL)) {
        diag->is_out_of_memory = true;
        return;
    }
    entry->severity = severity;
    entry->mark = mark;
    entry->path = path_copy;
    entry->message = message;
    if (diag->last != NULL) {
        diag->last->next = entry;
    } else {
        diag->first = entry;
    }
    diag->last = entry;
}

void sli_diag_error(sli_diag *diag, sli_mark mark, const char *path, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(diag, SLI_ERROR, mark, path, format, args);
    va_end(args);
}

void sli_diag_warning(sli_diag *diag, sli_mark mark, const char *path, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(diag, SLI_WARNING, mark, path, format, args);
    va_end(args);
}

static void print_mark(sli_mark mark, FILE *file) {
    if (mark.file == NULL) {
        return;
    }
    fputs(mark.file, file);
    if (mark.line > 0) {
        fprintf(file, ":%d", mark.line);
        if (mark.column > 0) {
            fprintf(file, ":%d", mark.column);
        }
    }
    fputs(": ", file);
}

void sli_diag_print(const sli_diag *diag, FILE *file) {
    for (const sli_diag_entry *entry = diag->first; entry != NULL; entry = entry->next) {
        print_mark(entry->mark, file);
        if (entry->severity == SLI_WARNING) {
            fputs("warning: ", file);
        }
        if (entry->path != NULL && entry->path[0] != '\0') {
            fprintf(file, "%s: ", entry->path);
        }
        fprintf(file, "%s\n", entry->message);
    }
    if (diag->is_out_of_memory) {
        fputs("out of memory: some messages are missing\n", file);
    }
}

enum { NEAREST_MAX_CHARS = 64 };

/* Levenshtein with adjacent transpositions; both words at most NEAREST_MAX_CHARS long. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t rows[3][NEAREST_MAX_CHARS + 1];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swap && before[j - 2] + 1 < best) {
                best = before[j - 2] + 1;
            }
            row[j] = best;
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b_length];
}

/* The shortest candidate that begins with a word that is long enough to mean something. */
static const char *completed(const char *word, size_t length, const char *const *candidates,
                             size_t count) {
    enum { PREFIX_MIN_CHARS = 3 };
    const char *shortest = NULL;
    for (size_t i = 0; i < count && length >= PREFIX_MIN_CHARS; i++) {
        bool begins = strncmp(word, candidates[i], length) == 0;
        if (begins && (shortest == NULL || strlen(candidates[i]) < strlen(shortest))) {
            shortest = candidates[i];
        }
    }
    return shortest;
}

const char *sli_nearest(const char *word, const char *const *candidates, size_t count) {
    size_t length = strlen(word);
    if (length > NEAREST_MAX_CHARS) {
        return NULL;
    }
    const char *nearest = completed(word, length, candidates, count);
    if (nearest != NULL) {
        return nearest;
    }
    size_t nearest_distance = length / 2 + 1; /* at most half of the word may be wrong */
    for (size_t i = 0; i < count; i++) {
        size_t candidate_length = strlen(candidates[i]);
        if (candidate_length > NEAREST_MAX_CHARS) {
            continue;
        }
        size_t distance = edit_distance(word, length, candidates[i], candidate_length);
        if (distance < nearest_distance) {
            nearest_distance = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
