#include "calib/measured_hdf5.h"

#include "calib/hdf5_library.h"
#include "config/text.h"
#include "config/value.h"

#include <stdlib.h>
#include <string.h>

static const char group_name[] = "measurements";

/* A file may claim any length without having the bytes. */
enum { ROWS_MAX = 10000000 };

/* What the library itself would print on the terminal. */
typedef struct silence {
    H5E_auto2_t function;
    void *data;
} silence;

static silence begin_silence(const sli_hdf5 *lib) {
    silence before = {NULL, NULL};
    lib->H5Eget_auto2(H5E_DEFAULT, &before.function, &before.data);
    lib->H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return before;
}

static void end_silence(const sli_hdf5 *lib, silence before) {
    lib->H5Eset_auto2(H5E_DEFAULT, before.function, before.data);
}

/* ---- Reading ---- */

typedef struct reader {
    const sli_hdf5 *lib;
    sli_arena *arena;
    sli_measured_errors *errors;
    hid_t group;
    sli_measurement *rows;
    hsize_t count;
    bool has_count; /* some dataset has told it */
} reader;

static void complain(const reader *it, const char *name, const char *what) {
    sli_measured_file_error(it->errors, 0, 0, "dataset %s/%s: %s", group_name, name, what);
}

static herr_t check_name(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    (void)group;
    (void)info;
    reader *it = data;
    if (sli_measured_column_find(name) == NULL) {
        sli_measured_unknown_column(it->errors, 0, 0, name);
    }
    return 0;
}

/* One dimension, as long as the others. */
static bool check_extent(reader *it, const char *name, hid_t dataset) {
    hid_t space = it->lib->H5Dget_space(dataset);
    hsize_t extent = 0;
    bool is_line = space >= 0 && it->lib->H5Sget_simple_extent_ndims(space) == 1 &&
                   it->lib->H5Sget_simple_extent_dims(space, &extent, NULL) == 1;
    if (space >= 0) {
        it->lib->H5Sclose(space);
    }
    if (!is_line) {
        complain(it, name, "expected one dimension");
        return false;
    }
    if (extent == 0 || extent > ROWS_MAX) {
        complain(it, name, extent == 0 ? "holds no measurement" : "more than 10,000,000 rows");
        return false;
    }
    if (it->has_count && extent != it->count) {
        sli_measured_file_error(it->errors, 0, 0,
                                "dataset %s/%s: %llu rows, where others have %llu", group_name,
                                name, (unsigned long long)extent, (unsigned long long)it->count);
        return false;
    }
    it->count = extent;
    it->has_count = true;
    return true;
}

/* The rows begin empty. */
static sl_err make_rows(reader *it) {
    if (it->rows != NULL) {
        return SL_OK;
    }
    it->rows = sli_arena_array(it->arena, it->count, sizeof *it->rows);
    if (it->rows == NULL) {
        return SL_ERR_NOMEM;
    }
    for (hsize_t i = 0; i < it->count; i++) {
        it->rows[i] = sli_no_measurement;
    }
    return SL_OK;
}

/* Texts of any length, each allocated by the library. */
static sl_err read_long_texts(reader *it, const sli_measured_column *column, hid_t dataset,
                              hid_t type) {
    char **texts = calloc(it->count, sizeof *texts);
    if (texts == NULL) {
        return SL_ERR_NOMEM;
    }
    sl_err err = SL_OK;
    it->lib->H5Tset_size(type, H5T_VARIABLE);
    if (it->lib->H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) < 0) {
        complain(it, column->name, "cannot be read");
    }
    for (hsize_t i = 0; i < it->count; i++) {
        char *kept = sli_arena_strdup(it->arena, texts[i] != NULL ? texts[i] : "");
        if (kept != NULL) {
            sli_measured_set_text(column, &it->rows[i], kept);
        } else {
            err = SL_ERR_NOMEM;
        }
        it->lib->H5free_memory(texts[i]);
    }
    free(texts);
    return err;
}

static sl_err read_short_texts(reader *it, const sli_measured_column *column, hid_t dataset,
                               hid_t type, size_t size) {
    enum { SIZE_MAX_BYTES = 4096 };
    if (size > SIZE_MAX_BYTES) {
        complain(it, column->name, "texts of more than 4096 bytes");
        return SL_OK;
    }
    char *texts = sli_arena_array(it->arena, it->count, size + 1);
    if (texts == NULL) {
        return SL_ERR_NOMEM;
    }
    it->lib->H5Tset_size(type, size + 1);
    if (it->lib->H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) < 0) {
        complain(it, column->name, "cannot be read");
        return SL_OK;
    }
    for (hsize_t i = 0; i < it->count; i++) {
        sli_measured_set_text(column, &it->rows[i], texts + i * (size + 1));
    }
    return SL_OK;
}

static sl_err read_texts(reader *it, const sli_measured_column *column, hid_t dataset,
                         hid_t stored) {
    hid_t type = it->lib->H5Tcopy(*it->lib->H5T_C_S1_g);
    it->lib->H5Tset_cset(type, it->lib->H5Tget_cset(stored));
    sl_err err = it->lib->H5Tis_variable_str(stored) > 0
                     ? read_long_texts(it, column, dataset, type)
                     : read_short_texts(it, column, dataset, type, it->lib->H5Tget_size(stored));
    it->lib->H5Tclose(type);
    return err;
}

static sl_err read_numbers(reader *it, const sli_measured_column *column, hid_t dataset) {
    bool is_whole = column->type == SLI_MEASURED_WHOLE;
    void *values = calloc(it->count, sizeof(int64_t));
    if (values == NULL) {
        return SL_ERR_NOMEM;
    }
    hid_t type = is_whole ? *it->lib->H5T_NATIVE_INT64_g : *it->lib->H5T_NATIVE_DOUBLE_g;
    if (it->lib->H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        complain(it, column->name, "cannot be read");
    } else {
        for (hsize_t i = 0; i < it->count; i++) {
            if (is_whole) {
                sli_measured_set_whole(column, &it->rows[i], ((int64_t *)values)[i]);
            } else {
                sli_measured_set_real(column, &it->rows[i], ((double *)values)[i]);
            }
        }
    }
    free(values);
    return SL_OK;
}

/* The class that a column is stored in. */
static H5T_class_t class_of(const sli_measured_column *column) {
    switch (column->type) {
    case SLI_MEASURED_WHOLE:
        return H5T_INTEGER;
    case SLI_MEASURED_REAL:
        return H5T_FLOAT;
    default:
        return H5T_STRING;
    }
}

static const char *class_words(H5T_class_t class) {
    return class == H5T_INTEGER ? "expected whole numbers"
           : class == H5T_FLOAT ? "expected reals"
                                : "expected texts";
}

static bool has_unit(const sli_hdf5 *lib, hid_t dataset, const char *unit) {
    char text[32] = "";
    hid_t attribute = lib->H5Aexists(dataset, "unit") > 0
                          ? lib->H5Aopen(dataset, "unit", H5P_DEFAULT)
                          : -1;
    if (attribute < 0) {
        return false;
    }
    hid_t stored = lib->H5Aget_type(attribute);
    bool is_read = false;
    if (lib->H5Tget_class(stored) == H5T_STRING && lib->H5Tis_variable_str(stored) <= 0) {
        hid_t type = lib->H5Tcopy(*lib->H5T_C_S1_g);
        lib->H5Tset_size(type, sizeof text);
        lib->H5Tset_cset(type, lib->H5Tget_cset(stored));
        is_read = lib->H5Aread(attribute, type, text) >= 0;
        lib->H5Tclose(type);
    } else if (lib->H5Tget_class(stored) == H5T_STRING) {
        char *word = NULL;
        is_read = lib->H5Aread(attribute, stored, &word) >= 0 && word != NULL;
        snprintf(text, sizeof text, "%s", is_read ? word : "");
        lib->H5free_memory(word);
    }
    lib->H5Tclose(stored);
    lib->H5Aclose(attribute);
    return is_read && strcmp(text, unit) == 0;
}

static sl_err read_dataset(reader *it, const sli_measured_column *column, hid_t dataset) {
    hid_t stored = it->lib->H5Dget_type(dataset);
    H5T_class_t class = class_of(column);
    sl_err err = SL_OK;
    if (it->lib->H5Tget_class(stored) != class) {
        complain(it, column->name, class_words(class));
    } else if (!has_unit(it->lib, dataset, column->unit)) {
        sli_measured_file_error(it->errors, 0, 0,
                                "dataset %s/%s: expected the attribute unit = '%s'", group_name,
                                column->name, column->unit);
    } else if (check_extent(it, column->name, dataset)) {
        err = make_rows(it);
        if (err == SL_OK) {
            err = class == H5T_STRING ? read_texts(it, column, dataset, stored)
                                      : read_numbers(it, column, dataset);
        }
    }
    it->lib->H5Tclose(stored);
    return err;
}

static sl_err read_column(reader *it, const sli_measured_column *column) {
    if (it->lib->H5Lexists(it->group, column->name, H5P_DEFAULT) <= 0) {
        if (column->role != SLI_MEASURED_SHAPE) {
            complain(it, column->name, "is missing");
        }
        return SL_OK;
    }
    hid_t dataset = it->lib->H5Dopen2(it->group, column->name, H5P_DEFAULT);
    if (dataset < 0) {
        complain(it, column->name, "is no dataset");
        return SL_OK;
    }
    sl_err err = read_dataset(it, column, dataset);
    it->lib->H5Dclose(dataset);
    return err;
}

static sl_err read_group(reader *it) {
    it->lib->H5Literate(it->group, H5_INDEX_NAME, H5_ITER_INC, NULL, check_name, it);
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        SL_TRY(read_column(it, &sli_measured_columns[i]));
    }
    if (it->errors->count > 0) {
        return SL_OK;
    }
    for (hsize_t i = 0; i < it->count; i++) {
        sli_measured_place place = {i, 0, NULL};
        sli_measured_check_row(it->errors, &place, &it->rows[i]);
    }
    if (it->errors->count > 0) {
        return SL_OK;
    }
    return sli_measured_check_table(it->errors, it->rows, NULL, it->count);
}

static sl_err read_file(const sli_hdf5 *lib, sli_arena *arena, const char *path,
                        sli_measured_errors *errors, sli_measurements *table) {
    silence before = begin_silence(lib);
    sl_err err = SL_OK;
    hid_t file = lib->H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t group = file >= 0 && lib->H5Lexists(file, group_name, H5P_DEFAULT) > 0
                      ? lib->H5Gopen2(file, group_name, H5P_DEFAULT)
                      : -1;
    if (file < 0) {
        sli_measured_file_error(errors, 0, 0, "is no HDF5 file, or a damaged one");
    } else if (group < 0) {
        sli_measured_file_error(errors, 0, 0, "not a file of measurements: it has no group '%s'",
                                group_name);
    } else {
        reader it = {.lib = lib, .arena = arena, .errors = errors, .group = group};
        err = read_group(&it);
        *table = (sli_measurements){it.rows, it.count};
    }
    if (group >= 0) {
        lib->H5Gclose(group);
    }
    if (file >= 0) {
        lib->H5Fclose(file);
    }
    end_silence(lib, before);
    return err;
}

sl_err sli_measured_hdf5_read(sli_arena *arena, const char *path, sli_measured_errors *errors,
                              sli_measurements *table) {
    sli_hdf5 lib;
    const char *why = sli_hdf5_load(SLI_HDF5_NAME, &lib);
    if (why != NULL) {
        sli_measured_file_error(errors, 0, 0, "cannot be read without HDF5: %s", why);
        return SL_OK;
    }
    return read_file(&lib, arena, path, errors, table);
}

/* ---- Writing ---- */

const char *sli_measured_hdf5_obstacle(void) {
    sli_hdf5 lib;
    return sli_hdf5_load(SLI_HDF5_NAME, &lib);
}

/* The text of the attribute `unit`; a fixed text is at least a byte long. */
static bool write_unit(const sli_hdf5 *lib, hid_t dataset, const char *unit) {
    size_t length = strlen(unit);
    hid_t space = lib->H5Screate(H5S_SCALAR);
    hid_t type = lib->H5Tcopy(*lib->H5T_C_S1_g);
    lib->H5Tset_size(type, length + 1);
    hid_t attribute = lib->H5Acreate2(dataset, "unit", type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool is_good = attribute >= 0 && lib->H5Awrite(attribute, type, unit) >= 0;
    is_good = lib->H5Aclose(attribute) >= 0 && is_good;
    lib->H5Tclose(type);
    lib->H5Sclose(space);
    return is_good;
}

static size_t longest_text(const sli_measurements *table, const sli_measured_column *column) {
    size_t longest = 0;
    for (size_t i = 0; i < table->count; i++) {
        size_t length = strlen(sli_measured_text(column, &table->rows[i]));
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* The column as an array of items of `size` bytes; the caller frees it. */
static char *gather(const sli_measurements *table, const sli_measured_column *column, size_t size) {
    char *items = calloc(table->count + 1, size);
    for (size_t i = 0; i < table->count && items != NULL; i++) {
        const sli_measurement *row = &table->rows[i];
        char *item = items + i * size;
        if (sli_measured_is_text(column)) {
            const char *text = sli_measured_text(column, row);
            memcpy(item, text, strlen(text));
        } else {
            memcpy(item, (const char *)row + column->offset, size);
        }
    }
    return items;
}

static bool write_items(const sli_hdf5 *lib, hid_t group, const sli_measured_column *column,
                        hid_t type, hsize_t count, const void *items) {
    hid_t space = lib->H5Screate_simple(1, &count, NULL);
    hid_t made = lib->H5Pcreate(*lib->H5P_CLS_DATASET_CREATE_ID_g);
    lib->H5Pset_obj_track_times(made, false);
    hid_t dataset = lib->H5Dcreate2(group, column->name, type, space, H5P_DEFAULT, made,
                                    H5P_DEFAULT);
    bool is_good = dataset >= 0 &&
                   lib->H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, items) >= 0 &&
                   write_unit(lib, dataset, column->unit);
    if (dataset >= 0) {
        lib->H5Dclose(dataset);
    }
    lib->H5Pclose(made);
    lib->H5Sclose(space);
    return is_good;
}

static sl_err write_column(const sli_hdf5 *lib, hid_t group, const sli_measurements *table,
                           const sli_measured_column *column) {
    bool is_text = sli_measured_is_text(column);
    size_t size = is_text ? longest_text(table, column) + 1 : sizeof(int64_t);
    char *items = gather(table, column, size);
    if (items == NULL) {
        return SL_ERR_NOMEM;
    }
    hid_t type = lib->H5Tcopy(is_text                              ? *lib->H5T_C_S1_g
                              : column->type == SLI_MEASURED_WHOLE ? *lib->H5T_NATIVE_INT64_g
                                                                   : *lib->H5T_NATIVE_DOUBLE_g);
    if (is_text) {
        lib->H5Tset_size(type, size);
        lib->H5Tset_cset(type, H5T_CSET_UTF8);
    }
    bool is_good = write_items(lib, group, column, type, table->count, items);
    lib->H5Tclose(type);
    free(items);
    return is_good ? SL_OK : SL_ERR_IO;
}

static sl_err write_group(const sli_hdf5 *lib, hid_t group, const sli_measurements *table) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        SL_TRY(write_column(lib, group, table, &sli_measured_columns[i]));
    }
    return SL_OK;
}

static sl_err write_file(const sli_hdf5 *lib, const sli_measurements *table, const char *path) {
    silence before = begin_silence(lib);
    sl_err err = SL_ERR_IO;
    hid_t file = lib->H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file >= 0) {
        hid_t made = lib->H5Pcreate(*lib->H5P_CLS_GROUP_CREATE_ID_g);
        lib->H5Pset_obj_track_times(made, false);
        hid_t group = lib->H5Gcreate2(file, group_name, H5P_DEFAULT, made, H5P_DEFAULT);
        if (group >= 0) {
            err = write_group(lib, group, table);
            lib->H5Gclose(group);
        }
        lib->H5Pclose(made);
        if (lib->H5Fclose(file) < 0 && err == SL_OK) {
            err = SL_ERR_IO;
        }
    }
    end_silence(lib, before);
    return err;
}

sl_err sli_measured_hdf5_write(const sli_measurements *table, const char *path) {
    sli_hdf5 lib;
    return sli_hdf5_load(SLI_HDF5_NAME, &lib) == NULL ? write_file(&lib, table, path) : SL_ERR_IO;
}
