#include "cost/host.h"

/* log2 of 1, 2, 4 or 8, exactly. */
static double count_doublings(int64_t tp) {
    double doublings = 0.0;
    for (; tp > 1; tp /= 2) {
        doublings += 1.0;
    }
    return doublings;
}

double sli_host_step_ns(const sli_device *device, int64_t tp) {
    const sli_engine_figures *engine = &device->engine;
    return engine->step_ns.value + engine->log2_tp_ns.value * count_doublings(tp);
}

double sli_host_sequences_ns(const sli_device *device, int64_t sequences) {
    return device->engine.sequence_ns.value * (double)sequences;
}
