/*
 * What the tests of workloads share: sources made from YAML texts, traces written to temporary
 * files, messages as text.
 */
#ifndef TESTS_WORKLOADS_SUPPORT_H
#define TESTS_WORKLOADS_SUPPORT_H

#include "workloads/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* cmocka wants the four headers above first. */
#include <cmocka.h>

/* All that a source needs to live. */
typedef struct world {
    sli_arena arena;
    sli_diag diag;
    sl_source source;
} world;

/* Makes the source of a text as "{source: poisson, rate: 1 /s, ...}". */
sl_err world_open(world *w, uint64_t seed, const char *workload_yaml);
void world_close(world *w);

/* The diagnostics as printed; valid until the next call. */
const char *world_messages(const world *w);
const char *diag_messages(const sli_diag *diag);

/* One arrival, with its contents copied so that it outlives the source. */
typedef struct arrival {
    int64_t at_ns;
    uint64_t index;
    sl_request_desc desc;
    uint64_t *ids;
} arrival;

typedef struct arrivals {
    arrival *items;
    size_t count;
    size_t capacity;
} arrivals;

/* Takes all events of a source that does not wait for done(). */
arrivals arrivals_of(sl_source *source);
arrivals arrivals_copy_one(arrivals list, const arrival *item);
void arrivals_free(arrivals *list);
void assert_same_arrivals(const arrivals *a, const arrivals *b);

/* Writes a temporary file; the path is valid until the next call, which removes the file. */
const char *temporary_file(const char *text, size_t length);
const char *temporary_text(const char *text);
void temporary_remove(void);

/* The path of a public trace below $SLUICE_DATA/traces; skips the test without SLUICE_DATA. */
const char *public_trace(const char *name);

#endif
