/*
 * Small worlds that between them do everything that a deployment can do today.
 *
 * For the laws that hold in all of them. They are run once for all tests of a program and kept.
 */
#ifndef SLUICE_TESTS_LAW_WORLDS_H
#define SLUICE_TESTS_LAW_WORLDS_H

#include "history.h"
#include "simulation.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct sli_law_world {
    const char *name;
    const char *text;    /* a scenario that writes nothing */
    int64_t patience_ns; /* mean, of its clients; 0 = endless */
    bool is_cut;         /* stopped by run.until with requests in it */
    bool is_tight;       /* preempts */
    bool is_shared;      /* prompts begin alike and blocks are found again */
    bool has_rejects;
    bool has_budget; /* the policy is bound by engine.max_batched_tokens */
} sli_law_world;

/* A world and what became of it. */
typedef struct sli_law_run {
    const sli_law_world *world;
    sli_simulation simulation;
    sli_history history;
} sli_law_run;

/* A law: fails the test when it does not hold. */
typedef void sli_law(const sli_law_run *run);

/* Holds every world to the law. */
void sli_hold_worlds_to(sli_law *law);

/* Tear-down of a test of cmocka: names the world that failed it. */
int sli_worlds_blame(void **state);

/* A row of the table of tests. */
#define SLI_LAW_TEST(test) cmocka_unit_test_teardown(test, sli_worlds_blame)

/* Set-up and tear-down of a group of cmocka. */
int sli_worlds_open(void **state);
int sli_worlds_close(void **state);

#endif
