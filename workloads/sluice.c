#include "workloads/jsonl.h"
#include "workloads/readers.h"
#include "workloads/sources.h"
#include "workloads/trace_format.h"

/* priority and max_tokens: written only when they are not 0. */
static bool get_optional(const sli_jsonl *jsonl, const char *key, int64_t min, int64_t max,
                         int64_t *value) {
    return !sli_jsonl_has(jsonl, key) || sli_jsonl_get_int(jsonl, key, min, max, value);
}

static sl_err read_row(sli_jsonl *jsonl, sli_trace *trace) {
    sli_trace_row row = {.line = jsonl->lines->number};
    int64_t priority = 0;
    bool has_ids = false;
    const int64_t max_tokens = SLI_TRACE_MAX_TOKENS;
    bool is_valid[] = {
        sli_jsonl_get_time(jsonl, "timestamp_ns", 0, "nanoseconds", &row.at_ns),
        /* Two drawn parts of the longest length each, a system prompt and the rest. */
        sli_jsonl_get_int(jsonl, "input_length", 1, 2 * max_tokens, &row.prompt_tokens),
        sli_jsonl_get_int(jsonl, "output_length", 0, max_tokens, &row.output_tokens),
        sli_jsonl_get_int(jsonl, "block_size", 0, max_tokens, &row.block_tokens),
        get_optional(jsonl, "priority", INT32_MIN, INT32_MAX, &priority),
        get_optional(jsonl, "max_tokens", 0, max_tokens, &row.max_tokens),
    };
    SL_TRY(sli_jsonl_get_ids(jsonl, &has_ids));
    bool is_row_valid = has_ids;
    for (size_t i = 0; i < sizeof is_valid / sizeof is_valid[0]; i++) {
        is_row_valid = is_row_valid && is_valid[i];
    }
    if (!is_row_valid) {
        return SL_OK; /* has been said */
    }
    row.priority = (int32_t)priority;
    return sli_trace_add(trace, &row, jsonl->ids.ids, jsonl->ids.count);
}

sl_err sli_sluice_read(sli_lines *lines, int64_t block_tokens, sli_trace *trace) {
    (void)block_tokens; /* each row says its own */
    sli_jsonl jsonl;
    SL_TRY(sli_jsonl_open(&jsonl, lines));
    sl_err err = SL_OK;
    trace->may_lack_ids = true;
    while (err == SL_OK && sli_jsonl_next(&jsonl)) {
        err = read_row(&jsonl, trace);
    }
    sli_jsonl_close(&jsonl);
    return err;
}

const sli_trace_format sli_sluice_format = {
    .name = "sluice", .mark = "\"timestamp_ns\"", .is_json = true, .read = sli_sluice_read};

const sli_section sli_sluice_section = {
    .params = sli_trace_params,
    .param_count = SLI_TRACE_ID_PARAM_COUNT,
    .fields = sli_trace_fields,
    .field_count = SLI_TRACE_FIELD_COUNT,
    .struct_size = sizeof(sli_trace_options),
};

sl_err sli_sluice_create(const void *values, const sli_source_env *env, sl_source *source) {
    return sli_trace_source_create(values, env, &sli_sluice_format, source);
}

void sli_sluice_describe(const void *values, char *text, size_t size) {
    sli_trace_describe(values, "sluice", text, size);
}
