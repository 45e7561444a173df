#include "mutate.h"

#include "kernel/rng.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void give_up(const char *what, const char *path) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

static void read_file(const char *folder, const char *name, input *file) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        give_up("cannot be opened", path);
    }
    file->length = fread(file->bytes, 1, sizeof file->bytes, stream);
    if (fgetc(stream) != EOF) {
        give_up("too large for a corpus", path);
    }
    fclose(stream);
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* By bytes, whatever the locale: the order is part of what an index means. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

void corpus_add(corpus *set, const char *folder) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_visible, by_name);
    if (count <= 0 || set->count + (size_t)count > CORPUS_MAX_FILES) {
        give_up("no folder of files, or too many of them", folder);
    }
    for (int i = 0; i < count; i++) {
        read_file(folder, entries[i]->d_name, &set->files[set->count++]);
        free(entries[i]);
    }
    free(entries);
}

/* ---- Damage ---- */

/* Puts `count` bytes in the place of `removed` bytes, as far as there is room for them. */
static void replace(input *text, size_t at, size_t removed, const char *bytes, size_t count) {
    size_t tail = text->length - at - removed;
    if (at + count + tail > INPUT_MAX_BYTES) {
        return;
    }
    memmove(text->bytes + at + count, text->bytes + at + removed, tail);
    memcpy(text->bytes + at, bytes, count);
    text->length = at + count + tail;
}

static size_t below(sli_rng *rng, size_t bound) {
    return (size_t)sli_rng_below(rng, bound);
}

/* A stretch of at most `most` bytes. */
static void pick_span(const input *text, sli_rng *rng, size_t most, size_t *at, size_t *count) {
    *at = below(rng, text->length + 1);
    size_t left = text->length - *at;
    *count = below(rng, (left < most ? left : most) + 1);
}

/* A whole line with its end. */
static void pick_line(const input *text, sli_rng *rng, size_t *at, size_t *count) {
    size_t first = below(rng, text->length + 1);
    size_t last = first;
    while (first > 0 && text->bytes[first - 1] != '\n') {
        first--;
    }
    while (last < text->length && text->bytes[last] != '\n') {
        last++;
    }
    *at = first;
    *count = last - first + (last < text->length);
}

static void flip_bit(input *text, sli_rng *rng) {
    if (text->length > 0) {
        size_t at = below(rng, text->length);
        text->bytes[at] = (char)(text->bytes[at] ^ (1 << below(rng, 8)));
    }
}

static void insert_byte(input *text, sli_rng *rng) {
    char byte = (char)below(rng, 256);
    replace(text, below(rng, text->length + 1), 0, &byte, 1);
}

static void delete_span(input *text, sli_rng *rng) {
    size_t at;
    size_t count;
    pick_span(text, rng, 16, &at, &count);
    replace(text, at, count, "", 0);
}

static void repeat_line(input *text, sli_rng *rng) {
    size_t from;
    size_t count;
    size_t to;
    size_t unused;
    char line[INPUT_MAX_BYTES];
    pick_line(text, rng, &from, &count);
    pick_line(text, rng, &to, &unused);
    memcpy(line, text->bytes + from, count);
    replace(text, to, 0, line, count);
}

static void delete_line(input *text, sli_rng *rng) {
    size_t at;
    size_t count;
    pick_line(text, rng, &at, &count);
    replace(text, at, count, "", 0);
}

/* Part of another file of the corpus in the place of a part of this one. */
static void splice(const corpus *set, input *text, sli_rng *rng) {
    const input *other = &set->files[below(rng, set->count)];
    size_t from;
    size_t count;
    size_t to;
    size_t removed;
    pick_span(other, rng, 200, &from, &count);
    pick_span(text, rng, 200, &to, &removed);
    replace(text, to, removed, other->bytes + from, count);
}

static void put_word(const corpus *set, input *text, sli_rng *rng) {
    size_t word_count = 0;
    while (set->words[word_count] != NULL) {
        word_count++;
    }
    const char *word = set->words[below(rng, word_count)];
    size_t at;
    size_t removed;
    pick_span(text, rng, 8, &at, &removed);
    replace(text, at, below(rng, 2) * removed, word, strlen(word));
}

/* A number in the place of the digits from a random place on: most damage of interest is there. */
static void put_number(input *text, sli_rng *rng) {
    static const char *const numbers[] = {
        "0",          "1",          "-1",
        "3",          "16",         "512",
        "1e9",        "0.5",        "1000000000",
        "1000000001", "2147483648", "9007199254740993",
        "1e-9",       "1e400",      "9223372036854775807",
        "00",         "1.",         "18446744073709551615",
        "-0",         "+7",         "18446744073709551616",
    };
    size_t at = below(rng, text->length + 1);
    while (at < text->length && (text->bytes[at] < '0' || text->bytes[at] > '9')) {
        at++;
    }
    size_t end = at;
    while (end < text->length && text->bytes[end] >= '0' && text->bytes[end] <= '9') {
        end++;
    }
    const char *number = numbers[below(rng, sizeof numbers / sizeof numbers[0])];
    replace(text, at, end - at, number, strlen(number));
}

static void damage(const corpus *set, input *text, sli_rng *rng) {
    switch (below(rng, 10)) {
    case 0:
        flip_bit(text, rng);
        break;
    case 1:
        insert_byte(text, rng);
        break;
    case 2:
        delete_span(text, rng);
        break;
    case 3:
        repeat_line(text, rng);
        break;
    case 4:
        delete_line(text, rng);
        break;
    case 5:
        splice(set, text, rng);
        break;
    case 6:
    case 7:
        put_word(set, text, rng);
        break;
    default:
        put_number(text, rng);
        break;
    }
}

void make_input(const corpus *set, uint64_t seed, uint64_t index, input *made) {
    if (index < set->count) {
        *made = set->files[index];
        return;
    }
    sli_rng rng;
    sli_rng_init(&rng, seed, "fuzz", 0, index);
    *made = set->files[below(&rng, set->count)];
    size_t times = 1 + below(&rng, 8) * below(&rng, 2);
    for (size_t i = 0; i < times; i++) {
        damage(set, made, &rng);
    }
}
