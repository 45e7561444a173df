/*
 * Memory that runs out at a chosen call.
 *
 * Stands in for malloc, calloc and realloc of the whole process, so that the libraries below and
 * strdup, getline and streams of the C library fail as well. Works with the sanitizers of gcc,
 * whose functions then come next. json-c is spared: it does not look whether it got memory for a
 * key (json_tokener.c of 0.16), so nobody above it can survive.
 */
#ifndef SLUICE_TESTS_FUZZ_FAILING_H
#define SLUICE_TESTS_FUZZ_FAILING_H

#include <stdbool.h>

/* From start_failing on call n fails, n from 1, and if `persists` all later ones, too. 0 = none. */
void plan_failure(long n, bool persists);

void start_failing(void);

/* Memory is back. Answers whether any call has failed since the failure was planned. */
bool stop_failing(void);

/* Calls between start_failing and stop_failing since the failure was planned. */
long calls_made(void);

#endif
