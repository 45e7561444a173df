/*
 * Any bytes for `sluice trace info`: its figures agree with each other, with the readers, and both
 * ways of printing them work.
 */
#include "trace_check.h"
#include "workloads/sources.h"
#include "workloads/trace_info.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

const char *const entry_words[] = {
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\n",
    "\r\n",
    "\"timestamp\"",
    "\"timestamp_ns\"",
    "\"input_length\"",
    "\"output_length\"",
    "\"hash_ids\"",
    ", \"block_size\": 16",
    ", 1",
    ", 2",
    "TIMESTAMP,ContextTokens,GeneratedTokens\n",
    "2024-02-29 23:59:59.9999999,1,1\n",
    "\t",
    NULL,
};

static create_trace_fn *creator_of(const char *format) {
    if (strcmp(format, "mooncake") == 0) {
        return sli_mooncake_create;
    }
    return strcmp(format, "azure") == 0 ? sli_azure_create : sli_sluice_create;
}

static char *printed(const sli_trace_info *info, sl_err (*print)(const sli_trace_info *, FILE *)) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    MUST(stream != NULL);
    MUST(print(info, stream) == SL_OK);
    MUST(fclose(stream) == 0);
    return text;
}

static void check_printing(const sli_trace_info *info) {
    char *table = printed(info, sli_trace_info_print);
    char *json = printed(info, sli_trace_info_print_json);
    struct json_object *object = json_tokener_parse(json);
    MUST(strstr(table, info->format) != NULL);
    MUST(json_object_is_type(object, json_type_object));
    json_object_put(object);
    free(table);
    free(json);
}

static void check_lengths(const sli_trace_lengths *lengths, int64_t row_count) {
    MUST((double)lengths->min_tokens <= lengths->p50_tokens);
    MUST(lengths->p50_tokens <= lengths->p90_tokens && lengths->p90_tokens <= lengths->p99_tokens);
    MUST(lengths->p99_tokens <= (double)lengths->max_tokens);
    MUST(lengths->sum_tokens >= lengths->max_tokens);
    MUST(lengths->sum_tokens <= row_count * lengths->max_tokens);
}

static void check_figures(const sli_trace_info *info) {
    MUST(info->row_count >= 1 && info->prompt.min_tokens >= 1 && info->output.min_tokens >= 0);
    check_lengths(&info->prompt, info->row_count);
    check_lengths(&info->output, info->row_count);
    MUST(info->duration_ns >= info->longest_gap_ns && info->longest_gap_ns >= 0);
    MUST(info->largest_tie_count + info->distinct_time_count <= info->row_count + 1);
    MUST(info->hit_tokens <= info->prompt.sum_tokens);
    MUST(info->hit_block_count + info->distinct_block_count <= info->block_count);
    if (info->hash_mismatch_count == 0) {
        /* Ids that are prefix-cumulative miss once each in a cache without end. */
        MUST(info->hit_block_count + info->distinct_block_count == info->block_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const char *path = input_file(bytes, length);
    sli_diag diag = {0};
    sli_trace_info info = {0};
    sl_err err = sli_trace_info_read(path, 512, &diag, &info);
    must_be_explained(err, &diag, count_lines(bytes, length), trace_complaints);
    if (err == SL_OK) {
        check_figures(&info);
        check_printing(&info);
        replay strict;
        replay_open(&strict, creator_of(info.format), path, true);
        bool is_odd = info.unsorted_count + info.zero_output_count + info.hash_mismatch_count > 0;
        MUST((strict.err != SL_OK) == is_odd);
        replay_close(&strict);
    }
    sli_diag_fini(&diag);
    return 0;
}
