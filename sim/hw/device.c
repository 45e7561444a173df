#include "hw/device.h"

#include "base/check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* A field {value, source, date} for the figure `member` of `owner`. A NULL fallback = required. */
#define FIGURE_OF(value_type, owner, member, key, unit, low, high, text, default_text)             \
    {                                                                                              \
        .name = key, .kind = SLI_FIELD_SOURCED, .help = text,                                      \
        .offset = offsetof(owner, member.origin), .fallback = default_text,                        \
        .section = &(const sli_section){                                                           \
            .params = &(const sl_param){.name = "value",                                           \
                                        .type = value_type,                                        \
                                        .dim = unit,                                               \
                                        .min = low,                                                \
                                        .max = high,                                               \
                                        .help = text,                                              \
                                        .offset = offsetof(owner, member.value)},                  \
            .param_count = 1,                                                                      \
            .struct_size = sizeof(owner)},                                                         \
    }

#define WHOLE(...) FIGURE_OF(SL_TYPE_INT, __VA_ARGS__)
#define REAL(...)  FIGURE_OF(SL_TYPE_REAL, __VA_ARGS__)

/* What stands in for a figure that a profile leaves out. The numbers are those of h100-sxm.yaml,
 * which says where they come from; a test keeps the two equal. */
#define AS_H100(value)                                                                             \
    "{value: " value ", source: as on the H100 SXM, date: 2026-08-21, assumed: on}"

#define TIME_NS(owner, member, key, text, h100)                                                    \
    REAL(owner, member, key, SL_DIM_TIME, 0.0, 1e9, text, AS_H100(h100))
#define FRAC(owner, member, key, text, h100)                                                       \
    REAL(owner, member, key, SL_DIM_NONE, 0.001, 2.0, text, AS_H100(h100))
#define EXPONENT(owner, member, key, text, h100)                                                   \
    REAL(owner, member, key, SL_DIM_NONE, 0.5, 64.0, text, AS_H100(h100))

static const sli_field gemm_fields[] = {
    TIME_NS(sli_gemm_figures, overhead_ns, "overhead", "time of an empty call", "3.54 us"),
    FRAC(sli_gemm_figures, flops_frac, "flops_share", "share of the peak FLOP/s", "0.814"),
    FRAC(sli_gemm_figures, bytes_frac, "bytes_share", "share of the memory bandwidth", "0.874"),
    EXPONENT(sli_gemm_figures, exponent, "exponent", "p of the norm of both times", "2.83"),
};

static const sli_field prefill_fields[] = {
    TIME_NS(sli_prefill_figures, overhead_ns, "overhead", "time of an empty call", "11.9 us"),
    FRAC(sli_prefill_figures, flops_frac, "flops_share", "share of the peak FLOP/s", "0.658"),
    FRAC(sli_prefill_figures, bytes_frac, "bytes_share", "share of the memory bandwidth", "0.408"),
    EXPONENT(sli_prefill_figures, exponent, "exponent",
             "p of the norm of computing and moving bytes", "1.199"),
    FRAC(sli_prefill_figures, critical_frac, "critical_share",
         "share of the peak of one SM that the longest thread block reaches", "0.865"),
    EXPONENT(sli_prefill_figures, critical_exponent, "critical_exponent",
             "r of the norm of all work and the longest thread block", "2.065"),
};

static const sli_field decode_fields[] = {
    TIME_NS(sli_decode_figures, overhead_ns, "overhead", "time of an empty call", "11.5 us"),
    TIME_NS(sli_decode_figures, longest_ns, "longest", "time a token of the longest row",
            "0.17 ns"),
    FRAC(sli_decode_figures, bytes_frac, "bytes_share", "share of the memory bandwidth", "0.95"),
    TIME_NS(sli_decode_figures, row_head_ns, "row_head", "time a row and key-value head",
            "23.8 ns"),
    REAL(sli_decode_figures, graph_overhead_frac, "graph_overhead", SL_DIM_NONE, 0.0, 1.0,
         "what a CUDA graph leaves of the overhead", AS_H100("0.6")),
    REAL(sli_decode_figures, graph_row_head_frac, "graph_row_head", SL_DIM_NONE, 0.0, 1.0,
         "what a CUDA graph leaves of the time a row and head", AS_H100("0.5")),
};

static const sli_field elementwise_fields[] = {
    TIME_NS(sli_elementwise_figures, overhead_ns, "overhead", "time of an empty call", "2.2 us"),
    FRAC(sli_elementwise_figures, bytes_frac, "bytes_share", "share of the memory bandwidth",
         "0.5"),
};

#define ALL_REDUCE_FIELDS(overhead, sqrt_byte, share)                                              \
    {                                                                                              \
        TIME_NS(sli_all_reduce_figures, overhead_ns, "overhead", "time of an empty call",          \
                overhead),                                                                         \
            REAL(sli_all_reduce_figures, sqrt_byte_ns, "per_sqrt_byte", SL_DIM_NONE, 0.0, 1e6,     \
                 "nanoseconds a square root of a byte", AS_H100(sqrt_byte)),                       \
            FRAC(sli_all_reduce_figures, link_frac, "link_share", "share of the link bandwidth",   \
                 share),                                                                           \
    }

static const sli_field all_reduce_2_fields[] = ALL_REDUCE_FIELDS("4.20 us", "0.60", "0.63");
static const sli_field all_reduce_4_fields[] = ALL_REDUCE_FIELDS("4.36 us", "3.80", "0.77");
static const sli_field all_reduce_8_fields[] = ALL_REDUCE_FIELDS("4.53 us", "6.56", "1.06");

static const sli_field engine_fields[] = {
    TIME_NS(sli_engine_figures, step_ns, "step", "host time of a step on one rank", "1.75 ms"),
    TIME_NS(sli_engine_figures, log2_tp_ns, "rank_doubling",
            "host time of a step added by each doubling of the ranks", "0.41 ms"),
    TIME_NS(sli_engine_figures, sequence_ns, "sequence", "host time of a sequence of the step",
            "21 us"),
};

#define SECTION_OF(table, owner)                                                                   \
    { .fields = table, .field_count = COUNT_OF(table), .struct_size = sizeof(owner) }

static const sli_section gemm_section = SECTION_OF(gemm_fields, sli_gemm_figures);
static const sli_section prefill_section = SECTION_OF(prefill_fields, sli_prefill_figures);
static const sli_section decode_section = SECTION_OF(decode_fields, sli_decode_figures);
static const sli_section elementwise_section = SECTION_OF(elementwise_fields,
                                                          sli_elementwise_figures);
static const sli_section all_reduce_2_section = SECTION_OF(all_reduce_2_fields,
                                                           sli_all_reduce_figures);
static const sli_section all_reduce_4_section = SECTION_OF(all_reduce_4_fields,
                                                           sli_all_reduce_figures);
static const sli_section all_reduce_8_section = SECTION_OF(all_reduce_8_fields,
                                                           sli_all_reduce_figures);
static const sli_section engine_section = SECTION_OF(engine_fields, sli_engine_figures);

static const sl_param device_params[] = {
    {.name = "name",
     .type = SL_TYPE_STRING,
     .help = "the device as its maker writes it",
     .offset = offsetof(sli_device, name)},
};

#define GROUP(member, text)                                                                        \
    {                                                                                              \
        .name = #member, .kind = SLI_FIELD_SECTION, .help = text,                                  \
        .offset = offsetof(sli_device, member), .section = &member##_section, .fallback = "{}",    \
    }

static const sli_field device_fields[] = {
    WHOLE(sli_device, memory_bytes, "memory", SL_DIM_BYTES, 1e6, 1e15,
          "capacity that the driver reports", NULL),
    REAL(sli_device, memory_bytes_per_s, "memory_bandwidth", SL_DIM_BYTES_PER_S, 1e6, 1e15,
         "peak bandwidth of the memory", NULL),
    REAL(sli_device, bf16_flops_per_s, "bf16_peak", SL_DIM_FLOPS_PER_S, 1e9, 1e18,
         "peak of dense bf16 products", NULL),
    WHOLE(sli_device, sm_count, "sm_count", SL_DIM_NONE, 1, 100000, "streaming multiprocessors",
          NULL),
    REAL(sli_device, link_bytes_per_s, "link_bandwidth", SL_DIM_BYTES_PER_S, 1e6, 1e15,
         "to the other devices of the node, one direction", NULL),
    WHOLE(sli_device, node_devices, "node_devices", SL_DIM_NONE, 1, 1024,
          "devices of a node, which the link joins", AS_H100("8")),
    GROUP(gemm, "matrix products"),
    GROUP(prefill, "attention of prefill chunks"),
    GROUP(decode, "attention of decode rows"),
    GROUP(elementwise, "norms, rotary embedding, activation"),
    GROUP(all_reduce_2, "all-reduce over 2 ranks, in a CUDA graph"),
    GROUP(all_reduce_4, "all-reduce over 4 ranks, in a CUDA graph"),
    GROUP(all_reduce_8, "all-reduce over 8 ranks, in a CUDA graph"),
    GROUP(engine, "what the serving engine adds on the host"),
};

const sli_section sli_device_section = {
    .params = device_params,
    .param_count = COUNT_OF(device_params),
    .fields = device_fields,
    .field_count = COUNT_OF(device_fields),
    .struct_size = sizeof(sli_device),
};

sl_err sli_device_read(sli_arena *arena, const char *name_or_path, sli_catalogue_site site,
                       sli_diag *diag, const sli_device **device) {
    sli_node *root = NULL;
    const char *id = NULL;
    SL_TRY(sli_catalogue_read(arena, sli_device_files, "hardware", name_or_path, site, diag, &root,
                              &id));
    sli_device *read = sli_arena_alloc(arena, sizeof *read);
    if (read == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(sli_schema_resolve(arena, &sli_device_section, NULL, root, diag, read));
    read->id = id;
    *device = read;
    return SL_OK;
}

const sli_all_reduce_figures *sli_device_all_reduce(const sli_device *device, int64_t ranks) {
    SL_ASSERT(ranks == 2 || ranks == 4 || ranks == 8);
    if (ranks == 2) {
        return &device->all_reduce_2;
    }
    return ranks == 4 ? &device->all_reduce_4 : &device->all_reduce_8;
}

static bool is_gemm_assumed(const sli_gemm_figures *gemm) {
    return gemm->overhead_ns.origin.is_assumed || gemm->flops_frac.origin.is_assumed ||
           gemm->bytes_frac.origin.is_assumed || gemm->exponent.origin.is_assumed;
}

static bool is_prefill_assumed(const sli_prefill_figures *prefill) {
    return prefill->overhead_ns.origin.is_assumed || prefill->flops_frac.origin.is_assumed ||
           prefill->bytes_frac.origin.is_assumed || prefill->exponent.origin.is_assumed ||
           prefill->critical_frac.origin.is_assumed || prefill->critical_exponent.origin.is_assumed;
}

static bool is_decode_assumed(const sli_decode_figures *decode) {
    return decode->overhead_ns.origin.is_assumed || decode->longest_ns.origin.is_assumed ||
           decode->bytes_frac.origin.is_assumed || decode->row_head_ns.origin.is_assumed;
}

static bool is_graph_assumed(const sli_decode_figures *decode) {
    return decode->graph_overhead_frac.origin.is_assumed ||
           decode->graph_row_head_frac.origin.is_assumed;
}

static bool is_elementwise_assumed(const sli_elementwise_figures *elementwise) {
    return elementwise->overhead_ns.origin.is_assumed || elementwise->bytes_frac.origin.is_assumed;
}

static bool is_all_reduce_assumed(const sli_device *device, int64_t tp) {
    if (tp == 1) {
        return false;
    }
    const sli_all_reduce_figures *reduce = sli_device_all_reduce(device, tp);
    return reduce->overhead_ns.origin.is_assumed || reduce->sqrt_byte_ns.origin.is_assumed ||
           reduce->link_frac.origin.is_assumed || device->link_bytes_per_s.origin.is_assumed;
}

static bool is_engine_assumed(const sli_engine_figures *engine, int64_t tp) {
    return engine->step_ns.origin.is_assumed || engine->sequence_ns.origin.is_assumed ||
           (tp > 1 && engine->log2_tp_ns.origin.is_assumed);
}

size_t sli_device_assumed(const sli_device *device, int64_t tp,
                          const char *phrases[SLI_ASSUMED_MAX]) {
    const struct {
        bool is_assumed;
        const char *phrase;
    } terms[] = {
        {device->memory_bytes.origin.is_assumed, "memory capacity"},
        {device->memory_bytes_per_s.origin.is_assumed, "memory bandwidth"},
        {device->bf16_flops_per_s.origin.is_assumed, "peak FLOP/s"},
        {device->sm_count.origin.is_assumed, "number of multiprocessors"},
        {is_gemm_assumed(&device->gemm), "matrix products"},
        {is_prefill_assumed(&device->prefill), "prefill attention"},
        {is_decode_assumed(&device->decode), "decode attention"},
        {is_graph_assumed(&device->decode), "CUDA graph factors of decode attention"},
        {is_elementwise_assumed(&device->elementwise), "elementwise operators"},
        {is_all_reduce_assumed(device, tp), "all-reduce"},
        {is_engine_assumed(&device->engine, tp), "engine overhead"},
    };
    _Static_assert(COUNT_OF(terms) <= SLI_ASSUMED_MAX, "room for every phrase");
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(terms); i++) {
        if (terms[i].is_assumed) {
            phrases[count++] = terms[i].phrase;
        }
    }
    return count;
}
