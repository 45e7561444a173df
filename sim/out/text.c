#include "out/text.h"

#include "base/check.h"
#include "base/units.h"
#include "out/database.h"
#include "out/digest.h"
#include "out/directory.h"

#include <stdarg.h>
#include <string.h>

#define COLUMN_MAX  100
#define INDENT      15 /* of what follows a label, and of its continuation lines */
#define NUMBER_SIZE 40

/* Numbers ----------------------------------------------------------------------------------- */

/* Three to four digits that matter: 9.81, 61.2, 1,012. */
static void format_number(double value, char text[NUMBER_SIZE]) {
    if (value < 9.995) {
        snprintf(text, NUMBER_SIZE, "%.2f", value);
    } else if (value < 999.95) {
        snprintf(text, NUMBER_SIZE, "%.1f", value);
    } else {
        sli_format_count((int64_t)(value + 0.5), text, NUMBER_SIZE);
    }
}

/* 119.6 GiB, 384 KiB: the largest unit in which it is at least 1. */
static void format_bytes(double bytes, char text[NUMBER_SIZE]) {
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    for (; bytes >= 1024 && i + 1 < sizeof names / sizeof names[0]; i++) {
        bytes /= 1024;
    }
    snprintf(text, NUMBER_SIZE, "%.4g %s", bytes, names[i]);
}

static void format_percent(double frac, char text[NUMBER_SIZE]) {
    snprintf(text, NUMBER_SIZE, "%.1f %%", 100 * frac);
}

typedef struct time_unit {
    const char *name;
    double ns;
} time_unit;

/* The largest unit in which the time is at least 1; ms when there is nothing to see. */
static time_unit readable_unit(double ns) {
    static const time_unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ns >= units[i].ns) {
            return units[i];
        }
    }
    return units[1];
}

/* Lines ------------------------------------------------------------------------------------- */

/* Parts joined by dots, broken before the part that would pass the last column. */
typedef struct line {
    FILE *file;
    int column;
    int indent; /* of continuation lines */
    bool has_part;
} line;

/* Columns, not bytes: bytes 10xxxxxx continue a UTF-8 character. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static line begin_line(FILE *file, const char *label, int indent) {
    fprintf(file, "%s", label);
    int column = width_of(label);
    for (; column < indent; column++) {
        fputc(' ', file);
    }
    return (line){.file = file, .column = column, .indent = indent};
}

static void put_part(line *l, const char *format, ...) SL_PRINTF(2, 3);

static void put_part(line *l, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int width = width_of(text);
    if (l->has_part && l->column + 3 + width > COLUMN_MAX) {
        fprintf(l->file, "\n%*s", l->indent, "");
        l->column = l->indent;
    } else if (l->has_part) {
        fputs(" · ", l->file);
        l->column += 3;
    }
    fputs(text, l->file);
    l->column += width;
    l->has_part = true;
}

static size_t append(char *text, size_t size, size_t length, const char *format, ...)
    SL_PRINTF(4, 5);

/* Appends to a text of `length` bytes, cut at `size`; answers the new length. */
static size_t append(char *text, size_t size, size_t length, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int more = vsnprintf(text + length, size - length, format, args);
    va_end(args);
    size_t whole = length + (more > 0 ? (size_t)more : 0);
    return whole < size ? whole : size - 1;
}

static void end_line(line *l) {
    fputc('\n', l->file);
}

/* The parts ---------------------------------------------------------------------------------- */

/* The workload, and on the same line if there is room the system that serves it: so many replicas,
 * of so many devices each. */
static void put_heading(FILE *file, const sli_run_facts *facts) {
    char system[256] = "";
    size_t length = 0;
    if (facts->model != NULL) {
        length = append(system, sizeof system, length, "%s · ", facts->model);
    }
    if (facts->hardware != NULL) {
        char count[NUMBER_SIZE];
        sli_format_count(facts->replica_count, count, sizeof count);
        length = append(system, sizeof system, length, "%s × ", count);
        if (facts->tp_count > 1) {
            length = append(system, sizeof system, length, "%lld × ", (long long)facts->tp_count);
        }
        length = append(system, sizeof system, length, "%s, tp %lld · ", facts->hardware,
                        (long long)facts->tp_count);
    }
    if (facts->policy != NULL) {
        length = append(system, sizeof system, length, "%s · ", facts->policy);
    }
    if (facts->cost.model != NULL) {
        length = append(system, sizeof system, length, "cost %s · ", facts->cost.model);
    }
    append(system, sizeof system, length, "seed %lld", (long long)facts->seed);
    line l = begin_line(file, "", 0);
    if (facts->workload != NULL) {
        put_part(&l, "%s", facts->workload);
    }
    put_part(&l, "%s", system);
    end_line(&l);
}

static void put_outcomes(FILE *file, const sli_run_facts *facts, const sli_metrics *m) {
    char finished[NUMBER_SIZE];
    char count[NUMBER_SIZE];
    char simulated[NUMBER_SIZE];
    sli_format_count(m->finished_count, finished, sizeof finished);
    sli_format_count(m->arrived_count, count, sizeof count);
    line l = begin_line(file, "", 0);
    put_part(&l, "%s of %s request%s finished", finished, count, m->arrived_count == 1 ? "" : "s");
    sli_format_count(m->rejected_count, count, sizeof count);
    put_part(&l, "%s rejected", count);
    if (m->aborted_count > 0) {
        sli_format_count(m->aborted_count, count, sizeof count);
        put_part(&l, "%s aborted", count);
    }
    if (m->unfinished_count > 0) {
        sli_format_count(m->unfinished_count, count, sizeof count);
        put_part(&l, "%s unfinished", count);
    }
    time_unit unit = readable_unit((double)facts->simulated_ns);
    format_number((double)facts->simulated_ns / unit.ns, simulated);
    if (facts->wall_s > 0) {
        time_unit wall_unit = readable_unit(facts->wall_s * 1e9);
        format_number(facts->wall_s * 1e9 / wall_unit.ns, count);
        put_part(&l, "%s %s simulated in %s %s", simulated, unit.name, count, wall_unit.name);
    } else {
        put_part(&l, "%s %s simulated", simulated, unit.name);
    }
    end_line(&l);
    if (facts->is_partial) {
        fprintf(file, "partial results: %s\n",
                facts->partial_reason != NULL ? facts->partial_reason : "stopped early");
    }
    if (m->warmup_count > 0) {
        sli_format_count(m->warmup_count, count, sizeof count);
        fprintf(file, "%s of them arrived during the warm-up and count no further\n", count);
    }
}

/* The table of latencies: its columns, and a row of it. */
enum { COLUMN_COUNT = 6 };
static const char *const column_names[COLUMN_COUNT] = {"mean", "p50", "p90", "p99", "max", "n"};

typedef struct latency_row {
    const char *label;
    const sli_spread *spread;
    const char *remark;
} latency_row;

/* All times of a row have one unit. */
static time_unit format_cells(const sli_spread *s, char cells[COLUMN_COUNT][NUMBER_SIZE]) {
    time_unit unit = readable_unit(s->mean);
    const double values[COLUMN_COUNT - 1] = {s->mean, s->p50, s->p90, s->p99, (double)s->max};
    for (int i = 0; i < COLUMN_COUNT - 1; i++) {
        format_number(values[i] / unit.ns, cells[i]);
    }
    sli_format_count(s->count, cells[COLUMN_COUNT - 1], NUMBER_SIZE);
    return unit;
}

/* Wide enough for most runs, and wider where a number is longer. */
static void find_widths(const latency_row *rows, size_t row_count, int widths[COLUMN_COUNT]) {
    char cells[COLUMN_COUNT][NUMBER_SIZE];
    for (int i = 0; i < COLUMN_COUNT; i++) {
        widths[i] = i < COLUMN_COUNT - 1 ? 8 : 10;
    }
    for (size_t row = 0; row < row_count; row++) {
        format_cells(rows[row].spread, cells);
        for (int i = 0; i < COLUMN_COUNT; i++) {
            int width = (int)strlen(cells[i]);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
}

static void put_table(FILE *file, const latency_row *rows, size_t row_count) {
    int widths[COLUMN_COUNT];
    find_widths(rows, row_count, widths);
    fprintf(file, "\n%*s", INDENT, "");
    for (int i = 0; i < COLUMN_COUNT; i++) {
        fprintf(file, " %*s", widths[i], column_names[i]);
    }
    fputc('\n', file);
    for (const latency_row *row = rows; row < rows + row_count; row++) {
        if (row->spread->count == 0) {
            continue;
        }
        char cells[COLUMN_COUNT][NUMBER_SIZE];
        fprintf(file, "  %-10s %-2s", row->label, format_cells(row->spread, cells).name);
        for (int i = 0; i < COLUMN_COUNT; i++) {
            fprintf(file, " %*s", widths[i], cells[i]);
        }
        fprintf(file, "%s%s\n", row->remark[0] != '\0' ? "   " : "", row->remark);
    }
}

static void put_latencies(FILE *file, const sli_metrics *m) {
    if (m->ttft_ns.count == 0) {
        bool is_refused = m->arrived_count > 0 && m->rejected_count == m->arrived_count;
        fprintf(file, "\n  no latencies: %s\n",
                is_refused ? "every request was rejected on arrival, as the warning says"
                           : "no measured request finished");
        return;
    }
    const latency_row rows[] = {
        {"TTFT", &m->ttft_ns, ""},
        {"TPOT", &m->tpot_ns, m->single_token_count > 0 ? "(outputs > 1 token)" : ""},
        {"ITL", &m->itl_ns, ""},
        {"E2E", &m->e2e_ns, ""},
        {"E2E/token", &m->normalised_ns_per_token, ""},
        {"queued", &m->queue_delay_ns, ""},
    };
    put_table(file, rows, sizeof rows / sizeof rows[0]);
    if (!m->ttft_ns.is_exact) {
        fprintf(file, "  quantiles come from histograms: within %.1f %%\n",
                100 * SLI_HIST_RELATIVE_ERROR);
    } else if (m->itl_ns.count > 0) {
        fprintf(file, "  quantiles are exact, those of ITL within %.1f %% (histogram)\n",
                100 * SLI_HIST_RELATIVE_ERROR);
    }
}

/* What was asked for, where it says something that the throughput does not. */
static bool offers_more(const sli_run_facts *facts, const sli_metrics *m) {
    return !facts->is_closed && m->request_offered_per_s.kind == SLI_VALUE_REAL &&
           m->request_offered_per_s.real > 1.02 * m->request_throughput_per_s.real;
}

static void put_throughput(FILE *file, const sli_run_facts *facts, const sli_metrics *m) {
    if (m->request_throughput_per_s.kind != SLI_VALUE_REAL) {
        return;
    }
    char text[NUMBER_SIZE];
    line l = begin_line(file, "  throughput", INDENT);
    char offered[NUMBER_SIZE];
    format_number(m->request_throughput_per_s.real, text);
    if (offers_more(facts, m)) {
        format_number(m->request_offered_per_s.real, offered);
        put_part(&l, "%s of %s req/s offered", text, offered);
    } else {
        put_part(&l, "%s req/s", text);
    }
    format_number(m->output_throughput_tokens_per_s.real, text);
    put_part(&l, "%s output tok/s", text);
    format_number(m->prompt_throughput_tokens_per_s.real, text);
    put_part(&l, "%s prompt tok/s", text);
    end_line(&l);
}

static void put_slo(FILE *file, const sli_slo *slo, const sli_metrics *m) {
    if (m->slo_attainment_frac.kind != SLI_VALUE_REAL) {
        return;
    }
    char limits[2][NUMBER_SIZE] = {"", ""};
    char text[NUMBER_SIZE];
    if (slo->ttft_ns != SLI_SLO_NONE) {
        sli_format_int(slo->ttft_ns, SL_DIM_TIME, limits[0], sizeof limits[0]);
    }
    if (slo->tpot_ns != SLI_SLO_NONE) {
        sli_format_int(slo->tpot_ns, SL_DIM_TIME, limits[1], sizeof limits[1]);
    }
    bool has_both = limits[0][0] != '\0' && limits[1][0] != '\0';
    double frac = m->slo_attainment_frac.real;
    line l = begin_line(file, "  SLO", INDENT);
    put_part(&l, "%.2f %% within %s%s%s%s%s", 100 * frac, limits[0][0] != '\0' ? "ttft " : "",
             limits[0], has_both ? " and " : "", limits[1][0] != '\0' ? "tpot " : "", limits[1]);
    if (slo->attainment_frac > 0) {
        put_part(&l, "asked %g %%: %s", 100 * slo->attainment_frac,
                 frac >= slo->attainment_frac ? "met" : "missed");
    }
    if (m->goodput_per_s.kind == SLI_VALUE_REAL) {
        format_number(m->goodput_per_s.real, text);
        put_part(&l, "goodput %s req/s", text);
    }
    end_line(&l);
}

static void put_preemptions(FILE *file, const sli_metrics *m) {
    if (m->preemption_count == 0) {
        return;
    }
    char text[NUMBER_SIZE];
    sli_format_count(m->preemption_count, text, sizeof text);
    line l = begin_line(file, "  preempted", INDENT);
    put_part(&l, "%s time%s", text, m->preemption_count == 1 ? "" : "s");
    if (m->reprefilled_frac.kind == SLI_VALUE_REAL) {
        format_percent(m->reprefilled_frac.real, text);
        put_part(&l, "%s of the computed tokens had been computed before", text);
    }
    end_line(&l);
}

/* Without anything to share, no hits are no finding. */
static void put_prefix(FILE *file, const sli_run_facts *facts, const sli_metrics *m) {
    if (m->prefix_hit_frac.kind != SLI_VALUE_REAL) {
        return;
    }
    char text[NUMBER_SIZE];
    line l = begin_line(file, "  prefix", INDENT);
    if (facts->lacks_prefixes) {
        put_part(&l, "the workload shares none");
    } else {
        format_percent(m->prefix_hit_frac.real, text);
        put_part(&l, "hits %s of prompt tokens", text);
    }
    end_line(&l);
}

/* Blocks where a block is one; pages of all sorts of blocks say less than bytes. */
static void put_peak(line *l, const sli_run_facts *facts, const sli_metrics *m) {
    char text[NUMBER_SIZE];
    char pool[NUMBER_SIZE];
    bool has_several = m->replica_count > 1 || facts->tp_count > 1;
    format_percent(m->kv_peak_frac.real, text);
    if (facts->group_count > 1) {
        format_bytes((double)m->pool_blocks * (double)facts->page_bytes, pool);
        put_part(l, "peak %s of %s%s", text, pool, has_several ? " a device" : "");
    } else {
        sli_format_count(m->pool_blocks, pool, sizeof pool);
        put_part(l, "peak %s of %s blocks%s", text, pool, m->replica_count > 1 ? " a replica" : "");
    }
}

/* The layers that share pages, how many tokens their blocks have, and how large a page is. */
static void put_layout(FILE *file, const sli_run_facts *facts) {
    char layers[256] = "";
    char blocks[128] = "";
    char number[NUMBER_SIZE];
    size_t layers_length = 0;
    size_t blocks_length = 0;
    bool differs = false;
    if (facts->group_count < 2) {
        return;
    }
    for (size_t i = 0; i < facts->group_count; i++) {
        const sli_fact_group *group = &facts->groups[i];
        const char *between = i == 0 ? "" : i + 1 < facts->group_count ? ", " : " and ";
        layers_length = append(layers, sizeof layers, layers_length, "%s%lld %s",
                               i == 0 ? "" : ", ", (long long)group->layers, group->name);
        sli_format_count(group->block_tokens, number, sizeof number);
        blocks_length = append(blocks, sizeof blocks, blocks_length, "%s%s", between, number);
        differs = differs || group->block_tokens != facts->groups[0].block_tokens;
    }
    line l = begin_line(file, "  layout", INDENT);
    put_part(&l, "%s", layers);
    put_part(&l, "blocks of %s tokens", differs ? blocks : number);
    format_bytes((double)facts->page_bytes, number);
    put_part(&l, facts->has_page_unit ? "units of %s" : "page %s", number);
    end_line(&l);
}

static void put_memory(FILE *file, const sli_run_facts *facts, const sli_metrics *m) {
    if (m->step_count == 0) {
        return;
    }
    char text[NUMBER_SIZE];
    char steps[NUMBER_SIZE];
    line l = begin_line(file, "  KV", INDENT);
    if (m->kv_peak_frac.kind == SLI_VALUE_REAL) {
        put_peak(&l, facts, m);
        format_percent(m->kv_mean_frac.real, text);
        put_part(&l, "mean %s while busy", text);
    }
    if (m->preemption_count == 0) {
        put_part(&l, "0 preemptions");
    }
    end_line(&l);
    put_layout(file, facts);
    put_preemptions(file, m);
    put_prefix(file, facts, m);
    if (m->busy_frac.kind == SLI_VALUE_REAL) {
        format_percent(m->busy_frac.real, text);
        sli_format_count(m->step_count, steps, sizeof steps);
        l = begin_line(file, "  steps", INDENT);
        put_part(&l, "%s", steps);
        put_part(&l, "busy %s of the time", text);
        end_line(&l);
    }
}

/* What was thrown out, which is no figure of the run. */
static void put_keep(FILE *file, const sli_fact_keep *keep) {
    if (keep->method == NULL) {
        return;
    }
    line l = begin_line(file, "  keep", INDENT);
    put_part(&l, "%s: %s", keep->method, keep->budget);
    if (keep->layers != NULL) {
        put_part(&l, "%s", keep->layers);
    }
    put_part(&l, "quality is not simulated");
    end_line(&l);
}

static void put_quality(FILE *file, const sli_run_facts *facts) {
    for (size_t i = 0; i < facts->quality_count; i++) {
        const sli_fact_quality *given = &facts->quality[i];
        line l = begin_line(file, "  quality", INDENT);
        put_part(&l, "%s %g with %s", given->measure, given->figure, given->setting);
        put_part(&l, "%s", given->source);
        put_part(&l, "given, not simulated");
        end_line(&l);
    }
}

static int largest_of(const double *fracs, int count) {
    int largest = 0;
    for (int i = 1; i < count; i++) {
        largest = fracs[i] > fracs[largest] ? i : largest;
    }
    return largest;
}

/* A part of a whole. */
typedef struct share {
    const char *name;
    double frac;
} share;

/*
 * Shares in whole percent that add up to what they add up to together: all are rounded down, and
 * what is missing goes to those that lost most (the method of the largest remainder). What comes to
 * nothing is left out.
 */
static void put_shares(line *l, const share *shares, int count) {
    enum { SHARES_MAX = 16 };
    double lost[SHARES_MAX];
    int percents[SHARES_MAX];
    double sum = 0;
    int missing = 0;
    SL_ASSERT(count <= SHARES_MAX);
    for (int i = 0; i < count; i++) {
        double percent = shares[i].frac > 0 ? 100 * shares[i].frac : 0;
        percents[i] = (int)percent;
        lost[i] = percent - percents[i];
        sum += percent;
        missing -= percents[i];
    }
    for (missing += (int)(sum + 0.5); missing > 0; missing--) {
        int most = largest_of(lost, count);
        percents[most]++;
        lost[most] = 0;
    }
    for (int i = 0; i < count; i++) {
        if (percents[i] > 0) {
            put_part(l, "%s %d %%", shares[i].name, percents[i]);
        }
    }
}

/* The tail if it is known, else the mean. */
static void put_ttft_shares(FILE *file, const sli_metrics *m) {
    bool has_tail = m->ttft_p99_shares.count > 0;
    const sli_ttft_shares *ttft = has_tail ? &m->ttft_p99_shares : &m->ttft_mean_shares;
    if (ttft->count == 0) {
        return;
    }
    const share shares[SLI_TTFT_PART_COUNT] = {
        {"queue", ttft->part_frac[SLI_TTFT_QUEUED]},
        {"own prefill", ttft->part_frac[SLI_TTFT_OWN]},
        {"interference", ttft->part_frac[SLI_TTFT_INTERFERENCE]},
        {"preempted", ttft->part_frac[SLI_TTFT_PREEMPTED]},
    };
    line l = begin_line(file, has_tail ? "  P99 TTFT is" : "  mean TTFT is", INDENT);
    put_shares(&l, shares, SLI_TTFT_PART_COUNT);
    end_line(&l);
}

/* When the slowest requests came, if that was in a small part of the run: a burst. */
static void put_tail_window(FILE *file, const sli_metrics *m) {
    const int64_t small_part = 4;
    int64_t window_ns = m->p99_last_arrival_ns - m->p99_first_arrival_ns;
    if (m->ttft_p99_shares.count < 2 || window_ns > m->arrival_span_ns / small_part) {
        return;
    }
    char count[NUMBER_SIZE];
    sli_format_count(m->ttft_p99_shares.count, count, sizeof count);
    line l = begin_line(file, "  the slowest", INDENT);
    put_part(&l, "%s requests arrived between %.1f s and %.1f s", count,
             (double)m->p99_first_arrival_ns / 1e9, (double)m->p99_last_arrival_ns / 1e9);
    end_line(&l);
}

/* The largest parts first; the small ones together are `other`, and stand apart in the metrics. */
static void put_running_shares(FILE *file, const sli_metrics *m) {
    enum { INTERFERENCE = SL_CAUSE_COUNT, PART_COUNT };
    static const char *const names[PART_COUNT] = {
        [SL_CAUSE_GEMM] = "gemm",
        [SL_CAUSE_ATTENTION] = "attention",
        [SL_CAUSE_ELEMENTWISE] = "elementwise",
        [SL_CAUSE_HEAD] = "head",
        [SL_CAUSE_COLLECTIVE] = "collective",
        [SL_CAUSE_ENGINE] = "engine",
        [INTERFERENCE] = "interference",
    };
    const double small_frac = 0.05;
    double left_fracs[PART_COUNT];
    share shares[PART_COUNT + 1];
    int count = 0;
    double other_frac = 1.0;
    if (m->running_shares.count == 0) {
        return;
    }
    memcpy(left_fracs, m->running_shares.own_frac, sizeof m->running_shares.own_frac);
    left_fracs[INTERFERENCE] = m->running_shares.interference_frac;
    for (int i = largest_of(left_fracs, PART_COUNT); left_fracs[i] >= small_frac;
         i = largest_of(left_fracs, PART_COUNT)) {
        shares[count++] = (share){names[i], left_fracs[i]};
        other_frac -= left_fracs[i];
        left_fracs[i] = 0.0;
    }
    shares[count++] = (share){"other", other_frac};
    line l = begin_line(file, "  running is", INDENT);
    put_shares(&l, shares, count);
    end_line(&l);
}

static void put_footer(FILE *file, const sli_run_facts *facts) {
    char digest[SLI_DIGEST_TEXT_SIZE];
    sli_digest_format(facts->digest, digest);
    fputc('\n', file);
    for (size_t i = 0; i < facts->warning_count; i++) {
        fprintf(file, "  warning: %s\n", facts->warnings[i]);
    }
    for (size_t i = 0; i < facts->assumed_count; i++) {
        fprintf(file, "  assumed, not measured: %s\n", facts->assumed[i]);
    }
    line l = begin_line(file, "  ", 2);
    if (facts->results_dir != NULL) {
        put_part(&l, "results in %s (%s, %s)", facts->results_dir, SLI_DATABASE_NAME,
                 SLI_DIRECTORY_SCENARIO);
    }
    put_part(&l, "digest %s", digest);
    end_line(&l);
}

/* Rates, objective, memory and attribution: whatever there is to say, behind one empty line. */
static void put_results(FILE *file, const sli_run_facts *facts, const sli_metrics *m) {
    if (m->step_count == 0 && m->slo_attainment_frac.kind == SLI_VALUE_NULL &&
        m->request_throughput_per_s.kind == SLI_VALUE_NULL) {
        return;
    }
    fputc('\n', file);
    put_throughput(file, facts, m);
    put_slo(file, &facts->slo, m);
    put_memory(file, facts, m);
    put_keep(file, &facts->keep);
    put_quality(file, facts);
    put_ttft_shares(file, m);
    put_tail_window(file, m);
    put_running_shares(file, m);
}

sl_err sli_text_write(FILE *file, const sli_run_facts *facts, const sli_metrics *metrics) {
    put_heading(file, facts);
    put_outcomes(file, facts, metrics);
    put_latencies(file, metrics);
    put_results(file, facts, metrics);
    put_footer(file, facts);
    return fflush(file) != 0 || ferror(file) ? SL_ERR_IO : SL_OK;
}
