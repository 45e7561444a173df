/*
 * What the tests of floor config share: a schema with every kind of row, and messages as text.
 */
#ifndef SLUICE_TESTS_CONFIG_FIXTURE_H
#define SLUICE_TESTS_CONFIG_FIXTURE_H

#include "config/schema.h"

/* Everything that one test owns. */
typedef struct test_bed {
    sli_arena arena;
    sli_diag diag;
    sli_node *root;
    char *messages; /* of the last messages_of */
    char *written;  /* of the last written_of */
} test_bed;

void test_bed_fini(test_bed *bed);

/* Reads a text as the file `s.yaml`. */
sl_err read_text(test_bed *bed, const char *text);

/* All messages so far, as printed; lives until the next call. */
const char *messages_of(test_bed *bed);

/* The tree as sli_tree_write writes it; lives until the next call. */
const char *written_of(test_bed *bed);

/* One tree for each level of the scenario below. */
typedef struct server {
    int64_t block_tokens;
    int64_t max_seqs;
    int policy; /* fcfs, priority */
} server;

typedef struct lognormal {
    double mean;
    double cv;
} lognormal;

typedef struct prompt {
    int kind;      /* 0 fixed, 1 lognormal, 2 quantiles, 3 trace */
    int64_t fixed; /* tokens */
    lognormal lognormal;
    sli_table quantiles; /* of struct quantile */
} prompt;

typedef struct quantile {
    double frac;
    int64_t tokens;
} quantile;

typedef struct chunked {
    bool is_chunked;
} chunked;

typedef struct everything {
    int64_t seed;
    int64_t limit_ns;
    double rate_per_s;
    bool is_on;
    const char *title;
    const char *file;
    int64_t context_tokens;
    server server;
    prompt prompt;
    sli_named scheduler;
    double bandwidth_bytes_per_s;
    sli_sourced bandwidth;
} everything;

extern const sli_section everything_section;

/* A text that gives all required keys and nothing else. */
extern const char smallest_text[];

/* A text that uses every kind of row. */
extern const char fullest_text[];

#endif
