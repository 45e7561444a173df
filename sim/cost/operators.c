#include "cost/operators.h"

#include "kernel/time.h"

#include <math.h>

static const double ns_per_s = (double)SLI_NS_PER_S;

double sli_pnorm(double a, double b, double p) {
    double large = a > b ? a : b;
    double small = a > b ? b : a;
    if (large <= 0.0) {
        return 0.0;
    }
    /* The larger one is taken out, so that no power overflows. */
    return large * pow(1.0 + pow(small / large, p), 1.0 / p);
}

static double compute_ns(const sli_device *device, double flops, double flops_frac) {
    return flops / (flops_frac * device->bf16_flops_per_s.value) * ns_per_s;
}

static double memory_ns(const sli_device *device, double bytes, double bytes_frac) {
    return bytes / (bytes_frac * device->memory_bytes_per_s.value) * ns_per_s;
}

double sli_gemm_ns(const sli_device *device, const sli_gemm *gemm) {
    const sli_gemm_figures *figures = &device->gemm;
    if (gemm->m <= 0.0) {
        return 0.0;
    }
    double compute = compute_ns(device, sli_gemm_flops(gemm), figures->flops_frac.value);
    double memory = memory_ns(device, sli_gemm_bytes(gemm), figures->bytes_frac.value);
    return figures->overhead_ns.value + sli_pnorm(compute, memory, figures->exponent.value);
}

double sli_prefill_ns(const sli_device *device, const sli_prefill_work *work) {
    const sli_prefill_figures *figures = &device->prefill;
    if (work->bytes <= 0.0) {
        return 0.0;
    }
    double tiles = compute_ns(device, work->tile_flops, figures->flops_frac.value);
    double critical = compute_ns(device, work->critical_flops, figures->critical_frac.value) *
                      (double)device->sm_count.value;
    double compute = sli_pnorm(tiles, critical, figures->critical_exponent.value);
    double memory = memory_ns(device, work->bytes, figures->bytes_frac.value);
    return figures->overhead_ns.value + sli_pnorm(compute, memory, figures->exponent.value);
}

double sli_decode_ns(const sli_device *device, const sli_decode_work *work, bool is_in_graph) {
    const sli_decode_figures *figures = &device->decode;
    if (work->row_heads <= 0.0) {
        return 0.0;
    }
    double overhead_frac = is_in_graph ? figures->graph_overhead_frac.value : 1.0;
    double row_head_frac = is_in_graph ? figures->graph_row_head_frac.value : 1.0;
    return overhead_frac * figures->overhead_ns.value +
           figures->longest_ns.value * work->longest_tokens +
           memory_ns(device, work->bytes, figures->bytes_frac.value) +
           row_head_frac * figures->row_head_ns.value * work->row_heads;
}

double sli_elementwise_ns(const sli_device *device, double bytes) {
    const sli_elementwise_figures *figures = &device->elementwise;
    if (bytes <= 0.0) {
        return 0.0;
    }
    return figures->overhead_ns.value + memory_ns(device, bytes, figures->bytes_frac.value);
}
