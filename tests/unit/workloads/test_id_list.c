/* Lists of ids lifted out of lines of JSON, against json-c on the same lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "workloads/id_list.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "\"hash_ids\""

enum { LINE_SIZE = 512 };

static void assert_lifts(const char *before, const char *after, const uint64_t *ids, size_t count) {
    char line[LINE_SIZE];
    sli_id_list list = {0};
    snprintf(line, sizeof line, "%s", before);
    sli_id_list_lift(&list, KEY, line);
    assert_string_equal(line, after);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(list.ids[i] == ids[i]);
    }
    sli_id_list_fini(&list);
}

static void leaves_an_empty_list_behind(void **state) {
    (void)state;
    assert_lifts("{\"a\": [7], \"hash_ids\" : [12, 0,9999999999999999999 ], \"b\": 1}",
                 "{\"a\": [7], \"hash_ids\" : [                          ], \"b\": 1}",
                 (uint64_t[]){12, 0, 9999999999999999999u}, 3);
}

static void takes_the_last_of_two(void **state) {
    (void)state;
    assert_lifts("{\"hash_ids\":[1],\"hash_ids\":[2]}", "{\"hash_ids\":[1],\"hash_ids\":[ ]}",
                 (uint64_t[]){2}, 1);
}

static void leaves_what_is_not_plain(void **state) {
    (void)state;
    static const char *const lines[] = {
        "",
        "{\"hash_ids",
        "{\"hash_ids\"",
        "{\"hash_ids\":",
        "{\"hash_ids\": []}",
        "{\"hash_ids\": [1",
        "{\"hash_ids\": [1,",
        "{\"hash_ids\": [1,]}",
        "{\"hash_ids\": [1 2]}",
        "{\"hash_ids\": [-1]}",
        "{\"hash_ids\": [1.0]}",
        "{\"hash_ids\": [1e2]}",
        "{\"hash_ids\": [01]}",
        "{\"hash_ids\": [\"1\"]}",
        "{\"hash_ids\": [18446744073709551615]}", /* for a check of the range */
        "{\"hash_ids\": [[1]]}",
        "{\"hash_ids\": 1}",
        "{\"a\": {\"hash_ids\": [1]}}",
        "{\"hash_ids \": [1]}",
        "{\"a\": \"hash_ids\", \"b\": [1]}",
        "[\"hash_ids\",[1]]",
        "{\"hash_ids\": [1], \"hash_ids\": []}",
        "{\"hash_ids\": [1], \"hash\\u005fids\": []}",
        "{\"a\": \"\\\"\", \"hash_ids\": [1]}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_lifts(lines[i], lines[i], NULL, 0);
    }
}

/* ---- Against json-c ---- */

typedef struct parsed {
    struct json_object *object; /* owned; NULL = refused */
    size_t end;                 /* where parsing ended */
} parsed;

static parsed parse(const char *line) {
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    parsed result = {.object = json_tokener_parse_ex(tokener, line, (int)strlen(line))};
    result.end = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    return result;
}

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

static size_t print_line(uint64_t *state, char line[LINE_SIZE]) {
    static const char *const gaps[] = {"", " ", "  "};
    size_t length = (size_t)snprintf(line, LINE_SIZE, "{\"timestamp\": %u, \"hash_ids\":%s[",
                                     draw(state, 1000), gaps[draw(state, 3)]);
    for (uint32_t left = draw(state, 8); left > 0; left--) {
        length += (size_t)snprintf(line + length, LINE_SIZE - length, "%s%u%s%s",
                                   gaps[draw(state, 3)], draw(state, 100000), gaps[draw(state, 3)],
                                   left > 1 ? "," : "");
    }
    return length + (size_t)snprintf(line + length, LINE_SIZE - length, "], \"b\": [3, 4]}");
}

/* A few characters changed into others that mean something to JSON. */
static void garble(uint64_t *state, char *line, size_t length) {
    static const char characters[] = "\"\\[]{}:,.-0123456789e hash_ids";
    for (uint32_t left = draw(state, 4); left > 0; left--) {
        line[draw(state, (uint32_t)length)] = characters[draw(state, sizeof characters - 1)];
    }
}

static void assert_same_ids(const sli_id_list *list, struct json_object *object) {
    struct json_object *ids = NULL;
    assert_true(json_object_object_get_ex(object, "hash_ids", &ids));
    assert_int_equal(json_object_array_length(ids), list->count);
    for (size_t i = 0; i < list->count; i++) {
        assert_true(json_object_get_uint64(json_object_array_get_idx(ids, i)) == list->ids[i]);
    }
}

static void changes_nothing_for_a_parser(void **unused) {
    (void)unused;
    uint64_t state = 1;
    sli_id_list list = {0};
    int lifted = 0;
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        char line[LINE_SIZE];
        garble(&state, line, print_line(&state, line));
        parsed before = parse(line);
        sli_id_list_lift(&list, KEY, line);
        parsed after = parse(line);
        assert_int_equal(before.end, after.end);
        assert_int_equal(before.object == NULL, after.object == NULL);
        if (before.object != NULL && list.count > 0) {
            assert_same_ids(&list, before.object);
            list.count = 0;
            assert_same_ids(&list, after.object);
            lifted++;
        }
        refused += before.object == NULL;
        json_object_put(before.object);
        json_object_put(after.object);
    }
    assert_true(lifted > 2000 && refused > 2000);
    sli_id_list_fini(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_an_empty_list_behind),
        cmocka_unit_test(takes_the_last_of_two),
        cmocka_unit_test(leaves_what_is_not_plain),
        cmocka_unit_test(changes_nothing_for_a_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
