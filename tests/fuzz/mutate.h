/*
 * Inputs that are almost right: texts of a corpus, damaged a little.
 *
 * Every input is a function of (corpus, seed, index) alone, so one that failed is made again from
 * two numbers. The corpus is folders of small files and a list of words that mean something in
 * their format.
 */
#ifndef SLUICE_TESTS_FUZZ_MUTATE_H
#define SLUICE_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum { INPUT_MAX_BYTES = 4096 };

typedef struct input {
    size_t length;
    char bytes[INPUT_MAX_BYTES];
} input;

enum { CORPUS_MAX_FILES = 32 };

typedef struct corpus {
    input files[CORPUS_MAX_FILES]; /* of a folder sorted by name */
    size_t count;
    const char *const *words; /* NULL-terminated */
} corpus;

/* Adds all files of a folder; exits with a message if that fails or there are none. */
void corpus_add(corpus *set, const char *folder);

/* The first inputs are the files as they are; the others are damaged one to eight times. */
void make_input(const corpus *set, uint64_t seed, uint64_t index, input *made);

#endif
