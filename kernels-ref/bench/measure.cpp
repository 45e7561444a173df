#include "bench/measure.h"

#include "bench/shape.h"

#include <algorithm>
#include <cstring>

namespace kref::bench {

namespace {

double share_of(int64_t work, double median_ns, double peak_per_s) {
    constexpr double ns_per_s = 1e9;
    return static_cast<double>(work) / median_ns * ns_per_s / peak_per_s;
}

void put_circumstances(const kernel &its, const backend &on, const sampling &how, const char *date,
                       sli_measurement *row) {
    const identity &who = on.who();
    row->format_version = SLI_MEASUREMENT_FORMAT;
    row->kernel = its.name;
    row->backend = on.name();
    row->device = who.device.c_str();
    row->driver = who.driver.c_str();
    row->toolkit = who.toolkit.c_str();
    row->date = date;
    row->clock_hz = who.clock_hz;
    row->cache = on.cache(how);
    row->launch = on.launch(how);
    row->threads = who.threads > 0 ? who.threads : SLI_NOT_MEASURED;
    row->peak_bytes_per_s = who.peak_bytes_per_s;
    if (its.has_matrix) {
        row->peak_flops_per_s = strcmp(row->element, "e4m3") == 0 ? who.peak_e4m3_flops_per_s
                                                                  : who.peak_bf16_flops_per_s;
    }
}

} // namespace

double quantile(const std::vector<double> &sorted, double p) {
    double at = p * static_cast<double>(sorted.size() - 1);
    auto below = static_cast<size_t>(at);
    size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void put_samples(std::vector<double> *times_ns, sli_measurement *row) {
    std::sort(times_ns->begin(), times_ns->end());
    row->samples = static_cast<int64_t>(times_ns->size());
    row->time_min_ns = times_ns->front();
    row->time_median_ns = quantile(*times_ns, 0.5);
    row->time_p90_ns = quantile(*times_ns, 0.9);
    row->flops_frac = share_of(row->algorithmic_flops, row->time_median_ns, row->peak_flops_per_s);
    row->bytes_frac = share_of(row->algorithmic_bytes, row->time_median_ns, row->peak_bytes_per_s);
}

const char *shape_refusal(const kernel &its, const shape &of) {
    const char *refusal = size_refusal(of);
    return refusal == nullptr ? its.refusal(of) : refusal;
}

outcome measure(const kernel &its, const shape &of, backend &on, const sampling &how,
                const char *date, sli_measurement *row, const char **error) {
    *error = shape_refusal(its, of);
    if (*error != nullptr) {
        return outcome::refused;
    }
    std::unique_ptr<job> prepared = its.prepare(of, on);
    *error = on.take_trouble();
    if (*error != nullptr) {
        bool is_too_large = *error == not_enough_memory || *error == not_enough_devices;
        return is_too_large ? outcome::too_large : outcome::failed;
    }
    kref_work work = its.work(of);
    std::vector<double> times_ns;
    sampling its_how = how;
    its_how.is_graph = how.is_graph && prepared->can_be_captured();
    *error = on.sample(*prepared, its_how, &times_ns);
    if (*error != nullptr) {
        return outcome::failed;
    }
    *row = of;
    put_circumstances(its, on, its_how, date, row);
    row->algorithmic_flops = work.algorithmic_flops;
    row->algorithmic_bytes = work.algorithmic_bytes;
    put_samples(&times_ns, row);
    return outcome::measured;
}

} // namespace kref::bench
