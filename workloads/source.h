/*
 * The kinds of workload that a scenario can name, and how one is brought to life.
 *
 * Part workloads: needs base, kernel and config only, and knows nothing of engines or clusters. A
 * source type couples the keys that it takes under `workload:` with the function that makes a
 * sl_source of them (sluice/workload.h). All that can go wrong with the outside world (a missing
 * trace, a malformed line) goes wrong in create, as messages in env->diag; afterwards peek, pop and
 * done cannot fail.
 *
 * A source borrows its values and the arena of its environment: both outlive it.
 */
#ifndef WORKLOADS_SOURCE_H
#define WORKLOADS_SOURCE_H

#include "base/arena.h"
#include "base/diag.h"
#include "config/schema.h"
#include "config/tree.h"
#include "sluice/workload.h"

/* The world that a source is born into. */
typedef struct sli_source_env {
    sli_arena *arena;
    uint64_t seed;
    uint32_t number; /* of the source in the run, from 0; part of the key of every draw */
    sli_diag *diag;
    const sli_node *root; /* the resolved tree, for the places in messages; NULL = unknown */
    const char *path;     /* where the keys of the source stand in it, as "workload" */
} sli_source_env;

typedef struct sli_source_type {
    const char *name;
    const char *summary;        /* one sentence, no full stop */
    bool is_closed;             /* requests come when others have ended: no rate is offered */
    const sli_section *section; /* the keys of `workload:` besides `source` */
    /* What title lines say of it, as "poisson 40 req/s, prompt 100, output 20". */
    void (*describe)(const void *values, char *text, size_t size);
    /*
     * `values` is a resolved struct of the section. Mistakes go to env->diag (SL_ERR_CONFIG); what
     * was changed in a trace goes there as warnings. The caller owns *source and destroys it by
     * its ops. O(n log n) in rows of the trace or users, O(n) in system prompts.
     */
    sl_err (*create)(const void *values, const sli_source_env *env, sl_source *source);
} sli_source_type;

/* All types, in the order in which help lists them, for a named field of a schema; `item` is the
 * sli_source_type. */
const sli_named_type *sli_source_names(const void *context, size_t *count);

/* Adds a mistake about the value of `key` (dotted, below env->path) with its place. */
void sli_source_error(const sli_source_env *env, const char *key, const char *format, ...)
    SL_PRINTF(3, 4);

/* The same as a warning. */
void sli_source_warning(const sli_source_env *env, const char *key, const char *what);

#endif
