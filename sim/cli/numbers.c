#include "cli/numbers.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { LAST_COLUMN = 100 };

typedef struct unit {
    const char *name;
    double size;
} unit;

static sli_number in_units(double value, const unit *units, int count) {
    sli_number number;
    int i = 0;
    while (i + 1 < count && value < units[i].size) {
        i++;
    }
    snprintf(number.text, sizeof number.text, "%.4g %s", value / units[i].size, units[i].name);
    return number;
}

sli_number sli_say_bytes(double bytes) {
    static const unit units[] = {
        {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1.0}};
    /* A TiB is too coarse for what is compared with a device. */
    bool is_small = bytes < 10.0 * units[0].size;
    return bytes > 0.0 ? in_units(bytes, units + is_small, 5 - is_small) : (sli_number){"-"};
}

sli_number sli_say_decimal_bytes(double bytes) {
    static const unit units[] = {{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1.0}};
    bool is_small = bytes < 10.0 * units[0].size;
    return in_units(bytes, units + is_small, 5 - is_small);
}

sli_number sli_say_flops(double flops) {
    static const unit units[] = {
        {"PFLOP", 1e15}, {"TFLOP", 1e12}, {"GFLOP", 1e9}, {"MFLOP", 1e6}, {"FLOP", 1.0}};
    return flops > 0.0 ? in_units(flops, units, 5) : (sli_number){"-"};
}

sli_number sli_say_time(double ns) {
    static const unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1.0}};
    return in_units(ns, units, 4);
}

sli_number sli_say_count(int64_t count) {
    sli_number number;
    sli_format_count(count, number.text, sizeof number.text);
    return number;
}

sli_number sli_say_bandwidth(double bytes_per_s) {
    sli_number number;
    sli_format_real(bytes_per_s, SL_DIM_BYTES_PER_S, number.text, sizeof number.text);
    return number;
}

sli_number sli_say_billions(double count) {
    sli_number number;
    double billions = count / 1e9;
    int decimals = billions < 9.9995 ? 3 : billions < 99.995 ? 2 : billions < 999.95 ? 1 : 0;
    snprintf(number.text, sizeof number.text, "%.*f", decimals, billions);
    return number;
}

sli_number sli_say_tokens_short(int64_t tokens) {
    sli_number number;
    const int64_t ki = INT64_C(1) << 10;
    const int64_t mi = INT64_C(1) << 20;
    if (tokens >= mi && tokens % mi == 0) {
        snprintf(number.text, sizeof number.text, "%lld Mi", (long long)(tokens / mi));
    } else if (tokens >= ki && tokens % ki == 0) {
        snprintf(number.text, sizeof number.text, "%lld Ki", (long long)(tokens / ki));
    } else {
        sli_format_count(tokens, number.text, sizeof number.text);
    }
    return number;
}

static int columns_of(const char *text, int bytes) {
    int columns = 0;
    for (int i = 0; i < bytes; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

int sli_columns(const char *text) {
    return columns_of(text, (int)strlen(text));
}

bool sli_read_amount(const char *text, sl_dim dim, int64_t *amount) {
    if (sli_parse_int(text, SL_DIM_NONE, amount) == SLI_UNIT_OK ||
        sli_parse_int(text, dim, amount) == SLI_UNIT_OK) {
        return true;
    }
    char *rest = NULL;
    long long number = strtoll(text, &rest, 10);
    rest += strspn(rest, " ");
    int shift = strcmp(rest, "Ki") == 0 ? 10 : strcmp(rest, "Mi") == 0 ? 20 : 0;
    if (shift == 0 || number < 0 || number > INT64_MAX >> shift) {
        return false;
    }
    *amount = number << shift;
    return true;
}

void sli_print_parts(FILE *file, const char *text) {
    static const char between[] = " · ";
    int column = 0;
    while (*text != '\0') {
        const char *end = strstr(text, between);
        int bytes = end != NULL ? (int)(end - text) : (int)strlen(text);
        int width = columns_of(text, bytes);
        bool breaks = column > 0 && column + sli_columns(between) + width > LAST_COLUMN;
        fprintf(file, "%s%.*s", column == 0 ? "" : breaks ? "\n  · " : between, bytes, text);
        column = column == 0 ? width : breaks ? 4 + width : column + sli_columns(between) + width;
        text += bytes;
        text += end != NULL ? strlen(between) : 0;
    }
    fputc('\n', file);
}

void sli_print_wrapped(FILE *file, int indent, const char *text) {
    int column = indent;
    while (*text != '\0') {
        int bytes = (int)strcspn(text, " ");
        int width = columns_of(text, bytes);
        if (column > indent && column + 1 + width > LAST_COLUMN) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", bytes, text);
        column += width;
        text += bytes;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}
