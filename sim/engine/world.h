/*
 * The world: what every part of one simulation shares.
 *
 * Floor engine. One world a trial, passed first to everything that needs it; many fit in a process.
 * It reports transitions to the probes and remembers the first fault, which stops the loop.
 */
#ifndef SLUICE_ENGINE_WORLD_H
#define SLUICE_ENGINE_WORLD_H

#include "kernel/loop.h"
#include "sluice/probe.h"

#include <stddef.h>

enum { SLI_FAULT_CHARS = 512 };

typedef struct sli_world {
    sli_loop loop;
    uint64_t seed;
    const sl_probe *probes; /* borrowed */
    size_t probe_count;
    sl_err fault; /* the first; SL_OK while all is well */
    char fault_text[SLI_FAULT_CHARS];
} sli_world;

SL_NODISCARD sl_err sli_world_init(sli_world *world, uint64_t seed, const sl_probe *probes,
                                   size_t probe_count);
void sli_world_fini(sli_world *world);

/* Ends the run after the current event; later faults are ignored. */
void sli_world_fail(sli_world *world, sl_err fault, const char *format, ...) SL_PRINTF(3, 4);

/* Tell all probes. */
void sli_world_transition(const sli_world *world, const sl_transition *transition);
void sli_world_step(const sli_world *world, const sl_step_record *step);
void sli_world_gap(const sli_world *world, int64_t gap_ns, int64_t count);
void sli_world_terminal(const sli_world *world, const sl_request_record *record);

#endif
