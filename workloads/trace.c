#include "workloads/trace.h"

#include "base/grow.h"
#include "kernel/rng.h"
#include "kernel/time.h"
#include "workloads/lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sl_word no_limit[] = {{"none", 0}, {NULL, 0}};
static const sl_word at_end[] = {{"end", -1}, {NULL, 0}};
static const sl_word as_in_trace[] = {{"trace", 0}, {NULL, 0}};
static const char *const unsorted_choices[] = {"sort", "error", NULL};
static const char *const zero_output_choices[] = {"error", "drop", "floor", NULL};
static const char *const hash_mismatch_choices[] = {"error", "drop_ids", NULL};

const sl_param sli_trace_params[SLI_TRACE_BLOCK_PARAM_COUNT] = {
    {.name = "file",
     .type = SL_TYPE_PATH,
     .help = "the trace",
     .offset = offsetof(sli_trace_options, file)},
    {.name = "rate_scale",
     .type = SL_TYPE_REAL,
     .min = 1e-6,
     .max = 1e6,
     .fallback = "1",
     .help = "divides all times: 2 sends the same requests in half the time",
     .offset = offsetof(sli_trace_options, rate_scale)},
    {.name = "limit",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e12,
     .words = no_limit,
     .fallback = "none",
     .help = "take this many requests from the beginning of the window",
     .offset = offsetof(sli_trace_options, limit)},
    {.name = "spread",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 9e15,
     .fallback = "0 s",
     .help = "each arrival moves by a uniform time below this, for clocks with coarse ticks",
     .offset = offsetof(sli_trace_options, spread_ns)},
    {.name = "output_tokens",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .words = as_in_trace,
     .fallback = "trace",
     .help = "the length of every output, in place of those of the trace",
     .offset = offsetof(sli_trace_options, output_tokens)},
    {.name = "unsorted",
     .type = SL_TYPE_CHOICE,
     .choices = unsorted_choices,
     .fallback = "sort",
     .help = "what to do with rows that are earlier than the row before them",
     .offset = offsetof(sli_trace_options, unsorted)},
    {.name = "zero_output",
     .type = SL_TYPE_CHOICE,
     .choices = zero_output_choices,
     .fallback = "error",
     .help = "what to do with rows without output; floor makes it 1 token",
     .offset = offsetof(sli_trace_options, zero_output)},
    {.name = "hash_mismatch",
     .type = SL_TYPE_CHOICE,
     .choices = hash_mismatch_choices,
     .fallback = "error",
     .help = "what to do with rows whose ids fit neither their prompt nor the rows before",
     .offset = offsetof(sli_trace_options, hash_mismatch)},
    {.name = "block",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "512 tokens",
     .help = "how many tokens one id of the trace stands for",
     .offset = offsetof(sli_trace_options, block_tokens)},
};

#define WINDOW_OFFSET(name)                                                                        \
    (offsetof(sli_trace_options, window.name) - offsetof(sli_trace_options, window))

static const sl_param window_params[] = {
    {.name = "from",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 9e18,
     .fallback = "0 s",
     .help = "rows before this time of the trace are left out; it becomes time 0",
     .offset = WINDOW_OFFSET(from_ns)},
    {.name = "to",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 9e18,
     .words = at_end,
     .fallback = "end",
     .help = "rows at or after this time of the trace are left out",
     .offset = WINDOW_OFFSET(to_ns)},
};

static const sli_section window_section = {
    .params = window_params,
    .param_count = sizeof window_params / sizeof window_params[0],
    .struct_size = sizeof(((sli_trace_options *)0)->window),
};

const sli_field sli_trace_fields[SLI_TRACE_FIELD_COUNT] = {
    {.name = "window",
     .kind = SLI_FIELD_SECTION,
     .help = "the part of the trace to replay",
     .offset = offsetof(sli_trace_options, window),
     .section = &window_section,
     .fallback = "{}"},
};

sl_err sli_trace_add(sli_trace *trace, const sli_trace_row *row, const uint64_t *ids,
                     size_t id_count) {
    SL_TRY(sli_grow(&trace->rows, &trace->capacity, trace->count + 1, sizeof *trace->rows));
    if (id_count > 0) {
        SL_TRY(sli_grow(&trace->ids, &trace->id_capacity, trace->id_count + id_count,
                        sizeof *trace->ids));
        memcpy(trace->ids + trace->id_count, ids, id_count * sizeof *ids);
    }
    sli_trace_row *added = &trace->rows[trace->count++];
    *added = *row;
    added->first_id = trace->id_count;
    added->id_count = id_count;
    trace->id_count += id_count;
    return SL_OK;
}

void sli_trace_fini(sli_trace *trace) {
    free(trace->rows);
    free(trace->ids);
    *trace = (sli_trace){0};
}

bool sli_trace_fits_ids(const sli_trace *trace, const sli_trace_row *row) {
    if (row->block_tokens == 0) {
        return row->id_count == 0;
    }
    int64_t last_tokens = row->prompt_tokens % row->block_tokens;
    int64_t blocks = row->prompt_tokens / row->block_tokens + (last_tokens > 0);
    int64_t ids = (int64_t)row->id_count;
    return trace->may_lack_ids ? ids <= blocks : ids == blocks;
}

static int compare_rows(const void *a, const void *b) {
    const sli_trace_row *x = a;
    const sli_trace_row *y = b;
    if (x->at_ns != y->at_ns) {
        return x->at_ns < y->at_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static void sort_rows(sli_trace *trace) {
    for (size_t i = 0; i < trace->count; i++) {
        trace->rows[i].order = i;
    }
    if (trace->count > 1) {
        qsort(trace->rows, trace->count, sizeof *trace->rows, compare_rows);
    }
}

static void check_order(sli_trace *trace, sli_unsorted policy, sli_line_errors *errors) {
    for (size_t i = 1; i < trace->count; i++) {
        if (trace->rows[i].at_ns >= trace->rows[i - 1].at_ns) {
            continue;
        }
        trace->notes.unsorted_count++;
        if (policy == SLI_UNSORTED_ERROR) {
            sli_line_error(errors, trace->rows[i].line,
                           "is earlier than line %d; `unsorted: sort` would sort the rows",
                           trace->rows[i - 1].line);
        }
    }
    if (policy == SLI_UNSORTED_SORT && trace->notes.unsorted_count > 0) {
        sort_rows(trace);
    }
}

static void check_outputs(sli_trace *trace, sli_zero_output policy, sli_line_errors *errors) {
    size_t kept = 0;
    for (size_t i = 0; i < trace->count; i++) {
        sli_trace_row *row = &trace->rows[i];
        if (row->output_tokens == 0) {
            trace->notes.zero_output_count++;
            if (policy == SLI_ZERO_OUTPUT_ERROR) {
                sli_line_error(
                    errors, row->line,
                    "output of 0 tokens; `zero_output: drop` or `floor` would accept it");
            } else if (policy == SLI_ZERO_OUTPUT_FLOOR) {
                row->output_tokens = 1;
            } else {
                continue;
            }
        }
        trace->rows[kept++] = *row;
    }
    trace->count = kept;
}

/* A row whose ids mean nothing: complains, `why` and its last character, or leaves the ids out. */
static void refuse_ids(sli_trace *trace, sli_trace_row *row, sli_hash_mismatch policy,
                       sli_line_errors *errors, const char *why, char end) {
    trace->notes.hash_mismatch_count++;
    if (policy == SLI_HASH_MISMATCH_ERROR) {
        sli_line_error(errors, row->line, "%s%c `hash_mismatch: drop_ids` would go on without them",
                       why, end);
    } else {
        row->id_count = 0;
    }
}

static sl_err check_row_ids(sli_trace *trace, sli_trace_row *row, sli_lineage *lineage,
                            sli_hash_mismatch policy, sli_line_errors *errors) {
    char why[192];
    if (row->id_count == 0 && !sli_trace_fits_ids(trace, row)) {
        snprintf(why, sizeof why,
                 "hash_ids is empty, though a prompt of %lld tokens has blocks of %lld tokens",
                 (long long)row->prompt_tokens, (long long)row->block_tokens);
        refuse_ids(trace, row, policy, errors, why, ';');
        return SL_OK;
    }
    if (!sli_trace_fits_ids(trace, row)) {
        snprintf(why, sizeof why,
                 "%zu ids of %lld tokens each do not fit a prompt of %lld tokens; is the block "
                 "size right",
                 row->id_count, (long long)row->block_tokens, (long long)row->prompt_tokens);
        refuse_ids(trace, row, policy, errors, why, '?');
        return SL_OK;
    }
    if (row->id_count == 0) {
        return SL_OK;
    }
    const uint64_t *ids = trace->ids + row->first_id;
    size_t agreeing = 0;
    SL_TRY(sli_lineage_add(lineage, ids, row->id_count, row->block_tokens, &agreeing));
    if (agreeing < row->id_count) {
        sli_lineage_describe(lineage, ids, agreeing, row->block_tokens, why, sizeof why);
        refuse_ids(trace, row, policy, errors, why, ';');
    }
    return SL_OK;
}

static sl_err check_ids(sli_trace *trace, sli_hash_mismatch policy, sli_line_errors *errors) {
    sli_lineage lineage = {0};
    sl_err err = SL_OK;
    for (size_t i = 0; i < trace->count && err == SL_OK; i++) {
        err = check_row_ids(trace, &trace->rows[i], &lineage, policy, errors);
    }
    sli_lineage_fini(&lineage);
    return err;
}

static void apply_window(sli_trace *trace, const sli_trace_options *options) {
    int64_t from_ns = options->window.from_ns;
    int64_t to_ns = options->window.to_ns;
    size_t kept = 0;
    for (size_t i = 0; i < trace->count; i++) {
        sli_trace_row row = trace->rows[i];
        if (row.at_ns < from_ns || (to_ns >= 0 && row.at_ns >= to_ns)) {
            continue;
        }
        row.at_ns -= from_ns;
        trace->rows[kept++] = row;
    }
    trace->count = kept;
    if (options->limit > 0 && trace->count > (size_t)options->limit) {
        trace->count = (size_t)options->limit;
    }
}

static void apply_spread(sli_trace *trace, int64_t spread_ns, uint64_t seed, uint32_t number) {
    if (spread_ns == 0) {
        return;
    }
    for (size_t i = 0; i < trace->count; i++) {
        sli_rng rng;
        sli_rng_init(&rng, seed, "spread", number, i);
        int64_t moved_ns = (int64_t)sli_rng_below(&rng, (uint64_t)spread_ns);
        trace->rows[i].at_ns = sli_time_add(trace->rows[i].at_ns, moved_ns);
    }
    sort_rows(trace);
}

static void apply_rate_scale(sli_trace *trace, double rate_scale) {
    bool is_one = !(rate_scale < 1) && !(rate_scale > 1);
    for (size_t i = 0; i < trace->count && !is_one; i++) {
        trace->rows[i].at_ns = sli_time_round((double)trace->rows[i].at_ns / rate_scale);
    }
}

sl_err sli_trace_prepare(sli_trace *trace, const sli_trace_options *options, uint64_t seed,
                         uint32_t number, sli_line_errors *errors) {
    for (size_t i = 0; i < trace->count && options->output_tokens > 0; i++) {
        trace->rows[i].output_tokens = options->output_tokens;
    }
    check_order(trace, (sli_unsorted)options->unsorted, errors);
    check_outputs(trace, (sli_zero_output)options->zero_output, errors);
    SL_TRY(check_ids(trace, (sli_hash_mismatch)options->hash_mismatch, errors));
    if (errors->count > 0) {
        return SL_ERR_CONFIG;
    }
    apply_window(trace, options);
    if (trace->count == 0) {
        sli_line_error(errors, 0, "no rows are left to replay");
        return SL_ERR_CONFIG;
    }
    apply_spread(trace, options->spread_ns, seed, number);
    apply_rate_scale(trace, options->rate_scale);
    return SL_OK;
}
