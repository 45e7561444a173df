#include "base/units.h"
#include "kernel/time.h"
#include "workloads/trace_info.h"

#include <json-c/json.h>
#include <math.h>

/* Room for a count with its separators or a short figure. */
typedef struct figure {
    char text[40];
} figure;

static figure count_figure(int64_t count) {
    figure f;
    sli_format_count(count, f.text, sizeof f.text);
    return f;
}

static figure real_figure(double value, int decimals) {
    figure f = {"-"};
    if (!isnan(value)) {
        snprintf(f.text, sizeof f.text, "%.*f", decimals, value);
    }
    return f;
}

static figure round_figure(double value) {
    return count_figure((int64_t)llround(value));
}

static void print_lengths(const char *name, const sli_trace_lengths *lengths, FILE *file) {
    fprintf(file, "  %-14s %9s %9s %9s %9s %9s %15s\n", name,
            round_figure(lengths->mean_tokens).text, round_figure(lengths->p50_tokens).text,
            round_figure(lengths->p90_tokens).text, round_figure(lengths->p99_tokens).text,
            count_figure(lengths->max_tokens).text, count_figure(lengths->sum_tokens).text);
}

static void print_arrivals(const sli_trace_info *info, FILE *file) {
    const sli_trace_window *w = info->windows;
    double duration_s = (double)info->duration_ns / (double)SLI_NS_PER_S;
    double gap_s = (double)info->longest_gap_ns / (double)SLI_NS_PER_S;
    fprintf(file, "  rows           %s\n", count_figure(info->row_count).text);
    fprintf(file, "  duration       %s s, longest gap %s s\n", real_figure(duration_s, 1).text,
            real_figure(gap_s, 1).text);
    fprintf(file, "  mean rate      %s req/s\n", real_figure(info->mean_rate_per_s, 3).text);
    fprintf(file, "  peak rate      %s req/s in 1 s, %s in 10 s, %s in 60 s\n",
            real_figure(w[0].peak_per_s, 2).text, real_figure(w[1].peak_per_s, 2).text,
            real_figure(w[2].peak_per_s, 2).text);
    fprintf(file,
            "  burstiness     CV of gaps %s; IDC %s in 1 s, %s in 10 s, %s in 60 s (Poisson: 1)\n",
            real_figure(info->gap_cv, 2).text, real_figure(w[0].idc, 2).text,
            real_figure(w[1].idc, 2).text, real_figure(w[2].idc, 2).text);
}

static void print_prefixes(const sli_trace_info *info, FILE *file) {
    if (info->block_count == 0) {
        fprintf(file, "\n  blocks         none: the trace does not say what prompts share\n");
        return;
    }
    fprintf(file, "\n  blocks         %s, of them %s distinct\n",
            count_figure(info->block_count).text, count_figure(info->distinct_block_count).text);
    fprintf(file,
            "  ideal hits     %s %% of blocks, %s %% of prompt tokens (nothing ever evicted)\n",
            real_figure(100 * info->hit_block_frac, 2).text,
            real_figure(100 * info->hit_token_frac, 2).text);
}

static void print_note(int64_t count, const char *what, FILE *file) {
    if (count > 0) {
        fprintf(file, "  note: %s %s %s\n", count_figure(count).text, count == 1 ? "row" : "rows",
                what);
    }
}

/* Half of all rows sharing their time with another one is no accident but a coarse clock. */
static void print_ticks(const sli_trace_info *info, FILE *file) {
    enum { MIN_ROWS = 20 };
    if (info->row_count > 1 && info->distinct_time_count == 1) {
        fprintf(file,
                "  note: all rows at one time, so there are no rates; `spread` moves arrivals "
                "apart\n");
        return;
    }
    if (info->row_count < MIN_ROWS || info->distinct_time_count * 2 >= info->row_count) {
        return;
    }
    double tick_s = (double)info->duration_ns / (double)SLI_NS_PER_S /
                    (double)(info->distinct_time_count - 1);
    fprintf(file,
            "  note: %s distinct times only, %s s apart, up to %s rows each: a clock with "
            "coarse\n        ticks; `spread` moves arrivals apart\n",
            count_figure(info->distinct_time_count).text, real_figure(tick_s, 3).text,
            count_figure(info->largest_tie_count).text);
}

sl_err sli_trace_info_print(const sli_trace_info *info, FILE *file) {
    fprintf(file, "%s · format %s\n\n", info->file, info->format);
    print_arrivals(info, file);
    fprintf(file, "\n  %-14s %9s %9s %9s %9s %9s %15s\n", "tokens", "mean", "p50", "p90", "p99",
            "max", "sum");
    print_lengths("prompt", &info->prompt, file);
    print_lengths("output", &info->output, file);
    print_prefixes(info, file);
    print_ticks(info, file);
    print_note(info->unsorted_count, "earlier than the row before (`unsorted`)", file);
    print_note(info->zero_output_count, "without output (`zero_output`)", file);
    print_note(info->hash_mismatch_count,
               "with ids that do not fit the prompt or other rows (`hash_mismatch`)", file);
    return ferror(file) ? SL_ERR_IO : SL_OK;
}

/* An object under construction; has_failed when memory ran out. */
typedef struct writer {
    struct json_object *object;
    bool has_failed;
} writer;

static void put(writer *w, const char *key, struct json_object *value, bool is_null) {
    bool is_missing = value == NULL && !is_null;
    if (is_missing || json_object_object_add(w->object, key, value) != 0) {
        json_object_put(value);
        w->has_failed = true;
    }
}

static void put_text(writer *w, const char *key, const char *text) {
    put(w, key, json_object_new_string(text), false);
}

static void put_int(writer *w, const char *key, int64_t value) {
    put(w, key, json_object_new_int64(value), false);
}

static void put_real(writer *w, const char *key, double value) {
    if (isnan(value)) {
        put(w, key, NULL, true);
        return;
    }
    char text[40];
    snprintf(text, sizeof text, "%.10g", value);
    put(w, key, json_object_new_double_s(value, text), false);
}

static void put_lengths(writer *w, const char *side, const sli_trace_lengths *lengths) {
    char key[64];
    const struct {
        const char *name;
        double value;
    } reals[] = {
        {"mean", lengths->mean_tokens},
        {"p50", lengths->p50_tokens},
        {"p90", lengths->p90_tokens},
        {"p99", lengths->p99_tokens},
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        snprintf(key, sizeof key, "%s_%s_tokens", side, reals[i].name);
        put_real(w, key, reals[i].value);
    }
    snprintf(key, sizeof key, "%s_min_tokens", side);
    put_int(w, key, lengths->min_tokens);
    snprintf(key, sizeof key, "%s_max_tokens", side);
    put_int(w, key, lengths->max_tokens);
    snprintf(key, sizeof key, "%s_sum_tokens", side);
    put_int(w, key, lengths->sum_tokens);
}

static void put_all(writer *w, const sli_trace_info *info) {
    char key[64];
    put_text(w, "file", info->file);
    put_text(w, "format", info->format);
    put_int(w, "row_count", info->row_count);
    put_int(w, "duration_ns", info->duration_ns);
    put_real(w, "mean_rate_per_s", info->mean_rate_per_s);
    for (int i = 0; i < SLI_TRACE_WINDOW_COUNT; i++) {
        const sli_trace_window *window = &info->windows[i];
        snprintf(key, sizeof key, "peak_rate_%ds_per_s", (int)window->width_s);
        put_real(w, key, window->peak_per_s);
        snprintf(key, sizeof key, "idc_%ds", (int)window->width_s);
        put_real(w, key, window->idc);
    }
    put_real(w, "gap_cv", info->gap_cv);
    put_int(w, "longest_gap_ns", info->longest_gap_ns);
    put_int(w, "distinct_time_count", info->distinct_time_count);
    put_int(w, "largest_tie_count", info->largest_tie_count);
    put_lengths(w, "prompt", &info->prompt);
    put_lengths(w, "output", &info->output);
    put_int(w, "block_count", info->block_count);
    put_int(w, "distinct_block_count", info->distinct_block_count);
    put_real(w, "hit_block_frac", info->hit_block_frac);
    put_real(w, "hit_token_frac", info->hit_token_frac);
    put_int(w, "hit_block_count", info->hit_block_count);
    put_int(w, "hit_tokens", info->hit_tokens);
    put_int(w, "unsorted_count", info->unsorted_count);
    put_int(w, "zero_output_count", info->zero_output_count);
    put_int(w, "hash_mismatch_count", info->hash_mismatch_count);
}

sl_err sli_trace_info_print_json(const sli_trace_info *info, FILE *file) {
    writer w = {.object = json_object_new_object()};
    if (w.object == NULL) {
        return SL_ERR_NOMEM;
    }
    sl_err err = SL_ERR_NOMEM;
    put_all(&w, info);
    const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                      JSON_C_TO_STRING_NOSLASHESCAPE;
    const char *text = w.has_failed ? NULL : json_object_to_json_string_ext(w.object, flags);
    if (text != NULL) {
        fprintf(file, "%s\n", text);
        err = ferror(file) ? SL_ERR_IO : SL_OK;
    }
    json_object_put(w.object);
    return err;
}
