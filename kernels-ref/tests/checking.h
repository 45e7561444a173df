/*
 * What the tests of kernels have in common: numbers to compute with, the orders to run in, and the
 * comparison with an oracle.
 */
#ifndef KREF_TESTS_CHECKING_H
#define KREF_TESTS_CHECKING_H

#include "cuda/number.h"
#include "figures/work.h"
#include "tests/cmocka.h"
#include "tests/device_array.h"

#include <cmath>
#include <vector>

#if !defined(KREF_ON_DEVICE)
#include "emulation/count.h"
#include "emulation/machine.h"
#endif

namespace kref::tests {

/* SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014. */
class dice {
  public:
    explicit dice(uint64_t seed) : state_(seed) {
    }
    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    /* Uniform in [-1, 1). */
    float signed_unit() {
        return static_cast<float>(static_cast<double>(next() >> 11) * 0x1p-52 - 1.0);
    }

  private:
    uint64_t state_;
};

inline std::vector<bf16> draw_bf16(size_t count, uint64_t seed, float amplitude = 1.0F) {
    dice its(seed);
    std::vector<bf16> values(count);
    for (bf16 &value : values) {
        value = to_bf16(amplitude * its.signed_unit());
    }
    return values;
}

inline std::vector<e4m3> draw_e4m3(size_t count, uint64_t seed, float amplitude) {
    dice its(seed);
    std::vector<e4m3> values(count);
    for (e4m3 &value : values) {
        value = to_e4m3(amplitude * its.signed_unit());
    }
    return values;
}

template <typename Number> std::vector<double> to_doubles(const std::vector<Number> &values) {
    std::vector<double> doubles;
    doubles.reserve(values.size());
    for (Number value : values) {
        if constexpr (sizeof(Number) == sizeof(float)) {
            doubles.push_back(static_cast<double>(value));
        } else {
            doubles.push_back(static_cast<double>(to_float(value)));
        }
    }
    return doubles;
}

/* The first thing that a program of tests does: without a device it has nothing to test. */
inline void need_device() {
#if defined(KREF_ON_DEVICE)
    int devices = 0;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) {
        printf("skipped: no device (%s)\n", cudaGetErrorString(error));
        exit(77);
    }
#endif
}

/* A call of a kernel that did what it should. */
inline void assert_ran(const char *error) {
    if (error != nullptr) {
        print_error("%s\n", error);
    }
    assert_null(error);
}

/* The greatest error as a share of what is allowed; a NaN is worse than everything. */
inline double worst_share(const std::vector<double> &actual, const std::vector<double> &expected,
                          const std::vector<double> &tolerances) {
    double worst = 0.0;
    assert_int_equal(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); i++) {
        double error = std::fabs(actual[i] - expected[i]);
        double share = error == 0.0 ? 0.0 : error / tolerances[i];
        if (!(share <= worst)) {
            worst = std::isnan(share) ? INFINITY : share;
        }
    }
    return worst;
}

inline void assert_close(const std::vector<double> &actual, const std::vector<double> &expected,
                         const std::vector<double> &tolerances) {
    double worst = worst_share(actual, expected, tolerances);
    if (worst > 1.0) {
        print_error("an error is %g times what is allowed\n", worst);
    }
    assert_true(worst <= 1.0);
}

/* ---- Counts: what a kernel executed, against its closed form; nothing where nothing is counted
 * ---- */

#if defined(KREF_COUNTS)

inline void begin_counting() {
    emulation::reset_tally();
}

inline void assert_counted(const kref_work &work) {
    emulation::tally counted = emulation::take_tally();
    assert_int_equal(counted.matrix_flops, work.matrix_flops);
    assert_int_equal(counted.vector_flops, work.vector_flops);
    assert_int_equal(counted.specials, work.specials);
    assert_int_equal(counted.loaded_bytes, work.loaded_bytes);
    assert_int_equal(counted.copied_bytes, work.copied_bytes);
    assert_int_equal(counted.stored_bytes, work.stored_bytes);
    assert_int_equal(counted.shared_bytes, work.shared_bytes);
}

#else

inline void begin_counting() {
}

inline void assert_counted(const kref_work &) {
}

#endif

/* ---- Orders: the same kernel, in every order of lanes and blocks that the build has time for ----
 */

#if defined(KREF_ON_DEVICE)

template <typename Run> void in_every_order(Run run) {
    run();
}

#else

inline void set_order(emulation::order order, uint32_t seed, unsigned lane_salt) {
    emulation::settings &set = emulation::current_settings();
    set = emulation::settings{};
    set.lanes_and_blocks = order;
    set.seed = seed;
    set.lane_salt = lane_salt;
}

/* ThreadSanitizer judges by what is ordered, not by what happened to come first. */
template <typename Run> void in_every_order(Run run) {
    set_order(emulation::order::forward, 1, 0);
    run();
#if !defined(KREF_TSAN)
    set_order(emulation::order::reverse, 1, 21);
    run();
#endif
#if defined(KREF_COUNTS)
    set_order(emulation::order::random, 7, 10);
    run();
#endif
    set_order(emulation::order::forward, 1, 0);
}

#endif

} // namespace kref::tests

#endif
