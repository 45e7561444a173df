/*
 * Measurements as HDF5: a dataset a column in the group `measurements`, all of one length.
 *
 * Floor calib, internal. A dataset has the attribute `unit`. Whole numbers are 64-bit integers, -1
 * where empty; reals are doubles, NaN where empty; texts have a fixed length or a variable one.
 * Nothing in a file depends on when it was written. Datasets of a shape may be left out.
 */
#ifndef SLUICE_CALIB_MEASURED_HDF5_H
#define SLUICE_CALIB_MEASURED_HDF5_H

#include "calib/measured_check.h"
#include "calib/measurements.h"

/* Reads a file that begins as HDF5; mistakes go to errors, each with dataset and row. The rows live
 * in the arena, and are not to be used after a mistake. SL_ERR_NOMEM. */
SL_NODISCARD sl_err sli_measured_hdf5_read(sli_arena *arena, const char *path,
                                           sli_measured_errors *errors, sli_measurements *table);

/* Why there is no library to write files with, in a text that lasts until the next call; NULL where
 * there is one. */
const char *sli_measured_hdf5_obstacle(void);

/* Writes a file anew; SL_ERR_IO, also where there is an obstacle; SL_ERR_NOMEM. */
SL_NODISCARD sl_err sli_measured_hdf5_write(const sli_measurements *table, const char *path);

#endif
