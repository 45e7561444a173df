/* Measurements as HDF5, against files that are written here by the library alone. */
#include "calib/measurements.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 3 };

static const char path[] = "test_measurements.h5";

/* ---- Files by hand ---- */

static void put_unit(hid_t dataset, const char *unit) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(unit) + 1);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(dataset, "unit", type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, unit) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void put(hid_t group, const char *name, const char *unit, hid_t type, hsize_t count,
                const void *values) {
    if (H5Lexists(group, name, H5P_DEFAULT) > 0) {
        H5Ldelete(group, name, H5P_DEFAULT);
    }
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (unit != NULL) {
        put_unit(dataset, unit);
    }
    H5Dclose(dataset);
    H5Sclose(space);
}

/* The same text in each row, of variable length as other programs write it. */
static void put_text(hid_t group, const char *name, const char *text) {
    const char *texts[ROWS] = {text, text, text};
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    put(group, name, "", type, ROWS, texts);
    H5Tclose(type);
}

static void put_whole(hid_t group, const char *name, const char *unit, int first) {
    int32_t values[ROWS] = {first, first + 1, first + 2};
    put(group, name, unit, H5T_NATIVE_INT32, ROWS, values);
}

static void put_real(hid_t group, const char *name, const char *unit, double value) {
    float values[ROWS] = {(float)value, (float)value, (float)value};
    put(group, name, unit, H5T_NATIVE_FLOAT, ROWS, values);
}

static void put_good(hid_t group) {
    int64_t ones[ROWS] = {1, 1, 1};
    put(group, "format_version", "", H5T_NATIVE_INT64, ROWS, ones);
    put_text(group, "kernel", "rope");
    put_text(group, "backend", "cuda");
    put_text(group, "device", "H200");
    put_text(group, "driver", "580");
    put_text(group, "toolkit", "CUDA 13.0");
    put_text(group, "date", "2026-11-30T08:00:00Z");
    put_text(group, "cache", "flushed");
    put_text(group, "launch", "graph");
    put_real(group, "clock_hz", "Hz", NAN);
    put_whole(group, "rows", "", 10);
    put_whole(group, "algorithmic_flops", "", 0);
    put_whole(group, "algorithmic_bytes", "bytes", 100);
    put_whole(group, "samples", "", 7);
    put_real(group, "time_min_ns", "ns", 1.5);
    put_real(group, "time_median_ns", "ns", 2.5);
    put_real(group, "time_p90_ns", "ns", 3.5);
    put_real(group, "peak_flops_per_s", "FLOP/s", NAN);
    put_real(group, "peak_bytes_per_s", "bytes/s", NAN);
    put_real(group, "flops_frac", "", NAN);
    put_real(group, "bytes_frac", "", NAN);
}

/* ---- Reading ---- */

typedef struct reading {
    sli_arena arena;
    sli_measurements table;
    char *said;
    sl_err err;
} reading;

static reading read_file(const char *its_path) {
    reading it = {.table = {NULL, 0}};
    sli_diag diag = {0};
    it.err = sli_measurements_read(&it.arena, its_path, &diag, &it.table);
    size_t length = 0;
    FILE *file = open_memstream(&it.said, &length);
    assert_non_null(file);
    sli_diag_print(&diag, file);
    assert_int_equal(fclose(file), 0);
    sli_diag_fini(&diag);
    return it;
}

static void end_reading(reading *it) {
    free(it->said);
    sli_arena_fini(&it->arena);
}

/* The good file, changed by `change`. */
static reading read_changed(void (*change)(hid_t group)) {
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "measurements", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_good(group);
    if (change != NULL) {
        change(group);
    }
    H5Gclose(group);
    H5Fclose(file);
    reading it = read_file(path);
    unlink(path);
    return it;
}

static void refuses(void (*change)(hid_t group), const char *words) {
    reading it = read_changed(change);
    if (strstr(it.said, words) == NULL) {
        print_error("said: %s\nexpected: %s\n", it.said, words);
    }
    assert_int_equal(it.err, SL_ERR_CONFIG);
    assert_non_null(strstr(it.said, words));
    assert_null(it.table.rows);
    end_reading(&it);
}

static void reads_files_of_others(void **state) {
    (void)state;
    reading it = read_changed(NULL);
    assert_string_equal(it.said, "");
    assert_int_equal(it.err, SL_OK);
    assert_int_equal(it.table.count, ROWS);
    assert_string_equal(it.table.rows[2].toolkit, "CUDA 13.0");
    assert_int_equal(it.table.rows[2].rows, 12);
    assert_int_equal(it.table.rows[1].algorithmic_bytes, 101);
    assert_true(it.table.rows[0].time_median_ns == 2.5);
    assert_true(isnan(it.table.rows[0].clock_hz));
    assert_int_equal(it.table.rows[0].width, SLI_NOT_MEASURED);
    assert_string_equal(it.table.rows[0].element, "");
    end_reading(&it);
}

/* ---- Mistakes ---- */

static void add_unknown(hid_t group) {
    put_whole(group, "row", "", 1);
}

static void drop_samples(hid_t group) {
    H5Ldelete(group, "samples", H5P_DEFAULT);
}

static void make_group_of_samples(hid_t group) {
    drop_samples(group);
    H5Gclose(H5Gcreate2(group, "samples", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static void put_real_samples(hid_t group) {
    put_real(group, "samples", "", 7.0);
}

static void put_number_for_device(hid_t group) {
    put_whole(group, "device", "", 200);
}

static void put_times_in_us(hid_t group) {
    put_real(group, "time_min_ns", "us", 1.5);
}

static void put_times_without_unit(hid_t group) {
    float values[ROWS] = {1.5F, 1.5F, 1.5F};
    put(group, "time_min_ns", NULL, H5T_NATIVE_FLOAT, ROWS, values);
}

static void put_short_samples(hid_t group) {
    int32_t values[ROWS] = {7, 7, 7};
    put(group, "samples", "", H5T_NATIVE_INT32, ROWS - 1, values);
}

static void put_table_of_samples(hid_t group) {
    drop_samples(group);
    hsize_t extent[2] = {ROWS, 1};
    hid_t space = H5Screate_simple(2, extent, NULL);
    hid_t dataset = H5Dcreate2(group, "samples", H5T_NATIVE_INT32, space, H5P_DEFAULT, H5P_DEFAULT,
                               H5P_DEFAULT);
    put_unit(dataset, "");
    H5Dclose(dataset);
    H5Sclose(space);
}

static void put_wrong_times(hid_t group) {
    double values[ROWS] = {2.5, 2.5, 1.0};
    put(group, "time_median_ns", "ns", H5T_NATIVE_DOUBLE, ROWS, values);
}

static void put_negative_rows(hid_t group) {
    put_whole(group, "rows", "", -3);
}

static void put_same_rows(hid_t group) {
    int32_t values[ROWS] = {4, 5, 4};
    put(group, "rows", "", H5T_NATIVE_INT32, ROWS, values);
}

/* A length that has no bytes behind it. */
static void put_huge_samples(hid_t group) {
    drop_samples(group);
    hsize_t extent = (hsize_t)1 << 60;
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t chunked = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk = 16;
    H5Pset_chunk(chunked, 1, &chunk);
    hid_t dataset = H5Dcreate2(group, "samples", H5T_NATIVE_INT32, space, H5P_DEFAULT, chunked,
                               H5P_DEFAULT);
    put_unit(dataset, "");
    H5Dclose(dataset);
    H5Pclose(chunked);
    H5Sclose(space);
}

static void datasets_are_checked(void **state) {
    (void)state;
    refuses(add_unknown, "there is no column 'row'; did you mean 'rows'?");
    refuses(drop_samples, "dataset measurements/samples: is missing");
    refuses(make_group_of_samples, "dataset measurements/samples: is no dataset");
    refuses(put_real_samples, "dataset measurements/samples: expected whole numbers");
    refuses(put_number_for_device, "dataset measurements/device: expected texts");
    refuses(put_times_in_us, "measurements/time_min_ns: expected the attribute unit = 'ns'");
    refuses(put_times_without_unit, "measurements/time_min_ns: expected the attribute unit");
    refuses(put_short_samples, "measurements/samples: 2 rows, where others have 3");
    refuses(put_table_of_samples, "measurements/samples: expected one dimension");
    refuses(put_huge_samples, "measurements/samples: more than 10,000,000 rows");
}

static void rows_are_checked(void **state) {
    (void)state;
    refuses(put_wrong_times, "time_median_ns[2]: must be at least time_min_ns, 1.5; found 1");
    refuses(put_negative_rows, "rows[0]: must be at least 0, found -3");
    refuses(put_same_rows, "[2]: the same measurement as row 0");
}

static void strange_files_are_refused(void **state) {
    (void)state;
    FILE *file = fopen(path, "wb");
    fwrite("\x89HDF\r\n\x1a\n and then nothing", 1, 24, file);
    fclose(file);
    reading it = read_file(path);
    assert_int_equal(it.err, SL_ERR_CONFIG);
    assert_non_null(strstr(it.said, "is no HDF5 file, or a damaged one"));
    end_reading(&it);

    file = fopen(path, "wb");
    fwrite("format_version,kernel\n", 1, 22, file);
    fclose(file);
    it = read_file(path); /* a text under the name of the other format is read as what it is */
    assert_non_null(strstr(it.said, "the column 'backend' is missing"));
    end_reading(&it);

    file = fopen(path, "wb");
    fwrite("kernel\n", 1, 7, file);
    fclose(file);
    it = read_file(path);
    assert_non_null(strstr(it.said, "is no HDF5 file, as its name says"));
    end_reading(&it);

    H5Fclose(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    it = read_file(path);
    assert_non_null(strstr(it.said, "it has no group 'measurements'"));
    end_reading(&it);
    unlink(path);
}

/* ---- Writing ---- */

static sli_measurement some_row(int64_t rows) {
    sli_measurement row = sli_no_measurement;
    row.format_version = 1;
    row.kernel = "gemm";
    row.backend = "cpu";
    row.device = rows == 1 ? "a CPU" : "another CPU, of a longer name";
    row.driver = "d";
    row.toolkit = "t";
    row.date = "2026-11-30T08:00:00Z";
    row.cache = "warm";
    row.launch = "call";
    row.rows = rows;
    row.algorithmic_flops = INT64_C(9007199254740993); /* no double holds it */
    row.algorithmic_bytes = 0;
    row.samples = 2;
    row.time_min_ns = 0.1;
    row.time_median_ns = 1.0 / 3.0;
    row.time_p90_ns = 2e300;
    return row;
}

static char *contents(const char *its_path, size_t *length) {
    FILE *file = fopen(its_path, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void writes_what_it_reads_and_always_the_same(void **state) {
    (void)state;
    sli_measurement rows[2] = {some_row(1), some_row(2)};
    sli_measurements table = {rows, 2};
    assert_int_equal(sli_measurements_write(&table, path, SLI_MEASUREMENTS_HDF5), SL_OK);
    reading it = read_file(path);
    assert_string_equal(it.said, "");
    assert_int_equal(it.table.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(it.table.rows[i].device, rows[i].device);
        assert_string_equal(it.table.rows[i].variant, "");
        assert_int_equal(it.table.rows[i].algorithmic_flops, rows[i].algorithmic_flops);
        assert_int_equal(it.table.rows[i].splits, SLI_NOT_MEASURED);
        assert_true(it.table.rows[i].time_median_ns == rows[i].time_median_ns);
        assert_true(isnan(it.table.rows[i].peak_bytes_per_s));
    }
    end_reading(&it);

    size_t length = 0;
    char *first = contents(path, &length);
    sleep(1); /* a second later, because HDF5 counts seconds */
    assert_int_equal(sli_measurements_write(&table, path, SLI_MEASUREMENTS_HDF5), SL_OK);
    size_t later_length = 0;
    char *later = contents(path, &later_length);
    assert_int_equal(later_length, length);
    assert_memory_equal(later, first, length);
    free(first);
    free(later);
    unlink(path);
    assert_int_equal(sli_measurements_write(&table, "absent/a.h5", SLI_MEASUREMENTS_HDF5),
                     SL_ERR_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_files_of_others),
        cmocka_unit_test(datasets_are_checked),
        cmocka_unit_test(rows_are_checked),
        cmocka_unit_test(strange_files_are_refused),
        cmocka_unit_test(writes_what_it_reads_and_always_the_same),
    };
    return cmocka_run_group_tests_name("measurements_hdf5", tests, NULL, NULL);
}
