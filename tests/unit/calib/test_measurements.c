/* Measurements as CSV: what is read and written, and every rule that a file can break. */
#include "calib/measurements.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEADER                                                                                     \
    "format_version,kernel,backend,device,driver,toolkit,date,clock_hz,cache,launch,rows,width,"   \
    "algorithmic_flops,algorithmic_bytes,samples,time_min_ns,time_median_ns,time_p90_ns,"          \
    "peak_flops_per_s,peak_bytes_per_s,flops_frac,bytes_frac\n"
#define WHO "1,rms_norm,cuda,H200,580.1,CUDA 13.0,2026-11-30T08:00:00Z,1.98e9,flushed,graph,"
/* 4000 FLOP in 200 ns are 2e10 a second, 8000 bytes 4e10. */
#define GOOD WHO "3,64,4000,8000,5,100,200,300,1e12,4e11,0.02,0.1\n"

/* A file of its own for each test, and what reading it says. */
typedef struct fixture {
    char path[32];
    sli_arena arena;
    sli_diag diag;
    sli_measurements table;
    char *said;
} fixture;

static void write_file(fixture *it, const char *text, size_t length) {
    strcpy(it->path, "measured_XXXXXX");
    int file = mkstemp(it->path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, length), length);
    close(file);
}

static char *printed(const sli_diag *diag) {
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    sli_diag_print(diag, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static sl_err read_bytes(fixture *it, const char *text, size_t length) {
    *it = (fixture){.table = {NULL, 0}};
    write_file(it, text, length);
    sl_err err = sli_measurements_read(&it->arena, it->path, &it->diag, &it->table);
    unlink(it->path);
    it->said = printed(&it->diag);
    return err;
}

static sl_err read_text(fixture *it, const char *text) {
    return read_bytes(it, text, strlen(text));
}

static void tear_down(fixture *it) {
    free(it->said);
    sli_diag_fini(&it->diag);
    sli_arena_fini(&it->arena);
}

/* The file is refused, with exactly these words behind its name. */
static void refuses(const char *text, const char *words) {
    fixture it;
    sl_err err = read_text(&it, text);
    if (err != SL_ERR_CONFIG || strstr(it.said, words) == NULL) {
        print_error("%s\nsaid: %s\nexpected: %s\n", text, it.said, words);
    }
    assert_int_equal(err, SL_ERR_CONFIG);
    assert_non_null(strstr(it.said, words));
    assert_null(it.table.rows);
    tear_down(&it);
}

/* A copy of a text in which `what` is `by`, once. The caller frees it. */
static char *replaced(const char *text, const char *what, const char *by) {
    const char *at = strstr(text, what);
    assert_non_null(at);
    size_t size = strlen(text) + strlen(by) + 1;
    char *copy = malloc(size);
    assert_non_null(copy);
    snprintf(copy, size, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what));
    return copy;
}

/* The good file with one thing replaced is refused. */
static void refuses_change(const char *what, const char *by, const char *words) {
    char *text = replaced(HEADER GOOD, what, by);
    refuses(text, words);
    free(text);
}

/* ---- Reading ---- */

static void reads_every_kind_of_value(void **state) {
    (void)state;
    fixture it;
    assert_int_equal(read_text(&it, HEADER GOOD), SL_OK);
    assert_string_equal(it.said, "");
    assert_int_equal(it.table.count, 1);
    const sli_measurement *row = it.table.rows;
    assert_string_equal(row->kernel, "rms_norm");
    assert_string_equal(row->toolkit, "CUDA 13.0");
    assert_true(row->clock_hz == 1.98e9);
    assert_int_equal(row->rows, 3);
    assert_int_equal(row->width, 64);
    assert_int_equal(row->algorithmic_bytes, 8000);
    assert_true(row->time_p90_ns == 300.0);
    assert_true(row->bytes_frac == 0.1);
    assert_int_equal(row->sequences, SLI_NOT_MEASURED);
    assert_string_equal(row->element, "");
    tear_down(&it);
}

static void empty_is_not_zero(void **state) {
    (void)state;
    fixture it;
    assert_int_equal(read_text(&it, HEADER "1,a,cpu,d,v,t,2024-02-29T00:00:00Z,,warm,call,0,,0,0,"
                                           "1,5,5,5,,,,\n"),
                     SL_OK);
    const sli_measurement *row = it.table.rows;
    assert_true(isnan(row->clock_hz) && isnan(row->flops_frac));
    assert_int_equal(row->rows, 0);
    assert_int_equal(row->width, SLI_NOT_MEASURED);
    tear_down(&it);
}

static void copes_with_quotes_and_line_ends(void **state) {
    (void)state;
    char *text = replaced("\xef\xbb\xbf" HEADER GOOD, "H200", "\"a \"\"fast\"\" one,\nH200\"");
    char *crlf = replaced(text, "bytes_frac\n", "bytes_frac\r\n\r\n");
    fixture it;
    /* A line end is no printable character, wherever it stands. */
    assert_int_equal(read_text(&it, crlf), SL_ERR_CONFIG);
    assert_non_null(strstr(it.said, ":3:17: device: has bytes that are no printable UTF-8"));
    tear_down(&it);
    free(crlf);
    free(text);

    text = replaced(HEADER GOOD, "H200", "\"a \"\"fast\"\" one, H200\"");
    crlf = replaced(text, "0.1\n", "\"0.1\"\r\n");
    assert_int_equal(read_text(&it, crlf), SL_OK);
    assert_string_equal(it.table.rows->device, "a \"fast\" one, H200");
    assert_true(it.table.rows->bytes_frac == 0.1);
    tear_down(&it);
    free(crlf);
    free(text);
}

static void last_line_may_lack_its_end(void **state) {
    (void)state;
    fixture it;
    char *text = replaced(HEADER GOOD, ",0.1\n", ",0.1");
    assert_int_equal(read_text(&it, text), SL_OK);
    assert_true(it.table.rows->bytes_frac == 0.1);
    tear_down(&it);
    free(text);
}

/* ---- Mistakes ---- */

static void columns_are_checked(void **state) {
    (void)state;
    refuses("", "is empty");
    refuses(HEADER, "holds no measurement");
    refuses("kernel,time\n", "not a file of measurements: its first column is 'kernel'");
    refuses_change(",rows,", ",row,", ":1:80: there is no column 'row'; did you mean 'rows'?");
    refuses_change(",time_p90_ns,", ",time_p95_ns,", "'time_p95_ns'; did you mean 'time_p90_ns'?");
    refuses_change(",width,", ",rows,", ":1:85: the column 'rows' is there already");
    refuses_change(",samples,", ",splits,", ":1: the column 'samples' is missing");
    refuses_change(",0.02,0.1", ",0.02", ":2: 21 values in 22 columns");
    refuses_change(",0.02,0.1", ",0.02,0.1,", ":2: 23 values in 22 columns");
    refuses_change("H200", "\"H200", ":2:17: the quote is not closed");
    refuses_change("H200", "\"H200\"x", ":2:23: expected a comma behind the quote");
}

static void bytes_of_zero_are_no_text(void **state) {
    (void)state;
    fixture it;
    assert_int_equal(read_bytes(&it, HEADER "1\0\n", sizeof(HEADER "1\0\n") - 1), SL_ERR_CONFIG);
    assert_non_null(strstr(it.said, "is no text"));
    tear_down(&it);
}

static void values_are_checked(void **state) {
    (void)state;
    refuses_change("\n1,rms", "\n2,rms", ":2:1: format_version: expected 1, found 2");
    refuses_change("rms_norm", "RMS norm", ":2:3: kernel: expected a word");
    refuses_change("rms_norm", "", ":2:3: kernel: must not be empty");
    refuses_change(",cuda,", ",cdua,",
                   ":2:12: backend: expected one of cpu, cuda, peers, nccl, io_uring, found "
                   "'cdua'; did you mean 'cuda'?");
    refuses_change("flushed", "hot", "cache: expected one of warm, flushed, bypassed, found 'hot'");
    refuses_change("H200", "H\t200", ":2:17: device: has bytes that are no printable UTF-8");
    refuses_change("11-30T08", "11-31T08", "date: expected a date as 2026-11-30T08:00:00Z");
    refuses_change("2026-11-30", "2023-02-29", "found '2023-02-29T08:00:00Z'");
    refuses_change("08:00:00Z", "08:00Z", "date: expected a date");
    refuses_change(",3,64,", ",3.5,64,", ":2:80: rows: expected a whole number, found '3.5'");
    refuses_change(",3,64,", ",-1,64,", "rows: must not be negative, found -1");
    refuses_change(",3,64,", ",three,64,", "rows: expected a whole number, found 'three'");
    refuses_change(",3,64,", ",3 GiB,64,", "rows: expected a number without a unit");
    refuses_change(",3,64,", ",9e99,64,", "rows: expected a number below 2^63");
    refuses_change(",100,200,", ",nan,200,", "time_min_ns: expected a number, found 'nan'");
    refuses_change(",100,200,", ",,200,", "time_min_ns: must not be empty");
    refuses_change(",5,100,", ",0,100,", "samples: must be at least 1, found 0");
    refuses_change("1.98e9", "0", "clock_hz: must be at least 1, found 0");
    refuses_change(",3,64,", ",,,", ":2: the shape is empty");
}

static void values_agree_with_each_other(void **state) {
    (void)state;
    refuses_change(",100,200,", ",201,200,", "time_median_ns: must be at least time_min_ns, 201");
    refuses_change(",200,300,", ",200,199,", "time_p90_ns: must be at least time_median_ns, 200");
    refuses_change(",100,200,", ",0,200,", "time_min_ns: must be above 0");
    refuses_change(",5,100,", ",1,100,", "samples: one sample has one time");
    refuses_change(",0.02,", ",0.03,", "flops_frac: must be 0.02, which follows from work");
    refuses_change(",0.1\n", ",0.11\n", "bytes_frac: must be 0.1, which follows from work");
    refuses_change(",0.1\n", ",\n", "bytes_frac: must not be empty where the peak is given");
    refuses_change(",1e12,", ",,", "flops_frac: is a share of a peak that is not given");
}

static void more_than_the_peak_is_a_warning(void **state) {
    (void)state;
    char *text = replaced(HEADER GOOD, ",4e11,0.02,0.1", ",2e10,0.02,2");
    fixture it;
    assert_int_equal(read_text(&it, text), SL_OK);
    assert_non_null(strstr(it.said, "warning: bytes_frac: 2 of the peak: is the peak right?"));
    tear_down(&it);
    char *warm = replaced(text, "flushed", "warm");
    assert_int_equal(read_text(&it, warm), SL_OK);
    assert_string_equal(it.said, "");
    tear_down(&it);
    free(warm);
    free(text);
}

static void rows_agree_with_each_other(void **state) {
    (void)state;
    refuses(HEADER GOOD GOOD, ":3: the same measurement as line 2");
    refuses(HEADER GOOD WHO "3,,4000,8000,5,100,200,300,,,,\n",
            ":2: width: must be empty for rms_norm, unlike line 3");
    fixture it;
    assert_int_equal(read_text(&it, HEADER GOOD WHO "4,64,4000,8000,5,100,200,300,,,,\n"), SL_OK);
    assert_int_equal(it.table.count, 2);
    tear_down(&it);
}

static void all_mistakes_are_told_up_to_a_limit(void **state) {
    (void)state;
    char text[8192] = HEADER;
    for (int i = 0; i < 23; i++) {
        strcat(text, "1,?\n");
    }
    fixture it;
    assert_int_equal(read_text(&it, text), SL_ERR_CONFIG);
    assert_int_equal(it.diag.error_count, 21);
    assert_non_null(strstr(it.said, ":21: 2 values in 22 columns"));
    assert_null(strstr(it.said, ":22: "));
    assert_non_null(strstr(it.said, "and 3 more mistakes, which are not listed"));
    tear_down(&it);
}

static void file_that_is_not_there_is_named(void **state) {
    (void)state;
    fixture it = {.table = {NULL, 0}};
    assert_int_equal(sli_measurements_read(&it.arena, "absent.csv", &it.diag, &it.table),
                     SL_ERR_CONFIG);
    it.said = printed(&it.diag);
    assert_string_equal(it.said, "absent.csv: cannot be read: No such file or directory\n");
    tear_down(&it);
}

/* ---- Writing ---- */

static void writes_what_it_reads(void **state) {
    (void)state;
    sli_measurement row = sli_no_measurement;
    row.format_version = 1;
    row.kernel = "gemm";
    row.backend = "cpu";
    row.device = "a \"b\", c";
    row.driver = "d";
    row.toolkit = "t";
    row.date = "2026-11-30T08:00:00Z";
    row.cache = "warm";
    row.launch = "call";
    row.rows = 7;
    row.algorithmic_flops = INT64_C(9007199254740993); /* no double holds it */
    row.algorithmic_bytes = 0;
    row.samples = 2;
    row.time_min_ns = 0.1;
    row.time_median_ns = 1.0 / 3.0;
    row.time_p90_ns = 2e300;
    sli_measurements table = {&row, 1};
    fixture it = {.table = {NULL, 0}};
    write_file(&it, "", 0);
    assert_int_equal(sli_measurements_write(&table, it.path, SLI_MEASUREMENTS_CSV), SL_OK);
    assert_int_equal(sli_measurements_read(&it.arena, it.path, &it.diag, &it.table), SL_OK);
    unlink(it.path);
    it.said = printed(&it.diag);
    assert_string_equal(it.table.rows->device, row.device);
    assert_int_equal(it.table.rows->algorithmic_flops, row.algorithmic_flops);
    assert_true(it.table.rows->time_median_ns == row.time_median_ns);
    assert_true(it.table.rows->time_p90_ns == row.time_p90_ns);
    assert_true(isnan(it.table.rows->clock_hz));
    tear_down(&it);
    assert_int_equal(sli_measurements_write(&table, "absent/a.csv", SLI_MEASUREMENTS_CSV),
                     SL_ERR_IO);
}

static void a_file_says_what_it_is(void **state) {
    (void)state;
    sli_measurements_format format = SLI_MEASUREMENTS_CSV;
    assert_true(sli_measurements_format_of("a.hdf5", &format));
    assert_int_equal(format, SLI_MEASUREMENTS_HDF5);
    assert_true(sli_measurements_format_of("a.csv", &format));
    assert_int_equal(format, SLI_MEASUREMENTS_CSV);
    assert_false(sli_measurements_format_of("a.yaml", &format));
    assert_false(sli_measurements_format_of(".csv", &format));
    fixture it = {.table = {NULL, 0}};
    write_file(&it, HEADER, strlen(HEADER));
    assert_true(sli_is_measurements(it.path));
    unlink(it.path);
    assert_false(sli_is_measurements(it.path));
    write_file(&it, "format_version: 1\n", strlen("format_version: 1\n"));
    assert_false(sli_is_measurements(it.path));
    unlink(it.path);
}

static void every_column_is_distinct_and_explained(void **state) {
    (void)state;
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        assert_ptr_equal(sli_measured_column_find(column->name), column);
        assert_true(column->help[0] != '\0');
        assert_true(sli_measured_is_empty(column, &sli_no_measurement));
        for (size_t j = 0; j < i; j++) {
            assert_true(sli_measured_columns[j].offset != column->offset);
        }
    }
}

static void a_row_is_noisy_beyond_half_more_than_the_median(void **state) {
    (void)state;
    sli_measurement row = sli_no_measurement;
    row.time_median_ns = 200.0;
    row.time_p90_ns = 300.0;
    assert_false(sli_measured_is_noisy(&row));
    row.time_p90_ns = 300.5;
    assert_true(sli_measured_is_noisy(&row));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_kind_of_value),
        cmocka_unit_test(empty_is_not_zero),
        cmocka_unit_test(copes_with_quotes_and_line_ends),
        cmocka_unit_test(last_line_may_lack_its_end),
        cmocka_unit_test(columns_are_checked),
        cmocka_unit_test(bytes_of_zero_are_no_text),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(values_agree_with_each_other),
        cmocka_unit_test(more_than_the_peak_is_a_warning),
        cmocka_unit_test(rows_agree_with_each_other),
        cmocka_unit_test(all_mistakes_are_told_up_to_a_limit),
        cmocka_unit_test(file_that_is_not_there_is_named),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(a_file_says_what_it_is),
        cmocka_unit_test(every_column_is_distinct_and_explained),
        cmocka_unit_test(a_row_is_noisy_beyond_half_more_than_the_median),
    };
    return cmocka_run_group_tests_name("measurements", tests, NULL, NULL);
}
