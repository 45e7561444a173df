/*
 * A tiny JSON writer: structure, commas, escapes and indentation, so that the caller cannot get
 * them wrong.
 *
 * Floor out. The caller opens, fills and closes in order; inside an object every value is given a
 * key, inside an array and at the top the key is NULL. Numbers are exact: integers as integers,
 * reals as the shortest text that reads back the same; a real that is not finite becomes null.
 * Texts are taken for UTF-8; bytes that are not become U+FFFD. No memory. A failed stream is seen
 * by ferror(file), or by sli_json_finish.
 */
#ifndef SLUICE_OUT_JSON_H
#define SLUICE_OUT_JSON_H

#include "sluice/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SLI_JSON_DEPTH_MAX 16

typedef struct sli_json {
    FILE *file;
    int depth;
    bool has_items[SLI_JSON_DEPTH_MAX]; /* by depth: something was written at it */
} sli_json;

void sli_json_init(sli_json *json, FILE *file);

void sli_json_open_object(sli_json *json, const char *key);
void sli_json_close_object(sli_json *json);
void sli_json_open_array(sli_json *json, const char *key);
void sli_json_close_array(sli_json *json);

void sli_json_string(sli_json *json, const char *key, const char *text); /* NULL text = null */
void sli_json_int(sli_json *json, const char *key, int64_t value);
void sli_json_real(sli_json *json, const char *key, double value);
void sli_json_bool(sli_json *json, const char *key, bool value);
void sli_json_null(sli_json *json, const char *key);

/* Ends the text with a newline and flushes; all must be closed. SL_ERR_IO when the stream failed.
 */
SL_NODISCARD sl_err sli_json_finish(sli_json *json);

#endif
