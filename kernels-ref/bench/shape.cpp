#include "bench/shape.h"

#include <algorithm>
#include <cstring>

namespace kref::bench {

namespace {

std::string quoted(const char *text) {
    return "'" + std::string(text) + "'";
}

/* The names of the columns of a kernel. */
size_t names_of(const char *columns, const char *names[SLI_MEASURED_COLUMN_COUNT]) {
    size_t count = 0;
    for (const sli_measured_column &column : sli_measured_columns) {
        if (has_word(columns, column.name)) {
            names[count++] = column.name;
        }
    }
    return count;
}

bool refuse_column(const char *kernel_name, const char *columns, const char *name,
                   std::string *error) {
    const char *names[SLI_MEASURED_COLUMN_COUNT];
    size_t count = names_of(columns, names);
    const char *nearest = sli_nearest(name, names, count);
    *error = std::string(kernel_name) + ": its shape has no " + quoted(name);
    if (nearest != nullptr) {
        *error += "; did you mean " + quoted(nearest) + "?";
    } else {
        *error += "; it has " + std::string(columns);
    }
    return false;
}

/* One NAME=VALUE. `read` are the columns that have been. */
bool read_value(const char *kernel_name, const char *columns, char *pair, shape *its,
                std::vector<const sli_measured_column *> *read, std::string *error) {
    char *equals = strchr(pair, '=');
    if (equals == nullptr || equals == pair || equals[1] == '\0') {
        *error = "a shape is NAME=VALUE,NAME=VALUE..., as rows=7; found " + quoted(pair);
        return false;
    }
    *equals = '\0';
    const sli_measured_column *column = sli_measured_column_find(pair);
    if (column == nullptr || !has_word(columns, column->name)) {
        return refuse_column(kernel_name, columns, pair, error);
    }
    if (std::find(read->begin(), read->end(), column) != read->end()) {
        *error = std::string(kernel_name) + ": " + pair + " stands twice in a shape";
        return false;
    }
    read->push_back(column);
    if (sli_measured_is_text(column)) {
        sli_measured_set_text(column, its, equals + 1);
        return true;
    }
    int64_t value = 0;
    if (sli_parse_int(equals + 1, SL_DIM_NONE, &value) != SLI_UNIT_OK || value < 0) {
        *error = std::string(kernel_name) + ": " + pair + " needs a whole number, found " +
                 quoted(equals + 1);
        return false;
    }
    sli_measured_set_whole(column, its, value);
    return true;
}

} // namespace

bool read_shape(const char *kernel_name, const char *columns, char *text, shape *its,
                std::string *error) {
    char *rest = text;
    std::vector<const sli_measured_column *> read;
    for (char *pair = strsep(&rest, ","); pair != nullptr; pair = strsep(&rest, ",")) {
        if (!read_value(kernel_name, columns, pair, its, &read, error)) {
            return false;
        }
    }
    return true;
}

const char *size_refusal(const shape &its) {
    for (const sli_measured_column &column : sli_measured_columns) {
        if (column.role != SLI_MEASURED_SHAPE || sli_measured_is_text(&column)) {
            continue;
        }
        int64_t value = sli_measured_whole(&column, &its);
        if (value > INT32_MAX) {
            return "a number of the shape is above 2147483647";
        }
        if (value == 0 && strcmp(column.name, "window_tokens") != 0) {
            return "there is nothing to do: only window_tokens may be 0";
        }
    }
    return nullptr;
}

std::string shape_text(const shape &its, const char *columns) {
    std::string text;
    for (const sli_measured_column &column : sli_measured_columns) {
        if (column.role != SLI_MEASURED_SHAPE || !has_word(columns, column.name)) {
            continue;
        }
        text += text.empty() ? "" : ",";
        text += std::string(column.name) + "=";
        text += sli_measured_is_text(&column) ? sli_measured_text(&column, &its)
                                              : std::to_string(sli_measured_whole(&column, &its));
    }
    return text;
}

} // namespace kref::bench
