#include "workloads/trace_info.h"

#include "base/map.h"
#include "base/minmax.h"
#include "base/sort.h"
#include "config/bytes.h"
#include "kernel/hist.h"
#include "kernel/moments.h"
#include "kernel/time.h"
#include "workloads/lineage.h"
#include "workloads/trace_format.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const int64_t window_widths_s[SLI_TRACE_WINDOW_COUNT] = {1, 10, 60};

/* The format of the lines to come; NULL after a complaint. */
static const sli_trace_format *find_format(sli_lines *lines) {
    if (!sli_lines_peek(lines)) {
        return NULL; /* has been said */
    }
    const sli_trace_format *format = sli_trace_format_find(lines->text);
    if (format == NULL) {
        sli_line_error(lines->errors, lines->number,
                       "is in no known format: expected JSON lines with \"timestamp\" (Mooncake) "
                       "or \"timestamp_ns\" (sluice), or CSV with TIMESTAMP (Azure LLM inference "
                       "traces)");
    }
    return format;
}

/* Takes the values in any order and sorts them in place. */
static void measure_lengths(int64_t *tokens, size_t count, sli_trace_lengths *lengths) {
    sli_sort_i64(tokens, count);
    int64_t sum = 0; /* a length is at most 2e9, so int64_t holds 4e9 rows */
    for (size_t i = 0; i < count; i++) {
        sum += tokens[i];
    }
    *lengths = (sli_trace_lengths){
        .sum_tokens = sum,
        .min_tokens = tokens[0],
        .max_tokens = tokens[count - 1],
        .mean_tokens = (double)sum / (double)count,
        .p50_tokens = sli_sorted_quantile(tokens, count, 0.50),
        .p90_tokens = sli_sorted_quantile(tokens, count, 0.90),
        .p99_tokens = sli_sorted_quantile(tokens, count, 0.99),
    };
}

/* Counts are summed window by window along the sorted times; empty windows add nothing. */
static sli_trace_window measure_window(const int64_t *times_ns, size_t count, int64_t width_s) {
    int64_t width_ns = width_s * SLI_NS_PER_S;
    int64_t whole_count = (times_ns[count - 1] - times_ns[0]) / width_ns;
    int64_t peak = 0;
    double sum = 0;
    double sum_of_squares = 0;
    for (size_t first = 0, next = 0; first < count; first = next) {
        int64_t window = (times_ns[first] - times_ns[0]) / width_ns;
        while (next < count && (times_ns[next] - times_ns[0]) / width_ns == window) {
            next++;
        }
        int64_t arrivals = (int64_t)(next - first);
        peak = sli_max_i64(peak, arrivals);
        if (window < whole_count) {
            sum += (double)arrivals;
            sum_of_squares += (double)arrivals * (double)arrivals;
        }
    }
    double mean = sum / (double)whole_count;
    double variance = sum_of_squares / (double)whole_count - mean * mean;
    return (sli_trace_window){
        .width_s = width_s,
        .peak_per_s = (double)peak / (double)width_s,
        .idc = whole_count >= 2 ? variance / mean : NAN,
    };
}

/* `times_ns` is sorted. */
static void measure_times(const int64_t *times_ns, size_t count, sli_trace_info *info) {
    sli_moments gaps = {0};
    int64_t tie_count = 1;
    info->distinct_time_count = 1;
    info->largest_tie_count = 1;
    for (size_t i = 1; i < count; i++) {
        int64_t gap_ns = times_ns[i] - times_ns[i - 1];
        sli_moments_add(&gaps, (double)gap_ns);
        info->longest_gap_ns = sli_max_i64(info->longest_gap_ns, gap_ns);
        info->distinct_time_count += gap_ns > 0;
        tie_count = gap_ns > 0 ? 1 : tie_count + 1;
        info->largest_tie_count = sli_max_i64(info->largest_tie_count, tie_count);
    }
    info->duration_ns = times_ns[count - 1] - times_ns[0];
    bool has_duration = info->duration_ns > 0;
    double duration_s = (double)info->duration_ns / (double)SLI_NS_PER_S;
    info->mean_rate_per_s = has_duration ? (double)count / duration_s : NAN;
    info->gap_cv = has_duration ? sqrt(gaps.m2 / (double)gaps.count) / gaps.mean : NAN;
    for (int i = 0; i < SLI_TRACE_WINDOW_COUNT; i++) {
        info->windows[i] = measure_window(times_ns, count, window_widths_s[i]);
    }
}

static sl_err measure_prefixes(const sli_trace *trace, sli_trace_info *info) {
    sli_map seen = {0};
    sl_err err = SL_OK;
    for (size_t i = 0; i < trace->count && err == SL_OK; i++) {
        const sli_trace_row *row = &trace->rows[i];
        const uint64_t *ids = row->id_count > 0 ? trace->ids + row->first_id : NULL;
        int64_t hits = 0;
        while ((size_t)hits < row->id_count && sli_map_find(&seen, ids[hits]) != NULL) {
            hits++;
        }
        int64_t hit_tokens = hits * row->block_tokens;
        info->hit_block_count += hits;
        info->hit_tokens += sli_min_i64(hit_tokens, row->prompt_tokens);
        for (size_t k = 0; k < row->id_count && err == SL_OK; k++) {
            uint64_t *slot = NULL;
            bool is_new = false;
            err = sli_map_put(&seen, ids[k], 0, &slot, &is_new);
        }
    }
    info->block_count = (int64_t)trace->id_count;
    info->distinct_block_count = (int64_t)seen.count;
    info->hit_block_frac = NAN;
    info->hit_token_frac = NAN;
    if (info->block_count > 0) {
        info->hit_block_frac = (double)info->hit_block_count / (double)info->block_count;
        info->hit_token_frac = (double)info->hit_tokens / (double)info->prompt.sum_tokens;
    }
    sli_map_fini(&seen);
    return err;
}

static sl_err count_oddities(const sli_trace *trace, sli_trace_info *info) {
    sli_lineage lineage = {0};
    sl_err err = SL_OK;
    for (size_t i = 0; i < trace->count && err == SL_OK; i++) {
        const sli_trace_row *row = &trace->rows[i];
        info->unsorted_count += i > 0 && row->at_ns < trace->rows[i - 1].at_ns;
        info->zero_output_count += row->output_tokens == 0;
        bool has_order = sli_trace_fits_ids(trace, row);
        if (has_order && row->id_count > 0) {
            size_t agreeing = 0;
            err = sli_lineage_add(&lineage, trace->ids + row->first_id, row->id_count,
                                  row->block_tokens, &agreeing);
            has_order = agreeing == row->id_count;
        }
        info->hash_mismatch_count += !has_order;
    }
    sli_lineage_fini(&lineage);
    return err;
}

static sl_err measure(const sli_trace *trace, sli_trace_info *info) {
    size_t count = trace->count;
    int64_t *values = calloc(count, sizeof *values);
    if (values == NULL) {
        return SL_ERR_NOMEM;
    }
    info->row_count = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        values[i] = trace->rows[i].at_ns;
    }
    sli_sort_i64(values, count);
    measure_times(values, count, info);
    for (size_t i = 0; i < count; i++) {
        values[i] = trace->rows[i].prompt_tokens;
    }
    measure_lengths(values, count, &info->prompt);
    for (size_t i = 0; i < count; i++) {
        values[i] = trace->rows[i].output_tokens;
    }
    measure_lengths(values, count, &info->output);
    free(values);
    SL_TRY(count_oddities(trace, info));
    return measure_prefixes(trace, info);
}

static sl_err read_and_measure(int64_t block_tokens, sli_line_errors *errors,
                               sli_trace_info *info) {
    sli_lines lines = {0};
    sli_trace trace = {0};
    if (sli_lines_open(&lines, errors) != SL_OK) {
        sli_line_error(errors, 0, "cannot be read: %s", sli_reason_of(errno).text);
        return SL_ERR_CONFIG;
    }
    sl_err err = SL_ERR_CONFIG;
    const sli_trace_format *format = find_format(&lines);
    if (format == NULL) {
        goto out;
    }
    info->format = format->name;
    err = format->read(&lines, block_tokens, &trace);
    if (err == SL_OK) {
        err = errors->count > 0 ? SL_ERR_CONFIG : measure(&trace, info);
    }
out:
    sli_trace_fini(&trace);
    sli_lines_close(&lines);
    return err;
}

sl_err sli_trace_info_read(const char *file, int64_t block_tokens, sli_diag *diag,
                           sli_trace_info *info) {
    sli_line_errors errors = {.diag = diag, .file = file};
    sli_trace_info measured = {.file = file};
    sl_err err = read_and_measure(block_tokens, &errors, &measured);
    sl_err complaint = sli_line_errors_close(&errors);
    if (err == SL_OK) {
        err = complaint;
    }
    if (err == SL_OK) {
        *info = measured;
    }
    return err;
}
