/*
 * What the tests of the CPU backend have in common.
 */
#ifndef KREF_TESTS_CPU_H
#define KREF_TESTS_CPU_H

#include "oracle/rounding.h"
#include "tests/checking.h"

namespace kref::tests {

/* Numbers as plain C has them. */
inline uint16_t *bits(std::vector<bf16> &values) {
    return reinterpret_cast<uint16_t *>(values.data());
}

inline uint16_t *bits(std::vector<fp16> &values) {
    return reinterpret_cast<uint16_t *>(values.data());
}

/* An output that is rounded to bf16 may be off by that too. */
inline void round_tolerances(const std::vector<double> &expected, std::vector<double> *tolerances) {
    for (size_t i = 0; i < expected.size(); i++) {
        (*tolerances)[i] += KREF_BF16_UNIT * std::fabs(expected[i]);
    }
}

} // namespace kref::tests

#endif
