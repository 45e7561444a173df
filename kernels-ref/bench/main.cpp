/*
 * kref_bench: measures kernels, and writes a file of measurements.
 *
 * stdout has a line a measurement; stderr all talk. Exit codes are those of sluice: 0 measured,
 * 2 wrong use, 3 a shape that cannot be, 4 not enough memory, 7 no device, or a file that cannot be
 * written, or a kernel that failed.
 */
#include "bench/cpu_backend.h"
#include "bench/cuda_backend.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "bench/peers_backend.h"
#include "bench/shape.h"
#include "bench/storage_backend.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <set>
#include <unistd.h>

namespace kref::bench {

namespace {

enum exit_code { DONE = 0, USAGE = 2, BAD_SHAPE = 3, TOO_LARGE = 4, FAILED = 7 };

exit_code complain(exit_code code, const std::string &what) {
    fprintf(stderr, "kref_bench: %s\n", what.c_str());
    return code;
}

void list_kernels() {
    for (size_t i = 0; kernels[i] != nullptr; i++) {
        const kernel &it = *kernels[i];
        printf("%s (%s): %s\n  %s\n", it.name, it.backends, it.operation, it.columns);
    }
}

std::string date_text() {
    time_t now = time(nullptr);
    tm parts = {};
    char text[32];
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

/* ---- What was asked for ---- */

const kernel *find_kernel(const std::string &name) {
    for (size_t i = 0; kernels[i] != nullptr; i++) {
        if (name == kernels[i]->name) {
            return kernels[i];
        }
    }
    return nullptr;
}

std::string unknown_kernel(const std::string &name) {
    std::vector<const char *> names;
    for (size_t i = 0; kernels[i] != nullptr; i++) {
        names.push_back(kernels[i]->name);
    }
    const char *nearest = sli_nearest(name.c_str(), names.data(), names.size());
    return "there is no kernel '" + name + "'" +
           (nearest != nullptr ? std::string("; did you mean '") + nearest + "'?"
                               : std::string("; --list names them"));
}

/* The kernels to measure; empty after a complaint. */
std::vector<const kernel *> chosen_kernels(const options &chosen) {
    std::vector<const kernel *> all;
    for (const std::string &name : chosen.kernels) {
        const kernel *it = find_kernel(name);
        if (it == nullptr) {
            complain(USAGE, unknown_kernel(name));
            return {};
        }
        if (!has_word(it->backends, chosen.backend.c_str())) {
            complain(USAGE,
                     name + " has no version for " + chosen.backend + ", only for " + it->backends);
            return {};
        }
        all.push_back(it);
    }
    for (size_t i = 0; kernels[i] != nullptr && chosen.kernels.empty(); i++) {
        if (has_word(kernels[i]->backends, chosen.backend.c_str())) {
            all.push_back(kernels[i]);
        }
    }
    return all;
}

bool is_backend(const std::string &name) {
    static const char *const names[] = {"cpu", "cuda", "peers", "nccl", "io_uring"};
    for (const char *it : names) {
        if (name == it) {
            return true;
        }
    }
    const char *nearest = sli_nearest(name.c_str(), names, sizeof names / sizeof names[0]);
    complain(USAGE,
             "there is no backend '" + name + "'" +
                 (nearest != nullptr ? std::string("; did you mean '") + nearest + "'?"
                                     : std::string("; cpu, cuda, peers, nccl and io_uring are")));
    return false;
}

std::unique_ptr<backend> open_backend(const options &chosen, std::string *error) {
    if (chosen.backend == "cuda") {
        return open_cuda(error);
    }
    if (chosen.backend == "peers" || chosen.backend == "nccl") {
        return open_peers(chosen.backend, error);
    }
    if (chosen.backend == "io_uring") {
        return open_storage(chosen.folder, error);
    }
    return open_cpu();
}

/* A file is written beside its place, so that nobody finds half of it. */
std::string part_of(const std::string &path) {
    return path + ".part";
}

sli_measurements_format format_of(const std::string &path) {
    sli_measurements_format format = SLI_MEASUREMENTS_CSV;
    sli_measurements_format_of(path.c_str(), &format);
    return format;
}

/* Before anything is measured. */
exit_code check_outputs(const options &chosen) {
    for (const std::string &path : chosen.outputs) {
        const char *obstacle = sli_measurements_obstacle(format_of(path));
        if (obstacle != nullptr) {
            return complain(FAILED, "cannot write " + path + " without its library: " + obstacle);
        }
        if (!chosen.is_forced && access(path.c_str(), F_OK) == 0) {
            return complain(FAILED, path + " exists; --force replaces it");
        }
        FILE *file = fopen(part_of(path).c_str(), "w");
        if (file == nullptr) {
            return complain(FAILED, "cannot write " + path + ": " + strerror(errno));
        }
        fclose(file);
        unlink(part_of(path).c_str());
    }
    return DONE;
}

/* ---- Measuring ---- */

class session {
  public:
    session(const options &chosen, backend &on) : chosen_(chosen), on_(on), date_(date_text()) {
    }

    exit_code measure_all(const std::vector<const kernel *> &all) {
        for (const kernel *it : all) {
            exit_code code = measure_kernel(*it);
            if (code != DONE) {
                return code;
            }
        }
        return rows_.empty() ? complain(FAILED, "nothing was measured") : DONE;
    }

    exit_code write() const {
        sli_measurements table = {rows_.data(), rows_.size()};
        for (const std::string &path : chosen_.outputs) {
            std::string part = part_of(path);
            if (sli_measurements_write(&table, part.c_str(), format_of(path)) != SL_OK ||
                rename(part.c_str(), path.c_str()) != 0) {
                unlink(part.c_str());
                return complain(FAILED, "cannot write " + path);
            }
        }
        return fflush(stdout) == 0 ? DONE : FAILED;
    }

  private:
    exit_code measure_kernel(const kernel &it) {
        bool is_asked = !chosen_.shapes.empty();
        std::vector<shape> shapes = it.shapes(chosen_.is_quick);
        exit_code code = is_asked ? read_shapes(it, &shapes) : DONE;
        for (size_t i = 0; i < shapes.size() && code == DONE; i++) {
            if (is_asked || !has_more_work(it, shapes[i])) {
                code = measure_shape(it, shapes[i], is_asked);
            }
        }
        return code;
    }

    /* Those that were asked for, in the place of those that a kernel offers. All of them are looked
     * at before the first is measured. */
    exit_code read_shapes(const kernel &it, std::vector<shape> *shapes) {
        shape base = shapes->front();
        shapes->clear();
        std::set<std::string> seen;
        for (const std::string &text : chosen_.shapes) {
            std::string error;
            texts_.push_back(text); /* the shape borrows its words */
            shape its = base;
            if (!read_shape(it.name, it.columns, texts_.back().data(), &its, &error)) {
                return complain(USAGE, error);
            }
            std::string all = shape_text(its, it.columns);
            if (!seen.insert(all).second) {
                return complain(USAGE, "--shape " + text + " is a shape that is given twice");
            }
            const char *refusal = shape_refusal(it, its);
            if (refusal != nullptr) {
                return complain(BAD_SHAPE, std::string(it.name) + " " + all + ": " + refusal);
            }
            shapes->push_back(its);
        }
        return DONE;
    }

    /* Than was wanted. */
    bool has_more_work(const kernel &it, const shape &its) const {
        kref_work work = it.work(its);
        return static_cast<double>(work.algorithmic_flops) > chosen_.work_max ||
               static_cast<double>(work.algorithmic_bytes) > chosen_.work_max;
    }

    /* A shape that nobody asked for is left out where memory is short. */
    exit_code measure_shape(const kernel &it, const shape &its, bool is_asked) {
        sli_measurement row;
        const char *error = nullptr;
        std::string text = std::string(it.name) + " " + shape_text(its, it.columns);
        switch (measure(it, its, on_, chosen_.how, date_.c_str(), &row, &error)) {
        case outcome::measured:
            break;
        case outcome::refused:
            return complain(BAD_SHAPE, text + ": " + error);
        case outcome::too_large:
            if (is_asked) {
                return complain(TOO_LARGE, text + ": " + error);
            }
            complain(DONE, text + ": left out: " + error);
            return DONE;
        case outcome::failed:
            return complain(FAILED, text + ": " + error);
        }
        rows_.push_back(row);
        print(text, row);
        return DONE;
    }

    static void print(const std::string &text, const sli_measurement &row) {
        constexpr double ns_a_us = 1e3;
        printf("%s: %.2f us, p90 %.2f, %lld samples, %.1f GFLOP/s, %.2f GB/s%s\n", text.c_str(),
               row.time_median_ns / ns_a_us, row.time_p90_ns / ns_a_us,
               static_cast<long long>(row.samples),
               static_cast<double>(row.algorithmic_flops) / row.time_median_ns,
               static_cast<double>(row.algorithmic_bytes) / row.time_median_ns,
               sli_measured_is_noisy(&row) ? ", noisy" : "");
        fflush(stdout);
    }

    const options &chosen_;
    backend &on_;
    std::string date_;
    std::deque<std::string> texts_;
    std::vector<sli_measurement> rows_;
};

exit_code run(const options &chosen) {
    if (!is_backend(chosen.backend)) {
        return USAGE;
    }
    std::vector<const kernel *> all = chosen_kernels(chosen);
    if (all.empty()) {
        return USAGE;
    }
    exit_code writable = check_outputs(chosen);
    if (writable != DONE) {
        return writable;
    }
    std::string error;
    std::unique_ptr<backend> on = open_backend(chosen, &error);
    if (on == nullptr) {
        return complain(FAILED, error);
    }
    on->set_peaks(chosen.peak_flops_per_s, chosen.peak_bytes_per_s);
    session its(chosen, *on);
    exit_code code = its.measure_all(all);
    return code == DONE ? its.write() : code;
}

} // namespace

} // namespace kref::bench

int main(int argc, char **argv) {
    using namespace kref::bench;
    options chosen;
    std::string error;
    if (!read_options(argc, argv, &chosen, &error)) {
        return complain(USAGE, error);
    }
    if (chosen.is_help) {
        fputs(usage, stdout);
        return DONE;
    }
    if (chosen.is_list) {
        list_kernels();
        return DONE;
    }
    return run(chosen);
}
