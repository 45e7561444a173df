#include "bench/options.h"

#include "bench/format.h"

#include <cstring>

namespace kref::bench {

const char *const usage =
    "usage: kref_bench [OPTION]...\n"
    "\n"
    "Measures kernels and writes a file that `sluice check` knows.\n"
    "\n"
    "  --backend NAME      cpu (this machine), cuda (the first device), peers or nccl (all\n"
    "                      devices) or io_uring (a storage); cpu if it is not given\n"
    "  --kernel NAME       only this one; may be given several times\n"
    "  --shape A=N,B=N     of the one kernel, other values from its first shape; several times\n"
    "  --out FILE          .csv, .h5 or .hdf5; one of each may be given\n"
    "  --force             replace files that exist\n"
    "  --quick             few small shapes and samples: a try, not a measurement\n"
    "  --work-max N        leave out shapes of more FLOPs or more bytes: 3e9 suits a CPU\n"
    "  --samples N         at most, 50 if not given\n"
    "  --seconds S         after which a shape gets no more samples, 2 if not given\n"
    "  --flush             fill the caches with something else before each sample\n"
    "  --stream            CUDA: launch into a stream, not from a graph\n"
    "  --peak-flops RATE   in place of what the device says, as '989 TFLOPS'; of bf16 matrices\n"
    "  --peak-bytes RATE   in place of what the device says, as '3.35 TB/s'\n"
    "  --dir FOLDER        where the file lies that a storage is measured with; 8 GiB at most\n"
    "  --list              kernels, what they are and what their shapes have\n";

namespace {

struct option {
    const char *name;
    bool has_value;
    /* Null, or what was expected. */
    const char *(*take)(const char *value, options *chosen);
};

const char *take_number(const char *value, double least, double *number, const char *expected) {
    double read = 0.0;
    if (sli_parse_real(value, SL_DIM_NONE, &read) != SLI_UNIT_OK || read < least) {
        return expected;
    }
    *number = read;
    return nullptr;
}

const option table[] = {
    {"--backend", true,
     [](const char *value, options *chosen) -> const char * {
         chosen->backend = value;
         return nullptr;
     }},
    {"--kernel", true,
     [](const char *value, options *chosen) -> const char * {
         chosen->kernels.emplace_back(value);
         return nullptr;
     }},
    {"--shape", true,
     [](const char *value, options *chosen) -> const char * {
         chosen->shapes.emplace_back(value);
         return nullptr;
     }},
    {"--out", true,
     [](const char *value, options *chosen) -> const char * {
         sli_measurements_format format;
         chosen->outputs.emplace_back(value);
         return sli_measurements_format_of(value, &format)
                    ? nullptr
                    : "a file that ends in .csv, .h5 or .hdf5";
     }},
    {"--force", false,
     [](const char *, options *chosen) -> const char * {
         chosen->is_forced = true;
         return nullptr;
     }},
    {"--quick", false,
     [](const char *, options *chosen) -> const char * {
         chosen->is_quick = true;
         return nullptr;
     }},
    {"--work-max", true,
     [](const char *value, options *chosen) -> const char * {
         return take_number(value, 1.0, &chosen->work_max, "a number of FLOPs or bytes, as 1e9");
     }},
    {"--samples", true,
     [](const char *value, options *chosen) -> const char * {
         int64_t samples = 0;
         if (sli_parse_int(value, SL_DIM_NONE, &samples) != SLI_UNIT_OK || samples < 1 ||
             samples > 1000000) {
             return "a number from 1 to 1000000";
         }
         chosen->how.samples = static_cast<int>(samples);
         return nullptr;
     }},
    {"--seconds", true,
     [](const char *value, options *chosen) -> const char * {
         return take_number(value, 0.0, &chosen->how.seconds, "a number of seconds, as 0.5");
     }},
    {"--flush", false,
     [](const char *, options *chosen) -> const char * {
         chosen->how.is_flushed = true;
         return nullptr;
     }},
    {"--stream", false,
     [](const char *, options *chosen) -> const char * {
         chosen->how.is_graph = false;
         return nullptr;
     }},
    {"--peak-flops", true,
     [](const char *value, options *chosen) -> const char * {
         return sli_parse_real(value, SL_DIM_FLOPS_PER_S, &chosen->peak_flops_per_s) ==
                            SLI_UNIT_OK &&
                        chosen->peak_flops_per_s >= 1.0
                    ? nullptr
                    : "a rate as '989 TFLOPS'";
     }},
    {"--peak-bytes", true,
     [](const char *value, options *chosen) -> const char * {
         return sli_parse_real(value, SL_DIM_BYTES_PER_S, &chosen->peak_bytes_per_s) ==
                            SLI_UNIT_OK &&
                        chosen->peak_bytes_per_s >= 1.0
                    ? nullptr
                    : "a rate as '3.35 TB/s'";
     }},
    {"--dir", true,
     [](const char *value, options *chosen) -> const char * {
         chosen->folder = value;
         return nullptr;
     }},
    {"--list", false,
     [](const char *, options *chosen) -> const char * {
         chosen->is_list = true;
         return nullptr;
     }},
    {"--help", false,
     [](const char *, options *chosen) -> const char * {
         chosen->is_help = true;
         return nullptr;
     }},
};

const option *find(const std::string &name) {
    for (const option &it : table) {
        if (name == it.name) {
            return &it;
        }
    }
    return nullptr;
}

std::string unknown(const std::string &name) {
    const char *names[sizeof table / sizeof table[0]];
    size_t count = 0;
    for (const option &it : table) {
        names[count++] = it.name;
    }
    std::string error = "unknown option '" + name + "'";
    const char *nearest = sli_nearest(name.c_str(), names, count);
    return nearest != nullptr ? error + "; did you mean '" + nearest + "'?"
                              : error + "; --help lists them";
}

bool are_different(const char *name, const std::vector<std::string> &values, std::string *error) {
    for (size_t i = 1; i < values.size(); i++) {
        for (size_t j = 0; j < i; j++) {
            if (values[i] == values[j]) {
                *error = std::string(name) + " " + values[i] + " is given twice";
                return false;
            }
        }
    }
    return true;
}

/* What options say of each other. */
bool agree(const options &chosen, std::string *error) {
    if (!chosen.shapes.empty() && chosen.kernels.size() != 1) {
        *error = "--shape needs one --kernel";
        return false;
    }
    return are_different("--out", chosen.outputs, error) &&
           are_different("--kernel", chosen.kernels, error);
}

} // namespace

bool read_options(int argc, char **argv, options *chosen, std::string *error) {
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i];
        std::string value;
        size_t equals = name.find('=');
        bool has_value = equals != std::string::npos;
        if (has_value) {
            value = name.substr(equals + 1);
            name.resize(equals);
        }
        const option *found = find(name);
        if (found == nullptr) {
            *error = unknown(name);
            return false;
        }
        if (!found->has_value && has_value) {
            *error = name + " takes no value";
            return false;
        }
        if (found->has_value && !has_value && i + 1 < argc) {
            value = argv[++i];
        }
        if (found->has_value && value.empty()) {
            *error = name + " needs a value";
            return false;
        }
        const char *expected = found->take(value.c_str(), chosen);
        if (expected != nullptr) {
            *error = name + " needs " + expected + ", found '" + value + "'";
            return false;
        }
    }
    if (chosen->is_quick) {
        chosen->how.samples = chosen->how.samples < 5 ? chosen->how.samples : 5;
        chosen->how.seconds = chosen->how.seconds < 0.2 ? chosen->how.seconds : 0.2;
    }
    return agree(*chosen, error);
}

} // namespace kref::bench
