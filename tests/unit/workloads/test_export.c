#include "support.h"

#include "workloads/export.h"

#include <stdlib.h>

/* Exporting what a source emits and replaying the file gives the same arrivals, field by field. */

/* Ends every request 1 s after its arrival, which is all that a closed loop wants to know. */
static arrivals run_open_or_closed(sl_source *source) {
    arrivals list = {0};
    arrival next = {0};
    size_t ended_count = 0;
    for (;;) {
        sl_source_event event = source->ops->peek(source->self, &next.at_ns);
        bool has_end = ended_count < list.count && source->ops->done != NULL;
        int64_t end_ns = has_end ? list.items[ended_count].at_ns + 1000000000 : INT64_MAX;
        if (has_end && (event == SL_SOURCE_IDLE || end_ns <= next.at_ns)) {
            source->ops->done(source->self, ended_count++, SL_FINISHED, end_ns);
        } else if (event == SL_SOURCE_ARRIVAL) {
            source->ops->pop(source->self, &next.index, &next.desc);
            list = arrivals_copy_one(list, &next);
        } else {
            return list;
        }
    }
}

static arrivals run(const char *yaml) {
    world w;
    if (world_open(&w, 21, yaml) != SL_OK) {
        fail_msg("%s", world_messages(&w));
    }
    arrivals list = run_open_or_closed(&w.source);
    world_close(&w);
    return list;
}

static arrivals through_file(const arrivals *list) {
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    for (size_t i = 0; i < list->count; i++) {
        assert_int_equal(sli_export_arrival(file, list->items[i].at_ns, &list->items[i].desc),
                         SL_OK);
    }
    assert_int_equal(fclose(file), 0);
    char yaml[256];
    snprintf(
        yaml, sizeof yaml,
        "{source: sluice, file: %s, unsorted: error, zero_output: error, hash_mismatch: error}",
        temporary_file(text, length));
    arrivals again = run(yaml);
    temporary_remove();
    free(text);
    return again;
}

static void assert_replays(const char *yaml, size_t count) {
    arrivals list = run(yaml);
    assert_int_equal(list.count, count);
    arrivals again = through_file(&list);
    assert_same_arrivals(&list, &again);
    arrivals_free(&list);
    arrivals_free(&again);
}

static void replays_drawn_sources(void **state) {
    (void)state;
    assert_replays("{source: poisson, rate: 1000 /s, requests: 500, prompt: {lognormal: {mean: "
                   "1000 tokens, cv: 2}}, output: {exponential: {mean: 50 tokens}}}",
                   500);
    assert_replays("{source: poisson, rate: 7 /s, requests: 300, max_tokens: 40 tokens, prompt: "
                   "{fixed: 7 tokens}, output: {exponential: {mean: 50 tokens}}, system_prompts: "
                   "{count: 9, length: 333 tokens}, priorities: [[0.5, -1], [0.5, 4]]}",
                   300);
    assert_replays("{source: deterministic, rate: 3 /s, requests: 100, prompt: {preset: "
                   "azure-conv-2023}, output: {preset: azure-conv-2023}}",
                   100);
    assert_replays("{source: closed, concurrency: 5, requests: 100, start_jitter: 700 ms, prompt: "
                   "{fixed: 7 tokens}, output: {uniform: {min: 1 tokens, max: 5 tokens}}}",
                   100);
}

#define MOONCAKE_HEAD                                                                              \
    "{\"timestamp\": 0, \"input_length\": 700, \"output_length\": 3, \"hash_ids\": [0, 7]}\n"      \
    "{\"timestamp\": 0.5, \"input_length\": 1024, \"output_length\": 4, \"hash_ids\": [0, "        \
    "18446744073709551615]}\n"                                                                     \
    "{\"timestamp\": 0.5, \"input_length\": 1, \"output_length\": 9, \"hash_ids\": [9]}\n"

static void replays_traces(void **state) {
    (void)state;
    char yaml[256];
    snprintf(yaml, sizeof yaml, "{source: mooncake, file: %s, spread: 10 s, rate_scale: 3}",
             temporary_text(MOONCAKE_HEAD));
    assert_replays(yaml, 3);
    snprintf(yaml, sizeof yaml, "{source: azure, file: %s, window: {from: 1 s}}",
             temporary_text("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-16 18:15:46.6805900,374,44\n"
                            "2023-11-16 18:15:50.9951690,396,109"));
    assert_replays(yaml, 1);
}

static void replays_a_public_trace(void **state) {
    (void)state;
    char yaml[1200];
    snprintf(yaml, sizeof yaml, "{source: mooncake, file: %s}",
             public_trace("dynamo/mooncake_trace_1000.jsonl"));
    assert_replays(yaml, 1000);
}

static void says_when_the_disk_is_full(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL) {
        print_message("there is no /dev/full here\n");
        skip();
    }
    setvbuf(full, NULL, _IONBF, 0);
    const sl_request_desc desc = {.prompt_tokens = 1, .output_tokens = 1};
    assert_int_equal(sli_export_arrival(full, 0, &desc), SL_ERR_IO);
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_drawn_sources),
        cmocka_unit_test(replays_traces),
        cmocka_unit_test(replays_a_public_trace),
        cmocka_unit_test(says_when_the_disk_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
