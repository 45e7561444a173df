#include "cost/collectives.h"

#include "kernel/time.h"

#include <math.h>

double sli_all_reduce_ns(const sli_device *device, int64_t ranks, double bytes) {
    if (ranks == 1 || bytes <= 0.0) {
        return 0.0;
    }
    const sli_all_reduce_figures *figures = sli_device_all_reduce(device, ranks);
    double n = (double)ranks;
    double link_bytes = bytes * 2.0 * (n - 1.0) / n;
    double link_bytes_per_s = figures->link_frac.value * device->link_bytes_per_s.value;
    return figures->overhead_ns.value + figures->sqrt_byte_ns.value * sqrt(bytes) +
           link_bytes / link_bytes_per_s * (double)SLI_NS_PER_S;
}
