/*
 * The facts of a run: what was run, as opposed to what came out of it.
 *
 * Floor out. Plain data that the caller fills and that the text, JSON and database writers read.
 * All texts are borrowed for the time of the call. A text that does not apply is NULL.
 */
#ifndef SLUICE_OUT_FACTS_H
#define SLUICE_OUT_FACTS_H

#include "out/slo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One resolved setting and where its value came from, as `default` or `scenario.yaml:4`. */
typedef struct sli_fact_param {
    const char *path; /* dotted keys */
    const char *value;
    const char *origin;
} sli_fact_param;

/* Layers that keep alike things: a block of them all takes so many blocks of the pool. */
typedef struct sli_fact_group {
    const char *name; /* as `full`, `sliding 128` or `state` */
    int64_t layers;
    int64_t block_tokens;
    int64_t block_pages;
    int64_t block_bytes; /* that its layers need, on a device; the rest of the pages is padding */
} sli_fact_group;

/* A figure about the quality of answers that the user gave; carried along and never used. */
typedef struct sli_fact_quality {
    const char *setting; /* that it was found with, in words */
    const char *measure;
    double figure;
    const char *source;
} sli_fact_quality;

/* Which tokens of a request stay in the cache. */
typedef struct sli_fact_keep {
    const char *method; /* NULL = all of them */
    const char *budget; /* in words, as `20 % of the prompt` */
    const char *layers; /* what differs between layers, in words; NULL = nothing */
} sli_fact_keep;

/* The model of the time of a step. */
typedef struct sli_fact_cost {
    const char *model;
    const char *auto_reason; /* why cost: auto chose it; NULL = the scenario did */
} sli_fact_cost;

typedef struct sli_run_facts {
    const char *version;  /* of sluice */
    const char *workload; /* in words, as `poisson, 40 /s` */
    bool is_closed;       /* requests come when others have ended: no rate is offered */
    const char *model;    /* as `llama-3.1-8b bf16` */
    const char *hardware;
    const char *policy;
    sli_fact_cost cost;
    int64_t replica_count;
    int64_t tp_count; /* devices a replica */
    int64_t seed;
    sli_slo slo;
    int64_t page_bytes; /* of a block of the pool, on a device */
    bool has_page_unit; /* a page is only the unit of blocks of several sizes */
    const sli_fact_group *groups;
    size_t group_count; /* more than one = they share the blocks of the pool as pages */
    sli_fact_keep keep;
    const sli_fact_quality *quality;
    size_t quality_count;

    uint64_t digest;
    int64_t simulated_ns;
    bool lacks_prefixes; /* no request said what its prompt shares, so nothing could be hit */
    double wall_s;       /* 0 = not shown; never stored */
    bool is_partial;
    const char *partial_reason; /* why it stopped early, as `interrupted` */

    const char *const *assumed; /* terms that were not measured */
    size_t assumed_count;
    const char *const *warnings;
    size_t warning_count;
    const sli_fact_param *params;
    size_t param_count;
    const char *scenario; /* the resolved scenario as YAML */

    const char *results_dir; /* where files were written; NULL = nowhere */
} sli_run_facts;

#endif
