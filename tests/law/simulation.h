/*
 * A simulation in process: a scenario text, run as `sluice run` would, heard by a probe.
 *
 * For the law tests. What goes wrong on the way fails the test that asked, with the diagnostics.
 * The simulation owns its scenario and its results until sli_simulation_fini.
 */
#ifndef SLUICE_TESTS_LAW_SIMULATION_H
#define SLUICE_TESTS_LAW_SIMULATION_H

#include "run/execute.h"

typedef struct sli_simulation {
    sli_diag diag;
    sli_scenario_file file;
    sli_execution execution; /* its results, after sli_simulation_run */
} sli_simulation;

/* Reads the scenario and applies `sets`, which ends in NULL; NULL = none. Simulates nothing. */
void sli_simulation_open(const char *text, const char *const *sets, sli_simulation *simulation);

/* Runs it to the end that the scenario names. The watcher may be NULL. */
void sli_simulation_run(sli_simulation *simulation, const sl_probe *watcher);

void sli_simulation_fini(sli_simulation *simulation);

/* Opens, runs, and answers the digest. */
uint64_t sli_simulation_digest(const char *text, const char *const *sets);

#endif
