/*
 * A script: a source that plays the requests of a small world.
 *
 * Requests come in the order of the world. In an open loop each arrives at its own time; in a
 * closed one the first `concurrency` do, and every end releases the next. A client whose patience
 * is over cancels, whatever has become of its request by then.
 */
#ifndef TESTS_CONFORM_SCRIPT_H
#define TESTS_CONFORM_SCRIPT_H

#include "small_world.h"

typedef struct sli_script {
    const sli_small_world *world;
    int64_t due_ns[SLI_SMALL_REQUESTS]; /* arrivals to come, in no order */
    int due_count;
    int released_count; /* arrivals that were ever due */
    int popped_count;
    int64_t cancel_ns[SLI_SMALL_REQUESTS]; /* SLI_NEVER = none, or over */
    int done_count[SLI_SMALL_REQUESTS];    /* how often each request was said to have ended */
} sli_script;

/* The source borrows the script and the script the world. */
sl_source sli_script_start(sli_script *script, const sli_small_world *world);

#endif
