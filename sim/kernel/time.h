/*
 * Simulated time: int64_t nanoseconds, from 0 at the start of a run (292 years fit).
 *
 * Floor kernel. A double becomes a time in one place only.
 */
#ifndef SLUICE_KERNEL_TIME_H
#define SLUICE_KERNEL_TIME_H

#include <stdint.h>

#define SLI_NEVER INT64_MAX

#define SLI_NS_PER_S INT64_C(1000000000)

/*
 * Rounds to the nearest nanosecond, ties to even; below 0 and NaN give 0, beyond the range of
 * int64_t gives SLI_NEVER. Does not depend on the rounding mode being changed by anyone.
 */
int64_t sli_time_round(double ns);

/* a + b, or SLI_NEVER when that overflows; both >= 0. */
static inline int64_t sli_time_add(int64_t a_ns, int64_t b_ns) {
    return a_ns > SLI_NEVER - b_ns ? SLI_NEVER : a_ns + b_ns;
}

#endif
