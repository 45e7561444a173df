/*
 * What holds for every file that a reader of traces is given.
 *
 * It is refused with reasons, or its arrivals are sorted and well formed, its ids are
 * prefix-cumulative, a reader that repairs finds nothing to repair, and the trace that is exported
 * from them is read back as the same arrivals.
 */
#ifndef SLUICE_TESTS_FUZZ_TRACE_CHECK_H
#define SLUICE_TESTS_FUZZ_TRACE_CHECK_H

#include "entry.h"
#include "workloads/trace.h"

/* What sli_FORMAT_create does. */
typedef sl_err create_trace_fn(const void *values, const sli_source_env *env, sl_source *source);

/* The complaints about a trace as a whole, which have no line. */
extern const char *const trace_complaints[];

/* A trace that was opened, or why not. */
typedef struct replay {
    sli_arena arena;
    sli_diag diag;
    sl_source source;
    sl_err err;
} replay;

/* Strict refuses all that is odd; else it is repaired. Close it in any case. */
void replay_open(replay *r, create_trace_fn *create, const char *path, bool is_strict);
void replay_close(replay *r);

void check_trace(create_trace_fn *create, const void *bytes, size_t length);

#endif
