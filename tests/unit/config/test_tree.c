#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Texts and the one complete list of messages that each deserves. */
typedef struct bad_text {
    const char *text;
    const char *messages;
} bad_text;

/* --- Syntax: no tree at all ---------------------------------------------------------------- */

static void refuses_texts_that_are_no_tree(void **state) {
    (void)state;
    static const bad_text cases[] = {
        {"", "s.yaml: expected a mapping of keys, found nothing\n"},
        {"# only a comment\n", "s.yaml: expected a mapping of keys, found nothing\n"},
        {"just a word\n", "s.yaml:1:1: expected a mapping of keys, found a single value\n"},
        {"\n- 1\n- 2\n", "s.yaml:2:1: expected a mapping of keys, found a list\n"},
        {"a: 1\nb:\n\tc: 2\n", "s.yaml:3:1: expected spaces, found a tab\n"},
        {"a: \"x\ty\"\n", "s.yaml:1:6: expected spaces, found a tab\n"},
        {"a: 1\r\nb: 2\rc:\n\td: 3\n", "s.yaml:4:1: expected spaces, found a tab\n"},
        {"a: \xC3\xA4\xFFz\n", "s.yaml:1:5: expected UTF-8 text, found the byte 0xFF\n"},
        {"a: \xC0\xAF\n", "s.yaml:1:4: expected UTF-8 text, found the byte 0xC0\n"},
        {"a: \xED\xA0\x80\n", "s.yaml:1:4: expected UTF-8 text, found the byte 0xED\n"},
        {"a: \xE0\x80\xAF\n", "s.yaml:1:4: expected UTF-8 text, found the byte 0xE0\n"},
        {"a: \xF4\x90\x80\x80\n", "s.yaml:1:4: expected UTF-8 text, found the byte 0xF4\n"},
        {"a: \xE2\x82", "s.yaml:1:4: expected UTF-8 text, found the byte 0xE2\n"},
        {"a: \x7F\n", "s.yaml:1:4: expected text, found the character U+007F\n"},
        {"a: 1\n---\nb: 2\n", "s.yaml:2:1: expected one YAML document, found a second one\n"},
        {"a: [1, 2\n", "s.yaml:2:1: not valid YAML: did not find expected ',' or ']' while parsing "
                       "a flow sequence that starts at line 1, column 4\n"},
        {"a: 'open\n", "s.yaml:2:1: not valid YAML: found unexpected end of stream while scanning "
                       "a quoted scalar that starts at line 1, column 4\n"},
        {"a: 1\n b: 2\n", "s.yaml:2:3: not valid YAML: mapping values are not allowed in this "
                          "context\n"},
        {"a: %x\n", "s.yaml:1:4: not valid YAML: found character that cannot start any token while "
                    "scanning for the next token that starts at line 1, column 4\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_bed bed = {0};
        assert_int_equal(read_text(&bed, cases[i].text), SL_ERR_CONFIG);
        assert_string_equal(messages_of(&bed), cases[i].messages);
        assert_null(bed.root);
        test_bed_fini(&bed);
    }
}

static void refuses_a_nul_byte(void **state) {
    (void)state;
    test_bed bed = {0};
    static const char text[] = "a: 1\nb: \0\n";
    assert_int_equal(
        sli_tree_read_text(&bed.arena, "s.yaml", text, sizeof text - 1, &bed.diag, &bed.root),
        SL_ERR_CONFIG);
    assert_string_equal(messages_of(&bed),
                        "s.yaml:2:4: expected text, found the character U+0000\n");
    test_bed_fini(&bed);
}

/* Lists in lists; the innermost stands at the given depth, the list of key `a` at depth 1. */
static sl_err read_nested(test_bed *bed, size_t depth) {
    char text[256] = "a: ";
    memset(text + 3, '[', depth);
    memset(text + 3 + depth, ']', depth);
    strcpy(text + 3 + 2 * depth, "\n");
    return read_text(bed, text);
}

static void refuses_only_what_is_nested_deeper_than_64(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_nested(&bed, 64), SL_OK);
    assert_int_equal(read_nested(&bed, 65), SL_ERR_CONFIG);
    assert_non_null(strstr(messages_of(&bed), "s.yaml:1:68: a[0][0]"));
    assert_non_null(strstr(messages_of(&bed), ": nested deeper than 64 levels\n"));
    test_bed_fini(&bed);
}

static void refuses_a_text_larger_than_16_mib(void **state) {
    (void)state;
    test_bed bed = {0};
    size_t limit = (size_t)16 * 1024 * 1024;
    char *text = malloc(limit + 1);
    memset(text, ' ', limit + 1);
    memcpy(text, "a: 1\n", 5);
    assert_int_equal(sli_tree_read_text(&bed.arena, "s.yaml", text, limit, &bed.diag, &bed.root),
                     SL_OK);
    assert_int_equal(
        sli_tree_read_text(&bed.arena, "s.yaml", text, limit + 1, &bed.diag, &bed.root),
        SL_ERR_CONFIG);
    assert_string_equal(messages_of(&bed), "s.yaml: larger than 16 MiB\n");
    free(text);
    test_bed_fini(&bed);
}

/* --- Mistakes that leave a tree ------------------------------------------------------------ */

static void goes_on_after_mistakes_that_leave_a_tree(void **state) {
    (void)state;
    static const bad_text cases[] = {
        {"a: 1\nb: {c: 1, c: 2}\na: 3\n",
         "s.yaml:2:11: b.c: duplicate key 'c'; the first is in line 2, column 5\n"
         "s.yaml:3:1: a: duplicate key 'a'; the first is in line 1, column 1\n"},
        {"a:\nb: ~\nc: [1, null]\n", "s.yaml:1:3: a: has no value\n"
                                     "s.yaml:2:4: b: has no value\n"
                                     "s.yaml:3:8: c[1]: has no value\n"},
        {"a: &x 1\nb: *x\n", "s.yaml:1:4: a: YAML anchors are not allowed\n"
                             "s.yaml:2:4: b: YAML aliases are not allowed\n"},
        {"a: !!str 1\nb: !x [1]\nc: !x {d: 1}\n", "s.yaml:1:4: a: YAML tags are not allowed\n"
                                                  "s.yaml:2:4: b: YAML tags are not allowed\n"
                                                  "s.yaml:3:4: c: YAML tags are not allowed\n"},
        {"[a, b]: 1\n? {c: 1}\n: 2\n\"\": 3\n",
         "s.yaml:1:1: a key must be a word, found a list\n"
         "s.yaml:2:3: a key must be a word, found a mapping\n"
         "s.yaml:4:1: a key must be a word, found an empty one\n"},
        {"a: \"x\\0y\"\n", "s.yaml:1:4: a: a text cannot hold the character NUL\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_bed bed = {0};
        assert_int_equal(read_text(&bed, cases[i].text), SL_OK);
        assert_string_equal(messages_of(&bed), cases[i].messages);
        assert_true(bed.root->is_flawed);
        test_bed_fini(&bed);
    }
}

static void keeps_the_first_of_duplicate_keys(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, "a: 1\na: 2\n"), SL_OK);
    assert_int_equal(bed.root->count, 1);
    assert_string_equal(sli_node_find(bed.root, "a")->text, "1");
    test_bed_fini(&bed);
}

/* --- Trees --------------------------------------------------------------------------------- */

static void keeps_order_marks_and_quotes(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, "\xEF\xBB\xBFz: 25 ms\r\ny:\r\n  - 'null'\r\n  - {x: a}\r\n"),
                     SL_OK);
    const sli_node *z = bed.root->first;
    const sli_node *y = z->next;
    assert_null(y->next);
    assert_string_equal(z->key, "z");
    assert_string_equal(z->text, "25 ms");
    assert_false(z->is_quoted);
    assert_int_equal(z->mark.line, 1);
    assert_int_equal(z->mark.column, 4);
    assert_string_equal(z->mark.file, "s.yaml");
    assert_int_equal(y->kind, SLI_NODE_LIST);
    assert_int_equal(y->count, 2);
    assert_true(y->first->is_quoted);
    assert_int_equal(y->first->mark.line, 3);
    const sli_node *x = sli_node_find(y->last, "x");
    assert_string_equal(x->text, "a");
    assert_int_equal(x->key_mark.line, 4);
    assert_int_equal(x->key_mark.column, 6);
    assert_false(bed.root->is_flawed);
    test_bed_fini(&bed);
}

static void finds_dotted_paths(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, "ab: {c: {d: 1}}\na: 2\n"), SL_OK);
    assert_string_equal(sli_tree_path(bed.root, "ab.c.d")->text, "1");
    assert_string_equal(sli_tree_path(bed.root, "a")->text, "2");
    assert_null(sli_tree_path(bed.root, "ab.c.e"));
    assert_null(sli_tree_path(bed.root, "a.b"));
    test_bed_fini(&bed);
}

/* --- Files --------------------------------------------------------------------------------- */

static char directory[] = "/tmp/sluice-config-XXXXXX";

static int enter_directory(void **state) {
    (void)state;
    return mkdtemp(directory) == NULL || chdir(directory) != 0 || mkdir("sub", 0777) != 0;
}

static int leave_directory(void **state) {
    (void)state;
    static const char *const names[] = {"a.yaml", "b.yaml", "sub/c.yaml", "sub/d.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(names[i]);
    }
    return rmdir("sub") != 0 || chdir("/") != 0 || rmdir(directory) != 0;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void merges_a_chain_of_files(void **state) {
    (void)state;
    test_bed bed = {0};
    write_file("a.yaml", "extends: sub/c.yaml\nengine: {block: 1}\nlist: [3]\n");
    write_file("sub/c.yaml", "extends: d.yaml\nseed: 2\nengine: {seqs: 2, block: 2}\n");
    write_file("sub/d.yaml", "seed: 3\nlist: [1, 2]\nengine: {policy: x}\nonly: d\n");
    assert_int_equal(sli_tree_read_file(&bed.arena, "a.yaml", &bed.diag, &bed.root), SL_OK);
    assert_string_equal(written_of(&bed), "seed: 2      # sub/c.yaml:2\n"
                                          "list: [3]    # a.yaml:3\n"
                                          "engine:\n"
                                          "  policy: x  # sub/d.yaml:3\n"
                                          "  seqs: 2    # sub/c.yaml:3\n"
                                          "  block: 1   # a.yaml:2\n"
                                          "only: d      # sub/d.yaml:4\n");
    test_bed_fini(&bed);
}

static void replaces_where_not_both_are_mappings(void **state) {
    (void)state;
    test_bed bed = {0};
    write_file("a.yaml", "extends: b.yaml\nx: {c: 1}\ny: 2\nz: {d: 3}\n");
    write_file("b.yaml", "x: 4\ny: {e: 5}\nz: [6]\n");
    assert_int_equal(sli_tree_read_file(&bed.arena, "a.yaml", &bed.diag, &bed.root), SL_OK);
    assert_string_equal(written_of(&bed), "x:\n"
                                          "  c: 1  # a.yaml:2\n"
                                          "y: 2    # a.yaml:3\n"
                                          "z:\n"
                                          "  d: 3  # a.yaml:4\n");
    test_bed_fini(&bed);
}

static void reads_what_a_text_extends(void **state) {
    (void)state;
    test_bed bed = {0};
    write_file("sub/d.yaml", "seed: 3\nlist: [1, 2]\n");
    static const char text[] = "extends: d.yaml\nlist: none\n";
    assert_int_equal(
        sli_tree_read_text(&bed.arena, "sub/text", text, strlen(text), &bed.diag, &bed.root),
        SL_OK);
    assert_string_equal(written_of(&bed), "seed: 3     # sub/d.yaml:1\n"
                                          "list: none  # sub/text:2\n");
    test_bed_fini(&bed);
}

static void collects_the_mistakes_of_all_files(void **state) {
    (void)state;
    test_bed bed = {0};
    write_file("a.yaml", "extends: b.yaml\nx: 1\nx: 2\n");
    write_file("b.yaml", "y:\n");
    assert_int_equal(sli_tree_read_file(&bed.arena, "a.yaml", &bed.diag, &bed.root), SL_OK);
    assert_string_equal(messages_of(&bed),
                        "a.yaml:3:1: x: duplicate key 'x'; the first is in line 2, column 1\n"
                        "b.yaml:1:3: y: has no value\n");
    assert_true(bed.root->is_flawed);
    test_bed_fini(&bed);
}

static void is_flawed_when_either_file_is(void **state) {
    (void)state;
    test_bed bed = {0};
    static const char *const texts[] = {"x: 1\n", "y:\n"};
    for (size_t i = 0; i < 4; i++) {
        char top[64];
        snprintf(top, sizeof top, "extends: b.yaml\n%s", texts[i / 2]);
        write_file("a.yaml", top);
        write_file("b.yaml", texts[i % 2]);
        assert_int_equal(sli_tree_read_file(&bed.arena, "a.yaml", &bed.diag, &bed.root), SL_OK);
        assert_int_equal(bed.root->is_flawed, i > 0);
    }
    test_bed_fini(&bed);
}

static void names_the_files_of_a_cycle(void **state) {
    (void)state;
    test_bed bed = {0};
    write_file("a.yaml", "extends: b.yaml\n");
    write_file("b.yaml", "\nextends: sub/c.yaml\n");
    write_file("sub/c.yaml", "extends: ../b.yaml\n");
    assert_int_equal(sli_tree_read_file(&bed.arena, "a.yaml", &bed.diag, &bed.root), SL_ERR_CONFIG);
    assert_string_equal(messages_of(&bed),
                        "sub/c.yaml:1:10: extends: makes a cycle: b.yaml -> sub/c.yaml -> "
                        "sub/../b.yaml\n");
    test_bed_fini(&bed);
}

static void says_why_a_file_cannot_be_read(void **state) {
    (void)state;
    test_bed bed = {0};
    write_file("a.yaml", "seed: 1\nextends: none.yaml\n");
    write_file("b.yaml", "extends: [a.yaml]\n");
    static const char *const names[] = {"none.yaml", "sub", "a.yaml", "b.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(sli_tree_read_file(&bed.arena, names[i], &bed.diag, &bed.root),
                         SL_ERR_CONFIG);
    }
    assert_string_equal(messages_of(&bed),
                        "none.yaml: cannot be read: No such file or directory\n"
                        "sub: expected a file, found the directory 'sub'\n"
                        "a.yaml:2:10: extends: cannot read 'none.yaml': No such file or directory\n"
                        "b.yaml:1:10: extends: expected the name of one file\n");
    test_bed_fini(&bed);
}

static void stops_at_a_file_without_end(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(sli_tree_read_file(&bed.arena, "/dev/zero", &bed.diag, &bed.root),
                     SL_ERR_CONFIG);
    assert_string_equal(messages_of(&bed), "/dev/zero: larger than 16 MiB\n");
    test_bed_fini(&bed);
}

/* --- Set ----------------------------------------------------------------------------------- */

static void sets_values_on_top_of_a_tree(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, "seed: 1\nengine: {block: 16, seqs: 2}\n"), SL_OK);
    static const char *const assignments[] = {"engine.block=32", "a.b.c=[1, x=y]", "seed=3",
                                              "seed=25 ms", "a.b.d={e: 1}"};
    for (size_t i = 0; i < sizeof assignments / sizeof assignments[0]; i++) {
        assert_int_equal(sli_tree_set(&bed.arena, bed.root, assignments[i], &bed.diag), SL_OK);
    }
    assert_string_equal(written_of(&bed), "seed: 25 ms      # --set\n"
                                          "engine:\n"
                                          "  block: 32      # --set\n"
                                          "  seqs: 2        # s.yaml:2\n"
                                          "a:\n"
                                          "  b:\n"
                                          "    c: [1, x=y]  # --set\n"
                                          "    d:\n"
                                          "      e: 1       # --set\n");
    test_bed_fini(&bed);
}

static void refuses_bad_assignments_and_leaves_the_tree(void **state) {
    (void)state;
    static const bad_text cases[] = {
        {"seed", "--set: expected key=value, found 'seed'\n"},
        {"a..b=1", "--set: expected key=value, found an empty key in 'a..b=1'\n"},
        {"=1", "--set: expected key=value, found an empty key in '=1'\n"},
        {"a.=1", "--set: expected key=value, found an empty key in 'a.=1'\n"},
        {"a.b=", "--set: a.b: expected a value after '=', found nothing\n"},
        {"a.b=~", "--set: a.b: has no value\n"},
        {"a.b={c: , d: 1, d: 2}", "--set: a.b.c: has no value\n"
                                  "--set: a.b.d: duplicate key 'd'\n"},
        {"a.b=[1", "--set: a.b: not valid YAML: did not find expected ',' or ']' while parsing a "
                   "flow sequence\n"},
        {"list.a=1", "--set: list.a: 'list' is a list, not a mapping\n"},
        {"extends=a.yaml", "--set: extends: can only be said in a file\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_bed bed = {0};
        assert_int_equal(read_text(&bed, "model: x\nlist: [1]\n"), SL_OK);
        assert_int_equal(sli_tree_set(&bed.arena, bed.root, cases[i].text, &bed.diag),
                         SL_ERR_CONFIG);
        assert_string_equal(messages_of(&bed), cases[i].messages);
        assert_string_equal(written_of(&bed), "model: x   # s.yaml:1\n"
                                              "list: [1]  # s.yaml:2\n");
        test_bed_fini(&bed);
    }
}

/* What the scalar is short for, only the schema knows. */
static void keeps_a_scalar_that_gets_keys_beside_it(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, "model: x\n"), SL_OK);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "model.kv.bits=8", &bed.diag), SL_OK);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "model.weights=bf16", &bed.diag), SL_OK);
    const sli_node *model = sli_node_find(bed.root, "model");
    assert_int_equal(model->kind, SLI_NODE_MAP);
    assert_int_equal(model->count, 2);
    assert_string_equal(sli_tree_path(bed.root, "model.kv.bits")->text, "8");
    assert_string_equal(model->bare->text, "x");
    assert_int_equal(model->bare->mark.line, 1);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "model=y", &bed.diag), SL_OK);
    assert_string_equal(model->text, "y");
    assert_null(model->bare);
    test_bed_fini(&bed);
}

static void sets_no_deeper_than_64_keys(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, "a: {}\n"), SL_OK);
    char text[256] = "b";
    for (size_t i = 1; i < 65; i++) {
        strcat(text, ".b");
    }
    strcat(text, "=1");
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, text + 2, &bed.diag), SL_OK);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, text, &bed.diag), SL_ERR_CONFIG);
    assert_string_equal(messages_of(&bed), "--set: nested deeper than 64 levels\n");
    test_bed_fini(&bed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_texts_that_are_no_tree),
        cmocka_unit_test(refuses_a_nul_byte),
        cmocka_unit_test(refuses_only_what_is_nested_deeper_than_64),
        cmocka_unit_test(refuses_a_text_larger_than_16_mib),
        cmocka_unit_test(goes_on_after_mistakes_that_leave_a_tree),
        cmocka_unit_test(keeps_the_first_of_duplicate_keys),
        cmocka_unit_test(keeps_order_marks_and_quotes),
        cmocka_unit_test(finds_dotted_paths),
        cmocka_unit_test(merges_a_chain_of_files),
        cmocka_unit_test(replaces_where_not_both_are_mappings),
        cmocka_unit_test(reads_what_a_text_extends),
        cmocka_unit_test(collects_the_mistakes_of_all_files),
        cmocka_unit_test(is_flawed_when_either_file_is),
        cmocka_unit_test(names_the_files_of_a_cycle),
        cmocka_unit_test(says_why_a_file_cannot_be_read),
        cmocka_unit_test(stops_at_a_file_without_end),
        cmocka_unit_test(sets_values_on_top_of_a_tree),
        cmocka_unit_test(refuses_bad_assignments_and_leaves_the_tree),
        cmocka_unit_test(keeps_a_scalar_that_gets_keys_beside_it),
        cmocka_unit_test(sets_no_deeper_than_64_keys),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
