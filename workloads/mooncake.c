#include "workloads/jsonl.h"
#include "workloads/readers.h"
#include "workloads/sources.h"
#include "workloads/trace_format.h"

enum { NS_PER_MS_EXPONENT = 6 };

/* Every key is looked at before the line is given up, so that one run names all mistakes. */
static sl_err read_row(sli_jsonl *jsonl, int64_t block_tokens, sli_trace *trace) {
    sli_trace_row row = {.block_tokens = block_tokens, .line = jsonl->lines->number};
    bool has_ids = false;
    bool has_time = sli_jsonl_get_time(jsonl, "timestamp", NS_PER_MS_EXPONENT, "milliseconds",
                                       &row.at_ns);
    bool has_prompt = sli_jsonl_get_int(jsonl, "input_length", 1, SLI_TRACE_MAX_TOKENS,
                                        &row.prompt_tokens);
    bool has_output = sli_jsonl_get_int(jsonl, "output_length", 0, SLI_TRACE_MAX_TOKENS,
                                        &row.output_tokens);
    SL_TRY(sli_jsonl_get_ids(jsonl, &has_ids));
    if (!has_time || !has_prompt || !has_output || !has_ids) {
        return SL_OK; /* has been said */
    }
    return sli_trace_add(trace, &row, jsonl->ids.ids, jsonl->ids.count);
}

sl_err sli_mooncake_read(sli_lines *lines, int64_t block_tokens, sli_trace *trace) {
    sli_jsonl jsonl;
    SL_TRY(sli_jsonl_open(&jsonl, lines));
    sl_err err = SL_OK;
    while (err == SL_OK && sli_jsonl_next(&jsonl)) {
        err = read_row(&jsonl, block_tokens, trace);
    }
    sli_jsonl_close(&jsonl);
    return err;
}

const sli_trace_format sli_mooncake_format = {
    .name = "mooncake", .mark = "\"timestamp\"", .is_json = true, .read = sli_mooncake_read};

const sli_section sli_mooncake_section = {
    .params = sli_trace_params,
    .param_count = SLI_TRACE_BLOCK_PARAM_COUNT,
    .fields = sli_trace_fields,
    .field_count = SLI_TRACE_FIELD_COUNT,
    .struct_size = sizeof(sli_trace_options),
};

sl_err sli_mooncake_create(const void *values, const sli_source_env *env, sl_source *source) {
    return sli_trace_source_create(values, env, &sli_mooncake_format, source);
}

void sli_mooncake_describe(const void *values, char *text, size_t size) {
    sli_trace_describe(values, "mooncake", text, size);
}
