/*
 * What is in a trace: the figures of `sluice trace info FILE`.
 *
 * Part workloads. The format is found from the contents. Figures are of the file as it is, before
 * any option of a source is applied; prefix hits are those of an infinite cache, rows in file
 * order, a row's own blocks entering after it. Undefined figures are NaN and print as null or "-".
 * O(n log n) in rows, O(n) in ids.
 */
#ifndef WORKLOADS_TRACE_INFO_H
#define WORKLOADS_TRACE_INFO_H

#include "base/diag.h"
#include "sluice/err.h"

#include <stdint.h>
#include <stdio.h>

/* Quantiles by linear interpolation between order statistics, h = (n - 1) p. */
typedef struct sli_trace_lengths {
    int64_t sum_tokens;
    int64_t min_tokens;
    int64_t max_tokens;
    double mean_tokens;
    double p50_tokens;
    double p90_tokens;
    double p99_tokens;
} sli_trace_lengths;

/* Arrivals counted in windows of one width, the first beginning at the first arrival. */
typedef struct sli_trace_window {
    int64_t width_s;
    double peak_per_s; /* the fullest window, divided by its width */
    double idc; /* index of dispersion: variance / mean of the counts of whole windows; Poisson 1 */
} sli_trace_window;

enum { SLI_TRACE_WINDOW_COUNT = 3 };

typedef struct sli_trace_info {
    const char *file;   /* borrowed */
    const char *format; /* the name of the source type that reads it */
    int64_t row_count;
    int64_t duration_ns;    /* from the earliest arrival to the latest */
    double mean_rate_per_s; /* rows / duration */
    double gap_cv;          /* standard deviation / mean of the gaps between arrivals; Poisson 1 */
    int64_t longest_gap_ns;
    int64_t distinct_time_count;
    int64_t largest_tie_count;                        /* most arrivals at one time */
    sli_trace_window windows[SLI_TRACE_WINDOW_COUNT]; /* 1 s, 10 s, 60 s */
    sli_trace_lengths prompt;
    sli_trace_lengths output;
    int64_t block_count; /* ids in all rows */
    int64_t distinct_block_count;
    int64_t hit_block_count; /* leading ids of a row that earlier rows had */
    int64_t hit_tokens;      /* min(hit blocks * block size, prompt) */
    double hit_block_frac;
    double hit_token_frac; /* of all prompt tokens */
    int64_t unsorted_count;
    int64_t zero_output_count;
    int64_t hash_mismatch_count; /* rows whose ids fit neither the prompt nor other rows */
} sli_trace_info;

/* `block_tokens` is that of a Mooncake file, usually 512. Mistakes go to diag (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_trace_info_read(const char *file, int64_t block_tokens, sli_diag *diag,
                                        sli_trace_info *info);

/* A table for people. */
SL_NODISCARD sl_err sli_trace_info_print(const sli_trace_info *info, FILE *file);

/* One JSON object, units in the names of its keys. */
SL_NODISCARD sl_err sli_trace_info_print_json(const sli_trace_info *info, FILE *file);

#endif
