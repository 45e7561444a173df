#include "run/deployment.h"

#include "base/check.h"
#include "base/units.h"
#include "kv/layout_held.h"
#include "model/parallel.h"
#include "plug/instance.h"
#include "run/keep.h"
#include "workloads/source.h"

#include <math.h>
#include <stdlib.h>

static sli_catalogue_site site_of(const sli_scenario_file *file, const char *path) {
    return (sli_catalogue_site){.mark = sli_scenario_mark(file, path), .key = path};
}

/*
 * The answer for two parts that were both looked at: what stops everything, else a mistake, else a
 * lack of memory.
 */
static sl_err worse(sl_err a, sl_err b) {
    bool is_lesser = a == SL_OK || a == SL_ERR_FIT || (a == SL_ERR_CONFIG && b == SL_ERR_NOMEM);
    return is_lesser && b != SL_OK ? b : a;
}

/* ---- What is served on what ---- */

static sl_err check_stages(const sli_scenario_file *file, sli_diag *diag) {
    const char *key = "replicas.pp";
    if (file->values.replicas.pp == 1) {
        return SL_OK;
    }
    sli_diag_error(diag, sli_scenario_mark(file, key), key,
                   "runs have no pipeline stages yet, so it can only be 1; replicas.tp (up to 8) "
                   "shares out all layers, smaller model.weights may make them fit, and sluice "
                   "estimate --pp counts the bytes of stages");
    return SL_ERR_CONFIG;
}

/* What the native context says is what the model was made for. */
static void warn_of_length(const sli_scenario_file *file, const sli_deployment *deployment,
                           sli_diag *diag) {
    const char *key = "engine.max_model_len";
    int64_t asked_tokens = file->values.engine.max_model_tokens;
    int64_t native_tokens = deployment->architecture->context_native_tokens;
    if (asked_tokens > native_tokens) {
        sli_diag_warning(diag, sli_scenario_mark(file, key), key,
                         "%s tokens are more than the %s that %s was made for",
                         sli_say_number((double)asked_tokens).text,
                         sli_say_number((double)native_tokens).text, deployment->architecture->id);
    }
}

static int64_t longest_context(const sli_scenario *scenario, const sli_deployment *deployment) {
    int64_t max_model_tokens = scenario->engine.max_model_tokens;
    return max_model_tokens == SLI_NATIVE ? deployment->architecture->context_native_tokens
                                          : max_model_tokens;
}

static sl_err read_parts(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment) {
    const sli_scenario *scenario = &file->values;
    sl_err model_err = sli_architecture_read(&file->arena, scenario->model.name,
                                             site_of(file, "model.name"), diag,
                                             &deployment->architecture);
    sl_err device_err = sli_device_read(&file->arena, scenario->hardware, site_of(file, "hardware"),
                                        diag, &deployment->device);
    if (model_err == SL_OK) {
        model_err = sli_parallel_check(deployment->architecture, scenario->replicas.tp,
                                       sli_scenario_mark(file, "replicas.tp"), "replicas.tp", diag);
        model_err = worse(model_err, sli_keep_apply(&file->arena, &scenario->keep,
                                                    longest_context(scenario, deployment), diag,
                                                    &deployment->architecture));
    }
    return worse(model_err, device_err);
}

static sli_layout_options layout_options(const sli_scenario *scenario,
                                         const sli_deployment *deployment) {
    return (sli_layout_options){
        .cache = &sli_cache_formats[scenario->model.kv],
        .block_tokens = scenario->engine.block_tokens,
        .tp = scenario->replicas.tp,
        .max_batched_tokens = scenario->engine.max_batched_tokens,
        .max_model_tokens = longest_context(scenario, deployment),
        .window_pages = (sli_window_pages)scenario->memory.window_pages,
        .state_saves = scenario->prefix.index == SLI_PREFIX_NONE
                           ? SLI_STATE_NONE
                           : (sli_state_saves)scenario->prefix.states,
    };
}

static sl_err make_layout(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment) {
    sli_layout_options options = layout_options(&file->values, deployment);
    const char *key = "model.name";
    char why[128];
    sli_layout *layout = sli_arena_alloc(&file->arena, sizeof *layout);
    if (layout == NULL) {
        return SL_ERR_NOMEM;
    }
    sl_err err = sli_layout_make(deployment->architecture, &options, layout, why, sizeof why);
    if (err != SL_OK) {
        sli_diag_error(diag, sli_scenario_mark(file, key), key,
                       "the cache of %s cannot be cut into pages: %s; sluice estimate counts it",
                       deployment->architecture->id, why);
        return err;
    }
    deployment->layout = layout;
    return SL_OK;
}

/* Contents that lie where no lookup finds them. */
static void warn_of_index(const sli_scenario_file *file, const sli_deployment *deployment,
                          sli_diag *diag) {
    const sli_scenario *scenario = &file->values;
    if (deployment->layout->is_shareable || scenario->prefix.index == SLI_PREFIX_NONE) {
        return;
    }
    if (scenario->keep.type->item != NULL) {
        sli_diag_warning(diag, scenario->keep.mark, "keep",
                         "what %s keeps depends on the whole prompt and cannot be shared, so no "
                         "prefix is ever found, as with prefix.index: none",
                         scenario->keep.type->name);
        return;
    }
    bool is_reserved = scenario->memory.window_pages == SLI_WINDOW_RESERVED;
    const char *key = is_reserved ? "memory.window_pages" : "prefix.states";
    const char *cause = is_reserved ? "the pages of reserved windows cannot be shared"
                                    : "no state of recurrent layers is saved";
    if (deployment->layout->has_buffers) {
        key = "model.kv";
        cause = "rows that wait in bf16 to be quantised cannot be shared";
    }
    sli_diag_warning(diag, sli_scenario_mark(file, key), key,
                     "%s, so no prefix is ever found, as with prefix.index: none", cause);
}

static sli_attention_choice attention_of(const sli_scenario *scenario) {
    const sli_attention_config *config = &scenario->attention;
    return (sli_attention_choice){
        .kernel = config->kernel > 0 ? &sli_attention_kernels[config->kernel - 1] : NULL,
        .decode_way = (sli_latent_way)config->decode_way,
        .prefill_way = (sli_latent_way)config->prefill_way,
        .is_copied = config->append == SLI_APPEND_COPY,
    };
}

static sl_err check_way(const sli_scenario_file *file, sli_diag *diag,
                        const sli_deployment *deployment, int way, const char *key) {
    if (way == SLI_LATENT_AS_MODEL || sli_attention_has_latents(deployment->architecture)) {
        return SL_OK;
    }
    sli_diag_error(diag, sli_scenario_mark(file, key), key,
                   "%s has no layers of type mla, whose latents are absorbed or expanded; leave it "
                   "at auto",
                   deployment->architecture->id);
    return SL_ERR_CONFIG;
}

static sl_err check_attention(const sli_scenario_file *file, sli_diag *diag,
                              const sli_deployment *deployment) {
    const sli_attention_config *config = &file->values.attention;
    sl_err err = check_way(file, diag, deployment, config->decode_way, "attention.mla_decode");
    return worse(err,
                 check_way(file, diag, deployment, config->prefill_way, "attention.mla_prefill"));
}

/* Blocks that were asked for are taken, whether the device has room for them or not. */
static void warn_of_blocks(const sli_scenario_file *file, const sli_deployment *deployment,
                           sli_diag *diag) {
    const sli_budget *budget = &deployment->budget;
    const char *key = "memory.kv_blocks";
    double short_bytes = (double)budget->blocks * (double)budget->block_bytes -
                         (double)budget->kv_bytes;
    if (budget->is_overridden && short_bytes > 0) {
        sli_diag_warning(diag, sli_scenario_mark(file, key), key,
                         "taken as asked for, but %s at tp %lld has no room for so many: %.2f GiB "
                         "are missing on each device",
                         deployment->device->id, (long long)file->values.replicas.tp,
                         short_bytes / 0x1p30);
    }
}

static sl_err find_memory(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment) {
    const sli_scenario *scenario = &file->values;
    SL_TRY(make_layout(file, diag, deployment));
    warn_of_length(file, deployment, diag);
    warn_of_index(file, deployment, diag);
    sli_budget_query query = {
        .architecture = deployment->architecture,
        .device = deployment->device,
        .weights = sli_model_weights(&scenario->model, deployment->architecture),
        .layout = deployment->layout,
        .options = layout_options(scenario, deployment),
        .max_seqs = scenario->engine.max_seqs,
        .kernel = attention_of(scenario).kernel,
    };
    SL_TRY(sli_budget_find(&scenario->memory, &query, sli_scenario_mark(file, "replicas.tp"),
                           "memory", diag, &deployment->budget));
    warn_of_blocks(file, deployment, diag);
    return SL_OK;
}

static sli_cost_subject cost_subject(const sli_scenario *scenario,
                                     const sli_deployment *deployment) {
    return (sli_cost_subject){
        .architecture = deployment->architecture,
        .device = deployment->device,
        .tp = scenario->replicas.tp,
        .weights = deployment->architecture != NULL
                       ? sli_model_weights(&scenario->model, deployment->architecture)
                       : (sli_weights){{NULL}},
        .cache = &sli_cache_formats[scenario->model.kv],
        .attention = attention_of(scenario),
    };
}

/* Nobody knows here what the thrown out tokens were good for. */
static sl_err assume_quality(sli_scenario_file *file, sli_deployment *deployment) {
    const sli_named *keep = &file->values.keep;
    if (keep->type->item == NULL) {
        return SL_OK;
    }
    const char *phrase = sli_arena_printf(&file->arena,
                                          "answers with keep: %s, as good and as long as without; "
                                          "quality is not simulated",
                                          keep->type->name);
    SL_ASSERT(deployment->assumed_count < SLI_ASSUMED_MAX);
    deployment->assumed[deployment->assumed_count++] = phrase;
    return phrase != NULL ? SL_OK : SL_ERR_NOMEM;
}

/* Two runs with different models of time must not look alike. */
static void warn_of_cost(const sli_scenario_file *file, const sli_cost_choice *cost,
                         sli_diag *diag) {
    if (cost->kind == SLI_COST_ROOFLINE && cost->unfitted != NULL) {
        sli_diag_warning(diag, sli_scenario_mark(file, "cost"), "cost",
                         "auto is the roofline, which was fitted to nothing; no operators were "
                         "measured for %s",
                         cost->unfitted);
    }
}

static sl_err make_cost(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment) {
    const sli_cost_config *config = &file->values.cost;
    sli_cost_subject subject = cost_subject(&file->values, deployment);
    SL_TRY(sli_cost_choose(&file->arena, config, &subject, &deployment->cost));
    warn_of_cost(file, &deployment->cost, diag);
    SL_TRY(sli_cost_assumed(&file->arena, config, &subject, deployment->assumed,
                            &deployment->assumed_count));
    SL_TRY(assume_quality(file, deployment));
    return sli_cost_create(&file->arena, config, &subject, &deployment->cluster.cost);
}

/* ---- The engine ---- */

static sli_victim victim_of(const sli_engine_options *options) {
    switch ((sli_preempt_choice)options->preempt) {
    case SLI_PREEMPT_LAST:
        return SLI_VICTIM_LAST;
    case SLI_PREEMPT_WORST:
        return SLI_VICTIM_WORST;
    case SLI_PREEMPT_BY_ORDER:
        break;
    }
    return options->order == SLI_ORDER_PRIORITY ? SLI_VICTIM_WORST : SLI_VICTIM_LAST;
}

static void configure_engine(const sli_scenario *scenario, sli_deployment *deployment) {
    const sli_engine_options *options = &scenario->engine;
    int64_t blocks = deployment->budget.blocks;
    deployment->cluster.engine = (sli_engine_config){
        .max_batched_tokens = options->max_batched_tokens,
        .max_seqs = options->max_seqs,
        .max_model_tokens = longest_context(scenario, deployment),
        .watermark_blocks = (int64_t)floor(options->watermark_frac * (double)blocks),
        .order = (sli_order)options->order,
        .victim = victim_of(options),
        .keeps_promises = options->coalesces,
        .pool = {.block_count = blocks,
                 .block_tokens = deployment->layout->groups[0].block_tokens,
                 .has_index = scenario->prefix.index == SLI_PREFIX_HASH &&
                              deployment->layout->is_shareable,
                 .caches_generated = scenario->prefix.caches_generated,
                 .layout = deployment->layout},
    };
    deployment->cluster.over_length = (sli_over_length)options->over_length;
    deployment->cluster.replica_count = (uint32_t)scenario->replicas.count;
}

static bool reserves_max_len(const sli_deployment *deployment) {
    return (deployment->cluster.batch->policy.capabilities & SL_CAP_RESERVES_MAX_LEN) != 0;
}

/* A policy that reserves for the longest context excludes that blocks are shared. */
static sl_err check_sharing(const sli_scenario_file *file, sli_diag *diag,
                            const sli_deployment *deployment) {
    const sli_scenario *scenario = &file->values;
    if (!reserves_max_len(deployment) || scenario->prefix.index == SLI_PREFIX_NONE) {
        return SL_OK;
    }
    sli_diag_error(diag, scenario->engine.policy.mark, "engine.policy",
                   "'%s' reserves blocks for the longest context, which cannot be shared; it needs "
                   "prefix.index: none, and admits more at once with a lower engine.max_model_len",
                   deployment->cluster.batch->policy.name);
    return SL_ERR_CONFIG;
}

/* What it reserves has to be there. */
static sl_err check_reservation(const sli_scenario_file *file, sli_diag *diag,
                                const sli_deployment *deployment) {
    const sl_policy *policy = &deployment->cluster.batch->policy;
    const sli_engine_config *engine = &deployment->cluster.engine;
    if (!reserves_max_len(deployment)) {
        return SL_OK;
    }
    sli_mark mark = file->values.engine.policy.mark;
    int64_t need_blocks = sli_layout_reserved_pages(deployment->layout, engine->max_model_tokens);
    if (need_blocks > engine->pool.block_count) {
        sli_diag_error(diag, mark, "engine.policy",
                       "'%s' reserves %s %s for a request (max_model_len %s tokens), the cache has "
                       "%s; lower engine.max_model_len or raise replicas.tp",
                       policy->name, sli_say_number((double)need_blocks).text,
                       sli_layout_unit(deployment->layout),
                       sli_say_number((double)engine->max_model_tokens).text,
                       sli_say_number((double)engine->pool.block_count).text);
        return SL_ERR_FIT;
    }
    return SL_OK;
}

/* ---- Policies ---- */

static sl_policy_env environment(const sli_scenario *scenario, const sli_deployment *deployment) {
    const sli_engine_config *engine = &deployment->cluster.engine;
    return (sl_policy_env){
        .replica_count = deployment->cluster.replica_count,
        .max_batched_tokens = engine->max_batched_tokens,
        .max_seqs = engine->max_seqs,
        .max_model_tokens = engine->max_model_tokens,
        .block_tokens = engine->pool.block_tokens,
        .pool_blocks = engine->pool.block_count,
        .watermark_blocks = engine->watermark_blocks,
        .orders_by_priority = engine->order == SLI_ORDER_PRIORITY,
        .seed = (uint64_t)scenario->seed,
    };
}

static sl_err create_policies(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment) {
    const sli_scenario *scenario = &file->values;
    sli_cluster_config *cluster = &deployment->cluster;
    sl_policy_env env = environment(scenario, deployment);
    SL_TRY(sli_instance_create(&cluster->route->policy, scenario->route.values, &env,
                               scenario->route.mark, diag, &cluster->route_self));
    deployment->batch_selves = calloc(cluster->replica_count, sizeof(void *));
    if (deployment->batch_selves == NULL) {
        return SL_ERR_NOMEM;
    }
    cluster->batch_selves = deployment->batch_selves;
    for (uint32_t i = 0; i < cluster->replica_count; i++) {
        env.replica = i;
        SL_TRY(sli_instance_create(&cluster->batch->policy, scenario->engine.policy.values, &env,
                                   scenario->engine.policy.mark, diag,
                                   &deployment->batch_selves[i]));
    }
    return SL_OK;
}

/* A run that ends before it begins to measure. */
static sl_err check_times(const sli_scenario_file *file, sli_diag *diag) {
    const sli_run_config *run = &file->values.run;
    bool is_until = run->until_ns != SLI_UNTIL_DRAINED && run->until_ns <= run->time_limit_ns;
    const char *key = is_until ? "run.until" : "run.time_limit";
    if ((is_until ? run->until_ns : run->time_limit_ns) > run->warmup_ns) {
        return SL_OK;
    }
    char warmup[64];
    sli_format_int(run->warmup_ns, SL_DIM_TIME, warmup, sizeof warmup);
    sli_diag_error(diag, sli_scenario_mark(file, key), key,
                   "must be after run.warmup (%s), or nothing is measured", warmup);
    return SL_ERR_CONFIG;
}

/* Each as far as it can be looked at, whatever is wrong with the others. */
static sl_err check_parts(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment) {
    const sli_cost_config *cost = &file->values.cost;
    sl_err own_err = worse(check_stages(file, diag), check_times(file, diag));
    sl_err err = read_parts(file, diag, deployment);
    if (err == SL_OK) {
        err = check_attention(file, diag, deployment);
        err = worse(err, find_memory(file, diag, deployment));
    }
    sli_cost_subject subject = cost_subject(&file->values, deployment);
    err = worse(err, sli_cost_check(cost, &subject, sli_scenario_mark(file, "cost"), "cost", diag));
    err = worse(err, check_sharing(file, diag, deployment));
    return worse(err, own_err);
}

sl_err sli_deployment_create(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment) {
    *deployment = (sli_deployment){
        .cluster = {.batch = file->values.engine.policy.type->item,
                    .route = file->values.route.type->item},
    };
    SL_TRY(check_parts(file, diag, deployment));
    SL_TRY(make_cost(file, diag, deployment));
    configure_engine(&file->values, deployment);
    SL_TRY(check_reservation(file, diag, deployment));
    return create_policies(file, diag, deployment);
}

void sli_deployment_destroy(sli_deployment *deployment) {
    sli_cluster_config *cluster = &deployment->cluster;
    if (deployment->batch_selves != NULL) {
        for (uint32_t i = 0; i < cluster->replica_count; i++) {
            sli_instance_destroy(&cluster->batch->policy, deployment->batch_selves[i]);
        }
        free(deployment->batch_selves);
    }
    if (cluster->route_self != NULL) {
        sli_instance_destroy(&cluster->route->policy, cluster->route_self);
    }
    *deployment = (sli_deployment){0};
}

sl_err sli_deployment_source(sli_scenario_file *file, sli_diag *diag, sl_source *source) {
    const sli_scenario *scenario = &file->values;
    const sli_source_type *type = scenario->workload.type->item;
    sli_source_env env = {
        .arena = &file->arena,
        .seed = (uint64_t)scenario->seed,
        .number = 0,
        .diag = diag,
        .root = file->root,
        .path = "workload",
    };
    return type->create(scenario->workload.values, &env, source);
}
