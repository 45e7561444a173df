#include "run/facts.h"

#include "base/units.h"
#include "model/keep.h"
#include "run/keep.h"
#include "sluice/sluice.h"
#include "workloads/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts of any length ---- */

/* A text that grows in memory until it moves to an arena. */
typedef struct draft {
    FILE *stream;
    char *buffer;
    size_t size;
} draft;

/* The draft must not move until it ends. */
static bool draft_begin(draft *it) {
    *it = (draft){0};
    it->stream = open_memstream(&it->buffer, &it->size);
    return it->stream != NULL;
}

/* NULL when memory is out. */
static char *draft_end(draft *it, sli_arena *arena) {
    bool is_whole = !ferror(it->stream);
    is_whole = fclose(it->stream) == 0 && is_whole;
    is_whole = is_whole && it->buffer != NULL; /* glibc loses it without an error */
    char *text = is_whole ? sli_arena_copy(arena, it->buffer, it->size) : NULL;
    free(it->buffer);
    return text;
}

/* ---- The scenario, flattened ---- */

typedef struct param_list {
    sli_arena *arena;
    sli_fact_param *params;
    size_t count;
    sl_err err;
} param_list;

static size_t count_leaves(const sli_node *node) {
    if (node->kind != SLI_NODE_MAP || node->first == NULL) {
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

/* Lists print in flow style: [[a, b], [c, d]]; a mapping that is one value has no keys. */
static void print_value(FILE *stream, const sli_node *node) {
    if (node->kind == SLI_NODE_SCALAR) {
        fputs(node->text, stream);
        return;
    }
    if (node->kind == SLI_NODE_MAP) {
        fputs("{}", stream);
        return;
    }
    fputc('[', stream);
    for (const sli_node *child = node->first; child != NULL; child = child->next) {
        fputs(child == node->first ? "" : ", ", stream);
        print_value(stream, child);
    }
    fputc(']', stream);
}

static char *value_text(sli_arena *arena, const sli_node *node) {
    draft text;
    if (!draft_begin(&text)) {
        return NULL;
    }
    print_value(text.stream, node);
    return draft_end(&text, arena);
}

/* A mapping without keys says that it was chosen, as `cost: {roofline: {}}`. */
static void flatten(param_list *list, const char *path, const sli_node *node) {
    if (node->kind == SLI_NODE_MAP && node->first != NULL) {
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
    draft text;
    if (!draft_begin(&text)) {
        return SL_ERR_NOMEM;
    }
    sl_err err = sli_tree_write(file->root, text.stream);
    facts->scenario = draft_end(&text, &file->arena);
    return err == SL_OK && facts->scenario == NULL ? SL_ERR_NOMEM : err;
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

/* A queue that is long when the last request comes has been growing: its waits say how long the run
 * was, not how good the system is. */
static const char *overload_warning(sli_arena *arena, const sli_metrics *metrics) {
    const sli_value *backlog = &metrics->backlog_frac;
    bool is_spread = metrics->request_offered_per_s.kind == SLI_VALUE_REAL;
    if (!is_spread || backlog->kind != SLI_VALUE_REAL || backlog->real < SLI_OVERLOAD_FRAC ||
        backlog->real * (double)metrics->arrived_count < SLI_OVERLOAD_REQUESTS) {
        return NULL;
    }
    return sli_arena_printf(
        arena,
        "overload: %.0f %% of all requests were still waiting when the last one "
        "arrived; the queue grows, and waiting times only say how long the run "
        "was",
        100.0 * backlog->real);
}

typedef struct phrase {
    char text[96];
} phrase;

/* `all 100 requests were`, `3 of 100 requests were`, `1 of 100 requests was`. */
static phrase say_some(int64_t count, int64_t arrived_count) {
    phrase said;
    char some[32];
    char all[32];
    sli_format_count(count, some, sizeof some);
    sli_format_count(arrived_count, all, sizeof all);
    if (count == arrived_count && count > 1) {
        snprintf(said.text, sizeof said.text, "all %s requests were", all);
    } else {
        snprintf(said.text, sizeof said.text, "%s of %s request%s %s", some, all,
                 arrived_count == 1 ? "" : "s", count == 1 ? "was" : "were");
    }
    return said;
}

/* The two reasons why a request can never be served are told apart: the remedies differ. */
static const char *too_long_warning(const sli_facts_input *input) {
    int64_t count = input->result->too_long_count;
    char limit[32];
    if (count == 0) {
        return NULL;
    }
    bool is_cut = input->deployment->cluster.over_length == SLI_OVER_LENGTH_TRUNCATE;
    sli_format_count(input->deployment->cluster.engine.max_model_tokens, limit, sizeof limit);
    return sli_arena_printf(
        &input->file->arena, "%s rejected: longer than engine.max_model_len (%s tokens)%s",
        say_some(count, input->metrics->arrived_count).text, limit,
        is_cut ? " with the prompt alone; raise it"
               : "; raise it, or cut outputs (not prompts) with engine.over_length: truncate");
}

static const char *too_large_warning(const sli_facts_input *input) {
    int64_t count = input->metrics->rejected_count - input->result->too_long_count;
    bool is_given = input->file->values.memory.kv_blocks != SLI_AUTO;
    char blocks[32];
    if (count == 0) {
        return NULL;
    }
    sli_format_count(input->deployment->cluster.engine.pool.block_count, blocks, sizeof blocks);
    return sli_arena_printf(&input->file->arena,
                            "%s rejected: larger than the whole KV cache (%s %s); raise %s",
                            say_some(count, input->metrics->arrived_count).text, blocks,
                            sli_layout_unit(input->deployment->layout),
                            is_given ? "memory.kv_blocks" : "replicas.tp or memory.utilization");
}

/* NULL when memory is out. */
static const char *warning_text(sli_arena *arena, const sli_diag_entry *entry) {
    return entry->path != NULL ? sli_arena_printf(arena, "%s: %s", entry->path, entry->message)
                               : entry->message;
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
            const char *text = warning_text(arena, entry);
            if (text == NULL) {
                return SL_ERR_NOMEM;
            }
            warnings[count++] = text;
        }
    }
    const char *own[] = {overload_warning(arena, input->metrics),
                         thrash_warning(arena, input->metrics), too_long_warning(input),
                         too_large_warning(input)};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (own[i] != NULL) {
            warnings[count++] = own[i];
        }
    }
    facts->warnings = warnings;
    facts->warning_count = count;
    return SL_OK;
}

/* ---- How the cache lies ---- */

/* Groups that take no memory are none to a user. */
static sl_err gather_layout(const sli_facts_input *input, sli_run_facts *facts) {
    const sli_layout *layout = input->deployment->layout;
    sli_fact_group *groups = sli_arena_array(&input->file->arena, SLI_GROUP_MAX, sizeof *groups);
    if (groups == NULL) {
        return SL_ERR_NOMEM;
    }
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (group->block_pages > 0) {
            groups[facts->group_count++] = (sli_fact_group){
                .name = group->name,
                .layers = group->layers,
                .block_tokens = group->block_tokens,
                .block_pages = group->block_pages,
                .block_bytes = group->block_bytes,
            };
        }
    }
    facts->groups = groups;
    facts->page_bytes = layout->page_bytes;
    facts->has_page_unit = layout->has_unit;
    return SL_OK;
}

/* ---- The whole ---- */

/* The format of the cache is told where it is not that of the weights. */
static const char *model_text(const sli_facts_input *input) {
    const sli_model_config *model = &input->file->values.model;
    const sli_architecture *architecture = input->deployment->architecture;
    sli_weights weights = sli_model_weights(model, architecture);
    sli_weights_text said = sli_weights_say(&weights);
    const char *cache = sli_cache_formats[model->kv].name;
    bool differs = strcmp(said.text, cache) != 0;
    return sli_arena_printf(&input->file->arena, "%s %s%s%s", architecture->id, said.text,
                            differs ? ", KV in " : "", differs ? cache : "");
}

/* ---- What stays of a request ---- */

/* Of the longest prompt; NULL when all layers keep as much of it, "" when memory is out. */
static const char *layers_text(const sli_facts_input *input) {
    const sli_named *keep = &input->file->values.keep;
    int64_t layers = sli_keep_layers(input->deployment->architecture);
    int64_t tokens = input->deployment->cluster.engine.max_model_tokens;
    int64_t first = sli_keep_layer_rows(keep, 0, layers, tokens);
    int64_t last = sli_keep_layer_rows(keep, layers - 1, layers, tokens);
    if (first == last) {
        return NULL;
    }
    const char *text = sli_arena_printf(
        &input->file->arena, "of %s tokens %s in the first layer and %s in the last",
        sli_say_number((double)tokens).text, sli_say_number((double)first).text,
        sli_say_number((double)last).text);
    return text != NULL ? text : "";
}

static sl_err gather_keep(const sli_facts_input *input, sli_run_facts *facts) {
    const sli_named *keep = &input->file->values.keep;
    const sl_keep_policy *method = sli_keep_method(keep);
    char budget[128];
    if (method == NULL) {
        return SL_OK;
    }
    method->describe(keep->values, budget, sizeof budget);
    facts->keep = (sli_fact_keep){
        .method = method->policy.name,
        .budget = sli_arena_strdup(&input->file->arena, budget),
        .layers = layers_text(input),
    };
    bool is_out = facts->keep.layers != NULL && facts->keep.layers[0] == '\0';
    return facts->keep.budget != NULL && !is_out ? SL_OK : SL_ERR_NOMEM;
}

/* ---- The model of time ---- */

static sl_err gather_cost(const sli_facts_input *input, sli_run_facts *facts) {
    const sli_cost_choice *choice = &input->deployment->cost;
    const char *unfitted = choice->unfitted;
    facts->cost.model = choice->name;
    if (unfitted == NULL) {
        return SL_OK;
    }
    facts->cost.auto_reason = unfitted[0] == '\0'
                                  ? "all operators are of a sort that was measured"
                                  : sli_arena_printf(&input->file->arena,
                                                     "no operators were measured for %s", unfitted);
    return facts->cost.auto_reason != NULL ? SL_OK : SL_ERR_NOMEM;
}

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
        .model = model_text(input),
        .hardware = deployment->device->id,
        .policy = scenario->engine.policy.type->name,
        .replica_count = scenario->replicas.count,
        .tp_count = scenario->replicas.tp,
        .seed = scenario->seed,
        .slo = scenario->slo,
        .digest = input->digest,
        .simulated_ns = result->end_ns,
        .lacks_prefixes = !result->has_prefix_ids,
        .is_partial = result->status != SL_OK,
        .partial_reason = result->status != SL_OK ? result->text : NULL,
        .assumed = deployment->assumed,
        .assumed_count = deployment->assumed_count,
    };
    if (facts->workload == NULL || facts->model == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(gather_cost(input, facts));
    SL_TRY(gather_layout(input, facts));
    SL_TRY(gather_keep(input, facts));
    facts->quality = input->file->values.quality.rows;
    facts->quality_count = input->file->values.quality.count;
    SL_TRY(gather_params(file, facts));
    SL_TRY(write_scenario(file, facts));
    return gather_warnings(input, facts);
}
