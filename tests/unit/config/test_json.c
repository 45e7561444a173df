/*
 * The JSON reader: what RFC 8259 allows and forbids, and where it says that things stand. libyaml,
 * which reads most JSON too, is the oracle of trees and places.
 */
#include "config/json.h"

#include "../import/configs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    sli_arena arena;
    sli_diag diag;
} world;

static int set_up(void **state) {
    static world fresh;
    fresh = (world){0};
    *state = &fresh;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    sli_arena_fini(&w->arena);
    sli_diag_fini(&w->diag);
    return 0;
}

static sl_err read_bytes(world *w, const char *text, size_t length, sli_node **root) {
    return sli_json_read_text(&w->arena, "c.json", text, length, &w->diag, root);
}

static const sli_node *read_text(world *w, const char *text) {
    sli_node *root = NULL;
    if (read_bytes(w, text, strlen(text), &root) != SL_OK) {
        sli_diag_print(&w->diag, stderr);
        fail_msg("not read: %s", text);
    }
    return root;
}

static const char *text_of(const sli_node *root, const char *key) {
    const sli_node *node = sli_node_find(root, key);
    assert_non_null(node);
    assert_int_equal(node->kind, SLI_NODE_SCALAR);
    return node->text;
}

static void places_count_characters_and_tabs(void **state) {
    const sli_node *root = read_text(*state, "{\n\t\"a\": 1,\r\n  \"\xC3\xA9\": [true, \"x\"]}");
    const sli_node *a = sli_node_find(root, "a");
    const sli_node *list = sli_node_find(root, "\xC3\xA9");
    assert_int_equal(a->key_mark.line, 2);
    assert_int_equal(a->key_mark.column, 2);
    assert_int_equal(a->mark.column, 7);
    assert_int_equal(list->mark.line, 3);
    assert_int_equal(list->mark.column, 8);
    assert_int_equal(list->first->mark.column, 9);
    assert_int_equal(list->last->mark.column, 15);
    assert_string_equal(list->mark.file, "c.json");
}

static void escapes_become_characters(void **state) {
    const sli_node *root = read_text(*state, "{\"a\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\", "
                                             "\"b\": \"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\", "
                                             "\"\\u006bey\": \"\"}");
    assert_string_equal(text_of(root, "a"), "\"\\/\b\f\n\r\t");
    assert_string_equal(text_of(root, "b"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_string_equal(text_of(root, "key"), "");
}

/* The first and the last character of each length in UTF-8, by RFC 3629, and both ends of pairs. */
static void characters_have_their_bytes(void **state) {
    const sli_node *root = read_text(*state,
                                     "{\"a\": \" ~\\u0001\\u007f\\u0080\\u07ff\\u0800\\uffff\", "
                                     "\"b\": \"\\ud800\\udc00\\udbff\\udfff\\ud7ff\\ue000\"}");
    assert_string_equal(text_of(root, "a"), " ~\x01\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF");
    assert_string_equal(text_of(root, "b"),
                        "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\xED\x9F\xBF\xEE\x80\x80");
}

/* Python writes the last three. */
static void words_and_numbers_keep_their_text(void **state) {
    static const char *const words[] = {
        "true", "false",    "0",         "-0",    "12",
        "1.5",  "1e-06",    "2E+3",      "1e400", "123456789012345678901234567890",
        "NaN",  "Infinity", "-Infinity",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        world *w = *state;
        const sli_node *root = read_text(w, sli_arena_printf(&w->arena, "{\"k\":%s}", words[i]));
        assert_string_equal(text_of(root, "k"), words[i]);
        assert_false(sli_node_find(root, "k")->is_quoted);
    }
}

static void null_is_not_the_word_null(void **state) {
    const sli_node *root = read_text(*state, "{\"a\": null, \"b\": \"null\", \"c\": [null]}");
    assert_true(sli_json_is_null(sli_node_find(root, "a")));
    assert_false(sli_json_is_null(sli_node_find(root, "b")));
    assert_false(sli_json_is_null(sli_node_find(root, "c")));
    assert_true(sli_json_is_null(sli_node_find(root, "c")->first));
}

static void a_byte_order_mark_is_skipped(void **state) {
    const sli_node *root = read_text(*state, "\xEF\xBB\xBF{\"a\": 1}");
    assert_int_equal(sli_node_find(root, "a")->key_mark.column, 2);
}

/* Whether two trees say the same at the same places. */
static bool is_same_tree(const sli_node *a, const sli_node *b) {
    if (a->kind != b->kind || a->count != b->count || a->mark.line != b->mark.line ||
        a->mark.column != b->mark.column || a->is_quoted != b->is_quoted) {
        return false;
    }
    if (a->kind == SLI_NODE_SCALAR) {
        return strcmp(a->text, b->text) == 0;
    }
    const sli_node *other = b->first;
    for (const sli_node *child = a->first; child != NULL; child = child->next) {
        if ((child->key != NULL) != (other->key != NULL) || !is_same_tree(child, other) ||
            (child->key != NULL && (strcmp(child->key, other->key) != 0 ||
                                    child->key_mark.column != other->key_mark.column))) {
            return false;
        }
        other = other->next;
    }
    return true;
}

static void trees_are_those_of_yaml(void **state) {
    world *w = *state;
    int compared = 0;
    for (size_t i = 0; i < IMPORT_CONFIGS; i++) {
        const char *json = import_config_json(&w->arena, import_configs[i].text);
        if (strstr(json, "null") != NULL) {
            continue; /* YAML misses a value there */
        }
        sli_node *yaml = NULL;
        assert_int_equal(sli_tree_read_text(&w->arena, "y", json, strlen(json), &w->diag, &yaml),
                         SL_OK);
        if (!is_same_tree(read_text(w, json), yaml)) {
            fail_msg("%s reads differently", import_configs[i].id);
        }
        compared++;
    }
    assert_true(compared > IMPORT_CONFIGS / 2);
}

/* A file that was cut anywhere is refused. */
static void no_beginning_of_a_file_is_one(void **state) {
    world *w = *state;
    const char *json = "{\"a\": [1, -2.5e3, \"x\\u0041\"], \"b\": {\"c\": null}} ";
    for (size_t length = 0; length + 1 < strlen(json); length++) {
        sli_node *root = NULL;
        assert_int_equal(read_bytes(w, json, length, &root), SL_ERR_CONFIG);
        assert_null(root);
    }
    (void)read_text(w, json);
}

typedef struct mistake {
    const char *text;
    int line;
    int column;
    const char *message;
} mistake;

static void mistakes_are_found_where_they_are(void **state) {
    static const mistake mistakes[] = {
        {"", 1, 1, "expected an object in braces, found the end of the file"},
        {"[1]", 1, 1, "expected an object in braces, found '[1'"},
        {"name: x", 1, 1, "expected an object in braces, found 'name'"},
        {"{\n  \"a\": 1,\n}", 3, 1, "expected a key in the object of line 1, column 1, found '}'"},
        {"{\"a\": 1 \"b\": 2}", 1, 9, "expected ',' or '}' in the object of line 1, column 1"},
        {"{\"a\" 1}", 1, 6, "expected ':' behind the key, found '1'"},
        {"{a: 1}", 1, 2, "expected a key"},
        {"{'a': 1}", 1, 2, "expected a key"},
        {"{\"a\": [1, 2}", 1, 12, "expected ',' or ']' in the list of line 1, column 7"},
        {"{\"a\": [1,]}", 1, 10, "expected a value, found ']'"},
        {"{\"a\": yes}", 1, 7, "expected a value, found 'yes'"},
        {"{\"a\": True}", 1, 7, "expected a value, found 'True'"},
        {"{\"a\": 01}", 1, 7, "expected a value, found '01'"},
        {"{\"a\": +1}", 1, 7, "expected a value"},
        {"{\"a\": .5}", 1, 7, "expected a value"},
        {"{\"a\": 5.}", 1, 7, "expected a value"},
        {"{\"a\": 5e}", 1, 7, "expected a value"},
        {"{\"a\": 5e3.}", 1, 7, "expected a value"},
        {"{\"a\": 0x10}", 1, 7, "expected a value"},
        {"{\"a\": -}", 1, 7, "expected a value"},
        {"{\"a\": 1} // end", 1, 10, "expected the end of the file, found '//'"},
        {"{\"a\": 1}{}", 1, 9, "expected the end of the file"},
        {"{\"a\": \"x\n\"}", 1, 9, "expected the end of the string of line 1, column 7"},
        {"{\"a\": \"x\ty\"}", 1, 9, "a string cannot hold the byte 0x09"},
        {"{\"a\": \"x\xFFy\"}", 1, 9, "a string cannot hold the byte 0xFF"},
        {"{\"a\": \"\\x41\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"\\u12\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"\\u0000\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"\\ud83d\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"\\ud83d\\u0041\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"\\ude00\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"\\ud800\\udbff\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"\\ud800\\ue000\"}", 1, 8, "an escape that is none"},
        {"{\"a\": \"x\x1Fy\"}", 1, 9, "a string cannot hold the byte 0x1F"},
        {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", 3, 2,
         "duplicate key 'a'; the first is in line 1, column 2"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const mistake *m = &mistakes[i];
        world w = {0};
        sli_node *root = NULL;
        assert_int_equal(read_bytes(&w, m->text, strlen(m->text), &root), SL_ERR_CONFIG);
        assert_null(root);
        assert_int_equal(w.diag.error_count, 1);
        if (strstr(w.diag.first->message, m->message) == NULL ||
            w.diag.first->mark.line != m->line || w.diag.first->mark.column != m->column) {
            sli_diag_print(&w.diag, stderr);
            fail_msg("of %s: not at %d:%d, or not '%s'", m->text, m->line, m->column, m->message);
        }
        tear_down((void *[]){&w});
    }
    (void)state;
}

static void a_nul_byte_ends_nothing(void **state) {
    static const char text[] = "{\"a\": 1\0}";
    sli_node *root = NULL;
    assert_int_equal(read_bytes(*state, text, sizeof text - 1, &root), SL_ERR_CONFIG);
}

/* A text so many times, a 1, and another text as often. */
static sl_err read_nested(world *w, const char *opening, const char *closing, int depth) {
    char text[1024] = "{\"k\":";
    for (int i = 0; i < depth; i++) {
        strcat(text, opening);
    }
    strcat(text, "1");
    for (int i = 0; i < depth; i++) {
        strcat(text, closing);
    }
    strcat(text, "}");
    sli_node *root = NULL;
    return read_bytes(w, text, strlen(text), &root);
}

/* 64 levels below the object of the file, as in YAML. */
static void depth_has_a_limit(void **state) {
    assert_int_equal(read_nested(*state, "{\"a\":", "}", 63), SL_OK);
    assert_int_equal(read_nested(*state, "{\"a\":", "}", 64), SL_ERR_CONFIG);
    assert_int_equal(read_nested(*state, "[", "]", 63), SL_OK);
    assert_int_equal(read_nested(*state, "[", "]", 64), SL_ERR_CONFIG);
}

static void files_that_cannot_be_read_are_named(void **state) {
    world *w = *state;
    sli_node *root = NULL;
    assert_int_equal(sli_json_read_file(&w->arena, "no/such.json", &w->diag, &root), SL_ERR_CONFIG);
    assert_int_equal(sli_json_read_file(&w->arena, ".", &w->diag, &root), SL_ERR_CONFIG);
    assert_string_equal(w->diag.first->mark.file, "no/such.json");
    assert_string_equal(w->diag.first->message, "cannot read it: No such file or directory");
    assert_string_equal(w->diag.last->message, "cannot read it: Is a directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(places_count_characters_and_tabs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(escapes_become_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(characters_have_their_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_and_numbers_keep_their_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_is_not_the_word_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_byte_order_mark_is_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trees_are_those_of_yaml, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_beginning_of_a_file_is_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_found_where_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_nul_byte_ends_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(depth_has_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_read_are_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
