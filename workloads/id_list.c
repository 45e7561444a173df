#include "workloads/id_list.h"

#include "base/grow.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of any 64-bit number; longer ones are left to a check for overflow. */
enum { DIGITS_THAT_FIT = 19 };

static char *skip_blanks(char *at) {
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    return at;
}

/* The value of the last `key` in the outermost object, or NULL. There are no backslashes. */
static char *find_value(char *line, const char *key) {
    size_t key_length = strlen(key);
    char *value = NULL;
    int depth = 0;
    for (char *at = line; *at != '\0';) {
        if (*at != '"') {
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            at++;
            continue;
        }
        char *end = strchr(at + 1, '"');
        if (end == NULL) {
            return NULL;
        }
        bool is_key = depth == 1 && (size_t)(end + 1 - at) == key_length &&
                      memcmp(at, key, key_length) == 0;
        at = skip_blanks(end + 1);
        if (is_key && *at == ':') {
            value = skip_blanks(at + 1);
        }
    }
    return value;
}

/* A whole number as JSON writes it; returns its end, or NULL. */
static char *read_number(char *at, uint64_t *number) {
    uint64_t sum = 0;
    int digits = 0;
    for (; '0' <= at[digits] && at[digits] <= '9'; digits++) {
        if (digits == DIGITS_THAT_FIT) {
            return NULL;
        }
        sum = sum * 10 + (uint64_t)(at[digits] - '0');
    }
    if (digits == 0 || (digits > 1 && at[0] == '0')) {
        return NULL;
    }
    *number = sum;
    return at + digits;
}

/* The numbers from behind the bracket to the closing one, which is returned; or NULL. */
static char *read_numbers(sli_id_list *list, char *at) {
    for (;;) {
        uint64_t number;
        at = read_number(skip_blanks(at), &number);
        if (at == NULL ||
            sli_grow(&list->ids, &list->capacity, list->count + 1, sizeof *list->ids) != SL_OK) {
            return NULL;
        }
        list->ids[list->count++] = number;
        at = skip_blanks(at);
        if (*at == ']') {
            return at;
        }
        if (*at++ != ',') {
            return NULL;
        }
    }
}

void sli_id_list_lift(sli_id_list *list, const char *key, char *line) {
    list->count = 0;
    if (strchr(line, '\\') != NULL) {
        return; /* an escaped quote, or a key that is written in another way */
    }
    char *value = find_value(line, key);
    if (value == NULL || *value != '[') {
        return;
    }
    char *end = read_numbers(list, value + 1);
    if (end == NULL) {
        list->count = 0;
        return;
    }
    memset(value + 1, ' ', (size_t)(end - value - 1));
}

void sli_id_list_fini(sli_id_list *list) {
    free(list->ids);
    *list = (sli_id_list){0};
}
