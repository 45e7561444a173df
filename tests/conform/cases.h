/*
 * The batch policies that go through the conformance kit: the built-in ones, the one to copy, and
 * two that do what no real one does: a budget that changes with time, reservations that run out.
 */
#ifndef TESTS_CONFORM_CASES_H
#define TESTS_CONFORM_CASES_H

#include "kit.h"

enum {
    SLI_CASE_VLLM_V1,
    SLI_CASE_ORCA,
    SLI_CASE_TEMPLATE,
    SLI_CASE_MOODY,
    SLI_CASE_HEDGING,
    SLI_CASE_COUNT
};

extern const sli_batch_case sli_batch_cases[SLI_CASE_COUNT];

const char *sli_case_name(const sli_batch_case *it);

#endif
