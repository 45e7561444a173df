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

static void resolve_text(test_bed *bed, const char *name, const char *text, everything *values) {
    *values = (everything){0};
    assert_int_equal(
        sli_tree_read_text(&bed->arena, name, text, strlen(text), &bed->diag, &bed->root), SL_OK);
    sl_err err = sli_schema_resolve(&bed->arena, &everything_section, NULL, bed->root, &bed->diag,
                                    values);
    assert_string_equal(messages_of(bed), "");
    assert_int_equal(err, SL_OK);
}

static void assert_same_text(const char *a, const char *b) {
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL && b != NULL) {
        assert_string_equal(a, b);
    }
}

static void assert_same_values(const everything *a, const everything *b) {
    assert_int_equal(a->seed, b->seed);
    assert_int_equal(a->limit_ns, b->limit_ns);
    assert_memory_equal(&a->rate_per_s, &b->rate_per_s, sizeof a->rate_per_s);
    assert_int_equal(a->is_on, b->is_on);
    assert_string_equal(a->title, b->title);
    assert_string_equal(a->file, b->file);
    assert_int_equal(a->context_tokens, b->context_tokens);
    assert_int_equal(a->server.block_tokens, b->server.block_tokens);
    assert_int_equal(a->server.max_seqs, b->server.max_seqs);
    assert_int_equal(a->server.policy, b->server.policy);
    assert_int_equal(a->prompt.kind, b->prompt.kind);
    assert_int_equal(a->prompt.fixed, b->prompt.fixed);
    assert_memory_equal(&a->prompt.lognormal, &b->prompt.lognormal, sizeof a->prompt.lognormal);
    assert_int_equal(a->prompt.quantiles.count, b->prompt.quantiles.count);
    const quantile *rows_a = a->prompt.quantiles.rows;
    const quantile *rows_b = b->prompt.quantiles.rows;
    for (size_t i = 0; i < a->prompt.quantiles.count; i++) {
        assert_memory_equal(&rows_a[i], &rows_b[i], sizeof rows_a[i]);
    }
    assert_ptr_equal(a->scheduler.type, b->scheduler.type);
    if (a->scheduler.values != NULL) {
        assert_int_equal(((const chunked *)a->scheduler.values)->is_chunked,
                         ((const chunked *)b->scheduler.values)->is_chunked);
    }
    assert_memory_equal(&a->bandwidth_bytes_per_s, &b->bandwidth_bytes_per_s, sizeof(double));
    assert_same_text(a->bandwidth.source, b->bandwidth.source);
    assert_same_text(a->bandwidth.date, b->bandwidth.date);
    assert_int_equal(a->bandwidth.is_assumed, b->bandwidth.is_assumed);
    assert_int_equal(a->bandwidth.is_set, b->bandwidth.is_set);
}

/* What is written, read as a file elsewhere, resolves to the same values and the same text. */
static void resolves_to_the_same_values_after_writing(void **state) {
    (void)state;
    static const char *const texts[] = {
        smallest_text,
        fullest_text,
        "seed: 7\nprompt: {fixed: 5 tokens}\nscheduler: orca\nbandwidth: 1 TB/s\n",
        "seed: 7\nprompt: {lognormal: {cv: 1e-3}}\ntitle: '#'\nfile: 'a: b #c'\n",
        "seed: 7\ntitle: plain, with [brackets] and a 'quote'\nfile: '\xC3\xA4/\xE2\x82\xAC'\n",
        "seed: 7\ntitle: \"\\u0085\\u2028\\t\\\\ \\x01\"\n",
        "seed: 7\ntitle: |\n  two\n  lines\n",
        "seed: 7\ntitle: ''\nfile: '-'\n",
        "seed: 7\ntitle: \"null\"\n",
        "seed: 7\ntitle: --- x\n",
        "seed: 7\ntitle: 'ends: '\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        test_bed first = {0};
        test_bed second = {0};
        test_bed third = {0};
        everything values[3];
        resolve_text(&first, "dir/s.yaml", texts[i], &values[0]);
        resolve_text(&second, "/elsewhere/r.yaml", written_of(&first), &values[1]);
        assert_same_values(&values[0], &values[1]);
        resolve_text(&third, "/elsewhere/r.yaml", written_of(&second), &values[2]);
        assert_string_equal(written_of(&second), written_of(&third));
        test_bed_fini(&first);
        test_bed_fini(&second);
        test_bed_fini(&third);
    }
}

static void says_where_each_value_comes_from(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values = {0};
    assert_int_equal(read_text(&bed, "prompt:\n"
                                     "  quantiles:\n"
                                     "    - [0, 10 tokens]\n"
                                     "    - [1, 20 tokens]\n"
                                     "scheduler: vllm_v1\n"
                                     "title: \"x\"\n"
                                     "limit: 25 ms\n"
                                     "file: /x\n"),
                     SL_OK);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "server.max_seqs=8", &bed.diag), SL_OK);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "seed=3", &bed.diag), SL_OK);
    assert_int_equal(
        sli_schema_resolve(&bed.arena, &everything_section, NULL, bed.root, &bed.diag, &values),
        SL_OK);
    assert_string_equal(written_of(&bed), "seed: 3               # --set\n"
                                          "limit: 25 ms          # s.yaml:7\n"
                                          "rate: 40 /s           # default\n"
                                          "is_on: off            # default\n"
                                          "title: \"x\"            # s.yaml:6\n"
                                          "file: /x              # s.yaml:8\n"
                                          "context: native       # default\n"
                                          "server:\n"
                                          "  block: 16 tokens    # default\n"
                                          "  max_seqs: 8         # --set\n"
                                          "  policy: fcfs        # default\n"
                                          "prompt:\n"
                                          "  quantiles:\n"
                                          "    - [0, 10 tokens]  # s.yaml:3\n"
                                          "    - [1, 20 tokens]  # s.yaml:4\n"
                                          "scheduler:\n"
                                          "  name: vllm_v1       # s.yaml:5\n"
                                          "  chunked: on         # default\n"
                                          "bandwidth: 1 TB/s     # default\n");
    test_bed_fini(&bed);
}

/* Only default paths and those of files come without the quotes of the user. */
static void quotes_the_working_directory_where_it_needs_them(void **state) {
    (void)state;
    static const char *const names[] = {"/a: b", "/a #b", "/\xC3\xA4\"\x01"};
    char directory[] = "/tmp/sluice-config-XXXXXX";
    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%s", directory, names[i]);
        assert_int_equal(mkdir(path, 0777), 0);
        assert_int_equal(chdir(path), 0);
        test_bed first = {0};
        test_bed second = {0};
        everything values[2];
        resolve_text(&first, "s.yaml", smallest_text, &values[0]);
        assert_int_equal(chdir("/"), 0);
        assert_int_equal(rmdir(path), 0);
        strcat(path, "/out");
        assert_string_equal(values[0].file, path);
        resolve_text(&second, "s.yaml", written_of(&first), &values[1]);
        assert_string_equal(values[1].file, path);
        test_bed_fini(&first);
        test_bed_fini(&second);
    }
    assert_int_equal(rmdir(directory), 0);
}

static void names_the_one_who_chose_a_key_without_keys(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    resolve_text(&bed, "s.yaml", "seed: 1\nprompt: trace\nfile: /x\n", &values);
    assert_int_equal(values.prompt.kind, 3);
    assert_non_null(strstr(written_of(&bed), "\nprompt:\n  trace: {}         # s.yaml:2\n"));
    test_bed_fini(&bed);
}

static void writes_any_tree(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, "a: [[1, [2]], {b: {}, c: []}]\n\"d e: \": x\n"
                                     "f:\n- x, y\n- z]\n"),
                     SL_OK);
    assert_string_equal(written_of(&bed), "a:\n"
                                          "  -\n"
                                          "    - 1            # s.yaml:1\n"
                                          "    - [2]          # s.yaml:1\n"
                                          "  -\n"
                                          "    b: {}          # s.yaml:1\n"
                                          "    c: []          # s.yaml:1\n"
                                          "\"d e: \": x         # s.yaml:2\n"
                                          "f: [\"x, y\", \"z]\"]  # s.yaml:4\n");
    test_bed_fini(&bed);
}

static void reports_a_file_that_cannot_be_written(void **state) {
    (void)state;
    test_bed bed = {0};
    assert_int_equal(read_text(&bed, smallest_text), SL_OK);
    FILE *file = fopen("/dev/null", "r"); /* open for reading only */
    assert_non_null(file);
    assert_int_equal(sli_tree_write(bed.root, file), SL_ERR_IO);
    fclose(file);
    test_bed_fini(&bed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolves_to_the_same_values_after_writing),
        cmocka_unit_test(says_where_each_value_comes_from),
        cmocka_unit_test(quotes_the_working_directory_where_it_needs_them),
        cmocka_unit_test(names_the_one_who_chose_a_key_without_keys),
        cmocka_unit_test(writes_any_tree),
        cmocka_unit_test(reports_a_file_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
