#include "bench/cpu_backend.h"

#include "bench/host_backend.h"

#include <cstdlib>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace kref::bench {

namespace {

int thread_count() {
#if defined(_OPENMP)
    return omp_get_max_threads();
#else
    return 1;
#endif
}

identity look_at_cpu() {
    constexpr double hz_a_mhz = 1e6;
    identity who;
    who.device = read_fact("/proc/cpuinfo", "model name");
    if (who.device.empty()) {
        who.device = "CPU";
    }
    std::string mhz = read_fact("/proc/cpuinfo", "cpu MHz");
    double clock_hz = strtod(mhz.c_str(), nullptr) * hz_a_mhz;
    who.clock_hz = clock_hz > 0.0 ? clock_hz : NAN;
    who.driver = system_name();
    who.toolkit = compiler_name();
    who.threads = thread_count();
    return who;
}

class cpu_backend : public host_backend {
  public:
    cpu_backend() : host_backend(look_at_cpu()) {
    }
    const char *name() const override {
        return "cpu";
    }
};

} // namespace

std::unique_ptr<backend> open_cpu() {
    return std::make_unique<cpu_backend>();
}

} // namespace kref::bench
