/*
 * kref_report: a file of measurements for people, as Markdown.
 *
 *   kref_report FILE          a table for each device and backend, and what was aimed at
 *   kref_report --name FILE   a name for the file, made of the first device and its date
 *
 * Exit codes are those of sluice: 2 wrong use, 3 no measurements in the file, 7 stdout cannot be
 * written.
 */
#include "calib/measurements.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { DONE = 0, USAGE = 2, BAD_FILE = 3, FAILED = 7 };

static const char *const usage = "usage: kref_report [--name] FILE\n";

/* ---- A row ---- */

static bool is_same_place(const sli_measurement *a, const sli_measurement *b) {
    return strcmp(a->device, b->device) == 0 && strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->driver, b->driver) == 0 && strcmp(a->toolkit, b->toolkit) == 0;
}

/* "variant plain, rows 64, width 1024" */
static void print_shape(const sli_measurement *row) {
    const char *separator = "";
    for (int i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        if (column->role != SLI_MEASURED_SHAPE || sli_measured_is_empty(column, row) ||
            strcmp(column->name, "threads") == 0) {
            continue;
        }
        if (sli_measured_is_text(column)) {
            printf("%s%s", separator, sli_measured_text(column, row));
        } else {
            printf("%s%s %lld", separator, column->name,
                   (long long)sli_measured_whole(column, row));
        }
        separator = ", ";
    }
}

static void print_share(double share) {
    if (isnan(share)) {
        printf(" - |");
    } else {
        printf(" %.1f %% |", 100.0 * share);
    }
}

static void print_row(const sli_measurement *row) {
    printf("| `%s` | ", row->kernel);
    print_shape(row);
    /* A FLOP a ns is a GFLOP a s. */
    printf(" | %s, %s | %lld | %.2f | %.2f%s | %.1f | %.2f |", row->cache, row->launch,
           (long long)row->samples, row->time_median_ns / 1e3, row->time_p90_ns / 1e3,
           sli_measured_is_noisy(row) ? " noisy" : "",
           (double)row->algorithmic_flops / row->time_median_ns,
           (double)row->algorithmic_bytes / row->time_median_ns);
    print_share(row->flops_frac);
    print_share(row->bytes_frac);
    printf("\n");
}

/* ---- What was aimed at ---- */

typedef struct aim {
    const char *kernel;
    const char *what;
    size_t share; /* the member that is held against it */
    double least;
} aim;

static const aim aims[] = {
    {"decode_attention", "bandwidth of the memory", offsetof(sli_measurement, bytes_frac), 0.8},
    {"prefill_attention", "peak of matrix instructions", offsetof(sli_measurement, flops_frac),
     0.5},
};

static double share_of(const aim *it, const sli_measurement *row) {
    return *(const double *)((const char *)row + it->share);
}

/* The row of a place that comes closest to an aim, or NULL. */
static const sli_measurement *find_best(const aim *it, const sli_measurements *table,
                                        const sli_measurement *place) {
    const sli_measurement *best = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const sli_measurement *row = &table->rows[i];
        bool is_its = is_same_place(row, place) && strcmp(row->kernel, it->kernel) == 0 &&
                      !isnan(share_of(it, row));
        if (is_its && (best == NULL || share_of(it, row) > share_of(it, best))) {
            best = row;
        }
    }
    return best;
}

static void print_aims(const sli_measurements *table, const sli_measurement *place) {
    for (size_t i = 0; i < sizeof aims / sizeof aims[0]; i++) {
        const sli_measurement *best = find_best(&aims[i], table, place);
        if (best != NULL) {
            double share = share_of(&aims[i], best);
            printf("`%s` has at best %.1f %% of the %s (", aims[i].kernel, 100.0 * share,
                   aims[i].what);
            print_shape(best);
            printf("); %.0f %% were aimed at: %s.\n\n", 100.0 * aims[i].least,
                   share >= aims[i].least ? "reached" : "not reached");
        }
    }
}

static bool is_same_product(const sli_measurement *a, const sli_measurement *b) {
    return is_same_place(a, b) && strcmp(a->element, b->element) == 0 && a->rows == b->rows &&
           a->width == b->width && a->depth == b->depth && strcmp(a->cache, b->cache) == 0 &&
           strcmp(a->launch, b->launch) == 0;
}

/* The ceiling of gemm is what the library makes of the same shape. */
static void print_ceiling(const sli_measurements *table, const sli_measurement *place) {
    for (size_t i = 0; i < table->count; i++) {
        const sli_measurement *ours = &table->rows[i];
        for (size_t j = 0; j < table->count && strcmp(ours->kernel, "gemm") == 0; j++) {
            const sli_measurement *theirs = &table->rows[j];
            if (is_same_place(ours, place) && strcmp(theirs->kernel, "library_gemm") == 0 &&
                is_same_product(ours, theirs)) {
                printf("`gemm` has %.1f %% of the speed of `library_gemm` (",
                       100.0 * theirs->time_median_ns / ours->time_median_ns);
                print_shape(ours);
                printf(").\n\n");
            }
        }
    }
}

/* ---- A device ---- */

static double peak_of(const sli_measurement *row, size_t member) {
    return *(const double *)((const char *)row + member);
}

/* "989.0 and 1979.0": the peaks of a place that differ, after `start`; false if there is none. */
static bool print_peaks(const sli_measurements *table, const sli_measurement *place, size_t member,
                        const char *start, double unit) {
    const char *separator = start;
    for (size_t i = 0; i < table->count; i++) {
        const sli_measurement *row = &table->rows[i];
        double peak = peak_of(row, member);
        if (isnan(peak) || !is_same_place(row, place)) {
            continue;
        }
        size_t earlier = 0;
        while (earlier < i && (!is_same_place(&table->rows[earlier], place) ||
                               peak_of(&table->rows[earlier], member) != peak)) {
            earlier++;
        }
        if (earlier == i) {
            printf("%s%.1f", separator, peak / unit);
            separator = " and ";
        }
    }
    return separator != start;
}

static void print_all_peaks(const sli_measurements *table, const sli_measurement *place) {
    bool has_bytes = print_peaks(table, place, offsetof(sli_measurement, peak_bytes_per_s),
                                 "The peak of the memory is ", 1e9);
    printf("%s", has_bytes ? " GB/s.\n" : "");
    bool has_flops = print_peaks(table, place, offsetof(sli_measurement, peak_flops_per_s),
                                 "The peak of matrix instructions is ", 1e12);
    printf("%s", has_flops ? " TFLOP/s, by the type of what is multiplied.\n" : "");
    if (!has_bytes && !has_flops) {
        printf("Peaks are not known, so there are no shares of them.\n");
    }
}

static void print_noise(const sli_measurements *table, const sli_measurement *place) {
    size_t rows = 0;
    size_t noisy = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (is_same_place(&table->rows[i], place)) {
            rows++;
            noisy += sli_measured_is_noisy(&table->rows[i]) ? 1 : 0;
        }
    }
    if (noisy > 0) {
        printf("%zu of %zu rows are noisy: their p90 is above %.1f times the median.\n", noisy,
               rows, SLI_NOISY_RATIO);
    }
}

static void print_head(const sli_measurements *table, const sli_measurement *first) {
    printf("# %s\n\n", first->device);
    printf("Backend `%s`; driver %s; compiled by %s; begun %s", first->backend, first->driver,
           first->toolkit, first->date);
    if (!isnan(first->clock_hz)) {
        printf("; clock %.0f MHz at the start, not locked", first->clock_hz / 1e6);
    }
    if (first->threads > 0) {
        printf("; %lld thread%s", (long long)first->threads, first->threads == 1 ? "" : "s");
    }
    printf(".\n");
    print_all_peaks(table, first);
    print_noise(table, first);
    printf(
        "\n| kernel | shape | cache, launch | samples | median us | p90 us | GFLOP/s | GB/s | of "
        "peak FLOP/s | of peak bytes/s |\n|---|---|---|---|---|---|---|---|---|---|\n");
}

static void print_place(const sli_measurements *table, const sli_measurement *place) {
    print_head(table, place);
    for (size_t i = 0; i < table->count; i++) {
        if (is_same_place(&table->rows[i], place)) {
            print_row(&table->rows[i]);
        }
    }
    printf("\n");
    print_aims(table, place);
    print_ceiling(table, place);
}

/* Each place where a row of it comes first. O(rows^2). */
static void print_report(const sli_measurements *table) {
    for (size_t i = 0; i < table->count; i++) {
        size_t earlier = 0;
        while (earlier < i && !is_same_place(&table->rows[earlier], &table->rows[i])) {
            earlier++;
        }
        if (earlier == i) {
            print_place(table, &table->rows[i]);
        }
    }
}

/* "NVIDIA H100 80GB HBM3" of 2026-11-30 becomes "nvidia-h100-80gb-hbm3-2026-11-30". */
static void print_name(const sli_measurement *row) {
    bool is_begun = false;
    bool is_due = false; /* a stroke between two words */
    for (const char *at = row->device; *at != '\0'; at++) {
        bool is_letter = isalnum((unsigned char)*at) != 0;
        if (is_letter) {
            printf("%s%c", is_due ? "-" : "", tolower((unsigned char)*at));
            is_begun = true;
        }
        is_due = is_begun && !is_letter;
    }
    printf("%s%.10s\n", is_begun ? "-" : "", row->date);
}

static int report(const char *path, bool is_name) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_measurements table = {0};
    int code = DONE;
    if (sli_measurements_read(&arena, path, &diag, &table) != SL_OK) {
        sli_diag_print(&diag, stderr);
        code = BAD_FILE;
    } else if (is_name) {
        print_name(&table.rows[0]);
    } else {
        print_report(&table);
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "kref_report: cannot write stdout\n");
        return FAILED;
    }
    return code;
}

int main(int argc, char **argv) {
    bool is_name = argc == 3 && strcmp(argv[1], "--name") == 0;
    if (argc != 2 && !is_name) {
        fputs(usage, stderr);
        return USAGE;
    }
    if (!is_name && argv[1][0] == '-') {
        bool is_help = strcmp(argv[1], "--help") == 0;
        fputs(usage, is_help ? stdout : stderr);
        return is_help ? DONE : USAGE;
    }
    return report(argv[argc - 1], is_name);
}
