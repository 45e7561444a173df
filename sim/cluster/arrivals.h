/*
 * Arrivals: keeps the event queue in step with one source.
 *
 * Floor cluster. The queue holds one event a source, at the time of its next one; after every pop
 * and every end of a request the source is peeked again and the event moved.
 */
#ifndef SLUICE_CLUSTER_ARRIVALS_H
#define SLUICE_CLUSTER_ARRIVALS_H

#include "engine/world.h"
#include "sluice/workload.h"

/* What happens with what the source brings. */
typedef struct sli_arrival_ops {
    void (*arrive)(void *self, uint64_t request, const sl_request_desc *desc);
    void (*cancel)(void *self, uint64_t request);
} sli_arrival_ops;

typedef struct sli_arrivals {
    sli_world *world;
    sl_source source; /* borrowed */
    uint32_t number;  /* of the source */
    const sli_arrival_ops *ops;
    void *self;
    sli_event_handle event;
} sli_arrivals;

/* Posts the first event. The struct must not move afterwards. */
void sli_arrivals_start(sli_arrivals *arrivals);

/* A request of this source ended. */
void sli_arrivals_done(sli_arrivals *arrivals, uint64_t request, sl_outcome outcome);

#endif
