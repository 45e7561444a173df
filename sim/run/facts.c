#include "run/facts.h"

#include "base/units.h"
#include "sluice/sluice.h"
#include "workloads/source.h"

#include <stdlib.h>
#include <string.h>

/* ---- The scenario, flattened ---- */

typedef struct param_list {
    sli_arena *arena;
    sli_fact_param *params;
    size_t count;
    sl_err err;
} param_list;

static size_t count_leaves(const sli_node *node) {
    if (node->kind != SLI_NODE_MAP) {
        return 1;
    }
    size_t count = 0;
    for (const sli_node *child = node->first; child != NULL; child = child->next) {
        count += count_leaves(child);
    }
    return count;
}

static const char *origin_text(sli_arena *arena, const sli_node *node) {
    switch (node->origin) {
    case SLI_ORIGIN_DEFAULT:
        return "default";
    case SLI_ORIGIN_SET:
        return "--set";
    case SLI_ORIGIN_FILE:
        break;
    }
    return sli_arena_printf(arena, "%s:%d", node->mark.file != NULL ? node->mark.file : "?",
                            node->mark.line);
}

/* Lists print in flow style: [[a, b], [c, d]]. */
static char *value_text(sli_arena *arena, const sli_node *node) {
    if (node->kind == SLI_NODE_SCALAR) {
        return sli_arena_strdup(arena, node->text);
    }
    char *text = sli_arena_strdup(arena, "[");
    for (const sli_node *child = node->first; child != NULL && text != NULL; child = child->next) {
        char *item = value_text(arena, child);
        text = item == NULL ? NULL
                            : sli_arena_printf(arena, "%s%s%s", text,
                                               child == node->first ? "" : ", ", item);
    }
    return text == NULL ? NULL : sli_arena_printf(arena, "%s]", text);
}

static void flatten(param_list *list, const char *path, const sli_node *node) {
    if (node->kind == SLI_NODE_MAP) {
        for (const sli_node *child = node->first; child != NULL; child = child->next) {
            char *child_path = sli_arena_printf(list->arena, "%s%s%s", path,
                                                path[0] != '\0' ? "." : "", child->key);
            if (child_path == NULL) {
                list->err = SL_ERR_NOMEM;
                return;
            }
            flatten(list, child_path, child);
        }
        return;
    }
    sli_fact_param param = {path, value_text(list->arena, node), origin_text(list->arena, node)};
    if (param.value == NULL || param.origin == NULL) {
        list->err = SL_ERR_NOMEM;
        return;
    }
    list->params[list->count++] = param;
}

static sl_err gather_params(sli_scenario_file *file, sli_run_facts *facts) {
    size_t capacity = count_leaves(file->root);
    param_list list = {
        .arena = &file->arena,
        .params = sli_arena_array(&file->arena, capacity, sizeof(sli_fact_param)),
    };
    if (list.params == NULL) {
        return SL_ERR_NOMEM;
    }
    flatten(&list, "", file->root);
    facts->params = list.params;
    facts->param_count = list.count;
    return list.err;
}

/* ---- The scenario as text ---- */

static sl_err write_scenario(sli_scenario_file *file, sli_run_facts *facts) {
    char *buffer = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&buffer, &size);
    if (stream == NULL) {
        return SL_ERR_NOMEM;
    }
    sl_err err = sli_tree_write(file->root, stream);
    if (fclose(stream) != 0 && err == SL_OK) {
        err = SL_ERR_NOMEM;
    }
    if (err == SL_OK) {
        facts->scenario = sli_arena_copy(&file->arena, buffer, size);
        err = facts->scenario != NULL ? SL_OK : SL_ERR_NOMEM;
    }
    free(buffer);
    return err;
}

/* ---- Warnings ---- */

enum { OWN_WARNINGS_MAX = 4 };

static const char *thrash_warning(sli_arena *arena, const sli_metrics *metrics) {
    const sli_value *share = &metrics->reprefilled_frac;
    if (share->kind != SLI_VALUE_REAL || share->real <= SLI_THRASH_FRAC) {
        return NULL;
    }
    return sli_arena_printf(
        arena,
        "thrashing: %.1f %% of all computed tokens had been computed before and "
        "were lost to preemption; the cache is too small for this load",
        100.0 * share->real);
}

static const char *rejected_warning(sli_arena *arena, const sli_metrics *metrics) {
    char rejected[32];
    char arrived[32];
    if (metrics->rejected_count == 0) {
        return NULL;
    }
    sli_format_count(metrics->rejected_count, rejected, sizeof rejected);
    sli_format_count(metrics->arrived_count, arrived, sizeof arrived);
    return sli_arena_printf(arena,
                            "%s of %s requests were rejected: too long for engine.max_model_len or "
                            "larger than the whole KV cache",
                            metrics->rejected_count == metrics->arrived_count ? "all" : rejected,
                            arrived);
}

static sl_err gather_warnings(const sli_facts_input *input, sli_run_facts *facts) {
    sli_arena *arena = &input->file->arena;
    size_t capacity = (size_t)input->diag->warning_count + OWN_WARNINGS_MAX;
    const char **warnings = sli_arena_array(arena, capacity, sizeof *warnings);
    if (warnings == NULL) {
        return SL_ERR_NOMEM;
    }
    size_t count = 0;
    for (const sli_diag_entry *entry = input->diag->first; entry != NULL; entry = entry->next) {
        if (entry->severity == SLI_WARNING) {
            warnings[count++] = entry->message;
        }
    }
    const char *own[] = {thrash_warning(arena, input->metrics),
                         rejected_warning(arena, input->metrics)};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (own[i] != NULL) {
            warnings[count++] = own[i];
        }
    }
    facts->warnings = warnings;
    facts->warning_count = count;
    return SL_OK;
}

/* ---- The whole ---- */

static const char *workload_text(const sli_facts_input *input) {
    const sli_named *workload = &input->file->values.workload;
    const sli_source_type *type = workload->type->item;
    char text[256];
    type->describe(workload->values, text, sizeof text);
    return sli_arena_strdup(&input->file->arena, text);
}

sl_err sli_facts_gather(const sli_facts_input *input, sli_run_facts *facts) {
    sli_scenario_file *file = input->file;
    const sli_scenario *scenario = &file->values;
    const sli_deployment *deployment = input->deployment;
    const sli_trial_result *result = input->result;
    *facts = (sli_run_facts){
        .version = sl_version(),
        .workload = workload_text(input),
        .model = sli_arena_printf(&file->arena, "%s bf16", deployment->architecture->id),
        .hardware = deployment->device->id,
        .policy = scenario->engine.policy.type->name,
        .replica_count = scenario->replicas.count,
        .tp_count = scenario->replicas.tp,
        .seed = scenario->seed,
        .slo = scenario->slo,
        .digest = input->digest,
        .simulated_ns = result->end_ns,
        .is_partial = result->status != SL_OK,
        .partial_reason = result->status != SL_OK ? result->text : NULL,
        .assumed = deployment->assumed,
        .assumed_count = deployment->assumed_count,
    };
    if (facts->workload == NULL || facts->model == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(gather_params(file, facts));
    SL_TRY(write_scenario(file, facts));
    return gather_warnings(input, facts);
}
