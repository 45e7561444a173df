/* Any bytes as a file of measurements: refused with reasons, or written and read as the same. */
#include "calib/measurements.h"
#include "entry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const entry_words[] = {
    ",",    "\"",       "\"\"",         "\n",   "\r\n",    "-1",   "0",    "1e3",
    "nan",  "inf",      "0.5",          "rows", "samples", "cpu",  "warm", "call",
    "word", "clock_hz", "\xef\xbb\xbf", "\xff", ",,",      "1e99", "1",    "2026-11-30T08:00:00Z",
    NULL,
};

static const char *const complaints[] = {
    "is empty",
    "and ", /* N more mistakes */
    "is no text",
    "holds no measurement",
    "is no HDF5 file",
    "not a file of measurements: it has no group",
    NULL,
};

static void check_same(const sli_measurement *a, const sli_measurement *b) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        if (sli_measured_is_text(column)) {
            MUST(strcmp(sli_measured_text(column, a), sli_measured_text(column, b)) == 0);
        } else {
            MUST(memcmp((const char *)a + column->offset, (const char *)b + column->offset,
                        sizeof(double)) == 0 ||
                 (sli_measured_is_empty(column, a) && sli_measured_is_empty(column, b)));
        }
    }
}

static void check_written(const sli_measurements *table) {
    char path[] = "/tmp/sluice-fuzz-XXXXXX";
    int descriptor = mkstemp(path);
    MUST(descriptor >= 0);
    close(descriptor);
    MUST(sli_measurements_write(table, path, SLI_MEASUREMENTS_CSV) == SL_OK);
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_measurements again;
    MUST(sli_measurements_read(&arena, path, &diag, &again) == SL_OK);
    unlink(path);
    MUST(again.count == table->count);
    for (size_t i = 0; i < again.count; i++) {
        check_same(&again.rows[i], &table->rows[i]);
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_measurements table;
    sl_err err = sli_measurements_read(&arena, input_file(bytes, length), &diag, &table);
    must_be_explained(err, &diag, count_lines(bytes, length), complaints);
    if (err == SL_OK) {
        check_written(&table);
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return 0;
}
