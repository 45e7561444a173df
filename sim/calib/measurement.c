#include "calib/measurement.h"

#include <math.h>
#include <string.h>

static const char *const backends[] = {"cpu", "cuda", "peers", "nccl", "io_uring", NULL};
static const char *const caches[] = {"warm", "flushed", "bypassed", NULL};
static const char *const launches[] = {"call", "stream", "graph", NULL};

#define AT(member) offsetof(sli_measurement, member)

#define CIRCUMSTANCE(member, its_type, its_choices, its_help)                                      \
    {                                                                                              \
        .name = #member, .unit = "", .help = its_help, .type = SLI_MEASURED_##its_type,            \
        .role = SLI_MEASURED_CIRCUMSTANCE, .choices = its_choices, .offset = AT(member)            \
    }

#define SHAPE(member, its_type, its_unit, its_help)                                                \
    {                                                                                              \
        .name = #member, .unit = its_unit, .help = its_help, .type = SLI_MEASURED_##its_type,      \
        .role = SLI_MEASURED_SHAPE, .can_be_empty = true, .offset = AT(member)                     \
    }

#define RESULT(member, its_type, its_unit, its_least, is_optional, its_help)                       \
    {                                                                                              \
        .name = #member, .unit = its_unit, .help = its_help, .type = SLI_MEASURED_##its_type,      \
        .role = SLI_MEASURED_RESULT, .can_be_empty = is_optional, .least = its_least,              \
        .offset = AT(member)                                                                       \
    }

const sli_measured_column sli_measured_columns[SLI_MEASURED_COLUMN_COUNT] = {
    CIRCUMSTANCE(format_version, WHOLE, NULL, "1"),
    CIRCUMSTANCE(kernel, WORD, NULL, "what was measured"),
    CIRCUMSTANCE(backend, WORD, backends, "what executed it"),
    CIRCUMSTANCE(device, TEXT, NULL, "as it names itself"),
    CIRCUMSTANCE(driver, TEXT, NULL, "of the device, with its version; the system's, of a CPU"),
    CIRCUMSTANCE(toolkit, TEXT, NULL, "what compiled the kernel, with its version"),
    CIRCUMSTANCE(date, DATE, NULL, "when the run began, in UTC"),
    {.name = "clock_hz",
     .unit = "Hz",
     .help = "of the device's cores, as its driver says at the start; nothing locks it",
     .type = SLI_MEASURED_REAL,
     .role = SLI_MEASURED_CIRCUMSTANCE,
     .can_be_empty = true,
     .least = 1.0,
     .offset = AT(clock_hz)},
    CIRCUMSTANCE(cache, WORD, caches, "what a sample finds in the caches: the data, or others"),
    CIRCUMSTANCE(launch, WORD, launches, "a call on the host, a stream, or the replay of a graph"),

    SHAPE(variant, WORD, "", "which of its operations"),
    SHAPE(element, WORD, "", "format of the numbers that are read: bf16, e4m3, ..."),
    SHAPE(sequences, WHOLE, "", "in the batch"),
    SHAPE(query_tokens, WHOLE, "tokens", "new tokens of each sequence"),
    SHAPE(tokens, WHOLE, "tokens", "of each sequence, the new ones among them"),
    SHAPE(window_tokens, WHOLE, "tokens", "that a query sees; 0 = all"),
    SHAPE(query_heads, WHOLE, "", "of the model, or of its rank"),
    SHAPE(kv_heads, WHOLE, "", "that the query heads share"),
    SHAPE(head_dim, WHOLE, "", "elements of a query and a key; the latent of MLA"),
    SHAPE(value_dim, WHOLE, "", "elements of a value, where they are others"),
    SHAPE(rope_dim, WHOLE, "", "elements beside head_dim that turn with the position"),
    SHAPE(block_tokens, WHOLE, "tokens", "of a block of the cache"),
    SHAPE(splits, WHOLE, "", "parts that the keys of a sequence are cut into"),
    SHAPE(rows, WHOLE, "", "m of a matrix product"),
    SHAPE(width, WHOLE, "", "elements of a row of the output; n of a matrix product"),
    SHAPE(depth, WHOLE, "", "k of a matrix product"),
    SHAPE(experts, WHOLE, "", "on the device"),
    SHAPE(chosen, WHOLE, "", "experts or keys that each token chooses"),
    SHAPE(pieces, WHOLE, "", "separate copies, or operations of a storage"),
    SHAPE(piece_bytes, WHOLE, "bytes", "of each"),
    SHAPE(queue_depth, WHOLE, "", "operations that are under way at once"),
    SHAPE(ranks, WHOLE, "", "devices of a collective"),
    SHAPE(threads, WHOLE, "", "of the host"),

    RESULT(algorithmic_flops, WHOLE, "", 0.0, false, "what the definition asks for, no padding"),
    RESULT(algorithmic_bytes, WHOLE, "bytes", 0.0, false, "tensors in and out, each element once"),
    RESULT(samples, WHOLE, "", 1.0, false, "behind the times"),
    RESULT(time_min_ns, REAL, "ns", 0.0, false, "of one execution, the best sample"),
    RESULT(time_median_ns, REAL, "ns", 0.0, false, "of one execution"),
    RESULT(time_p90_ns, REAL, "ns", 0.0, false, "of one execution, by linear interpolation"),
    RESULT(peak_flops_per_s, REAL, "FLOP/s", 1.0, true, "of the device, at its nominal clock"),
    RESULT(peak_bytes_per_s, REAL, "bytes/s", 1.0, true, "of the device's memory or link"),
    RESULT(flops_frac, REAL, "", 0.0, true, "algorithmic_flops / time_median_ns over the peak"),
    RESULT(bytes_frac, REAL, "", 0.0, true, "algorithmic_bytes / time_median_ns over the peak"),
};

#define NONE SLI_NOT_MEASURED

const sli_measurement sli_no_measurement = {
    .format_version = NONE,
    .kernel = "",
    .backend = "",
    .device = "",
    .driver = "",
    .toolkit = "",
    .date = "",
    .clock_hz = NAN,
    .cache = "",
    .launch = "",
    .variant = "",
    .element = "",
    .sequences = NONE,
    .query_tokens = NONE,
    .tokens = NONE,
    .window_tokens = NONE,
    .query_heads = NONE,
    .kv_heads = NONE,
    .head_dim = NONE,
    .value_dim = NONE,
    .rope_dim = NONE,
    .block_tokens = NONE,
    .splits = NONE,
    .rows = NONE,
    .width = NONE,
    .depth = NONE,
    .experts = NONE,
    .chosen = NONE,
    .pieces = NONE,
    .piece_bytes = NONE,
    .queue_depth = NONE,
    .ranks = NONE,
    .threads = NONE,
    .algorithmic_flops = NONE,
    .algorithmic_bytes = NONE,
    .samples = NONE,
    .time_min_ns = NAN,
    .time_median_ns = NAN,
    .time_p90_ns = NAN,
    .peak_flops_per_s = NAN,
    .peak_bytes_per_s = NAN,
    .flops_frac = NAN,
    .bytes_frac = NAN,
};

const sli_measured_column *sli_measured_column_find(const char *name) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        if (strcmp(sli_measured_columns[i].name, name) == 0) {
            return &sli_measured_columns[i];
        }
    }
    return NULL;
}

void sli_measured_column_names(const char *names[SLI_MEASURED_COLUMN_COUNT]) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        names[i] = sli_measured_columns[i].name;
    }
}

bool sli_measured_is_text(const sli_measured_column *column) {
    return column->type != SLI_MEASURED_WHOLE && column->type != SLI_MEASURED_REAL;
}

bool sli_measured_is_empty(const sli_measured_column *column, const sli_measurement *row) {
    switch (column->type) {
    case SLI_MEASURED_WHOLE:
        return sli_measured_whole(column, row) == SLI_NOT_MEASURED;
    case SLI_MEASURED_REAL:
        return isnan(sli_measured_real(column, row));
    default:
        return sli_measured_text(column, row)[0] == '\0';
    }
}

bool sli_measured_is_noisy(const sli_measurement *row) {
    return row->time_p90_ns > SLI_NOISY_RATIO * row->time_median_ns;
}

static const void *member(const sli_measured_column *column, const sli_measurement *row) {
    return (const char *)row + column->offset;
}

const char *sli_measured_text(const sli_measured_column *column, const sli_measurement *row) {
    return *(const char *const *)member(column, row);
}

int64_t sli_measured_whole(const sli_measured_column *column, const sli_measurement *row) {
    return *(const int64_t *)member(column, row);
}

double sli_measured_real(const sli_measured_column *column, const sli_measurement *row) {
    return *(const double *)member(column, row);
}

void sli_measured_set_text(const sli_measured_column *column, sli_measurement *row,
                           const char *value) {
    memcpy((char *)row + column->offset, &value, sizeof value);
}

void sli_measured_set_whole(const sli_measured_column *column, sli_measurement *row,
                            int64_t value) {
    memcpy((char *)row + column->offset, &value, sizeof value);
}

void sli_measured_set_real(const sli_measured_column *column, sli_measurement *row, double value) {
    memcpy((char *)row + column->offset, &value, sizeof value);
}
