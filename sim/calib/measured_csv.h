/*
 * Measurements as comma-separated values (RFC 4180): a line of names, then a line a measurement.
 *
 * Floor calib, internal. Columns may come in any order but the first; those of a shape may be left
 * out. A value with commas, quotes or line ends stands in double quotes, a quote within twice.
 */
#ifndef SLUICE_CALIB_MEASURED_CSV_H
#define SLUICE_CALIB_MEASURED_CSV_H

#include "calib/measured_check.h"
#include "calib/measurements.h"

#include <stdio.h>

/* Reads text of `length` bytes; it may be changed, and has to live as long as the rows. Mistakes go
 * to errors, each with line and column, and the rows are then not to be used. SL_ERR_NOMEM. */
SL_NODISCARD sl_err sli_measured_csv_read(sli_arena *arena, char *text, size_t length,
                                          sli_measured_errors *errors, sli_measurements *table);

/* All columns; what the stream refuses shows in ferror. */
void sli_measured_csv_write(const sli_measurements *table, FILE *stream);

#endif
