/* Round robin: request i goes to replica i modulo the number of replicas. */
#include "sluice/policy.h"

typedef struct round_robin {
    uint32_t next;
} round_robin;

static uint32_t route(void *self, const sl_route_view *view) {
    round_robin *policy = self;
    uint32_t chosen = policy->next;
    policy->next = (chosen + 1) % view->replica_count;
    return chosen;
}

static const sl_route_policy round_robin_policy = {
    .policy = {SL_POLICY_HEAD(sl_route_policy, SL_POLICY_ROUTE), .name = "round_robin",
               .summary = "each replica in turn", .instance_bytes = sizeof(round_robin)},
    .route = route,
};

SL_EXPORT_POLICIES(round_robin, &round_robin_policy.policy);
