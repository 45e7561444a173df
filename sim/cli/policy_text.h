/*
 * What is said of policies: a line each, all about one, or what a page says of those built in.
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

/* Has something said of the policies that are built in. Fails only for lack of memory. */
SL_NODISCARD sl_err sli_policies_tell(void (*tell)(const sli_plugins *plugins));

#endif
