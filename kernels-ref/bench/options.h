/*
 * The command line of the bench.
 */
#ifndef KREF_BENCH_OPTIONS_H
#define KREF_BENCH_OPTIONS_H

#include "bench/backend.h"

#include <string>

namespace kref::bench {

struct options {
    std::vector<std::string> kernels; /* empty = all that the backend has */
    std::vector<std::string> shapes;  /* of the one kernel; empty = those of its row */
    std::vector<std::string> outputs; /* files; may be empty */
    std::string backend = "cpu";
    std::string folder = "."; /* of the file that a storage is measured with */
    sampling how;
    double work_max = INFINITY;    /* FLOPs, and bytes, of shapes that nobody asked for */
    double peak_flops_per_s = NAN; /* NaN = what the device says */
    double peak_bytes_per_s = NAN;
    bool is_quick = false;
    bool is_forced = false;
    bool is_list = false;
    bool is_help = false;
};

extern const char *const usage;

/* False, and why in *error. */
bool read_options(int argc, char **argv, options *chosen, std::string *error);

} // namespace kref::bench

#endif
