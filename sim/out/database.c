#include "out/database.h"

#include "base/check.h"
#include "out/digest.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_PER_TRANSACTION 10000
#define RUN_ID               1 /* a file holds one run; merging gives new ids */

static const char schema[] =
    "CREATE TABLE run (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  version TEXT, seed INTEGER NOT NULL, digest TEXT NOT NULL,\n"
    "  workload TEXT, model TEXT, hardware TEXT,\n"
    "  replica_count INTEGER NOT NULL, tp_count INTEGER NOT NULL, policy TEXT,\n"
    "  cost TEXT, cost_auto_reason TEXT,\n"
    "  page_bytes INTEGER NOT NULL,\n"
    "  simulated_ns INTEGER NOT NULL, is_partial INTEGER NOT NULL, partial_reason TEXT,\n"
    "  scenario TEXT\n"
    ") STRICT;\n"
    "CREATE TABLE param (\n"
    "  run INTEGER NOT NULL REFERENCES run, path TEXT NOT NULL, value TEXT, origin TEXT,\n"
    "  PRIMARY KEY (run, path)\n"
    ") STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE metric (\n"
    "  run INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, unit TEXT NOT NULL,\n"
    "  value ANY, n INTEGER NOT NULL,\n"
    "  PRIMARY KEY (run, name)\n"
    ") STRICT;\n"
    "CREATE TABLE slo (\n"
    "  run INTEGER PRIMARY KEY REFERENCES run,\n"
    "  ttft_ns INTEGER, tpot_ns INTEGER, attainment_asked_frac REAL\n"
    ") STRICT;\n"
    "CREATE TABLE kv_group (\n"
    "  run INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL,\n"
    "  layer_count INTEGER NOT NULL, block_tokens INTEGER NOT NULL,\n"
    "  block_pages INTEGER NOT NULL, block_bytes INTEGER NOT NULL\n"
    ") STRICT;\n"
    "CREATE TABLE warning (run INTEGER NOT NULL REFERENCES run, text TEXT NOT NULL) STRICT;\n"
    "CREATE TABLE assumption (run INTEGER NOT NULL REFERENCES run, text TEXT NOT NULL) STRICT;\n";

static const char request_schema[] =
    "CREATE TABLE request (\n"
    "  run INTEGER NOT NULL, source INTEGER NOT NULL, idx INTEGER NOT NULL,\n"
    "  outcome TEXT NOT NULL, replica INTEGER, priority INTEGER NOT NULL,\n"
    "  arrival_ns INTEGER NOT NULL, admit_ns INTEGER, first_token_ns INTEGER,\n"
    "  last_token_ns INTEGER, end_ns INTEGER,\n"
    "  prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,\n"
    "  generated_tokens INTEGER NOT NULL,\n"
    "  hit_tokens INTEGER NOT NULL, rehit_tokens INTEGER NOT NULL,\n"
    "  computed_tokens INTEGER NOT NULL, recomputed_tokens INTEGER NOT NULL,\n"
    "  preemption_count INTEGER NOT NULL,\n"
    "  queued_ns INTEGER NOT NULL, prefill_ns INTEGER NOT NULL, decode_ns INTEGER NOT NULL,\n"
    "  preempted_ns INTEGER NOT NULL, recompute_ns INTEGER NOT NULL,\n"
    "  own_gemm_ns INTEGER NOT NULL, own_attention_ns INTEGER NOT NULL,\n"
    "  own_elementwise_ns INTEGER NOT NULL, own_head_ns INTEGER NOT NULL,\n"
    "  own_collective_ns INTEGER NOT NULL, own_engine_ns INTEGER NOT NULL,\n"
    "  interference_ns INTEGER NOT NULL, first_own_ns INTEGER, first_preempted_ns INTEGER\n"
    ") STRICT;\n";

/* Failure ----------------------------------------------------------------------------------- */

static sl_err fail_with(sli_database *database, sl_err err, const char *message) {
    if (database->status == SL_OK) {
        database->status = err;
        snprintf(database->message, sizeof database->message, "%s", message);
    }
    return database->status;
}

static sl_err fail(sli_database *database, int code) {
    sl_err err = (code & 0xff) == SQLITE_NOMEM ? SL_ERR_NOMEM : SL_ERR_IO;
    return fail_with(database, err, sqlite3_errmsg(database->handle));
}

static sl_err execute(sli_database *database, const char *sql) {
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? SL_OK : fail(database, code);
}

/* Rows -------------------------------------------------------------------------------------- */

/* A statement that is being filled; columns are bound in their order. */
typedef struct row {
    sqlite3_stmt *statement;
    int column; /* the last one bound, from 1 */
    int code;   /* the first failure to bind */
} row;

static void note(row *r, int code) {
    if (r->code == SQLITE_OK) {
        r->code = code;
    }
}

static void bind_int(row *r, int64_t value) {
    note(r, sqlite3_bind_int64(r->statement, ++r->column, value));
}

/* Times that never came are -1 in a record and NULL in a table. */
static void bind_int_or_null(row *r, int64_t value) {
    if (value < 0) {
        note(r, sqlite3_bind_null(r->statement, ++r->column));
    } else {
        bind_int(r, value);
    }
}

static void bind_real_or_null(row *r, double value, bool is_null) {
    ++r->column;
    note(r, is_null ? sqlite3_bind_null(r->statement, r->column)
                    : sqlite3_bind_double(r->statement, r->column, value));
}

/* The text outlives the step; NULL becomes NULL. */
static void bind_text(row *r, const char *text) {
    note(r, sqlite3_bind_text(r->statement, ++r->column, text, -1, SQLITE_STATIC));
}

static void bind_value(row *r, sli_value value) {
    if (value.kind == SLI_VALUE_INT) {
        bind_int(r, value.integer);
    } else {
        bind_real_or_null(r, value.real, value.kind == SLI_VALUE_NULL);
    }
}

/* Inserts the row and makes the statement ready for the next one. */
static sl_err insert(sli_database *database, row *r) {
    if (r->code == SQLITE_OK) {
        int code = sqlite3_step(r->statement);
        r->code = code == SQLITE_DONE ? SQLITE_OK : code;
    }
    if (r->code != SQLITE_OK) {
        return fail(database, r->code);
    }
    sqlite3_reset(r->statement);
    r->column = 0;
    return SL_OK;
}

static sl_err prepare(sli_database *database, const char *sql, row *r) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);
    if (code != SQLITE_OK) {
        return fail(database, code);
    }
    *r = (row){.statement = statement};
    return SL_OK;
}

/* The tables of a run ----------------------------------------------------------------------- */

static sl_err write_run(sli_database *database, const sli_run_facts *facts) {
    row r = {0};
    SL_TRY(prepare(database, "INSERT INTO run VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", &r));
    char digest[SLI_DIGEST_TEXT_SIZE];
    sli_digest_format(facts->digest, digest);
    bind_int(&r, RUN_ID);
    bind_text(&r, facts->version);
    bind_int(&r, facts->seed);
    bind_text(&r, digest);
    bind_text(&r, facts->workload);
    bind_text(&r, facts->model);
    bind_text(&r, facts->hardware);
    bind_int(&r, facts->replica_count);
    bind_int(&r, facts->tp_count);
    bind_text(&r, facts->policy);
    bind_text(&r, facts->cost.model);
    bind_text(&r, facts->cost.auto_reason);
    bind_int(&r, facts->page_bytes);
    bind_int(&r, facts->simulated_ns);
    bind_int(&r, facts->is_partial);
    bind_text(&r, facts->is_partial ? facts->partial_reason : NULL);
    bind_text(&r, facts->scenario);
    sl_err err = insert(database, &r);
    sqlite3_finalize(r.statement);
    return err;
}

static sl_err write_params(sli_database *database, const sli_run_facts *facts) {
    row r = {0};
    SL_TRY(prepare(database, "INSERT INTO param VALUES (?,?,?,?)", &r));
    sl_err err = SL_OK;
    for (size_t i = 0; i < facts->param_count && err == SL_OK; i++) {
        bind_int(&r, RUN_ID);
        bind_text(&r, facts->params[i].path);
        bind_text(&r, facts->params[i].value);
        bind_text(&r, facts->params[i].origin);
        err = insert(database, &r);
    }
    sqlite3_finalize(r.statement);
    return err;
}

static sl_err write_metrics(sli_database *database, const sli_metrics *metrics) {
    row r = {0};
    SL_TRY(prepare(database, "INSERT INTO metric VALUES (?,?,?,?,?)", &r));
    sl_err err = SL_OK;
    for (size_t i = 0; i < metrics->list_count && err == SL_OK; i++) {
        bind_int(&r, RUN_ID);
        bind_text(&r, metrics->list[i].name);
        bind_text(&r, metrics->list[i].unit);
        bind_value(&r, metrics->list[i].value);
        bind_int(&r, metrics->list[i].n);
        err = insert(database, &r);
    }
    sqlite3_finalize(r.statement);
    return err;
}

static sl_err write_slo(sli_database *database, const sli_slo *slo) {
    if (!sli_slo_is_set(slo)) {
        return SL_OK;
    }
    row r = {0};
    SL_TRY(prepare(database, "INSERT INTO slo VALUES (?,?,?,?)", &r));
    bind_int(&r, RUN_ID);
    bind_int_or_null(&r, slo->ttft_ns);
    bind_int_or_null(&r, slo->tpot_ns);
    bind_real_or_null(&r, slo->attainment_frac, !(slo->attainment_frac > 0));
    sl_err err = insert(database, &r);
    sqlite3_finalize(r.statement);
    return err;
}

static sl_err write_groups(sli_database *database, const sli_run_facts *facts) {
    row r = {0};
    SL_TRY(prepare(database, "INSERT INTO kv_group VALUES (?,?,?,?,?,?)", &r));
    sl_err err = SL_OK;
    for (size_t i = 0; i < facts->group_count && err == SL_OK; i++) {
        const sli_fact_group *group = &facts->groups[i];
        bind_int(&r, RUN_ID);
        bind_text(&r, group->name);
        bind_int(&r, group->layers);
        bind_int(&r, group->block_tokens);
        bind_int(&r, group->block_pages);
        bind_int(&r, group->block_bytes);
        err = insert(database, &r);
    }
    sqlite3_finalize(r.statement);
    return err;
}

static sl_err write_texts(sli_database *database, const char *sql, const char *const *texts,
                          size_t count) {
    row r = {0};
    SL_TRY(prepare(database, sql, &r));
    sl_err err = SL_OK;
    for (size_t i = 0; i < count && err == SL_OK; i++) {
        bind_int(&r, RUN_ID);
        bind_text(&r, texts[i]);
        err = insert(database, &r);
    }
    sqlite3_finalize(r.statement);
    return err;
}

sl_err sli_database_write(sli_database *database, const sli_run_facts *facts,
                          const sli_metrics *metrics) {
    SL_TRY(database->status);
    SL_TRY(write_run(database, facts));
    SL_TRY(write_params(database, facts));
    SL_TRY(write_metrics(database, metrics));
    SL_TRY(write_slo(database, &facts->slo));
    SL_TRY(write_groups(database, facts));
    SL_TRY(write_texts(database, "INSERT INTO warning VALUES (?,?)", facts->warnings,
                       facts->warning_count));
    return write_texts(database, "INSERT INTO assumption VALUES (?,?)", facts->assumed,
                       facts->assumed_count);
}

/* Requests ---------------------------------------------------------------------------------- */

static const char *outcome_name(sl_outcome outcome) {
    switch (outcome) {
    case SL_FINISHED:
        return "finished";
    case SL_REJECTED:
        return "rejected";
    case SL_ABORTED:
        return "aborted";
    case SL_UNFINISHED:
        return "unfinished";
    }
    return "unknown";
}

static void bind_request(row *r, const sl_request_record *record) {
    bind_int(r, RUN_ID);
    bind_int(r, SL_REQUEST_SOURCE(record->request));
    bind_int(r, (int64_t)SL_REQUEST_INDEX(record->request));
    bind_text(r, outcome_name(record->outcome));
    bind_int_or_null(r, record->replica == SL_NO_REPLICA ? -1 : (int64_t)record->replica);
    bind_int(r, record->priority);
    bind_int(r, record->arrival_ns);
    bind_int_or_null(r, record->admit_ns);
    bind_int_or_null(r, record->first_token_ns);
    bind_int_or_null(r, record->last_token_ns);
    bind_int_or_null(r, record->end_ns);
    bind_int(r, record->prompt_tokens);
    bind_int(r, record->output_tokens);
    bind_int(r, record->generated_tokens);
    bind_int(r, record->hit_tokens);
    bind_int(r, record->rehit_tokens);
    bind_int(r, record->computed_tokens);
    bind_int(r, record->recomputed_tokens);
    bind_int(r, record->preemption_count);
    for (int phase = 0; phase < SL_PHASE_COUNT; phase++) {
        bind_int(r, record->phase_ns[phase]);
    }
    for (int cause = 0; cause < SL_CAUSE_COUNT; cause++) {
        bind_int(r, record->own_ns[cause]);
    }
    bool has_first = record->first_token_ns >= 0;
    bind_int(r, record->interference_ns);
    bind_int_or_null(r, has_first ? record->first_own_ns : -1);
    bind_int_or_null(r, has_first ? record->first_preempted_ns : -1);
}

static void on_terminal(void *self, const sl_request_record *record) {
    sli_database *database = self;
    if (database->insert_request == NULL || database->status != SL_OK) {
        return;
    }
    row r = {.statement = database->insert_request};
    bind_request(&r, record);
    if (insert(database, &r) != SL_OK) {
        return;
    }
    database->row_count++;
    if (database->row_count % ROWS_PER_TRANSACTION == 0) {
        /* A failure is remembered in the status. */
        (void)execute(database, "COMMIT; BEGIN");
    }
}

sl_probe sli_database_probe(sli_database *database) {
    static const sl_probe_ops ops = {.terminal = on_terminal};
    return (sl_probe){&ops, database};
}

sl_err sli_database_status(const sli_database *database) {
    return database->status;
}

/* The life of the file ---------------------------------------------------------------------- */

static void release(sli_database *database) {
    sqlite3_finalize(database->insert_request);
    sqlite3_close(database->handle);
    database->insert_request = NULL;
    database->handle = NULL;
}

static sl_err create_tables(sli_database *database, bool with_requests) {
    /* Neither journal nor sync: a file that was not finished is removed, not repaired. */
    SL_TRY(execute(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                             "PRAGMA locking_mode = EXCLUSIVE; BEGIN"));
    SL_TRY(execute(database, schema));
    if (with_requests) {
        row r = {0};
        SL_TRY(execute(database, request_schema));
        SL_TRY(prepare(database,
                       "INSERT INTO request VALUES "
                       "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                       &r));
        database->insert_request = r.statement;
    }
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", SLI_DATABASE_VERSION);
    return execute(database, pragma);
}

sl_err sli_database_open(sli_database *database, const char *path, bool with_requests) {
    *database = (sli_database){0};
    if (access(path, F_OK) == 0) {
        return fail_with(database, SL_ERR_IO, strerror(EEXIST));
    }
    database->path = strdup(path);
    if (database->path == NULL) {
        return fail_with(database, SL_ERR_NOMEM, sl_err_text(SL_ERR_NOMEM));
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(path, &database->handle, flags, NULL);
    sl_err err = code == SQLITE_OK ? create_tables(database, with_requests) : fail(database, code);
    if (err != SL_OK) {
        sli_database_fini(database);
    }
    return err;
}

sl_err sli_database_close(sli_database *database) {
    SL_ASSERT(database->handle != NULL || database->status != SL_OK);
    if (database->status == SL_OK && execute(database, "COMMIT") == SL_OK) {
        release(database);
        free(database->path);
        database->path = NULL;
        return SL_OK;
    }
    sli_database_fini(database);
    return database->status;
}

void sli_database_fini(sli_database *database) {
    bool was_open = database->handle != NULL;
    release(database);
    if (was_open) {
        unlink(database->path);
    }
    free(database->path);
    database->path = NULL;
}
