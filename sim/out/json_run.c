#include "out/json_run.h"

#include "out/digest.h"
#include "out/json.h"

static void put_slo(sli_json *json, const sli_slo *slo) {
    if (!sli_slo_is_set(slo)) {
        sli_json_null(json, "slo");
        return;
    }
    sli_json_open_object(json, "slo");
    if (slo->ttft_ns != SLI_SLO_NONE) {
        sli_json_int(json, "ttft_ns", slo->ttft_ns);
    }
    if (slo->tpot_ns != SLI_SLO_NONE) {
        sli_json_int(json, "tpot_ns", slo->tpot_ns);
    }
    if (slo->attainment_frac > 0) {
        sli_json_real(json, "attainment_frac", slo->attainment_frac);
    }
    sli_json_close_object(json);
}

static void put_texts(sli_json *json, const char *key, const char *const *texts, size_t count) {
    sli_json_open_array(json, key);
    for (size_t i = 0; i < count; i++) {
        sli_json_string(json, NULL, texts[i]);
    }
    sli_json_close_array(json);
}

static void put_layout(sli_json *json, const sli_run_facts *facts) {
    sli_json_open_object(json, "layout");
    sli_json_int(json, "page_bytes", facts->page_bytes);
    sli_json_open_array(json, "groups");
    for (size_t i = 0; i < facts->group_count; i++) {
        const sli_fact_group *group = &facts->groups[i];
        sli_json_open_object(json, NULL);
        sli_json_string(json, "name", group->name);
        sli_json_int(json, "layer_count", group->layers);
        sli_json_int(json, "block_tokens", group->block_tokens);
        sli_json_int(json, "block_pages", group->block_pages);
        sli_json_int(json, "block_bytes", group->block_bytes);
        sli_json_close_object(json);
    }
    sli_json_close_array(json);
    sli_json_close_object(json);
}

static void put_cost(sli_json *json, const sli_fact_cost *cost) {
    sli_json_open_object(json, "cost");
    sli_json_string(json, "model", cost->model);
    sli_json_string(json, "auto_reason", cost->auto_reason);
    sli_json_close_object(json);
}

static void put_keep(sli_json *json, const sli_fact_keep *keep) {
    if (keep->method == NULL) {
        sli_json_null(json, "keep");
        return;
    }
    sli_json_open_object(json, "keep");
    sli_json_string(json, "method", keep->method);
    sli_json_string(json, "budget", keep->budget);
    sli_json_string(json, "layers", keep->layers);
    sli_json_string(json, "quality", "not simulated");
    sli_json_close_object(json);
}

static void put_quality(sli_json *json, const sli_run_facts *facts) {
    sli_json_open_array(json, "quality_given");
    for (size_t i = 0; i < facts->quality_count; i++) {
        const sli_fact_quality *given = &facts->quality[i];
        sli_json_open_object(json, NULL);
        sli_json_string(json, "setting", given->setting);
        sli_json_string(json, "measure", given->measure);
        sli_json_real(json, "figure", given->figure);
        sli_json_string(json, "source", given->source);
        sli_json_close_object(json);
    }
    sli_json_close_array(json);
}

static void put_facts(sli_json *json, const sli_run_facts *facts) {
    char digest[SLI_DIGEST_TEXT_SIZE];
    sli_digest_format(facts->digest, digest);
    sli_json_string(json, "version", facts->version);
    sli_json_string(json, "workload", facts->workload);
    sli_json_string(json, "model", facts->model);
    sli_json_string(json, "hardware", facts->hardware);
    sli_json_int(json, "replica_count", facts->replica_count);
    sli_json_int(json, "tp_count", facts->tp_count);
    sli_json_string(json, "policy", facts->policy);
    put_cost(json, &facts->cost);
    sli_json_int(json, "seed", facts->seed);
    sli_json_string(json, "digest", digest);
    sli_json_int(json, "simulated_ns", facts->simulated_ns);
    sli_json_bool(json, "is_partial", facts->is_partial);
    sli_json_string(json, "partial_reason", facts->is_partial ? facts->partial_reason : NULL);
    put_slo(json, &facts->slo);
    put_layout(json, facts);
    put_keep(json, &facts->keep);
    put_quality(json, facts);
}

static void put_value(sli_json *json, const char *key, sli_value value) {
    switch (value.kind) {
    case SLI_VALUE_NULL:
        sli_json_null(json, key);
        break;
    case SLI_VALUE_INT:
        sli_json_int(json, key, value.integer);
        break;
    case SLI_VALUE_REAL:
        sli_json_real(json, key, value.real);
        break;
    }
}

static void put_metrics(sli_json *json, const sli_metrics *metrics) {
    sli_json_open_object(json, "metrics");
    for (size_t i = 0; i < metrics->list_count; i++) {
        put_value(json, metrics->list[i].name, metrics->list[i].value);
    }
    sli_json_close_object(json);
    sli_json_open_object(json, "counts");
    for (size_t i = 0; i < metrics->list_count; i++) {
        sli_json_int(json, metrics->list[i].name, metrics->list[i].n);
    }
    sli_json_close_object(json);
    sli_json_string(json, "quantiles",
                    metrics->ttft_ns.is_exact ? "exact, itl from a histogram" : "from histograms");
    sli_json_real(json, "histogram_error_frac", SLI_HIST_RELATIVE_ERROR);
}

static void put_replicas(sli_json *json, const sli_metrics *metrics) {
    sli_json_open_array(json, "replicas");
    for (uint32_t i = 0; i < metrics->replica_count; i++) {
        const sli_replica_totals *replica = &metrics->replicas[i];
        sli_json_open_object(json, NULL);
        sli_json_int(json, "finished_count", replica->finished_count);
        sli_json_int(json, "step_count", replica->step_count);
        sli_json_int(json, "busy_ns", replica->busy_ns);
        sli_json_int(json, "computed_tokens", replica->tokens);
        sli_json_int(json, "prefill_tokens", replica->prefill_tokens);
        sli_json_int(json, "kv_pool_blocks", replica->pool_blocks);
        sli_json_int(json, "kv_peak_blocks", replica->peak_blocks);
        sli_json_close_object(json);
    }
    sli_json_close_array(json);
}

sl_err sli_json_run_write(FILE *file, const sli_run_facts *facts, const sli_metrics *metrics) {
    sli_json json;
    sli_json_init(&json, file);
    sli_json_open_object(&json, NULL);
    put_facts(&json, facts);
    put_metrics(&json, metrics);
    put_replicas(&json, metrics);
    sli_json_open_object(&json, "parameters");
    for (size_t i = 0; i < facts->param_count; i++) {
        sli_json_string(&json, facts->params[i].path, facts->params[i].value);
    }
    sli_json_close_object(&json);
    put_texts(&json, "assumed", facts->assumed, facts->assumed_count);
    put_texts(&json, "warnings", facts->warnings, facts->warning_count);
    sli_json_string(&json, "results_dir", facts->results_dir);
    sli_json_close_object(&json);
    return sli_json_finish(&json);
}
