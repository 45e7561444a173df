/*
 * Methods that throw tokens out (model/keep.h), explained on the standard output.
 *
 * Floor cli. What it says stands in the rows of the methods.
 */
#ifndef SLUICE_CLI_KEEP_TEXT_H
#define SLUICE_CLI_KEEP_TEXT_H

#include "model/keep.h"

/* The kind of policy that they are, as `sluice policies` lists them. */
extern const char sli_keep_kind[];

/* A line for each, none among them. */
void sli_keep_list(void);

/* What a method does, when, who described it, what it computes besides, and its keys. */
void sli_keep_explain(const sli_keep_method *method);

/* All of them, for the page of `keep`. */
void sli_keep_explain_all(void);

#endif
