/*
 * The format of measurements, which belongs to sluice: rows, columns, files.
 */
#ifndef KREF_BENCH_FORMAT_H
#define KREF_BENCH_FORMAT_H

extern "C" {
#include "base/diag.h"
#include "base/units.h"
#include "calib/measurements.h"
}

#endif
