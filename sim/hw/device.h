/*
 * A device: what its maker says, what its driver reports and what was measured on it.
 *
 * Floor hw. Read from YAML: the files of hwprofiles by name, any other by path. Every figure
 * carries its source and date, and is marked where it is assumed and not measured. A coefficient
 * that a profile leaves out is that of the H100 SXM, as a share of the device's own peaks, and is
 * marked assumed. Must not know models. All that is read lives in the arena that it was read into.
 */
#ifndef SLUICE_HW_DEVICE_H
#define SLUICE_HW_DEVICE_H

#include "base/embedded.h"
#include "config/catalogue.h"
#include "config/schema.h"

#include <stdint.h>

/* A number and where it comes from. The unit is in the name of the member that holds it. */
typedef struct sli_figure {
    double value;
    sli_sourced origin;
} sli_figure;

typedef struct sli_whole_figure {
    int64_t value;
    sli_sourced origin;
} sli_whole_figure;

/* Matrix products: overhead + pnorm(flops / (flops_frac P), bytes / (bytes_frac W)), P and W being
 * the peak FLOP/s and the memory bandwidth of the device. */
typedef struct sli_gemm_figures {
    sli_figure overhead_ns;
    sli_figure flops_frac;
    sli_figure bytes_frac;
    sli_figure exponent;
} sli_gemm_figures;

/* Attention of prefill chunks; see cost/operators.h for the form. */
typedef struct sli_prefill_figures {
    sli_figure overhead_ns;
    sli_figure flops_frac;
    sli_figure bytes_frac;
    sli_figure exponent;
    sli_figure critical_frac; /* of the peak of one SM, on the longest thread block */
    sli_figure critical_exponent;
} sli_prefill_figures;

/* Attention of decode rows. */
typedef struct sli_decode_figures {
    sli_figure overhead_ns;
    sli_figure longest_ns; /* a token of the longest row */
    sli_figure bytes_frac;
    sli_figure row_head_ns;         /* a row and key-value head */
    sli_figure graph_overhead_frac; /* of overhead_ns, in a CUDA graph */
    sli_figure graph_row_head_frac; /* of row_head_ns, in a CUDA graph */
} sli_decode_figures;

typedef struct sli_elementwise_figures {
    sli_figure overhead_ns;
    sli_figure bytes_frac;
} sli_elementwise_figures;

/* All-reduce over so many ranks, in a CUDA graph. */
typedef struct sli_all_reduce_figures {
    sli_figure overhead_ns;
    sli_figure sqrt_byte_ns; /* ns / sqrt(byte) */
    sli_figure link_frac;    /* of the link; above 1 where the switch adds up */
} sli_all_reduce_figures;

/* What the serving engine adds to a step on the host: a property of engine and version that is
 * kept with the device it was fitted on. */
typedef struct sli_engine_figures {
    sli_figure step_ns;
    sli_figure log2_tp_ns; /* a doubling of the ranks */
    sli_figure sequence_ns;
} sli_engine_figures;

typedef struct sli_device {
    const char *id;   /* the name that a scenario uses; of a file: its name without .yaml */
    const char *name; /* as its maker writes it */
    sli_whole_figure memory_bytes; /* as the driver reports it, not as it is sold */
    sli_figure memory_bytes_per_s;
    sli_figure bf16_flops_per_s; /* dense */
    sli_whole_figure sm_count;
    sli_figure link_bytes_per_s;   /* to the other devices of the node, one direction */
    sli_whole_figure node_devices; /* that such links join */
    sli_gemm_figures gemm;
    sli_prefill_figures prefill;
    sli_decode_figures decode;
    sli_elementwise_figures elementwise;
    sli_all_reduce_figures all_reduce_2;
    sli_all_reduce_figures all_reduce_4;
    sli_all_reduce_figures all_reduce_8;
    sli_engine_figures engine;
} sli_device;

/* The profiles that were compiled in. */
extern const sli_embedded sli_device_files[];

/* The schema of a profile. */
extern const sli_section sli_device_section;

/* Reads a profile by name or path; mistakes go to diag (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_device_read(sli_arena *arena, const char *name_or_path,
                                    sli_catalogue_site site, sli_diag *diag,
                                    const sli_device **device);

/* The figures of an all-reduce over 2, 4 or 8 ranks. */
const sli_all_reduce_figures *sli_device_all_reduce(const sli_device *device, int64_t ranks);

#define SLI_ASSUMED_MAX 16

/*
 * What a deployment of tp ranks uses that was assumed and not measured on this device, as short
 * phrases ("engine overhead") with static storage. Answers how many.
 */
size_t sli_device_assumed(const sli_device *device, int64_t tp,
                          const char *phrases[SLI_ASSUMED_MAX]);

#endif
