/*
 * A domain: the execution unit of a replica, one step at a time behind one barrier.
 *
 * Floor engine. Today one core and one step in flight; several cores (attention data parallelism)
 * and several chains (pipelines) belong here. A domain that has work is marked, and every marked
 * one plans once an instant, after everything else of that instant.
 */
#ifndef SLUICE_ENGINE_DOMAIN_H
#define SLUICE_ENGINE_DOMAIN_H

#include "engine/step.h"

typedef struct sli_domain {
    sli_core core;
    sl_cost_model cost;
    sli_listener listener;
    bool is_planning; /* its own changes do not mark it */
    bool is_stepping; /* a step is in flight */
    sli_event_handle plan_event;
    sli_event_handle wake_event;
    sl_step_record step; /* in flight */
    int64_t step_count;
} sli_domain;

/* The domain must not move afterwards: events point at it. */
SL_NODISCARD sl_err sli_domain_init(sli_domain *domain, sli_world *world, uint32_t index,
                                    const sli_engine_config *config, const sl_batch_policy *policy,
                                    void *policy_self, sli_queue *shared, sl_cost_model cost,
                                    sli_listener listener);

void sli_domain_fini(sli_domain *domain);

/* Something changed: plan at this instant, unless a step is in flight, whose end will. */
void sli_domain_mark(sli_domain *domain);

/* The client of a request of this replica went away: it ends now, or with the step in flight. */
void sli_domain_cancel(sli_domain *domain, sl_request *request);

/* The run stops here: nothing is planned ahead, so nothing is left to book. */
static inline void sli_domain_stop(sli_domain *domain) {
    (void)domain;
}

#endif
