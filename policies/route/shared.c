/* One queue for the whole cluster; a replica with a free seat pulls from it (as M/M/k assumes). */
#include "sluice/policy.h"

static uint32_t route(void *self, const sl_route_view *view) {
    (void)self;
    (void)view;
    return SL_ROUTE_SHARED;
}

static const sl_route_policy shared_policy = {
    .policy = {SL_POLICY_HEAD(sl_route_policy, SL_POLICY_ROUTE), .name = "shared",
               .summary = "one cluster queue that free replicas pull from"},
    .route = route,
};

SL_EXPORT_POLICIES(shared, &shared_policy.policy);
