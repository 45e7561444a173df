/*
 * Memory that runs out: at every call in turn, and for good from calls on. Whatever is at work
 * answers SL_ERR_NOMEM, refuses with a message, or gets along and gives the undisturbed result. It
 * leaves no file behind, and the address sanitizer sees to it that it leaks nothing.
 */
#include "failing.h"

#include "import/import.h"
#include "out/database.h"
#include "out/directory.h"
#include "run/execute.h"
#include "workloads/sources.h"
#include "workloads/trace.h"
#include "workloads/trace_info.h"

#include <dirent.h>
#include <gsl/gsl_errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Attempts ---- */

/* What came of an attempt: the answer, what was said, and a number made of the result. */
typedef struct outcome {
    sl_err err;
    bool is_explained; /* an error was added, or memory for one was short */
    char said[160];    /* the first message */
    uint64_t value;
} outcome;

/* Does the work, between start_failing and stop_failing, and cleans up. */
typedef outcome attempt_fn(void);

static outcome outcome_of(sl_err err, const sli_diag *diag) {
    outcome got = {.err = err, .is_explained = diag->first != NULL || diag->is_out_of_memory};
    if (diag->first != NULL) {
        snprintf(got.said, sizeof got.said, "%s", diag->first->message);
    }
    return got;
}

/* FNV-1a (Fowler, Noll and Vo): results are compared, nothing is stored. */
static uint64_t mix(uint64_t hash, uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
        hash = (hash ^ ((value >> shift) & 0xff)) * UINT64_C(1099511628211);
    }
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    for (; text != NULL && *text != '\0'; text++) {
        hash = mix(hash, (unsigned char)*text);
    }
    return mix(hash, text == NULL);
}

static void judge(outcome got, outcome undisturbed, long n) {
    if (got.err == undisturbed.err) {
        if (got.err == SL_OK && got.value != undisturbed.value) {
            fail_msg("call %ld: success with another result", n);
        }
        return;
    }
    bool is_refusal = got.err == SL_ERR_CONFIG || got.err == SL_ERR_IO || got.err == SL_ERR_FIT;
    if (got.err != SL_ERR_NOMEM && !(is_refusal && got.is_explained)) {
        fail_msg("call %ld: %s: %s", n, sl_err_text(got.err), got.said);
    }
}

static long count_calls(attempt_fn *attempt) {
    plan_failure(0, false);
    (void)attempt();
    return calls_made();
}

/* Each call behind the first `skipped_count`. */
static void fail_later_calls(attempt_fn *attempt, sl_err expected, long skipped_count) {
    plan_failure(0, false);
    outcome undisturbed = attempt();
    if (undisturbed.err != expected) {
        fail_msg("undisturbed: %s: %s", sl_err_text(undisturbed.err), undisturbed.said);
    }
    assert_true(calls_made() > skipped_count);
    for (int persists = 0; persists <= 1; persists++) {
        /* What has run out for good ends at the next call that matters: a sample is enough. */
        long stride = persists ? 7 : 1;
        bool has_failed = true;
        for (long n = skipped_count + 1; has_failed; n += stride) {
            plan_failure(n, persists);
            outcome got = attempt();
            has_failed = stop_failing();
            judge(got, undisturbed, n);
        }
    }
}

static void fail_each_call(attempt_fn *attempt, sl_err expected) {
    fail_later_calls(attempt, expected, 0);
}

/* ---- Files ---- */

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/sluice-memory-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : 1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int count_entries(void) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(dir);
    return count;
}

/* ---- Scenarios ---- */

static const char *scenario_text;

/* The written tree says all values. */
static uint64_t written_value(const sli_scenario_file *file) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    assert_int_equal(sli_tree_write(file->root, stream), SL_OK);
    fclose(stream);
    uint64_t value = mix_text(0, text);
    free(text);
    return value;
}

static outcome read_scenario(void) {
    static const char *const sets[] = {"seed=3", "slo={ttft: 1 s}"};
    sli_diag diag = {0};
    sli_scenario_file file;
    start_failing();
    sl_err err = sli_scenario_read_text("s.yaml", scenario_text, sets, 2, &diag, &file);
    stop_failing();
    outcome got = outcome_of(err, &diag);
    if (err == SL_OK) {
        got.value = written_value(&file);
    }
    sli_scenario_close(&file);
    sli_diag_fini(&diag);
    return got;
}

static void a_scenario_is_read_or_not(void **state) {
    (void)state;
    scenario_text = "model: llama-3.1-8b\n"
                    "hardware: h100-sxm\n"
                    "engine: {policy: vllm_v1, max_seqs: 8}\n"
                    "workload: {source: poisson, rate: 3 /s, requests: 5, prompt: {preset: "
                    "azure-conv-2023}, output: {quantiles: [[0, 1 token], [1, 9 tokens]]}}\n";
    fail_each_call(read_scenario, SL_OK);
}

static void a_bad_scenario_is_refused(void **state) {
    (void)state;
    scenario_text = "model: llama-3.1-8b\n"
                    "hardwar: h100-sxm\n"
                    "engine: {policy: vlm, max_seqs: x, max_seqs: 3}\n"
                    "workload: {source: poisson, rate: 3}\n";
    fail_each_call(read_scenario, SL_ERR_CONFIG);
}

static sli_scenario_file opened(const char *const *sets, size_t set_count) {
    sli_diag diag = {0};
    sli_scenario_file file;
    sl_err err = sli_scenario_read_text("s.yaml", scenario_text, sets, set_count, &diag, &file);
    sli_diag_print(&diag, stderr);
    assert_int_equal(err, SL_OK);
    sli_diag_fini(&diag);
    return file;
}

static const char small_scenario[] =
    "model: llama-3.1-8b\n"
    "hardware: h100-sxm\n"
    "replicas: {count: 2}\n"
    "memory: {kv_blocks: 40}\n"
    "workload: {source: poisson, rate: 300 /s, requests: 40, prompt: {fixed: 90 tokens}, output: "
    "{uniform: {min: 1 token, max: 60 tokens}}, system_prompts: {count: 3, length: 40 tokens}}\n";

static outcome create_deployment(void) {
    sli_scenario_file file = opened(NULL, 0);
    sli_diag diag = {0};
    sli_deployment deployment;
    start_failing();
    sl_err err = sli_deployment_create(&file, &diag, &deployment);
    stop_failing();
    outcome got = outcome_of(err, &diag);
    if (err == SL_OK) {
        got.value = mix((uint64_t)deployment.budget.blocks, deployment.assumed_count);
    }
    sli_deployment_destroy(&deployment);
    sli_diag_fini(&diag);
    sli_scenario_close(&file);
    return got;
}

static void a_deployment_is_built_or_not(void **state) {
    (void)state;
    scenario_text = small_scenario;
    fail_each_call(create_deployment, SL_OK);
}

/* ---- Sources and traces ---- */

/* All arrivals until the source waits for the end of a request. */
static uint64_t arrivals_value(sl_source *source) {
    uint64_t value = 0;
    int64_t at_ns;
    for (int i = 0; i < 100; i++) {
        if (source->ops->peek(source->self, &at_ns) != SL_SOURCE_ARRIVAL) {
            break;
        }
        uint64_t index;
        sl_request_desc desc;
        source->ops->pop(source->self, &index, &desc);
        value = mix(mix(value, (uint64_t)at_ns), (uint64_t)desc.prompt_tokens);
        value = mix(mix(value, (uint64_t)desc.output_tokens), (uint64_t)desc.content.id_count);
        for (int64_t k = 0; k < desc.content.id_count; k++) {
            value = mix(value, desc.content.ids[k]);
        }
    }
    return value;
}

static outcome create_source(void) {
    sli_scenario_file file = opened(NULL, 0);
    sli_diag diag = {0};
    sl_source source = {0};
    start_failing();
    sl_err err = sli_deployment_source(&file, &diag, &source);
    stop_failing();
    outcome got = outcome_of(err, &diag);
    if (source.ops != NULL) {
        got.value = arrivals_value(&source);
        source.ops->destroy(source.self);
    }
    sli_diag_fini(&diag);
    sli_scenario_close(&file);
    return got;
}

static void fail_source(const char *workload, sl_err expected) {
    static char text[1024];
    snprintf(text, sizeof text, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {%s}\n",
             workload);
    scenario_text = text;
    fail_each_call(create_source, expected);
}

static void drawn_sources_are_made_or_not(void **state) {
    (void)state;
    fail_source("source: poisson, rate: 3 /s, requests: 9, prompt: {preset: azure-conv-2023}, "
                "output: {fixed: 3 tokens}, system_prompts: {count: 5000, length: 9 tokens}",
                SL_OK);
    fail_source(
        "source: closed, concurrency: 5000, requests: 5000, prompt: {fixed: 3 tokens}, output: "
        "{lognormal: {mean: 9 tokens, cv: 2}}",
        SL_OK);
}

static const char mooncake_text[] =
    "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 5, \"hash_ids\": [1, 2]}\n"
    "{\"timestamp\": 3.5, \"input_length\": 1300, \"output_length\": 0, \"hash_ids\": [1, 2, 3]}\n"
    "{\"timestamp\": 1, \"input_length\": 9, \"output_length\": 2, \"hash_ids\": [4, 5]}\n"
    "{\"timestamp\": 9, \"input_length\": 900, \"output_length\": 2, \"hash_ids\": [2, 1]}\n";

static void fail_trace(const char *format, const char *options, const char *text, sl_err expected) {
    char workload[512];
    write_file("trace", text);
    snprintf(workload, sizeof workload, "source: %s, file: %s%s", format, path_of("trace"),
             options);
    fail_source(workload, expected);
    unlink(path_of("trace"));
}

static void traces_are_read_or_not(void **state) {
    (void)state;
    static const char repaired[] = ", zero_output: floor, hash_mismatch: drop_ids, spread: 1 s";
    fail_trace("mooncake", repaired, mooncake_text, SL_OK);
    fail_trace("azure", "",
               "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
               "2023-11-16 18:15:45,3,4\n2023-11-16 18:15:50,3,4\n",
               SL_OK);
    fail_trace("sluice", "",
               "{\"timestamp_ns\": 0, \"input_length\": 100, \"output_length\": 7, "
               "\"hash_ids\": [5, 6], \"block_size\": 64, \"priority\": 2}\n"
               "{\"timestamp_ns\": 5, \"input_length\": 10, \"output_length\": 7, "
               "\"hash_ids\": [], \"block_size\": 0}\n",
               SL_OK);
}

static void bad_traces_are_refused(void **state) {
    (void)state;
    fail_trace("mooncake", "", mooncake_text, SL_ERR_CONFIG);
    fail_trace("mooncake", "", "{\"timestamp\": 0,\nnull\n{\"hash_ids\": [-1], \"a\": 1e4}\n",
               SL_ERR_CONFIG);
    fail_trace("azure", "", "TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n", SL_ERR_CONFIG);
}

static outcome describe_trace(void) {
    char printed[8192] = "";
    FILE *stream = fmemopen(printed, sizeof printed, "w");
    assert_non_null(stream);
    sli_diag diag = {0};
    sli_trace_info info = {0};
    start_failing();
    sl_err err = sli_trace_info_read(path_of("trace"), 512, &diag, &info);
    if (err == SL_OK) {
        err = sli_trace_info_print_json(&info, stream);
    }
    stop_failing();
    outcome got = outcome_of(err, &diag);
    fclose(stream);
    got.value = mix_text(0, printed);
    sli_diag_fini(&diag);
    return got;
}

static void a_trace_is_described_or_not(void **state) {
    (void)state;
    write_file("trace", mooncake_text);
    fail_each_call(describe_trace, SL_OK);
    unlink(path_of("trace"));
}

/* ---- Models ---- */

static const char *config_text;

static outcome import_model(void) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    const char *yaml = NULL;
    write_file("config.json", config_text);
    sli_import_request request = {.path = path_of("config.json")};
    start_failing();
    sl_err err = sli_import_file(&arena, &request, &diag, &yaml);
    stop_failing();
    outcome got = outcome_of(err, &diag);
    assert_int_equal(yaml != NULL, err == SL_OK);
    got.value = mix_text(0, yaml);
    unlink(path_of("config.json"));
    assert_int_equal(count_entries(), 0);
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return got;
}

#define GEMMA_FIELDS                                                                               \
    "\"hidden_size\": 64, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": "  \
    "16, "                                                                                         \
    "\"intermediate_size\": 128, \"vocab_size\": 100, \"max_position_embeddings\": 1000, "         \
    "\"sliding_window\": 8, "

static void a_model_is_imported_or_not(void **state) {
    (void)state;
    config_text = "{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": "
                  "\"gemma3_text\", " GEMMA_FIELDS
                  "\"num_hidden_layers\": 14}, \"favourite_colour\": \"\\u00e9\"}";
    fail_each_call(import_model, SL_OK);
}

static void a_bad_model_is_refused(void **state) {
    (void)state;
    config_text = "{\"model_type\": \"gemma3_text\", " GEMMA_FIELDS
                  "\"num_hidden_layers\": \"x\", \"kv_lora_rank\": 3}";
    fail_each_call(import_model, SL_ERR_CONFIG);
    config_text = "{\"model_type\": \"gemma33\", \"a\": [1, {}]}";
    fail_each_call(import_model, SL_ERR_CONFIG);
    config_text = "{\"model_type\": \"gemma3_text\", \"a\": [1, }";
    fail_each_call(import_model, SL_ERR_CONFIG);
}

/* ---- Whole runs ---- */

static bool writes_results;

/* The number of rows in all tables; the answer of the file itself that it is sound. */
static uint64_t database_value(const char *path) {
    static const char sql[] =
        "SELECT (SELECT count(*) FROM request) + 1000 * (SELECT count(*) FROM metric) + 1000000 * "
        "(SELECT count(*) FROM param) FROM pragma_integrity_check WHERE integrity_check = 'ok'";
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    uint64_t value = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return value;
}

/* What lies in the folder after a good run; removes it. */
static uint64_t take_results(void) {
    assert_int_equal(count_entries(), 2);
    uint64_t value = database_value(path_of("out/" SLI_DATABASE_NAME));
    assert_int_equal(unlink(path_of("out/" SLI_DATABASE_NAME)), 0);
    assert_int_equal(unlink(path_of("out/" SLI_DIRECTORY_SCENARIO)), 0);
    assert_int_equal(rmdir(path_of("out")), 0);
    assert_int_equal(unlink(path_of("arrivals")), 0);
    return value;
}

static uint64_t facts_value(const sli_run_facts *facts) {
    uint64_t value = mix_text(facts->digest, facts->workload);
    value = mix_text(mix_text(value, facts->model), facts->scenario);
    for (size_t i = 0; i < facts->param_count; i++) {
        value = mix_text(value, facts->params[i].path);
        value = mix_text(mix_text(value, facts->params[i].value), facts->params[i].origin);
    }
    for (size_t i = 0; i < facts->warning_count; i++) {
        value = mix_text(value, facts->warnings[i]);
    }
    return value;
}

static outcome run_all(void) {
    char dir[160];
    char trace[160];
    snprintf(dir, sizeof dir, "output.dir=%s", writes_results ? path_of("out") : "none");
    snprintf(trace, sizeof trace, "output.trace=%s", writes_results ? path_of("arrivals") : "none");
    const char *const sets[] = {dir, trace, writes_results ? "output.requests=on" : "seed=1"};
    sli_scenario_file file = opened(sets, 3);
    sli_diag diag = {0};
    sli_execution execution = {.file = &file};
    start_failing();
    sl_err err = sli_execution_run(&execution, &diag);
    stop_failing();
    outcome got = outcome_of(err, &diag);
    assert_int_equal(execution.has_results, err == SL_OK);
    if (execution.has_results) {
        got.value = mix(facts_value(&execution.facts), execution.metrics.list_count);
    }
    sli_execution_fini(&execution);
    if (err == SL_OK && writes_results) {
        got.value = mix(got.value, take_results());
    }
    assert_int_equal(count_entries(), 0);
    sli_diag_fini(&diag);
    sli_scenario_close(&file);
    return got;
}

/* A run begins with its deployment, which has its own test. */
static void fail_run(bool writes) {
    scenario_text = small_scenario;
    writes_results = writes;
    fail_later_calls(run_all, SL_OK, count_calls(create_deployment));
}

static void a_run_without_results_ends_or_not(void **state) {
    (void)state;
    fail_run(false);
}

static void a_run_writes_all_or_nothing(void **state) {
    (void)state;
    fail_run(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scenario_is_read_or_not),
        cmocka_unit_test(a_bad_scenario_is_refused),
        cmocka_unit_test(a_deployment_is_built_or_not),
        cmocka_unit_test(drawn_sources_are_made_or_not),
        cmocka_unit_test(traces_are_read_or_not),
        cmocka_unit_test(bad_traces_are_refused),
        cmocka_unit_test(a_trace_is_described_or_not),
        cmocka_unit_test(a_model_is_imported_or_not),
        cmocka_unit_test(a_bad_model_is_refused),
        cmocka_unit_test(a_run_without_results_ends_or_not),
        cmocka_unit_test(a_run_writes_all_or_nothing),
    };
    gsl_set_error_handler_off(); /* as the program does */
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
