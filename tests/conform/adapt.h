/*
 * How worlds are made ones that the policies of the program can serve, and their parameters drawn.
 */
#ifndef TESTS_CONFORM_ADAPT_H
#define TESTS_CONFORM_ADAPT_H

#include "kit.h"

/* vllm_v1: without chunks, no prompt may exceed the budget, also when it is computed again. */
void sli_adapt_vllm_v1(const sl_policy *policy, sli_rng *rng, sli_small_world *world, void *values);

/* orca: no prefix index, and the longest context fits in the pool. */
void sli_adapt_orca(const sl_policy *policy, sli_rng *rng, sli_small_world *world, void *values);

#endif
