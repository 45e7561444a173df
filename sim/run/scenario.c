#include "run/scenario.h"

#include "cluster/cluster.h"
#include "config/absolute.h"
#include "out/facts.h"
#include "workloads/source.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- model ---- */

static const sl_param model_params[] = {
    {.name = "name",
     .type = SL_TYPE_NAME_OR_PATH,
     .help = "a model that sluice knows, or the path of a model file",
     .offset = offsetof(sli_model_config, name)},
    {.name = "weights",
     .type = SL_TYPE_CHOICE,
     .choices = sli_weight_format_or_published,
     .words = sli_weight_format_or_published_words,
     .fallback = "published",
     .help = "format of all weights; published = those of the model file",
     .offset = offsetof(sli_model_config, weights)},
    {.name = "kv",
     .type = SL_TYPE_CHOICE,
     .choices = sli_cache_format_names,
     .words = sli_cache_format_words,
     .fallback = "bf16",
     .help = "format of the KV cache (vLLM: --kv-cache-dtype); recurrent state has its own",
     .offset = offsetof(sli_model_config, kv)},
};

static const sli_section model_section = {
    .params = model_params,
    .param_count = COUNT(model_params),
    .struct_size = sizeof(sli_model_config),
    .shorthand = "name",
};

/* ---- replicas ---- */

static const sl_param replicas_params[] = {
    {.name = "count",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 100000,
     .fallback = "1",
     .help = "independent copies of the model, each with its own queue and cache",
     .offset = offsetof(sli_replicas_config, count)},
    {.name = "tp",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 8,
     .fallback = "1",
     .help = "tensor parallel devices of a replica: 1, 2, 4 or 8 (vLLM: --tensor-parallel-size)",
     .offset = offsetof(sli_replicas_config, tp)},
    {.name = "pp",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 100000,
     .fallback = "1",
     .help = "pipeline parallel stages of a replica; only 1 so far",
     .offset = offsetof(sli_replicas_config, pp)},
};

static const sli_absent replicas_absent[] = {
    {"dp", "runs have no copies of attention that share experts yet; replicas.count is whole "
           "copies of the model, and sluice estimate --dp counts the bytes of such copies"},
    {"cp", "runs do not share out contexts yet; replicas.tp shares out heads, and sluice estimate "
           "--cp counts the bytes of shared contexts"},
    {"ep", "runs have no expert parallelism yet; replicas.tp cuts experts like any matrix, and "
           "sluice estimate --ep counts the bytes of whole ones"},
    {NULL, NULL},
};

static const sli_section replicas_section = {
    .params = replicas_params,
    .param_count = COUNT(replicas_params),
    .struct_size = sizeof(sli_replicas_config),
    .absent = replicas_absent,
};

/* ---- attention ---- */

/* `auto` and the names of model/attention.c, in its order. */
static const char *const attention_kernels[] = {"auto", "naive",    "fa1", "fa2",
                                                "fa3",  "split_kv", NULL};

/* In the order of sli_latent_way. */
static const char *const latent_ways[] = {"auto", "absorbed", "expanded", NULL};

/* In the order of sli_append_choice. */
static const char *const append_ways[] = {"in_place", "copy", NULL};

static const sl_param attention_params[] = {
    {.name = "kernel",
     .type = SL_TYPE_CHOICE,
     .choices = attention_kernels,
     .fallback = "auto",
     .help = "whose workspace and share of the peak count; auto = those of the cost model and of "
             "memory.activation",
     .offset = offsetof(sli_attention_config, kernel)},
    {.name = "mla_decode",
     .type = SL_TYPE_CHOICE,
     .choices = latent_ways,
     .fallback = "auto",
     .help = "what decode rows of MLA attend to: absorbed = latents as they are; expanded = keys "
             "and values made of all of them in each step; auto = absorbed",
     .offset = offsetof(sli_attention_config, decode_way)},
    {.name = "mla_prefill",
     .type = SL_TYPE_CHOICE,
     .choices = latent_ways,
     .fallback = "auto",
     .help = "the same of prompts, whose chunks each make them anew; auto = as the model file says",
     .offset = offsetof(sli_attention_config, prefill_way)},
    {.name = "append",
     .type = SL_TYPE_CHOICE,
     .choices = append_ways,
     .fallback = "in_place",
     .help = "how rows join those of a sequence: in_place = written behind them; copy = all are "
             "read and written anew, as Hugging Face's transformers do",
     .offset = offsetof(sli_attention_config, append)},
};

static const sli_section attention_section = {
    .params = attention_params,
    .param_count = COUNT(attention_params),
    .struct_size = sizeof(sli_attention_config),
};

/* ---- engine ---- */

static const char *const over_lengths[] = {"reject", "truncate", NULL};
static const char *const orders[] = {"fcfs", "priority", NULL};
static const char *const preempts[] = {"by-order", "last", "worst", NULL};
static const sl_word native_word[] = {{"native", SLI_NATIVE}, {NULL, 0}};

static const sl_param engine_params[] = {
    {.name = "max_batched_tokens",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "8192 tokens",
     .help = "token budget of a step (vLLM: --max-num-batched-tokens)",
     .offset = offsetof(sli_engine_options, max_batched_tokens)},
    {.name = "max_seqs",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e6,
     .fallback = "256",
     .help = "most requests admitted at once (vLLM: --max-num-seqs)",
     .offset = offsetof(sli_engine_options, max_seqs)},
    {.name = "block",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e6,
     .fallback = "16 tokens",
     .help = "tokens of a KV block (vLLM: --block-size); models with recurrent layers have larger "
             "ones, multiples of it",
     .offset = offsetof(sli_engine_options, block_tokens)},
    {.name = "max_model_len",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .words = native_word,
     .fallback = "native",
     .help = "longest prompt and output together; native = the model's own "
             "(vLLM: --max-model-len)",
     .offset = offsetof(sli_engine_options, max_model_tokens)},
    {.name = "over_length",
     .type = SL_TYPE_CHOICE,
     .choices = over_lengths,
     .fallback = "reject",
     .help = "what happens to a request that would pass max_model_len",
     .offset = offsetof(sli_engine_options, over_length)},
    {.name = "order",
     .type = SL_TYPE_CHOICE,
     .choices = orders,
     .fallback = "fcfs",
     .help = "order of the waiting queue (vLLM: --scheduling-policy)",
     .offset = offsetof(sli_engine_options, order)},
    {.name = "preempt",
     .type = SL_TYPE_CHOICE,
     .choices = preempts,
     .fallback = "by-order",
     .help = "whom a shortage of blocks throws out; by-order = last for fcfs, worst for priority",
     .offset = offsetof(sli_engine_options, preempt)},
    {.name = "watermark",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0",
     .help = "share of the blocks that admissions leave free",
     .offset = offsetof(sli_engine_options, watermark_frac)},
    {.name = "async_depth",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1,
     .fallback = "1",
     .help = "steps planned ahead; only 1 (synchronous) so far",
     .offset = offsetof(sli_engine_options, async_depth)},
    {.name = "coalesce",
     .type = SL_TYPE_BOOL,
     .fallback = "on",
     .help = "keep promised plans without asking the policy again; never changes a result",
     .offset = offsetof(sli_engine_options, coalesces)},
};

static const sli_field engine_fields[] = {
    {.name = "policy",
     .kind = SLI_FIELD_NAMED,
     .help = "the batch policy: its name, or {name: ..., its keys}",
     .offset = offsetof(sli_engine_options, policy),
     .fallback = "vllm_v1",
     .name_key = "name",
     .types = sli_batch_types,
     .advise = sli_plugins_advise},
};

static const sli_section engine_section = {
    .params = engine_params,
    .param_count = COUNT(engine_params),
    .fields = engine_fields,
    .field_count = COUNT(engine_fields),
    .struct_size = sizeof(sli_engine_options),
};

/* ---- prefix ---- */

static const char *const prefix_indexes[] = {"hash", "none", NULL};
static const char *const prefix_units[] = {"full-blocks", NULL};
static const char *const prefix_evicts[] = {"lru", NULL};
static const char *const prefix_states[] = {"aligned", "none", NULL};

static const sl_param prefix_params[] = {
    {.name = "index",
     .type = SL_TYPE_CHOICE,
     .choices = prefix_indexes,
     .fallback = "hash",
     .help = "how computed prefixes are found again (vLLM: --enable-prefix-caching)",
     .offset = offsetof(sli_prefix_config, index)},
    {.name = "unit",
     .type = SL_TYPE_CHOICE,
     .choices = prefix_units,
     .fallback = "full-blocks",
     .help = "what is found: whole blocks, at most all but the last token",
     .offset = offsetof(sli_prefix_config, unit)},
    {.name = "evict",
     .type = SL_TYPE_CHOICE,
     .choices = prefix_evicts,
     .fallback = "lru",
     .help = "which free block forgets its contents first",
     .offset = offsetof(sli_prefix_config, evict)},
    {.name = "states",
     .type = SL_TYPE_CHOICE,
     .choices = prefix_states,
     .fallback = "aligned",
     .help =
         "what recurrent layers save: aligned = the state where a step ends with a block (vLLM: "
         "--mamba-cache-mode align); none = nothing, so that no prefix is found",
     .offset = offsetof(sli_prefix_config, states)},
    {.name = "cache_generated",
     .type = SL_TYPE_BOOL,
     .fallback = "on",
     .help = "blocks of generated tokens are found too",
     .offset = offsetof(sli_prefix_config, caches_generated)},
};

static const sli_section prefix_section = {
    .params = prefix_params,
    .param_count = COUNT(prefix_params),
    .struct_size = sizeof(sli_prefix_config),
};

/* ---- slo ---- */

static const sl_word no_slo[] = {{"none", (double)SLI_SLO_NONE}, {NULL, 0}};

static const sl_param slo_params[] = {
    {.name = "ttft",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 1,
     .max = 9e15,
     .words = no_slo,
     .fallback = "none",
     .help = "longest time to the first token",
     .offset = offsetof(sli_slo, ttft_ns)},
    {.name = "tpot",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 1,
     .max = 9e15,
     .words = no_slo,
     .fallback = "none",
     .help = "longest mean time per output token after the first",
     .offset = offsetof(sli_slo, tpot_ns)},
    {.name = "attainment",
     .type = SL_TYPE_REAL,
     .min = 0,
     .max = 1,
     .fallback = "0.99",
     .help = "share of the requests that should meet both",
     .offset = offsetof(sli_slo, attainment_frac)},
};

static const sli_section slo_section = {
    .params = slo_params,
    .param_count = COUNT(slo_params),
    .struct_size = sizeof(sli_slo),
};

/* ---- quality ---- */

static const sl_param quality_params[] = {
    {.name = "setting",
     .type = SL_TYPE_STRING,
     .help = "that the figure was found with",
     .offset = offsetof(sli_fact_quality, setting)},
    {.name = "measure",
     .type = SL_TYPE_STRING,
     .help = "what was measured",
     .offset = offsetof(sli_fact_quality, measure)},
    {.name = "figure",
     .type = SL_TYPE_REAL,
     .min = -1e15,
     .max = 1e15,
     .help = "what came out",
     .offset = offsetof(sli_fact_quality, figure)},
    {.name = "source",
     .type = SL_TYPE_STRING,
     .help = "who found it",
     .offset = offsetof(sli_fact_quality, source)},
};

static const sli_section quality_section = {
    .params = quality_params,
    .param_count = COUNT(quality_params),
    .struct_size = sizeof(sli_fact_quality),
};

enum { QUALITY_MAX = 1000 };

/* ---- run ---- */

static const sl_word until_words[] = {{"drained", SLI_UNTIL_DRAINED}, {NULL, 0}};

static const sl_param run_params[] = {
    {.name = "warmup",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 9e15,
     .fallback = "0 s",
     .help = "requests that arrive earlier are simulated but not measured",
     .offset = offsetof(sli_run_config, warmup_ns)},
    {.name = "until",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 1,
     .max = 9e15,
     .words = until_words,
     .fallback = "drained",
     .help = "when to stop: drained = when every request has ended, or a simulated time",
     .offset = offsetof(sli_run_config, until_ns)},
    {.name = "time_limit",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 1,
     .max = 9e15,
     .fallback = "24 h",
     .help = "simulated time after which a run is given up, with partial results",
     .offset = offsetof(sli_run_config, time_limit_ns)},
};

static const sli_section run_section = {
    .params = run_params,
    .param_count = COUNT(run_params),
    .struct_size = sizeof(sli_run_config),
};

/* ---- output ---- */

static const char *const series_choices[] = {"off", NULL};

static const sl_param output_params[] = {
    {.name = "dir",
     .type = SL_TYPE_STRING,
     .fallback = "out",
     .help = "folder for the results, from the working directory; none = write nothing",
     .offset = offsetof(sli_output_config, dir)},
    {.name = "requests",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .help = "one row a request in run.sqlite, and exact quantiles",
     .offset = offsetof(sli_output_config, requests)},
    {.name = "series",
     .type = SL_TYPE_CHOICE,
     .choices = series_choices,
     .fallback = "off",
     .help = "time series; not written yet",
     .offset = offsetof(sli_output_config, series)},
    {.name = "trace",
     .type = SL_TYPE_STRING,
     .fallback = "none",
     .help = "file for the arrivals, as a trace that workload.source: sluice replays",
     .offset = offsetof(sli_output_config, trace)},
};

static const sli_section output_section = {
    .params = output_params,
    .param_count = COUNT(output_params),
    .struct_size = sizeof(sli_output_config),
};

/* ---- the whole ---- */

static const sl_param scenario_params[] = {
    {.name = "sluice",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1,
     .fallback = "1",
     .help = "version of this schema",
     .offset = offsetof(sli_scenario, schema_version)},
    {.name = "seed",
     .type = SL_TYPE_INT,
     .min = 0,
     .max = 9007199254740992.0,
     .fallback = "1",
     .help = "of every random stream",
     .offset = offsetof(sli_scenario, seed)},
    {.name = "plugin",
     .type = SL_TYPE_NAME_OR_PATH,
     .fallback = "none",
     .help = "shared object with more policies",
     .offset = offsetof(sli_scenario, plugin)},
    {.name = "hardware",
     .type = SL_TYPE_NAME_OR_PATH,
     .help = "a device that sluice knows, or the path of a profile",
     .offset = offsetof(sli_scenario, hardware)},
};

static const sli_field scenario_fields[] = {
    {.name = "model",
     .kind = SLI_FIELD_SECTION,
     .help = "what is served: its name, or {name: ..., weights: ..., kv: ...}",
     .offset = offsetof(sli_scenario, model),
     .section = &model_section},
    {.name = "replicas",
     .kind = SLI_FIELD_SECTION,
     .help = "how often, and over how many devices",
     .offset = offsetof(sli_scenario, replicas),
     .section = &replicas_section,
     .fallback = "{}"},
    SLI_COST_FIELD(sli_scenario, cost),
    {.name = "attention",
     .kind = SLI_FIELD_SECTION,
     .help = "how attention is computed",
     .offset = offsetof(sli_scenario, attention),
     .section = &attention_section,
     .fallback = "{}"},
    {.name = "engine",
     .kind = SLI_FIELD_SECTION,
     .help = "the scheduler and its limits",
     .offset = offsetof(sli_scenario, engine),
     .section = &engine_section,
     .fallback = "{}"},
    {.name = "memory",
     .kind = SLI_FIELD_SECTION,
     .help = "how much of a device is left for KV",
     .offset = offsetof(sli_scenario, memory),
     .section = &sli_memory_section,
     .fallback = "{}"},
    {.name = "prefix",
     .kind = SLI_FIELD_SECTION,
     .help = "reuse of computed prefixes",
     .offset = offsetof(sli_scenario, prefix),
     .section = &prefix_section,
     .fallback = "{}"},
    {.name = "keep",
     .kind = SLI_FIELD_NAMED,
     .help = "which tokens of a request stay in the cache: none = no method, all of them",
     .offset = offsetof(sli_scenario, keep),
     .fallback = "none",
     .name_key = "method",
     .types = sli_keep_types,
     .advise = sli_plugins_advise},
    {.name = "route",
     .kind = SLI_FIELD_NAMED,
     .help = "which replica takes a request",
     .offset = offsetof(sli_scenario, route),
     .fallback = "round_robin",
     .name_key = "policy",
     .types = sli_route_types,
     .advise = sli_plugins_advise},
    {.name = "workload",
     .kind = SLI_FIELD_NAMED,
     .help = "where the requests come from",
     .offset = offsetof(sli_scenario, workload),
     .name_key = "source",
     .types = sli_source_names},
    {.name = "slo",
     .kind = SLI_FIELD_SECTION,
     .help = "the service level objective",
     .offset = offsetof(sli_scenario, slo),
     .section = &slo_section,
     .fallback = "{}"},
    {.name = "quality",
     .kind = SLI_FIELD_TABLE,
     .help = "figures about answers that stand beside the results; nothing is computed from them",
     .offset = offsetof(sli_scenario, quality),
     .section = &quality_section,
     .fallback = "[]",
     .max_rows = QUALITY_MAX},
    {.name = "run",
     .kind = SLI_FIELD_SECTION,
     .help = "when to measure and when to stop",
     .offset = offsetof(sli_scenario, run),
     .section = &run_section,
     .fallback = "{}"},
    {.name = "output",
     .kind = SLI_FIELD_SECTION,
     .help = "what is written where",
     .offset = offsetof(sli_scenario, output),
     .section = &output_section,
     .fallback = "{}"},
};

const sli_section sli_scenario_section = {
    .params = scenario_params,
    .param_count = COUNT(scenario_params),
    .fields = scenario_fields,
    .field_count = COUNT(scenario_fields),
    .struct_size = sizeof(sli_scenario),
};

/* ---- reading ---- */

/* The plugin has to be open before the schema can know its policies. */
static sl_err open_plugins(sli_scenario_file *file, sli_diag *diag) {
    const sli_node *node = sli_node_find(file->root, "plugin");
    bool is_named = node != NULL && node->kind == SLI_NODE_SCALAR &&
                    strcmp(node->text, "none") != 0;
    const char *path = is_named ? node->text : NULL;
    sli_mark mark = is_named ? node->mark : (sli_mark){0};
    return sli_plugins_open(&file->arena, path, mark, diag, &file->plugins);
}

static sl_err resolve(const char *const *sets, size_t set_count, sli_diag *diag,
                      sli_scenario_file *file) {
    sl_err err = SL_OK;
    for (size_t i = 0; i < set_count; i++) {
        sl_err set_err = sli_tree_set(&file->arena, file->root, sets[i], diag);
        err = err == SL_OK ? set_err : err;
    }
    sl_err plugin_err = open_plugins(file, diag);
    err = err == SL_OK ? plugin_err : err;
    if (err != SL_OK) {
        return err;
    }
    return sli_schema_resolve(&file->arena, &sli_scenario_section, &file->plugins, file->root, diag,
                              &file->values);
}

sl_err sli_scenario_read(const char *path, const char *const *sets, size_t set_count,
                         sli_diag *diag, sli_scenario_file *file) {
    *file = (sli_scenario_file){0};
    SL_TRY(sli_tree_read_file(&file->arena, path, diag, &file->root));
    return resolve(sets, set_count, diag, file);
}

sl_err sli_scenario_read_text(const char *name, const char *text, const char *const *sets,
                              size_t set_count, sli_diag *diag, sli_scenario_file *file) {
    *file = (sli_scenario_file){0};
    SL_TRY(sli_tree_read_text(&file->arena, name, text, strlen(text), diag, &file->root));
    return resolve(sets, set_count, diag, file);
}

void sli_scenario_close(sli_scenario_file *file) {
    sli_plugins_close(&file->plugins);
    sli_arena_fini(&file->arena);
}

sli_weights sli_model_weights(const sli_model_config *config,
                              const sli_architecture *architecture) {
    return config->weights > 0 ? sli_weights_all(&sli_weight_formats[config->weights - 1])
                               : architecture->weights;
}

sli_mark sli_scenario_mark(const sli_scenario_file *file, const char *path) {
    const sli_node *node = sli_tree_path(file->root, path);
    return node != NULL ? node->mark : (sli_mark){0};
}
