#include "support.h"

#include "workloads/trace_info.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW(at, in, out, ids)                                                                      \
    "{\"timestamp\": " at ", \"input_length\": " in ", \"output_length\": " out                    \
    ", \"hash_ids\": [" ids "]}\n"

static sli_trace_info info_of_file(const char *path) {
    sli_diag diag = {0};
    sli_trace_info info = {0};
    if (sli_trace_info_read(path, 512, &diag, &info) != SL_OK) {
        fail_msg("%s", diag_messages(&diag));
    }
    sli_diag_fini(&diag);
    return info;
}

static void assert_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.10g is not %.10g within %g", value, expected, tolerance);
    }
}

/* Arrivals at 0, 0, 1, 3, 6 s. Row 4 hits [1], misses 8 and may not count the 2 behind it. */
static const char small_trace[] = ROW("0", "1000", "10", "1, 2") ROW("0", "1300", "20", "1, 2, 3")
    ROW("1000", "700", "0", "1, 2") ROW("3000", "1536", "40", "1, 8, 2")
        ROW("6000", "64", "50", "9");

static void counts_what_hands_can_count(void **state) {
    (void)state;
    sli_trace_info info = info_of_file(temporary_text(small_trace));
    assert_string_equal(info.format, "mooncake");
    assert_int_equal(info.row_count, 5);
    assert_int_equal(info.duration_ns, 6000000000);
    assert_near(info.mean_rate_per_s, 5.0 / 6, 1e-12);
    assert_int_equal(info.longest_gap_ns, 3000000000);
    assert_int_equal(info.distinct_time_count, 4);
    assert_int_equal(info.largest_tie_count, 2);
    /* Gaps 0, 1, 2, 3 s: mean 1.5, variance 5/4. */
    assert_near(info.gap_cv, sqrt(1.25) / 1.5, 1e-12);
    /* Whole seconds 2, 1, 0, 1, 0, 0: mean 2/3, variance 1 - 4/9 = 5/9; second 6 is cut off. */
    assert_near(info.windows[0].peak_per_s, 2, 1e-12);
    assert_near(info.windows[0].idc, 5.0 / 9 / (2.0 / 3), 1e-12);
    assert_near(info.windows[1].peak_per_s, 0.5, 1e-12);
    assert_true(isnan(info.windows[1].idc));
    assert_int_equal(info.prompt.sum_tokens, 4600);
    assert_near(info.prompt.p50_tokens, 1000, 1e-12);
    assert_near(info.prompt.p90_tokens, 1300 + 0.6 * 236, 1e-9); /* h = 3.6 */
    assert_int_equal(info.prompt.min_tokens, 64);
    assert_int_equal(info.prompt.max_tokens, 1536);
    assert_near(info.output.mean_tokens, 24, 1e-12);
    assert_int_equal(info.block_count, 11);
    assert_int_equal(info.distinct_block_count, 5);
    assert_int_equal(info.hit_block_count, 2 + 2 + 1);
    assert_int_equal(info.hit_tokens, 1024 + 700 + 512);
    assert_near(info.hit_block_frac, 5.0 / 11, 1e-12);
    assert_near(info.hit_token_frac, 2236.0 / 4600, 1e-12);
    assert_int_equal(info.zero_output_count, 1);
    assert_int_equal(info.unsorted_count, 0);
    assert_int_equal(info.hash_mismatch_count, 1); /* 2 follows 1, and 8 in row 4 */
}

static void a_row_does_not_hit_itself(void **state) {
    (void)state;
    sli_trace_info info = info_of_file(temporary_text(ROW("0", "1024", "1", "4, 4")));
    assert_int_equal(info.hit_block_count, 0);
    assert_int_equal(info.distinct_block_count, 1);
}

static void leaves_undefined_figures_empty(void **state) {
    (void)state;
    sli_trace_info info = info_of_file(
        temporary_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,5,7\n"));
    assert_string_equal(info.format, "azure");
    assert_true(isnan(info.mean_rate_per_s));
    assert_true(isnan(info.gap_cv));
    assert_true(isnan(info.hit_block_frac));
    assert_near(info.windows[2].peak_per_s, 1.0 / 60, 1e-12);
}

static void counts_oddities_in_file_order(void **state) {
    (void)state;
    sli_trace_info info = info_of_file(temporary_text(ROW("5", "9", "1", "1") ROW(
        "4", "9", "1", "1, 2") ROW("4", "9", "1", "1") ROW("3", "9", "1", "1")));
    assert_int_equal(info.unsorted_count, 2);
    assert_int_equal(info.hash_mismatch_count, 1);
    assert_int_equal(info.duration_ns, 2000000);
    assert_int_equal(info.largest_tie_count, 2);
}

static void says_when_it_knows_no_format(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_trace_info info = {.row_count = 42};
    const char *path = temporary_text("\n<html>\n");
    assert_int_equal(sli_trace_info_read(path, 512, &diag, &info), SL_ERR_CONFIG);
    assert_int_equal(info.row_count, 42);
    assert_int_equal(diag.first->mark.line, 2);
    assert_string_equal(
        diag.first->message,
        "is in no known format: expected JSON lines with \"timestamp\" (Mooncake) or "
        "\"timestamp_ns\" (sluice), or CSV with TIMESTAMP (Azure LLM inference "
        "traces)");
    sli_diag_fini(&diag);
}

static char *printed(const sli_trace_info *info,
                     sl_err (*print)(const sli_trace_info *info, FILE *file)) {
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    assert_int_equal(print(info, file), SL_OK);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void json_holds_the_figures_and_null(void **state) {
    (void)state;
    sli_trace_info info = info_of_file(temporary_text(small_trace));
    info.file = "a \"b\".jsonl";
    char *text = printed(&info, sli_trace_info_print_json);
    struct json_object *object = json_tokener_parse(text);
    struct json_object *value = NULL;
    assert_non_null(object);
    assert_true(json_object_object_get_ex(object, "file", &value));
    assert_string_equal(json_object_get_string(value), "a \"b\".jsonl");
    assert_true(json_object_object_get_ex(object, "duration_ns", &value));
    assert_true(json_object_get_int64(value) == 6000000000);
    assert_true(json_object_object_get_ex(object, "prompt_p90_tokens", &value));
    assert_near(json_object_get_double(value), 1441.6, 1e-9);
    assert_true(json_object_object_get_ex(object, "output_sum_tokens", &value));
    assert_int_equal(json_object_get_int64(value), 120);
    assert_true(json_object_object_get_ex(object, "idc_10s", &value));
    assert_null(value);
    json_object_put(object);
    free(text);
}

static void text_names_figures_and_notes(void **state) {
    (void)state;
    sli_trace_info info = info_of_file(temporary_text(small_trace));
    info.file = "t.jsonl";
    char *text = printed(&info, sli_trace_info_print);
    assert_string_equal(
        text,
        "t.jsonl · format mooncake\n"
        "\n"
        "  rows           5\n"
        "  duration       6.0 s, longest gap 3.0 s\n"
        "  mean rate      0.833 req/s\n"
        "  peak rate      2.00 req/s in 1 s, 0.50 in 10 s, 0.08 in 60 s\n"
        "  burstiness     CV of gaps 0.75; IDC 0.83 in 1 s, - in 10 s, - in 60 s (Poisson: 1)\n"
        "\n"
        "  tokens              mean       p50       p90       p99       max             sum\n"
        "  prompt               920     1,000     1,442     1,527     1,536           4,600\n"
        "  output                24        20        46        50        50             120\n"
        "\n"
        "  blocks         11, of them 5 distinct\n"
        "  ideal hits     45.45 % of blocks, 48.61 % of prompt tokens (nothing ever evicted)\n"
        "  note: 1 row without output (`zero_output`)\n"
        "  note: 1 row with ids that do not fit the prompt or other rows (`hash_mismatch`)\n");
    free(text);
}

static void has_no_rates_when_all_comes_at_once(void **state) {
    (void)state;
    char trace[4096] = "";
    for (int i = 0; i < 25; i++) {
        strcat(trace, ROW("7", "9", "1", "1"));
    }
    sli_trace_info info = info_of_file(temporary_text(trace));
    assert_true(isnan(info.mean_rate_per_s));
    assert_int_equal(info.largest_tie_count, 25);
    char *text = printed(&info, sli_trace_info_print);
    assert_non_null(strstr(text, "note: all rows at one time, so there are no rates"));
    assert_null(strstr(text, "distinct times"));
    assert_null(strstr(text, "nan"));
    free(text);
}

/* What is known about a public trace from elsewhere: counted with other programs. */
typedef struct public_figures {
    const char *file;
    int64_t rows;
    int64_t prompt_tokens;
    int64_t output_tokens;
    int64_t blocks;
    int64_t distinct_blocks;
    int64_t hit_blocks;
    int64_t hit_tokens;
    double mean_rate_per_s;
    double gap_cv;
    double idc_10s;
    double hit_block_frac;
    double hit_token_frac;
} public_figures;

static const public_figures mooncake_figures[] = {
    {"mooncake-fast25/conversation_trace.jsonl", 12031, 144793823, 4122048, 288500, 182790, 105710,
     54098411, 3.40, 3.03, 2.10, 0.3664, 0.3736},
    {"mooncake-fast25/synthetic_trace.jsonl", 3993, 61194628, 595432, 121877, 43924, 77953,
     39852661, 3.91, 1.01, 1.18, 0.6396, 0.6512},
    {"dynamo/mooncake_trace_1000.jsonl", 1000, 9792030, 199084, 19686, 12207, 7479, 3826202, 5.65,
     4.03, 4.37, 0.3799, 0.3907},
};

static void mooncake_figures_are_the_published_ones(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mooncake_figures / sizeof mooncake_figures[0]; i++) {
        const public_figures *known = &mooncake_figures[i];
        sli_trace_info info = info_of_file(public_trace(known->file));
        assert_string_equal(info.format, "mooncake");
        assert_int_equal(info.row_count, known->rows);
        assert_int_equal(info.prompt.sum_tokens, known->prompt_tokens);
        assert_int_equal(info.output.sum_tokens, known->output_tokens);
        assert_int_equal(info.block_count, known->blocks);
        assert_int_equal(info.distinct_block_count, known->distinct_blocks);
        assert_int_equal(info.hit_block_count, known->hit_blocks);
        assert_int_equal(info.hit_tokens, known->hit_tokens);
        /* Ids are prefix hashes, so an infinite cache misses each distinct block once. */
        assert_int_equal(info.hit_block_count, info.block_count - info.distinct_block_count);
        assert_near(info.hit_block_frac, known->hit_block_frac, 0.00005);
        assert_near(info.hit_token_frac, known->hit_token_frac, 0.00005);
        assert_near(info.mean_rate_per_s, known->mean_rate_per_s, 0.005);
        assert_near(info.gap_cv, known->gap_cv, 0.005);
        assert_near(info.windows[1].idc, known->idc_10s, 0.005);
        assert_int_equal(info.zero_output_count, 0);
        assert_int_equal(info.unsorted_count, 0);
        assert_int_equal(info.hash_mismatch_count, 0);
    }
}

static void azure_figures_are_the_published_ones(void **state) {
    (void)state;
    sli_trace_info code = info_of_file(public_trace("azure-2023/AzureLLMInferenceTrace_code.csv"));
    assert_string_equal(code.format, "azure");
    assert_int_equal(code.row_count, 8819);
    assert_int_equal(code.prompt.sum_tokens, 18059974);
    assert_int_equal(code.output.sum_tokens, 245896);
    assert_int_equal(code.duration_ns, 3435948056000);
    assert_near(code.mean_rate_per_s, 2.567, 0.0005);
    assert_near(code.gap_cv, 13.15, 0.005);
    assert_near(code.windows[0].peak_per_s, 67, 1e-9);
    assert_near(code.windows[1].peak_per_s, 32.7, 1e-9);
    assert_near(code.windows[2].peak_per_s, 10.5, 0.05);
    assert_near(code.windows[0].idc, 13.2, 0.05);
    assert_near(code.windows[1].idc, 71.6, 0.05);
    assert_near(code.windows[2].idc, 164, 0.5);
    sli_trace_info conv = info_of_file(public_trace("azure-2023/AzureLLMInferenceTrace_conv.csv"));
    assert_int_equal(conv.row_count, 19366);
    assert_int_equal(conv.prompt.sum_tokens, 22361870);
    assert_int_equal(conv.output.sum_tokens, 4088665);
    assert_near(conv.mean_rate_per_s, 5.530, 0.0005);
    assert_near(conv.gap_cv, 1.094, 0.0005);
    assert_near(conv.prompt.p50_tokens, 1020, 0.5);
    assert_near(conv.prompt.p99_tokens, 4142, 0.5);
    assert_near(conv.output.p90_tokens, 424, 0.5);
    assert_int_equal(conv.prompt.max_tokens, 14050);
    assert_int_equal(conv.output.min_tokens, 7);
}

static void a_public_trace_replays_row_by_row(void **state) {
    (void)state;
    world w;
    char yaml[1200];
    snprintf(yaml, sizeof yaml, "{source: azure, file: %s, rate_scale: 2}",
             public_trace("azure-2023/AzureLLMInferenceTrace_conv.csv"));
    if (world_open(&w, 1, yaml) != SL_OK) {
        fail_msg("%s", world_messages(&w));
    }
    arrivals list = arrivals_of(&w.source);
    int64_t prompt_tokens = 0;
    for (size_t i = 0; i < list.count; i++) {
        prompt_tokens += list.items[i].desc.prompt_tokens;
    }
    assert_int_equal(list.count, 19366);
    assert_int_equal(prompt_tokens, 22361870);
    assert_int_equal(list.items[list.count - 1].at_ns, 3501721937000 / 2);
    arrivals_free(&list);
    world_close(&w);
}

static int remove_temporary(void **state) {
    (void)state;
    temporary_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_hands_can_count),
        cmocka_unit_test(a_row_does_not_hit_itself),
        cmocka_unit_test(leaves_undefined_figures_empty),
        cmocka_unit_test(counts_oddities_in_file_order),
        cmocka_unit_test(says_when_it_knows_no_format),
        cmocka_unit_test(json_holds_the_figures_and_null),
        cmocka_unit_test(text_names_figures_and_notes),
        cmocka_unit_test(has_no_rates_when_all_comes_at_once),
        cmocka_unit_test(mooncake_figures_are_the_published_ones),
        cmocka_unit_test(azure_figures_are_the_published_ones),
        cmocka_unit_test(a_public_trace_replays_row_by_row),
    };
    return cmocka_run_group_tests(tests, NULL, remove_temporary);
}
