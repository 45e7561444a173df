/*
 * Clients that go away: a source that passes another one on and cancels what takes too long.
 *
 * For the law tests, since no scenario says that yet. Request i is given up at a time after its
 * arrival that spreads evenly, by i, over twice the mean patience, unless it has ended before.
 */
#ifndef SLUICE_TESTS_LAW_IMPATIENCE_H
#define SLUICE_TESTS_LAW_IMPATIENCE_H

#include "simulation.h"

/* As sli_simulation_run, but without facts: what it leaves are deployment, result and metrics. */
void sli_simulation_run_impatient(sli_simulation *simulation, const sl_probe *watcher,
                                  int64_t mean_patience_ns);

#endif
