/*
 * The results of a run as an SQLite file.
 *
 * Floor out. Tables run, param, metric, slo, kv_group, warning, assumption and, when asked for,
 * request; all STRICT, every column of a dimension named with its unit, `user_version`
 * SLI_DATABASE_VERSION. Requests stream in through a probe, in transactions of 10,000 rows, and
 * need no memory.
 *
 * The file has no journal: it is written once, into a directory that becomes a result only when all
 * went well. A failure is SL_ERR_IO (SL_ERR_NOMEM), with SQLite's words in `message`; the file is
 * then removed. Not committed by sli_database_close = removed by sli_database_fini.
 *
 * The caller owns the struct.
 */
#ifndef SLUICE_OUT_DATABASE_H
#define SLUICE_OUT_DATABASE_H

#include "out/facts.h"
#include "out/metrics.h"
#include "sluice/err.h"
#include "sluice/probe.h"

#include <stdbool.h>
#include <stdint.h>

#define SLI_DATABASE_NAME    "run.sqlite"
#define SLI_DATABASE_VERSION 3

struct sqlite3;
struct sqlite3_stmt;

/* Zeroed is valid and closed. */
typedef struct sli_database {
    struct sqlite3 *handle;
    struct sqlite3_stmt *insert_request; /* NULL unless requests are stored */
    char *path;
    int64_t row_count; /* requests inserted */
    sl_err status;     /* the first failure; nothing is written after it */
    char message[256]; /* of the failure; "" = none */
} sli_database;

/* Creates the file, which must not exist. On failure *database holds nothing but the message. */
SL_NODISCARD sl_err sli_database_open(sli_database *database, const char *path, bool with_requests);

/* Stores one row a terminal record, if requests are stored. The probe borrows the database. */
sl_probe sli_database_probe(sli_database *database);

/* SL_OK, or the first failure inside a hook: worth a look now and then to stop a run early. */
SL_NODISCARD sl_err sli_database_status(const sli_database *database);

/* Writes all tables but request. Once, at the end. */
SL_NODISCARD sl_err sli_database_write(sli_database *database, const sli_run_facts *facts,
                                       const sli_metrics *metrics);

/* Commits and closes; on failure the file is removed and the message kept. */
SL_NODISCARD sl_err sli_database_close(sli_database *database);

/* Closes and removes a file that was not committed. Safe after close and on a zeroed one. */
void sli_database_fini(sli_database *database);

#endif
