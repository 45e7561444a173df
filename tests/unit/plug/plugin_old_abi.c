/* A plugin of another age: its table announces an interface that this program does not have. */
#define SL_POLICY_PLUGIN
#include "sluice/policy.h"

SL_POLICY_TABLE_ATTRIBUTES extern const sl_policy_table sl_policies;
const sl_policy_table sl_policies = {.abi = SL_POLICY_ABI + 1};
