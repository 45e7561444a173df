/*
 * What has to be true of measurements: of a row, and of rows with each other.
 *
 * Floor calib, internal. Knows no file format; readers say where a value stands. Each mistake goes
 * to diag; those beyond the first SLI_MEASURED_MISTAKES_MAX of a file are counted.
 */
#ifndef SLUICE_CALIB_MEASURED_CHECK_H
#define SLUICE_CALIB_MEASURED_CHECK_H

#include "calib/measurement.h"

#include <stddef.h>

enum { SLI_MEASURED_MISTAKES_MAX = 20 };

/* Where a row stands: a line of a text, or an index in datasets. */
typedef struct sli_measured_place {
    size_t index; /* from 0 */
    int line;     /* 0 = no text: index counts */
    /* Where the values stand in the line, by index of sli_measured_columns; or NULL. */
    const int *columns;
} sli_measured_place;

/* The complaints about one file. */
typedef struct sli_measured_errors {
    sli_diag *diag;
    const char *file; /* outlives diag */
    int count;
} sli_measured_errors;

/* Complains about a value of a row, or about the row where column is NULL. */
void sli_measured_error(sli_measured_errors *errors, const sli_measured_place *place,
                        const sli_measured_column *column, const char *format, ...) SL_PRINTF(4, 5);

/* Complains about the file as a whole, or about one of its lines. */
void sli_measured_file_error(sli_measured_errors *errors, int line, int column, const char *format,
                             ...) SL_PRINTF(4, 5);

/* Complains that there is no column of that name, and names the one that is spelled most alike. */
void sli_measured_unknown_column(sli_measured_errors *errors, int line, int column,
                                 const char *name);

/* Says how many were not listed; SL_ERR_CONFIG if there was any mistake, else SL_OK. */
SL_NODISCARD sl_err sli_measured_errors_close(sli_measured_errors *errors);

/*
 * Types, words and ranges of a row, then what its values say of each other: times in order, shares
 * that follow from work, time and peak. A share above 1 is a warning. O(columns).
 */
void sli_measured_check_row(sli_measured_errors *errors, const sli_measured_place *place,
                            const sli_measurement *row);

/*
 * Rows with each other: a kernel fills the same columns of its shape everywhere, and no row stands
 * twice. `lines` holds the line of each row, or is NULL. O(rows log rows). SL_ERR_NOMEM.
 */
SL_NODISCARD sl_err sli_measured_check_table(sli_measured_errors *errors,
                                             const sli_measurement *rows, const int *lines,
                                             size_t count);

#endif
