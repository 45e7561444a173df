/*
 * A domain: the execution unit of a replica, one step at a time behind one barrier.
 *
 * Floor engine. Today one core and one step in flight; several cores (attention data parallelism)
 * and several chains (pipelines) belong here. A domain that has work is marked, and every marked
 * one plans once an instant, after everything else of that instant. Steps that nothing can disturb
 * are one event (engine/jump.h).
 */
#ifndef SLUICE_ENGINE_DOMAIN_H
#define SLUICE_ENGINE_DOMAIN_H

#include "engine/jump.h"
#include "engine/step.h"

typedef struct sli_domain {
    sli_core core;
    sl_cost_model cost;
    sli_listener listener;
    bool is_planning; /* its own changes do not mark it */
    bool is_stepping; /* a step is in flight */
    sli_event_handle plan_event;
    sli_event_handle step_event;
    sli_event_handle wake_event;
    sli_jump jump; /* the step in flight and those planned behind it */
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

/* The run stops here: what happened until now is booked. The step in flight never ends. */
void sli_domain_stop(sli_domain *domain);

#endif
