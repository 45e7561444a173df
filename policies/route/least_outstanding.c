/* Least outstanding requests (join the shortest queue); ties go to the lowest replica. */
#include "sluice/policy.h"

static uint32_t route(void *self, const sl_route_view *view) {
    (void)self;
    uint32_t best = 0;
    int64_t best_outstanding = sl_route_outstanding(view, 0).value;
    for (uint32_t replica = 1; replica < view->replica_count; replica++) {
        int64_t outstanding = sl_route_outstanding(view, replica).value;
        if (outstanding < best_outstanding) {
            best = replica;
            best_outstanding = outstanding;
        }
    }
    return best;
}

static const sl_route_policy least_outstanding_policy = {
    .policy = {SL_POLICY_HEAD(sl_route_policy, SL_POLICY_ROUTE), .name = "least_outstanding",
               .summary = "the replica with the fewest unfinished requests",
               .paper = "Winston, Optimality of the shortest line discipline, J. Appl. Prob. 1977"},
    .route = route,
};

SL_EXPORT_POLICIES(least_outstanding, &least_outstanding_policy.policy);
