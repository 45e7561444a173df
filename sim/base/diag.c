#include "base/diag.h"

#include <stdint.h>
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

/* The next number of a text as its digits, or NULL; *length is how many. */
static const char *find_number(const char *text, size_t *length) {
    text += strcspn(text, "0123456789");
    *length = strspn(text, "0123456789");
    return *length > 0 ? text : NULL;
}

/* Whether the numbers of a text are among those of another one, in the same order. */
static bool has_numbers(const char *text, const char *numbers) {
    size_t length;
    size_t wanted_length;
    const char *wanted = find_number(numbers, &wanted_length);
    const char *number = find_number(text, &length);
    while (number != NULL && wanted != NULL) {
        if (length == wanted_length && memcmp(number, wanted, length) == 0) {
            wanted = find_number(wanted + wanted_length, &wanted_length);
        }
        number = find_number(number + length, &length);
    }
    return wanted == NULL;
}

/* A letter may slip, and a number may be left out, but 70b is no slip for 8b. */
static bool numbers_agree(const char *a, const char *b) {
    return has_numbers(a, b) || has_numbers(b, a);
}

/* A word for comparison: in small letters. */
typedef struct folded {
    char text[NEAREST_MAX_CHARS + 1];
    size_t length;
} folded;

/* False when the word is too long to compare. */
static bool fold(const char *word, folded *of) {
    of->length = strlen(word);
    if (of->length > NEAREST_MAX_CHARS) {
        return false;
    }
    for (size_t i = 0; i <= of->length; i++) {
        bool is_capital = 'A' <= word[i] && word[i] <= 'Z';
        of->text[i] = (char)(word[i] + (is_capital ? 'a' - 'A' : 0));
    }
    return true;
}

/*
 * How far a candidate is from a word, less is nearer: those that begin with a word that is long
 * enough to mean something come first, by their length; the others follow by edit distance, as far
 * as at most half of the word is wrong. SIZE_MAX = not near.
 */
static size_t remoteness(const folded *word, const folded *candidate) {
    enum { PREFIX_MIN_CHARS = 3 };
    bool is_long = word->length >= PREFIX_MIN_CHARS;
    if (is_long && strncmp(word->text, candidate->text, word->length) == 0) {
        return candidate->length;
    }
    size_t distance = edit_distance(word->text, word->length, candidate->text, candidate->length);
    return distance <= word->length / 2 ? NEAREST_MAX_CHARS + distance : SIZE_MAX;
}

/* May a word have been meant by another, as far as their numbers tell? */
typedef bool (*is_possible)(const char *word, const char *candidate);

static bool always(const char *word, const char *candidate) {
    (void)word;
    (void)candidate;
    return true;
}

static const char *nearest_of(const char *word, const char *const *candidates, size_t count,
                              is_possible may_be) {
    folded ours;
    if (!fold(word, &ours)) {
        return NULL;
    }
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        folded theirs;
        if (!fold(candidates[i], &theirs) || !may_be(ours.text, theirs.text)) {
            continue;
        }
        size_t remote = remoteness(&ours, &theirs);
        if (remote < least) {
            least = remote;
            nearest = candidates[i];
        }
    }
    return nearest;
}

const char *sli_nearest(const char *word, const char *const *candidates, size_t count) {
    return nearest_of(word, candidates, count, numbers_agree);
}

const char *sli_nearest_spelling(const char *word, const char *const *candidates, size_t count) {
    return nearest_of(word, candidates, count, always);
}
