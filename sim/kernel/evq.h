/*
 * The event queue: what happens next, and how ties are broken.
 *
 * Floor kernel. Events fire in the order (time, class, key, sequence of posting). An event is known
 * by a handle with a generation, so cancelling one that has fired is harmless. Post, move and
 * cancel are O(log n); peek is O(1). No allocation once the queue has grown to its working size.
 */
#ifndef SLUICE_KERNEL_EVQ_H
#define SLUICE_KERNEL_EVQ_H

#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At one instant, lower classes go first. */
typedef enum sli_event_class {
    SLI_EVENT_TRANSFER_END,
    SLI_EVENT_STEP_END,
    SLI_EVENT_TIMER,
    SLI_EVENT_FAULT,
    SLI_EVENT_ARRIVAL,
    SLI_EVENT_PLAN,
    SLI_EVENT_SAMPLE,
} sli_event_class;

typedef void sli_event_fn(void *subject, int64_t now_ns);

/* Zeroed = no event. */
typedef struct sli_event_handle {
    uint32_t slot; /* index + 1 */
    uint32_t generation;
} sli_event_handle;

typedef struct sli_event {
    int64_t at_ns;
    uint64_t sequence;
    sli_event_fn *fire;
    void *subject;
    uint32_t key; /* replica for step ends and plans, source for arrivals */
    sli_event_class class;
} sli_event;

typedef struct sli_evq sli_evq;

SL_NODISCARD sl_err sli_evq_create(sli_evq **queue);
void sli_evq_destroy(sli_evq *queue);

/* `handle` may be NULL. SL_ERR_NOMEM leaves the queue as it was. */
SL_NODISCARD sl_err sli_evq_post(sli_evq *queue, int64_t at_ns, sli_event_class class, uint32_t key,
                                 sli_event_fn *fire, void *subject, sli_event_handle *handle);

/* Changes the time of a pending event and gives it a new sequence; false if it is not pending. */
bool sli_evq_move(sli_evq *queue, sli_event_handle handle, int64_t at_ns);

/* False if the event is not pending any more. */
bool sli_evq_cancel(sli_evq *queue, sli_event_handle handle);

bool sli_evq_is_pending(const sli_evq *queue, sli_event_handle handle);

/* The next event, or NULL when the queue is empty; valid until the queue changes. */
const sli_event *sli_evq_peek(const sli_evq *queue);

/* Takes the next event out; false when the queue is empty. */
bool sli_evq_pop(sli_evq *queue, sli_event *event);

#endif
