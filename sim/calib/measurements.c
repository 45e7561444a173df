#include "calib/measurements.h"

#include "base/grow.h"
#include "calib/measured_csv.h"
#include "calib/measured_hdf5.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has_suffix(const char *path, const char *suffix) {
    size_t length = strlen(path);
    size_t its = strlen(suffix);
    return length > its && strcmp(path + length - its, suffix) == 0;
}

bool sli_measurements_format_of(const char *path, sli_measurements_format *format) {
    if (has_suffix(path, ".csv")) {
        *format = SLI_MEASUREMENTS_CSV;
        return true;
    }
    if (has_suffix(path, ".h5") || has_suffix(path, ".hdf5")) {
        *format = SLI_MEASUREMENTS_HDF5;
        return true;
    }
    return false;
}

/* HDF5 begins with this (HDF5 File Format Specification 3.0, section II.A). */
static const char hdf5_signature[] = "\x89HDF\r\n\x1a\n";

/* False if the beginning of the file says nothing. */
static bool read_format(FILE *file, sli_measurements_format *format) {
    char first[32];
    size_t length = fread(first, 1, sizeof first, file);
    const char *name = sli_measured_columns[0].name;
    size_t name_length = strlen(name);
    if (length >= sizeof hdf5_signature - 1 &&
        memcmp(first, hdf5_signature, sizeof hdf5_signature - 1) == 0) {
        *format = SLI_MEASUREMENTS_HDF5;
        return true;
    }
    if (length > name_length && memcmp(first, name, name_length) == 0 &&
        first[name_length] == ',') {
        *format = SLI_MEASUREMENTS_CSV;
        return true;
    }
    return false;
}

bool sli_is_measurements(const char *path) {
    sli_measurements_format format;
    if (sli_measurements_format_of(path, &format)) {
        return true;
    }
    FILE *file = fopen(path, "rb");
    bool is_known = file != NULL && read_format(file, &format);
    if (file != NULL) {
        fclose(file);
    }
    return is_known;
}

/* The whole rest of a file. SL_ERR_CONFIG if it cannot be read. */
static sl_err read_all(FILE *file, char **text, size_t *length) {
    enum { STEP_BYTES = 65536 };
    size_t capacity = 0;
    size_t got = 0;
    do {
        SL_TRY(sli_grow(text, &capacity, *length + STEP_BYTES, 1));
        got = fread(*text + *length, 1, STEP_BYTES, file);
        *length += got;
    } while (got > 0);
    return ferror(file) ? SL_ERR_CONFIG : SL_OK;
}

static sl_err read_csv(sli_arena *arena, FILE *file, sli_measured_errors *errors,
                       sli_measurements *table) {
    char *text = NULL;
    size_t length = 0;
    sl_err err = read_all(file, &text, &length);
    if (err == SL_ERR_CONFIG) {
        sli_measured_file_error(errors, 0, 0, "cannot be read: %s", strerror(errno));
        err = SL_OK;
    } else if (err == SL_OK && length == 0) {
        sli_measured_file_error(errors, 0, 0, "is empty");
    } else if (err == SL_OK) {
        char *kept = sli_arena_copy(arena, text, length); /* the rows borrow its texts */
        err = kept != NULL ? sli_measured_csv_read(arena, kept, length, errors, table)
                           : SL_ERR_NOMEM;
    }
    free(text);
    return err;
}

sl_err sli_measurements_read(sli_arena *arena, const char *path, sli_diag *diag,
                             sli_measurements *table) {
    sli_measured_errors errors = {diag, path, 0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        sli_measured_file_error(&errors, 0, 0, "cannot be read: %s", strerror(errno));
        return sli_measured_errors_close(&errors);
    }
    sli_measurements_format format = SLI_MEASUREMENTS_CSV;
    sli_measurements read = {NULL, 0};
    bool is_certain = read_format(file, &format);
    if (!is_certain) {
        sli_measurements_format_of(path, &format);
    }
    rewind(file);
    sl_err err = SL_OK;
    if (format == SLI_MEASUREMENTS_CSV) {
        err = read_csv(arena, file, &errors, &read);
    } else if (is_certain) {
        err = sli_measured_hdf5_read(arena, path, &errors, &read);
    } else {
        sli_measured_file_error(&errors, 0, 0, "is no HDF5 file, as its name says");
    }
    fclose(file);
    SL_TRY(err);
    SL_TRY(sli_measured_errors_close(&errors));
    *table = read;
    return SL_OK;
}

const char *sli_measurements_obstacle(sli_measurements_format format) {
    return format == SLI_MEASUREMENTS_HDF5 ? sli_measured_hdf5_obstacle() : NULL;
}

sl_err sli_measurements_write(const sli_measurements *table, const char *path,
                              sli_measurements_format format) {
    if (format == SLI_MEASUREMENTS_HDF5) {
        return sli_measured_hdf5_write(table, path);
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return SL_ERR_IO;
    }
    sli_measured_csv_write(table, file);
    bool is_written = !ferror(file);
    is_written = fclose(file) == 0 && is_written;
    return is_written ? SL_OK : SL_ERR_IO;
}

static const char *type_of(const sli_measured_column *column) {
    switch (column->type) {
    case SLI_MEASURED_TEXT:
        return "text";
    case SLI_MEASURED_WORD:
        return "word";
    case SLI_MEASURED_DATE:
        return "date";
    case SLI_MEASURED_WHOLE:
        return "whole";
    case SLI_MEASURED_REAL:
        return "real";
    }
    return "";
}

static void describe_role(FILE *stream, const char *title, sli_measured_role role) {
    fprintf(stream, "\n%s\n", title);
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        if (column->role != role) {
            continue;
        }
        fprintf(stream, "  %-18s %-6s %s", column->name, type_of(column), column->help);
        for (size_t j = 0; column->choices != NULL && column->choices[j] != NULL; j++) {
            fprintf(stream, "%s%s", j > 0 ? ", " : ": ", column->choices[j]);
        }
        if (column->can_be_empty && role != SLI_MEASURED_SHAPE) {
            fputs("; may be empty", stream);
        }
        fputc('\n', stream);
    }
}

void sli_measurements_describe(FILE *stream) {
    describe_role(stream, "Circumstances", SLI_MEASURED_CIRCUMSTANCE);
    describe_role(stream, "Shape: each may be empty, or left out", SLI_MEASURED_SHAPE);
    describe_role(stream, "Work and time", SLI_MEASURED_RESULT);
}
