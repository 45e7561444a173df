#include "out/json.h"

#include "base/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sli_json_init(sli_json *json, FILE *file) {
    *json = (sli_json){.file = file};
}

static void put(sli_json *json, const char *text) {
    fputs(text, json->file);
}

static void new_line(sli_json *json) {
    fputc('\n', json->file);
    for (int i = 0; i < json->depth; i++) {
        put(json, "  ");
    }
}

/*
 * The length of the well-formed UTF-8 sequence at `at`, or 0: by the table of well-formed byte
 * sequences, Unicode 15.0, table 3-7. The NUL at the end fits no place of a sequence.
 */
static size_t utf8_length(const unsigned char *at) {
    unsigned char lead = at[0];
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t length = 0;
    if (lead < 0x80) {
        return 1;
    } else if (lead >= 0xc2 && lead <= 0xdf) {
        length = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        length = 3;
        low = lead == 0xe0 ? 0xa0 : low;
        high = lead == 0xed ? 0x9f : high; /* no surrogates */
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        length = 4;
        low = lead == 0xf0 ? 0x90 : low;
        high = lead == 0xf4 ? 0x8f : high; /* nothing above U+10FFFF */
    } else {
        return 0;
    }
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (at[i] < 0x80 || at[i] > 0xbf) {
            return 0;
        }
    }
    return length;
}

static void put_control(sli_json *json, unsigned char byte) {
    switch (byte) {
    case '\n':
        put(json, "\\n");
        break;
    case '\r':
        put(json, "\\r");
        break;
    case '\t':
        put(json, "\\t");
        break;
    default:
        fprintf(json->file, "\\u%04x", byte);
        break;
    }
}

static void put_quoted(sli_json *json, const char *text) {
    fputc('"', json->file);
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        size_t length = utf8_length(at);
        if (length == 0) {
            put(json, "\\ufffd");
            length = 1;
        } else if (*at < 0x20) {
            put_control(json, *at);
        } else {
            if (*at == '"' || *at == '\\') {
                fputc('\\', json->file);
            }
            fwrite(at, 1, length, json->file);
        }
        at += length;
    }
    fputc('"', json->file);
}

/* What comes before a value: the comma, the line and the key. */
static void begin_value(sli_json *json, const char *key) {
    if (json->has_items[json->depth]) {
        fputc(',', json->file);
    }
    json->has_items[json->depth] = true;
    if (json->depth > 0) {
        new_line(json);
    }
    if (key != NULL) {
        put_quoted(json, key);
        put(json, ": ");
    }
}

static void open_level(sli_json *json, const char *key, char bracket) {
    begin_value(json, key);
    fputc(bracket, json->file);
    json->depth++;
    SL_ASSERT(json->depth < SLI_JSON_DEPTH_MAX);
    json->has_items[json->depth] = false;
}

static void close_level(sli_json *json, char bracket) {
    SL_ASSERT(json->depth > 0);
    bool has_items = json->has_items[json->depth];
    json->depth--;
    if (has_items) {
        new_line(json);
    }
    fputc(bracket, json->file);
}

void sli_json_open_object(sli_json *json, const char *key) {
    open_level(json, key, '{');
}

void sli_json_close_object(sli_json *json) {
    close_level(json, '}');
}

void sli_json_open_array(sli_json *json, const char *key) {
    open_level(json, key, '[');
}

void sli_json_close_array(sli_json *json) {
    close_level(json, ']');
}

void sli_json_string(sli_json *json, const char *key, const char *text) {
    if (text == NULL) {
        sli_json_null(json, key);
        return;
    }
    begin_value(json, key);
    put_quoted(json, text);
}

void sli_json_int(sli_json *json, const char *key, int64_t value) {
    begin_value(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void sli_json_real(sli_json *json, const char *key, double value) {
    if (!isfinite(value)) {
        sli_json_null(json, key);
        return;
    }
    char text[32];
    /* 17 digits always read back the same (IEEE 754-2008, 5.12.2); fewer often do. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value)) {
            break;
        }
    }
    if (strpbrk(text, ".e") == NULL) {
        strcat(text, ".0"); /* a real stays a real for readers that tell them apart */
    }
    begin_value(json, key);
    put(json, text);
}

void sli_json_bool(sli_json *json, const char *key, bool value) {
    begin_value(json, key);
    put(json, value ? "true" : "false");
}

void sli_json_null(sli_json *json, const char *key) {
    begin_value(json, key);
    put(json, "null");
}

sl_err sli_json_finish(sli_json *json) {
    SL_ASSERT(json->depth == 0);
    fputc('\n', json->file);
    return fflush(json->file) != 0 || ferror(json->file) ? SL_ERR_IO : SL_OK;
}
