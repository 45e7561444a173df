/*
 * Traces with one JSON object a line: the checks that both JSONL formats share.
 *
 * Part workloads. JSON is parsed by json-c, but for plain lists of ids. It saturates whole numbers
 * beyond 64 bits without a word, so those are found in the text beforehand; times are taken from
 * their text and never pass through a double. Each getter complains about its key, with the line,
 * and answers false.
 */
#ifndef WORKLOADS_JSONL_H
#define WORKLOADS_JSONL_H

#include "workloads/id_list.h"
#include "workloads/lines.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sli_jsonl {
    sli_lines *lines;
    struct json_tokener *tokener;
    struct json_object *object; /* of the current line */
    sli_id_list ids;            /* of the current line, once sli_jsonl_get_ids has said so */
} sli_jsonl;

SL_NODISCARD sl_err sli_jsonl_open(sli_jsonl *jsonl, sli_lines *lines);
void sli_jsonl_close(sli_jsonl *jsonl);

/* Moves to the next line that holds an object, complaining about others; false at the end. */
bool sli_jsonl_next(sli_jsonl *jsonl);

bool sli_jsonl_has(const sli_jsonl *jsonl, const char *key);

/* A time of at least 0 in units of 10^exponent ns, which messages call `unit`. */
bool sli_jsonl_get_time(const sli_jsonl *jsonl, const char *key, int exponent, const char *unit,
                        int64_t *ns);

bool sli_jsonl_get_int(const sli_jsonl *jsonl, const char *key, int64_t min, int64_t max,
                       int64_t *value);

/*
 * `hash_ids`, a list of unsigned 64-bit numbers, into jsonl->ids until the next line. *is_valid
 * says whether it was one; the error is about memory alone.
 */
SL_NODISCARD sl_err sli_jsonl_get_ids(sli_jsonl *jsonl, bool *is_valid);

#endif
