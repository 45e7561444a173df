/*
 * The waiting queue, in the order of kind `order`.
 *
 * Floor engine. fcfs: arrivals at the back, preempted requests in front of all. priority: by
 * (priority, arrival), preempted requests too. One list a priority level keeps both O(levels).
 * A replica has one of its own, and all may share one; whoever may pull from a queue is told when
 * it changes.
 */
#ifndef SLUICE_ENGINE_QUEUE_H
#define SLUICE_ENGINE_QUEUE_H

#include "engine/request.h"

typedef enum sli_order { SLI_ORDER_FCFS, SLI_ORDER_PRIORITY } sli_order;

typedef struct sli_queue_level {
    int32_t priority;
    sl_request *first;
    sl_request *last;
} sli_queue_level;

/* Zeroed is valid, empty and fcfs. Requests are linked, not owned. */
typedef struct sli_queue {
    sli_order order;
    sli_queue_level *levels; /* by priority, ascending; fcfs has one */
    size_t level_count;
    size_t level_capacity;
    int64_t count;
    uint64_t arrival_count; /* ever */
    uint64_t head_count;    /* removals and returns, ever: what may change the head otherwise */
    void (*changed)(void *listener); /* after any change that leaves somebody waiting; or NULL */
    void *listener;
} sli_queue;

void sli_queue_fini(sli_queue *queue);

/* A new arrival. O(levels). */
SL_NODISCARD sl_err sli_queue_add(sli_queue *queue, sl_request *request);

/* A preempted request. O(levels), and with priorities O(requests of its level before it). */
SL_NODISCARD sl_err sli_queue_return(sli_queue *queue, sl_request *request);

void sli_queue_remove(sli_queue *queue, sl_request *request);

sl_request *sli_queue_first(const sli_queue *queue);
sl_request *sli_queue_next(const sli_queue *queue, const sl_request *request);

#endif
