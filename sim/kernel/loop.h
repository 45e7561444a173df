/*
 * The loop: a clock and the event queue that drives it.
 *
 * Floor kernel. Many loops fit in one process; nothing here is global.
 */
#ifndef SLUICE_KERNEL_LOOP_H
#define SLUICE_KERNEL_LOOP_H

#include "kernel/evq.h"

typedef enum sli_loop_end {
    SLI_LOOP_DRAINED, /* no events are left */
    SLI_LOOP_HORIZON, /* the next event lies beyond the horizon */
    SLI_LOOP_STOPPED, /* sli_loop_stop was called, or *interrupt became non-zero */
} sli_loop_end;

typedef struct sli_loop {
    sli_evq *events;
    int64_t now_ns;
    uint64_t fired_count;
    bool is_stopping;
    sli_event_class class; /* of the event that is being fired */
    uint32_t key;
    const volatile int *interrupt; /* stops between two instants, never within one; NULL = never */
} sli_loop;

SL_NODISCARD sl_err sli_loop_init(sli_loop *loop);
void sli_loop_fini(sli_loop *loop);

/* Fires all events with at_ns <= horizon_ns in order. The clock never runs backwards. */
sli_loop_end sli_loop_run(sli_loop *loop, int64_t horizon_ns);

/* Makes sli_loop_run return after the event that is being fired. */
void sli_loop_stop(sli_loop *loop);

#endif
