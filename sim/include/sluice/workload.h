/*
 * Where requests come from.
 *
 * A source is asked for its next event without consuming it (`peek`), then consumed (`pop`), and
 * told about the end of each of its requests (`done`), after which it may own new or earlier
 * events: that is how closed loops, sessions and client time-outs work. The event queue holds one
 * event a source and moves it after every pop and done.
 *
 * A source draws random numbers only from streams keyed by the index of a request, so that what
 * request 17 looks like never depends on the order in which others finished.
 */
#ifndef SLUICE_WORKLOAD_H
#define SLUICE_WORKLOAD_H

#include "sluice/err.h"
#include "sluice/probe.h"

#include <stdint.h>

/*
 * What the tokens of a prompt are, as far as reuse is concerned: `id_count` ids, each standing for
 * `id_tokens` tokens and everything before them (prefix-cumulative, as in Mooncake traces). Equal
 * ids in one scope mean equal contents. Tokens behind the last id belong to this request alone.
 */
typedef struct sl_content {
    const uint64_t *ids; /* borrowed from the source, for as long as it lives */
    int64_t id_count;
    int64_t id_tokens; /* >= 1 when id_count > 0 */
    uint32_t scope;    /* namespace of the ids, >= 1; 0 is kept for private contents */
} sl_content;

/* What a request asks for. */
typedef struct sl_request_desc {
    int64_t prompt_tokens; /* >= 1 */
    int64_t output_tokens; /* >= 1: the true length, hidden from policies */
    int64_t max_tokens;    /* the limit that the client sent; 0 = none */
    int32_t priority;      /* lower is more urgent */
    sl_content content;
} sl_request_desc;

typedef enum sl_source_event {
    SL_SOURCE_IDLE,    /* nothing now; done() may bring something */
    SL_SOURCE_ARRIVAL, /* pop() describes a new request; its index is the count of earlier ones */
    SL_SOURCE_CANCEL,  /* pop() names a request whose client went away */
} sl_source_event;

typedef struct sl_source_ops {
    /* Pure; the time is not earlier than that of the last pop. O(1) or O(log n). */
    sl_source_event (*peek)(const void *self, int64_t *at_ns);
    /* ARRIVAL fills *desc. CANCEL fills *index alone. The index of an arrival is filled too. */
    void (*pop)(void *self, uint64_t *index, sl_request_desc *desc);
    /* Told once for every request that it emitted. May be NULL. */
    void (*done)(void *self, uint64_t index, sl_outcome outcome, int64_t now_ns);
    void (*destroy)(void *self);
} sl_source_ops;

typedef struct sl_source {
    const sl_source_ops *ops; /* NULL = no source */
    void *self;
} sl_source;

#endif
