/* A plugin of two policies, the second of which decides nothing: neither must be registered. */
#define SL_POLICY_PLUGIN
#include "sluice/policy.h"

static uint32_t to_first(void *self, const sl_route_view *view) {
    (void)self;
    (void)view;
    return 0;
}

static const sl_route_policy good_policy = {
    .policy = {SL_POLICY_HEAD(sl_route_policy, SL_POLICY_ROUTE), .name = "half_good",
               .summary = "always the first replica"},
    .route = to_first,
};

static const sl_route_policy bad_policy = {
    .policy = {SL_POLICY_HEAD(sl_route_policy, SL_POLICY_ROUTE), .name = "half_bad",
               .summary = "no decision"},
};

SL_EXPORT_POLICIES(plugin_half_bad, &good_policy.policy, &bad_policy.policy);
