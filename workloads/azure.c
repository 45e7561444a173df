#include "base/minmax.h"
#include "kernel/time.h"
#include "workloads/number.h"
#include "workloads/readers.h"
#include "workloads/sources.h"
#include "workloads/trace_format.h"

#include <string.h>

typedef enum column { COLUMN_TIME, COLUMN_PROMPT, COLUMN_OUTPUT, COLUMN_COUNT } column;

static const char *const column_names[COLUMN_COUNT] = {"TIMESTAMP", "ContextTokens",
                                                       "GeneratedTokens"};

/* Which field of a line holds which column. */
typedef struct header {
    int field_of[COLUMN_COUNT];
} header;

/* Cuts the next field off *rest and trims it; NULL when none is left. */
static char *take_field(char **rest) {
    char *field = *rest;
    if (field == NULL) {
        return NULL;
    }
    char *comma = strchr(field, ',');
    *rest = comma != NULL ? comma + 1 : NULL;
    char *end = comma != NULL ? comma : field + strlen(field);
    field += strspn(field, " \t");
    while (end > field && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    *end = '\0';
    return field;
}

static bool read_header(sli_lines *lines, header *columns) {
    for (int c = 0; c < COLUMN_COUNT; c++) {
        columns->field_of[c] = -1;
    }
    char *rest = lines->text;
    char *field = NULL;
    for (int i = 0; (field = take_field(&rest)) != NULL; i++) {
        for (int c = 0; c < COLUMN_COUNT; c++) {
            if (strcmp(field, column_names[c]) == 0) {
                columns->field_of[c] = i;
            }
        }
    }
    bool is_complete = true;
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (columns->field_of[c] < 0) {
            sli_line_error(lines->errors, lines->number, "missing column '%s' in the header",
                           column_names[c]);
            is_complete = false;
        }
    }
    return is_complete;
}

/* Reads exactly `count` digits at *text and moves on. */
static bool take_digits(const char **text, size_t count, int64_t min, int64_t max, int64_t *value) {
    uint64_t number = 0;
    if (strspn(*text, "0123456789") < count || !sli_decimal_u64(*text, count, &number)) {
        return false;
    }
    *text += count;
    *value = (int64_t)number;
    return *value >= min && *value <= max;
}

static bool take_character(const char **text, const char *one_of) {
    if (**text == '\0' || strchr(one_of, **text) == NULL) {
        return false;
    }
    (*text)++;
    return true;
}

/*
 * Days from 1970-01-01 to a date of the Gregorian calendar, by counting years from March, so that
 * the leap day comes last (Hinnant, chrono-Compatible Low-Level Date Algorithms, 2013).
 */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t month_from_march = (month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    return 365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool is_date(int64_t year, int64_t month, int64_t day) {
    int64_t next_year = month == 12 ? year + 1 : year;
    int64_t next_month = month == 12 ? 1 : month + 1;
    int64_t days = days_from_civil(next_year, next_month, 1) - days_from_civil(year, month, 1);
    return day <= days;
}

/* Nothing, Z, or an offset as +02:00, in seconds. */
static bool take_zone(const char **text, int64_t *offset_s) {
    *offset_s = 0;
    if (**text == '\0' || take_character(text, "Z")) {
        return **text == '\0';
    }
    bool is_west = **text == '-';
    int64_t hours = 0;
    int64_t minutes = 0;
    bool is_valid = take_character(text, "+-") && take_digits(text, 2, 0, 23, &hours) &&
                    take_character(text, ":") && take_digits(text, 2, 0, 59, &minutes) &&
                    **text == '\0';
    *offset_s = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
    return is_valid;
}

/* `2023-11-16 18:15:46.6805900` as ns since 1970; years that int64_t can hold. */
static bool parse_timestamp(const char *text, int64_t *ns) {
    int64_t year = 0;
    int64_t month = 0;
    int64_t day = 0;
    int64_t hour = 0;
    int64_t minute = 0;
    bool is_valid = take_digits(&text, 4, 1971, 2261, &year) && take_character(&text, "-") &&
                    take_digits(&text, 2, 1, 12, &month) && take_character(&text, "-") &&
                    take_digits(&text, 2, 1, 31, &day) && is_date(year, month, day) &&
                    take_character(&text, " T") && take_digits(&text, 2, 0, 23, &hour) &&
                    take_character(&text, ":") && take_digits(&text, 2, 0, 59, &minute) &&
                    take_character(&text, ":");
    char seconds[32];
    size_t length = is_valid ? strspn(text, "0123456789.") : 0;
    if (length < 2 || length >= sizeof seconds) {
        return false;
    }
    memcpy(seconds, text, length);
    seconds[length] = '\0';
    text += length;
    int64_t second_ns = 0;
    int64_t offset_s = 0;
    if (!sli_decimal_ns(seconds, 9, &second_ns) || second_ns >= 60 * SLI_NS_PER_S ||
        !take_zone(&text, &offset_s)) {
        return false;
    }
    int64_t days = days_from_civil(year, month, day);
    *ns = (((days * 24 + hour) * 60 + minute) * 60 - offset_s) * SLI_NS_PER_S + second_ns;
    return true;
}

static bool parse_tokens(sli_lines *lines, column c, const char *text, uint64_t min,
                         int64_t *tokens) {
    uint64_t value = 0;
    if (!sli_decimal_u64(text, strlen(text), &value) || value < min ||
        value > SLI_TRACE_MAX_TOKENS) {
        sli_line_error(lines->errors, lines->number,
                       "%s: expected a whole number from %d to %d, found '%.60s'", column_names[c],
                       (int)min, SLI_TRACE_MAX_TOKENS, text);
        return false;
    }
    *tokens = (int64_t)value;
    return true;
}

static bool read_row(sli_lines *lines, const header *columns, sli_trace_row *row) {
    char *fields[COLUMN_COUNT] = {NULL};
    char *rest = lines->text;
    char *field = NULL;
    for (int i = 0; (field = take_field(&rest)) != NULL; i++) {
        for (int c = 0; c < COLUMN_COUNT; c++) {
            if (columns->field_of[c] == i) {
                fields[c] = field;
            }
        }
    }
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (fields[c] == NULL) {
            sli_line_error(lines->errors, lines->number, "has no field for column '%s'",
                           column_names[c]);
            return false;
        }
    }
    row->line = lines->number;
    bool has_time = parse_timestamp(fields[COLUMN_TIME], &row->at_ns);
    if (!has_time) {
        sli_line_error(lines->errors, lines->number,
                       "TIMESTAMP: expected a time as 2023-11-16 18:15:46.6805900, found '%.60s'",
                       fields[COLUMN_TIME]);
    }
    bool has_prompt = parse_tokens(lines, COLUMN_PROMPT, fields[COLUMN_PROMPT], 1,
                                   &row->prompt_tokens);
    bool has_output = parse_tokens(lines, COLUMN_OUTPUT, fields[COLUMN_OUTPUT], 0,
                                   &row->output_tokens);
    return has_time && has_prompt && has_output;
}

static void start_at_zero(sli_trace *trace) {
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < trace->count; i++) {
        first_ns = sli_min_i64(first_ns, trace->rows[i].at_ns);
    }
    for (size_t i = 0; i < trace->count; i++) {
        trace->rows[i].at_ns -= first_ns;
    }
}

sl_err sli_azure_read(sli_lines *lines, int64_t block_tokens, sli_trace *trace) {
    (void)block_tokens; /* there are no ids */
    header columns;
    if (!sli_lines_next(lines) || !read_header(lines, &columns)) {
        return SL_OK; /* has been said */
    }
    while (sli_lines_next(lines)) {
        sli_trace_row row = {0};
        if (read_row(lines, &columns, &row)) {
            SL_TRY(sli_trace_add(trace, &row, NULL, 0));
        }
    }
    if (trace->count == 0 && lines->errors->count == 0) {
        sli_line_error(lines->errors, 0, "has a header but no rows");
    }
    start_at_zero(trace);
    return SL_OK;
}

const sli_trace_format sli_azure_format = {
    .name = "azure", .mark = "TIMESTAMP", .is_json = false, .read = sli_azure_read};

const sli_section sli_azure_section = {
    .params = sli_trace_params,
    .param_count = SLI_TRACE_PARAM_COUNT,
    .fields = sli_trace_fields,
    .field_count = SLI_TRACE_FIELD_COUNT,
    .struct_size = sizeof(sli_trace_options),
};

sl_err sli_azure_create(const void *values, const sli_source_env *env, sl_source *source) {
    return sli_trace_source_create(values, env, &sli_azure_format, source);
}

void sli_azure_describe(const void *values, char *text, size_t size) {
    sli_trace_describe(values, "azure", text, size);
}
