/*
 * A scenario: everything that a result depends on besides the version of the program.
 *
 * Floor run. Read from YAML and `--set`, checked against one schema, completed with defaults; the
 * completed tree is what is saved beside the results and reruns to the same digest.
 */
#ifndef SLUICE_RUN_SCENARIO_H
#define SLUICE_RUN_SCENARIO_H

#include "config/schema.h"
#include "cost/cost.h"
#include "kv/budget.h"
#include "out/slo.h"
#include "run/plugins.h"

typedef struct sli_model_config {
    const char *name;
    int weights; /* 0 = as published, else one more than of sli_weight_formats */
    int kv;      /* of sli_cache_formats */
} sli_model_config;

/* The formats of the weights of a model, as it was asked for. */
sli_weights sli_model_weights(const sli_model_config *config, const sli_architecture *architecture);

typedef struct sli_replicas_config {
    int64_t count;
    int64_t tp;
    int64_t pp;
} sli_replicas_config;

typedef struct sli_attention_config {
    int kernel;      /* 0 = auto, else one more than of sli_attention_kernels */
    int decode_way;  /* sli_latent_way */
    int prefill_way; /* sli_latent_way */
    int append;      /* sli_append_choice */
} sli_attention_config;

typedef enum sli_append_choice {
    SLI_APPEND_IN_PLACE,
    SLI_APPEND_COPY,
} sli_append_choice;

#define SLI_NATIVE (-1)

typedef enum sli_preempt_choice {
    SLI_PREEMPT_BY_ORDER, /* last for fcfs, worst for priority, as vLLM */
    SLI_PREEMPT_LAST,
    SLI_PREEMPT_WORST,
} sli_preempt_choice;

typedef struct sli_engine_options {
    sli_named policy;
    int64_t max_batched_tokens;
    int64_t max_seqs;
    int64_t block_tokens;
    int64_t max_model_tokens; /* SLI_NATIVE = the model's own */
    int over_length;          /* sli_over_length */
    int order;                /* sli_order */
    int preempt;              /* sli_preempt_choice */
    double watermark_frac;
    int64_t async_depth;
    bool coalesces;
} sli_engine_options;

typedef enum sli_prefix_index { SLI_PREFIX_HASH, SLI_PREFIX_NONE } sli_prefix_index;

typedef struct sli_prefix_config {
    int index; /* sli_prefix_index */
    int unit;
    int evict;
    int states; /* sli_state_saves */
    bool caches_generated;
} sli_prefix_config;

#define SLI_UNTIL_DRAINED (-1)

typedef struct sli_run_config {
    int64_t warmup_ns;
    int64_t until_ns; /* SLI_UNTIL_DRAINED = until all requests have ended */
    int64_t time_limit_ns;
} sli_run_config;

typedef struct sli_output_config {
    const char *dir; /* "none" = nothing is written */
    bool requests;
    int series;
    const char *trace; /* "none" = no export */
} sli_output_config;

typedef struct sli_scenario {
    int64_t schema_version;
    int64_t seed;
    const char *plugin; /* "none" = built-in policies only */
    sli_model_config model;
    const char *hardware;
    sli_replicas_config replicas;
    sli_cost_config cost;
    sli_attention_config attention;
    sli_engine_options engine;
    sli_memory_config memory;
    sli_prefix_config prefix;
    sli_named keep; /* a policy of kind keep, or none: its item is NULL then */
    sli_named route;
    sli_named workload;
    sli_slo slo;
    sli_table quality; /* of sli_fact_quality */
    sli_run_config run;
    sli_output_config output;
} sli_scenario;

/* A scenario that was read, with its resolved tree and the policies that it may name. */
typedef struct sli_scenario_file {
    sli_arena arena;
    sli_node *root;
    sli_plugins plugins;
    sli_scenario values;
} sli_scenario_file;

extern const sli_section sli_scenario_section;

/*
 * Reads a file, applies `sets` (a.b=c) in order and resolves it. Every mistake goes to diag. Close
 * the file in any case.
 */
SL_NODISCARD sl_err sli_scenario_read(const char *path, const char *const *sets, size_t set_count,
                                      sli_diag *diag, sli_scenario_file *file);

/* The same from a text; `name` stands for the file. */
SL_NODISCARD sl_err sli_scenario_read_text(const char *name, const char *text,
                                           const char *const *sets, size_t set_count,
                                           sli_diag *diag, sli_scenario_file *file);

void sli_scenario_close(sli_scenario_file *file);

/* The place of a dotted path in the file, for messages; unknown if absent. */
sli_mark sli_scenario_mark(const sli_scenario_file *file, const char *path);

#endif
