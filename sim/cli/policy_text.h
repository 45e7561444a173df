/*
 * What is said of policies: a line each, or all about one.
 *
 * Floor cli. Prints to the standard output.
 */
#ifndef SLUICE_CLI_POLICY_TEXT_H
#define SLUICE_CLI_POLICY_TEXT_H

#include "run/plugins.h"

/* The kind and its policies, a line each. */
void sli_policies_list(const sli_plugins *plugins, sl_policy_kind kind);

/* Of a type in plugins->types with a policy: what it does, who described it, its keys. */
void sli_policy_explain(const sli_named_type *type);

#endif
