#include "bench/backend.h"

namespace kref::bench {

const char *const not_enough_memory = "not enough memory";
const char *const not_enough_devices = "there are not so many devices";

void backend::set_peaks(double bf16_flops_per_s, double bytes_per_s) {
    if (!std::isnan(bf16_flops_per_s)) {
        double ratio = who_.peak_e4m3_flops_per_s / who_.peak_bf16_flops_per_s;
        who_.peak_bf16_flops_per_s = bf16_flops_per_s;
        who_.peak_e4m3_flops_per_s = bf16_flops_per_s * (std::isnan(ratio) ? 1.0 : ratio);
    }
    if (!std::isnan(bytes_per_s)) {
        who_.peak_bytes_per_s = bytes_per_s;
    }
}

int calls_of(double call_ns, double sample_ns, int calls_max) {
    double calls = std::ceil(sample_ns / std::fmax(call_ns, 1.0));
    return static_cast<int>(std::fmax(1.0, std::fmin(calls, calls_max)));
}

} // namespace kref::bench
