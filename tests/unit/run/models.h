/*
 * What the tests of floor run share: models, those of the catalogue and some that stand in none,
 * and estimates of them.
 */
#ifndef SLUICE_TESTS_RUN_MODELS_H
#define SLUICE_TESTS_RUN_MODELS_H

#include "kv/layout.h"
#include "run/estimate.h"

/* By name; a failure fails the test. All that is read lives until free_models. */
const sli_architecture *find_model(const char *name);
const sli_device *find_device(const char *name);

/* The defaults of an estimate for a model, without a device. */
sli_estimate_query query_of(const char *model, int64_t tokens, int64_t requests);

sli_estimate estimate_of(const sli_estimate_query *query);

/* The layout of a run of the query, by the keys of a scenario. */
sli_layout layout_of_a_run(const sli_estimate_query *query);

/* For cmocka_run_group_tests. */
int free_models(void **state);

#endif
