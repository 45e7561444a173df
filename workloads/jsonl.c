#include "workloads/jsonl.h"

#include "base/grow.h"
#include "workloads/number.h"

#include <limits.h>
#include <string.h>

#define IDS_KEY "hash_ids"

sl_err sli_jsonl_open(sli_jsonl *jsonl, sli_lines *lines) {
    struct json_tokener *tokener = json_tokener_new();
    if (tokener == NULL) {
        return SL_ERR_NOMEM;
    }
    /* Strict refuses what follows the object, too. */
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *jsonl = (sli_jsonl){.lines = lines, .tokener = tokener};
    return SL_OK;
}

void sli_jsonl_close(sli_jsonl *jsonl) {
    json_object_put(jsonl->object);
    if (jsonl->tokener != NULL) {
        json_tokener_free(jsonl->tokener);
    }
    sli_id_list_fini(&jsonl->ids);
    *jsonl = (sli_jsonl){0};
}

/* The end of the string whose opening quote is at `at`. */
static const char *skip_string(const char *at) {
    for (at++; *at != '\0' && *at != '"'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        }
    }
    return *at == '"' ? at + 1 : at;
}

static bool is_digit(char c) {
    return '0' <= c && c <= '9';
}

static bool is_in_number(char c) {
    return is_digit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/* The first whole number of the line that 64 bits cannot hold, or NULL; *length is its length. */
static const char *find_oversized(const char *text, size_t *length) {
    enum { DIGITS_THAT_FIT = 19 };
    while (*text != '\0') {
        if (*text == '"') {
            text = skip_string(text);
            continue;
        }
        size_t digits = 0;
        while (is_digit(text[digits])) {
            digits++;
        }
        size_t span = digits;
        while (is_in_number(text[span])) {
            span++;
        }
        uint64_t value = 0;
        if (digits == span && digits > DIGITS_THAT_FIT && !sli_decimal_u64(text, digits, &value)) {
            *length = span;
            return text;
        }
        text += span > 0 ? span : 1;
    }
    return NULL;
}

static bool parse_line(sli_jsonl *jsonl) {
    const sli_lines *lines = jsonl->lines;
    sli_id_list_lift(&jsonl->ids, "\"" IDS_KEY "\"", lines->text);
    size_t length = 0;
    const char *oversized = find_oversized(lines->text, &length);
    if (oversized != NULL) {
        sli_line_error(lines->errors, lines->number, "the number %.*s is beyond 64 bits",
                       length < 60 ? (int)length : 60, oversized);
        return false;
    }
    if (lines->length > INT_MAX) {
        sli_line_error(lines->errors, lines->number, "the line is longer than 2 GiB");
        return false;
    }
    json_tokener_reset(jsonl->tokener);
    json_object_put(jsonl->object);
    jsonl->object = json_tokener_parse_ex(jsonl->tokener, lines->text, (int)lines->length);
    enum json_tokener_error status = json_tokener_get_error(jsonl->tokener);
    if (status == json_tokener_continue) {
        sli_line_error(lines->errors, lines->number, "expected a JSON object, found half of one");
        return false;
    }
    if (status != json_tokener_success) {
        sli_line_error(lines->errors, lines->number, "expected a JSON object: %s at column %zu",
                       json_tokener_error_desc(status),
                       json_tokener_get_parse_end(jsonl->tokener) + 1);
        return false;
    }
    if (!json_object_is_type(jsonl->object, json_type_object)) {
        sli_line_error(lines->errors, lines->number, "expected a JSON object");
        return false;
    }
    return true;
}

/* One complaint about the file in place of one a line. False when it is the first line that has no
 * object. */
static bool begins_with_object(sli_lines *lines) {
    if (lines->filled_count > 1 || lines->text[strspn(lines->text, " \t")] == '{') {
        return true;
    }
    sli_line_error(lines->errors, lines->number,
                   "expected a JSON object, as in each line of such a trace; sluice trace info "
                   "says what a file is");
    lines->is_broken = true;
    return false;
}

bool sli_jsonl_next(sli_jsonl *jsonl) {
    while (sli_lines_next(jsonl->lines)) {
        if (!begins_with_object(jsonl->lines)) {
            return false;
        }
        if (parse_line(jsonl)) {
            return true;
        }
    }
    return false;
}

bool sli_jsonl_has(const sli_jsonl *jsonl, const char *key) {
    return json_object_object_get_ex(jsonl->object, key, NULL);
}

static bool get(const sli_jsonl *jsonl, const char *key, struct json_object **value) {
    if (!json_object_object_get_ex(jsonl->object, key, value)) {
        sli_line_error(jsonl->lines->errors, jsonl->lines->number, "missing key '%s'", key);
        return false;
    }
    return true;
}

static const char *text_of(struct json_object *value) {
    return value != NULL ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN) : "null";
}

bool sli_jsonl_get_time(const sli_jsonl *jsonl, const char *key, int exponent, const char *unit,
                        int64_t *ns) {
    struct json_object *value = NULL;
    if (!get(jsonl, key, &value)) {
        return false;
    }
    /* A double that was parsed prints as the text that it was parsed from. */
    if (!sli_decimal_ns(text_of(value), exponent, ns)) {
        sli_line_error(jsonl->lines->errors, jsonl->lines->number,
                       "%s: expected a number of %s of at least 0, found %.60s", key, unit,
                       text_of(value));
        return false;
    }
    return true;
}

bool sli_jsonl_get_int(const sli_jsonl *jsonl, const char *key, int64_t min, int64_t max,
                       int64_t *value) {
    struct json_object *found = NULL;
    if (!get(jsonl, key, &found)) {
        return false;
    }
    /* Beyond INT64_MAX json-c saturates, which is out of every range that we ask for. */
    int64_t number = json_object_get_int64(found);
    if (!json_object_is_type(found, json_type_int) || number < min || number > max) {
        sli_line_error(jsonl->lines->errors, jsonl->lines->number,
                       "%s: expected a whole number from %lld to %lld, found %.60s", key,
                       (long long)min, (long long)max, text_of(found));
        return false;
    }
    *value = number;
    return true;
}

/* Read as signed, a number beyond INT64_MAX saturates, so only negative ones are below 0. */
static bool is_id(const struct json_object *item) {
    return json_object_is_type(item, json_type_int) && json_object_get_int64(item) >= 0;
}

/* What was not lifted; a list that was is empty here, and in jsonl->ids already. */
static sl_err copy_ids(sli_jsonl *jsonl, struct json_object *list, bool *is_valid) {
    sli_id_list *ids = &jsonl->ids;
    size_t length = json_object_array_length(list);
    if (length > 0) {
        SL_TRY(sli_grow(&ids->ids, &ids->capacity, length, sizeof *ids->ids));
    }
    for (size_t i = 0; i < length; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!is_id(item)) {
            sli_line_error(jsonl->lines->errors, jsonl->lines->number,
                           IDS_KEY ": expected whole numbers from 0 to 18446744073709551615, found "
                                   "%.60s at place %zu",
                           text_of(item), i + 1);
            return SL_OK;
        }
        ids->ids[ids->count++] = json_object_get_uint64(item);
    }
    *is_valid = true;
    return SL_OK;
}

sl_err sli_jsonl_get_ids(sli_jsonl *jsonl, bool *is_valid) {
    struct json_object *list = NULL;
    *is_valid = false;
    if (!get(jsonl, IDS_KEY, &list)) {
        return SL_OK;
    }
    if (!json_object_is_type(list, json_type_array)) {
        sli_line_error(jsonl->lines->errors, jsonl->lines->number,
                       IDS_KEY ": expected a list of ids, found %.60s", text_of(list));
        return SL_OK;
    }
    return copy_ids(jsonl, list, is_valid);
}
