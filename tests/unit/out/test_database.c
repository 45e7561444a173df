#include "out/database.h"

#include "run_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* A directory of its own for each test. */
static char folder[64];
static char path[128];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sluice_database_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/run.sqlite", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails, and the test with it, when anything else was left */
}

static const sli_fact_param params[] = {{"model", "llama-3.1-8b", "s.yaml:3"},
                                        {"engine.block", "16 tokens", "default"}};
static const char *const warnings[] = {"it's thrashing"};
static const sli_fact_group groups[] = {{"full", 12, 16, 1, 300}, {"state", 36, 32, 3, 1100}};

static sli_run_facts fixture_facts(void) {
    return (sli_run_facts){.version = "0.1.0",
                           .workload = "poisson, 40 /s",
                           .model = "llama-3.1-8b bf16",
                           .hardware = "h100-sxm",
                           .policy = "vllm_v1",
                           .cost = {"roofline", "no operators were measured for layers moe"},
                           .replica_count = 2,
                           .tp_count = 1,
                           .seed = 42,
                           .slo = fixture_slo,
                           .digest = UINT64_C(0x00ff00000000000a),
                           .simulated_ns = INT64_C(9007199254740993), /* 2^53 + 1 */
                           .page_bytes = 400,
                           .groups = groups,
                           .group_count = 2,
                           .wall_s = 1.5,
                           .params = params,
                           .param_count = 2,
                           .warnings = warnings,
                           .warning_count = 1,
                           .scenario = "sluice: 1\n"};
}

/* The first column of the first row as text, NULL as "NULL", no row as "". */
static const char *ask(const char *sql) {
    static char answer[256];
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    }
    answer[0] = '\0';
    if (sqlite3_step(statement) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(statement, 0);
        snprintf(answer, sizeof answer, "%s", text == NULL ? "NULL" : (const char *)text);
    }
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return answer;
}

static void write_fixture(bool with_requests) {
    sli_collector collector;
    sli_metrics metrics;
    sli_database database;
    assert_int_equal(fixture_collect(true, &collector), SL_OK);
    assert_int_equal(sli_metrics_make(&collector, &metrics), SL_OK);
    assert_int_equal(sli_database_open(&database, path, with_requests), SL_OK);
    sl_probe probe = sli_database_probe(&database);
    for (size_t i = 0; i < FIXTURE_RECORD_COUNT; i++) {
        probe.ops->terminal(probe.self, &fixture_records[i]);
    }
    sli_run_facts facts = fixture_facts();
    assert_int_equal(sli_database_write(&database, &facts, &metrics), SL_OK);
    assert_int_equal(sli_database_close(&database), SL_OK);
    assert_string_equal(database.message, "");
    sli_database_fini(&database); /* harmless after a close */
    sli_collector_fini(&collector);
}

static void tables_hold_the_facts(void **state) {
    (void)state;
    write_fixture(false);
    assert_string_equal(ask("PRAGMA user_version"), "3");
    assert_string_equal(ask("PRAGMA journal_mode"), "delete");
    assert_string_equal(ask("PRAGMA integrity_check"), "ok");
    assert_string_equal(ask("SELECT digest FROM run"), "00ff00000000000a");
    assert_string_equal(ask("SELECT seed FROM run"), "42");
    assert_string_equal(ask("SELECT simulated_ns FROM run"), "9007199254740993");
    assert_string_equal(ask("SELECT scenario FROM run"), "sluice: 1\n");
    assert_string_equal(ask("SELECT cost || '|' || cost_auto_reason FROM run"),
                        "roofline|no operators were measured for layers moe");
    assert_string_equal(ask("SELECT is_partial FROM run"), "0");
    assert_string_equal(ask("SELECT partial_reason FROM run"), "NULL");
    assert_string_equal(ask("SELECT value || '|' || origin FROM param WHERE path = 'engine.block'"),
                        "16 tokens|default");
    assert_string_equal(ask("SELECT text FROM warning"), "it's thrashing");
    assert_string_equal(ask("SELECT page_bytes FROM run"), "400");
    assert_string_equal(ask("SELECT count(*) FROM kv_group"), "2");
    assert_string_equal(ask("SELECT name || '|' || layer_count || '|' || block_tokens || '|' ||"
                            " block_pages || '|' || block_bytes FROM kv_group"
                            " ORDER BY layer_count DESC"),
                        "state|36|32|3|1100");
    assert_string_equal(ask("SELECT ttft_ns || '|' || tpot_ns FROM slo"), "100|10");
    assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'request'"), "0");
    assert_string_equal(ask("SELECT count(*) FROM pragma_table_list"
                            " WHERE schema = 'main' AND name NOT LIKE 'sqlite%' AND NOT strict"),
                        "0");
}

static void metrics_keep_their_type_and_count(void **state) {
    (void)state;
    write_fixture(false);
    assert_string_equal(ask("SELECT typeof(value) FROM metric WHERE name = 'ttft_max_ns'"),
                        "integer");
    assert_string_equal(ask("SELECT value || '|' || n || '|' || unit FROM metric"
                            " WHERE name = 'ttft_max_ns'"),
                        "100|3|ns");
    assert_string_equal(ask("SELECT typeof(value) || '|' || value FROM metric"
                            " WHERE name = 'slo_attainment_frac'"),
                        "real|0.4");
    assert_string_equal(ask("SELECT count(*) FROM metric WHERE value IS NULL"), "0");
}

static void requests_are_rows_with_nulls_for_times_that_never_came(void **state) {
    (void)state;
    write_fixture(true);
    assert_string_equal(ask("SELECT count(*) FROM request"), "6");
    assert_string_equal(ask("SELECT sum(queued_ns + prefill_ns + decode_ns + preempted_ns +"
                            " recompute_ns - (end_ns - arrival_ns)) FROM request"
                            " WHERE outcome = 'finished' AND idx < 3 AND source = 0"),
                        "0");
    assert_string_equal(ask("SELECT (replica IS NULL) + (admit_ns IS NULL) + (first_token_ns IS"
                            " NULL) + (last_token_ns IS NULL) FROM request"
                            " WHERE outcome = 'rejected'"),
                        "4");
    assert_string_equal(ask("SELECT source || '|' || idx || '|' || priority || '|' || end_ns"
                            " FROM request WHERE outcome = 'rejected'"),
                        "0|3|-2|1600");
    assert_string_equal(ask("SELECT source || '|' || arrival_ns || '|' || admit_ns || '|' ||"
                            " first_token_ns || '|' || last_token_ns || '|' || end_ns"
                            " FROM request WHERE outcome = 'aborted'"),
                        "1|1700|1710|1790|1795|1800");
    assert_string_equal(ask("SELECT prompt_tokens || '|' || output_tokens || '|' ||"
                            " generated_tokens || '|' || hit_tokens || '|' || rehit_tokens || '|'"
                            " || computed_tokens || '|' || recomputed_tokens || '|' ||"
                            " preemption_count FROM request WHERE source = 0 AND idx = 2"),
                        "20|1|1|0|5|30|10|1");
}

static void requests_carry_their_own_time_by_cause(void **state) {
    (void)state;
    write_fixture(true);
    assert_string_equal(ask("SELECT own_gemm_ns || '|' || own_attention_ns || '|' ||"
                            " own_elementwise_ns || '|' || own_head_ns || '|' ||"
                            " own_collective_ns || '|' || own_engine_ns || '|' ||"
                            " interference_ns || '|' || first_own_ns || '|' || first_preempted_ns"
                            " FROM request WHERE source = 0 AND idx = 0"),
                        "70|30|10|5|5|10|50|60|0");
    assert_string_equal(ask("SELECT interference_ns || '|' || first_own_ns || '|' ||"
                            " first_preempted_ns FROM request WHERE source = 0 AND idx = 2"),
                        "10|45|25");
    assert_string_equal(ask("SELECT own_gemm_ns || '|' || (first_own_ns IS NULL) || '|' ||"
                            " (first_preempted_ns IS NULL) FROM request"
                            " WHERE outcome = 'rejected'"),
                        "0|1|1");
    assert_string_equal(ask("SELECT count(*) FROM request WHERE own_gemm_ns + own_attention_ns +"
                            " own_elementwise_ns + own_head_ns + own_collective_ns +"
                            " own_engine_ns + interference_ns ="
                            " prefill_ns + decode_ns + recompute_ns"),
                        "6");
}

static void many_requests_pass_through_several_transactions(void **state) {
    (void)state;
    sli_database database;
    assert_int_equal(sli_database_open(&database, path, true), SL_OK);
    sl_probe probe = sli_database_probe(&database);
    for (uint64_t i = 0; i < 25001; i++) {
        sl_request_record record = fixture_records[0];
        record.request = SL_REQUEST_ID(0, i);
        probe.ops->terminal(probe.self, &record);
    }
    assert_int_equal(sli_database_close(&database), SL_OK);
    assert_string_equal(ask("SELECT count(*) || '|' || sum(idx) FROM request"), "25001|312512500");
}

/* A file limit stands for a full disk: SQLite sees a short write either way. */
static void a_full_disk_is_reported_and_leaves_no_file(void **state) {
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 100000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    sli_database database;
    assert_int_equal(sli_database_open(&database, path, true), SL_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    sl_probe probe = sli_database_probe(&database);
    for (uint64_t i = 0; i < 25000; i++) {
        probe.ops->terminal(probe.self, &fixture_records[0]);
    }
    sl_err status = sli_database_status(&database);
    sl_err err = sli_database_close(&database);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, SL_ERR_IO);
    assert_int_equal(err, SL_ERR_IO);
    assert_true(strlen(database.message) > 0);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_full_disk_at_the_commit_is_reported_too(void **state) {
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    sli_database database;
    assert_int_equal(sli_database_open(&database, path, true), SL_OK);
    sl_probe probe = sli_database_probe(&database);
    for (uint64_t i = 0; i < 100; i++) {
        probe.ops->terminal(probe.self, &fixture_records[0]);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    sl_err status = sli_database_status(&database);
    sl_err err = sli_database_close(&database);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, SL_OK); /* the pages were still in memory */
    assert_int_equal(err, SL_ERR_IO);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_path_that_cannot_be_made_is_reported(void **state) {
    (void)state;
    char missing[160];
    snprintf(missing, sizeof missing, "%s/nowhere/run.sqlite", folder);
    sli_database database;
    assert_int_equal(sli_database_open(&database, missing, false), SL_ERR_IO);
    assert_true(strlen(database.message) > 0);
    sli_database_fini(&database);
}

static void an_existing_file_is_left_alone(void **state) {
    (void)state;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("precious", file);
    fclose(file);
    sli_database database;
    assert_int_equal(sli_database_open(&database, path, false), SL_ERR_IO);
    sli_database_fini(&database);
    char text[16] = "";
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "precious");
}

static void what_was_not_committed_is_removed(void **state) {
    (void)state;
    sli_database database;
    assert_int_equal(sli_database_open(&database, path, true), SL_OK);
    sli_database_fini(&database);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(tables_hold_the_facts),
        IN_FOLDER(metrics_keep_their_type_and_count),
        IN_FOLDER(requests_are_rows_with_nulls_for_times_that_never_came),
        IN_FOLDER(requests_carry_their_own_time_by_cause),
        IN_FOLDER(many_requests_pass_through_several_transactions),
        IN_FOLDER(a_full_disk_is_reported_and_leaves_no_file),
        IN_FOLDER(a_full_disk_at_the_commit_is_reported_too),
        IN_FOLDER(a_path_that_cannot_be_made_is_reported),
        IN_FOLDER(an_existing_file_is_left_alone),
        IN_FOLDER(what_was_not_committed_is_removed),
    };
    return cmocka_run_group_tests_name("out/database", tests, NULL, NULL);
}
