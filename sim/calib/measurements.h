/*
 * Files of measurements, as the bench of kernels-ref writes and calibration reads them.
 *
 * Floor calib. CSV or HDF5; a file says which it is by how it begins, or by its name. What is read
 * has been checked. `sluice help measurements` explains both formats.
 */
#ifndef SLUICE_CALIB_MEASUREMENTS_H
#define SLUICE_CALIB_MEASUREMENTS_H

#include "base/arena.h"
#include "calib/measurement.h"

#include <stddef.h>
#include <stdio.h>

typedef struct sli_measurements {
    const sli_measurement *rows;
    size_t count;
} sli_measurements;

/* Whether a path leads to measurements: by how the file begins (the signature of HDF5, or the first
 * name of the CSV), else by its suffix .csv, .h5 or .hdf5. */
bool sli_is_measurements(const char *path);

/*
 * Reads and checks a file; rows and texts live in the arena. Mistakes go to diag, each with line
 * and column, or with dataset and row: SL_ERR_CONFIG, as for a file that cannot be read. `path`
 * outlives diag. O(rows log rows).
 */
SL_NODISCARD sl_err sli_measurements_read(sli_arena *arena, const char *path, sli_diag *diag,
                                          sli_measurements *table);

typedef enum sli_measurements_format {
    SLI_MEASUREMENTS_CSV,
    SLI_MEASUREMENTS_HDF5,
} sli_measurements_format;

/* The format that a suffix asks for; false if it is neither .csv, .h5 nor .hdf5. */
bool sli_measurements_format_of(const char *path, sli_measurements_format *format);

/* Why no file of that format can be written on this machine, in a text that lasts until the next
 * call: for HDF5 a library is loaded. NULL where there is no obstacle. To be asked before what is
 * to be written is measured. */
const char *sli_measurements_obstacle(sli_measurements_format format);

/* Writes a file anew. SL_ERR_IO, and what was written is then of no use. */
SL_NODISCARD sl_err sli_measurements_write(const sli_measurements *table, const char *path,
                                           sli_measurements_format format);

/* The table of columns, for people. */
void sli_measurements_describe(FILE *stream);

#endif
