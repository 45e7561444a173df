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

static sl_err resolve(test_bed *bed, everything *values) {
    *values = (everything){0};
    return sli_schema_resolve(&bed->arena, &everything_section, NULL, bed->root, &bed->diag,
                              values);
}

/* Reads and resolves a text that must be right. */
static void resolve_text(test_bed *bed, const char *text, everything *values) {
    assert_int_equal(read_text(bed, text), SL_OK);
    sl_err err = resolve(bed, values);
    assert_string_equal(messages_of(bed), "");
    assert_int_equal(err, SL_OK);
}

/* The messages of a text whose tree can be read but not resolved must be exactly these. */
static void expect_messages(const char *text, const char *messages) {
    test_bed bed = {0};
    everything values;
    assert_int_equal(read_text(&bed, text), SL_OK);
    assert_int_equal(resolve(&bed, &values), SL_ERR_CONFIG);
    assert_string_equal(messages_of(&bed), messages);
    test_bed_fini(&bed);
}

/* --- Values -------------------------------------------------------------------------------- */

static void takes_defaults_for_all_that_is_left_out(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    resolve_text(&bed, smallest_text, &values);
    assert_int_equal(values.seed, 7);
    assert_int_equal(values.limit_ns, 1000000000);
    assert_true(values.rate_per_s == 40.0);
    assert_false(values.is_on);
    assert_string_equal(values.title, "");
    char out[4200];
    assert_non_null(getcwd(out, 4096));
    strcat(out, "/out");
    assert_string_equal(values.file, out);
    assert_int_equal(values.context_tokens, 0); /* the word `native` */
    assert_int_equal(values.server.block_tokens, 16);
    assert_int_equal(values.server.max_seqs, 256);
    assert_int_equal(values.server.policy, 0);
    assert_int_equal(values.prompt.kind, 1);
    assert_true(values.prompt.lognormal.mean == 1000.0);
    assert_true(values.prompt.lognormal.cv == 1.0);
    assert_null(values.prompt.quantiles.rows);
    assert_string_equal(values.scheduler.type->name, "vllm_v1");
    assert_true(((const chunked *)values.scheduler.values)->is_chunked);
    assert_true(values.bandwidth_bytes_per_s == 1e12);
    assert_false(values.bandwidth.is_set);
    assert_null(values.bandwidth.source);
    test_bed_fini(&bed);
}

static void fills_rows_of_every_kind(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    resolve_text(&bed, fullest_text, &values);
    assert_int_equal(values.limit_ns, 25000000);
    assert_true(values.rate_per_s == 0.5);
    assert_true(values.is_on);
    assert_string_equal(values.title, "he said \"no\", # and\nleft");
    assert_int_equal(values.context_tokens, 4096);
    assert_int_equal(values.server.block_tokens, 32); /* by shorthand */
    assert_int_equal(values.server.max_seqs, 256);
    assert_int_equal(values.prompt.kind, 2);
    assert_true(values.prompt.lognormal.mean == 0.0); /* no defaults for the keys not chosen */
    assert_int_equal(values.prompt.quantiles.count, 3);
    const quantile *rows = values.prompt.quantiles.rows;
    assert_true(rows[1].frac == 0.5);
    assert_int_equal(rows[1].tokens, 20);
    assert_int_equal(rows[2].tokens, 4000);
    assert_false(((const chunked *)values.scheduler.values)->is_chunked);
    assert_int_equal(values.scheduler.mark.line, 16);
    assert_true(values.bandwidth_bytes_per_s == 3.35e12);
    assert_true(values.bandwidth.is_set);
    assert_false(values.bandwidth.is_assumed);
    assert_string_equal(values.bandwidth.source, "a sheet: page 2");
    assert_string_equal(values.bandwidth.date, "2024-03");
    test_bed_fini(&bed);
}

static void takes_numbers_with_exponents_and_all_words_of_bool(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    resolve_text(&bed, "seed: 1e6\nis_on: on\nlimit: 1e3 ms\n", &values);
    assert_int_equal(values.seed, 1000000);
    assert_true(values.is_on);
    assert_int_equal(values.limit_ns, 1000000000);
    resolve_text(&bed, "seed: 1\nis_on: false\n", &values);
    assert_false(values.is_on);
    resolve_text(&bed, "seed: 1\nis_on: off\n", &values);
    assert_false(values.is_on);
    test_bed_fini(&bed);
}

static void accepts_both_ends_of_a_range(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    resolve_text(&bed, "seed: 0\nlimit: 1 ms\nprompt: {fixed: 1 tokens}\n", &values);
    assert_int_equal(values.prompt.kind, 0);
    assert_int_equal(values.prompt.fixed, 1);
    resolve_text(&bed, "seed: 0\nlimit: 24 h\nprompt: {fixed: 1048576 tokens}\n", &values);
    assert_int_equal(values.prompt.fixed, 1048576);
    test_bed_fini(&bed);
}

static void makes_paths_absolute(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    char here[4096];
    char expected[4200];
    assert_non_null(getcwd(here, sizeof here));
    static const char text[] = "seed: 1\nfile: ./data/x.csv\n";
    assert_int_equal(
        sli_tree_read_text(&bed.arena, "./dir/s.yaml", text, strlen(text), &bed.diag, &bed.root),
        SL_OK);
    assert_int_equal(resolve(&bed, &values), SL_OK);
    snprintf(expected, sizeof expected, "%s/dir/data/x.csv", here);
    assert_string_equal(values.file, expected);
    assert_string_equal(sli_tree_path(bed.root, "file")->text, expected);

    /* Said on the command line: relative to the working directory. */
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "file=y.csv", &bed.diag), SL_OK);
    assert_int_equal(resolve(&bed, &values), SL_OK);
    snprintf(expected, sizeof expected, "%s/y.csv", here);
    assert_string_equal(values.file, expected);

    assert_int_equal(
        sli_tree_read_text(&bed.arena, "/abs/s.yaml", text, strlen(text), &bed.diag, &bed.root),
        SL_OK);
    assert_int_equal(resolve(&bed, &values), SL_OK);
    assert_string_equal(values.file, "/abs/data/x.csv");
    test_bed_fini(&bed);
}

/* `dir/..` goes where dir is a directory; a link may lead elsewhere, and so may what is missing. */
static void drops_detours_from_paths(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    char top[] = "/tmp/sluice-schema-XXXXXX";
    assert_non_null(mkdtemp(top));
    char directory[64];
    char link[64];
    snprintf(directory, sizeof directory, "%s/real", top);
    snprintf(link, sizeof link, "%s/link", top);
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(symlink(directory, link), 0);
    static const struct {
        const char *file;
        const char *said;
        const char *path;
    } cases[] = {
        {"real/s.yaml", "../x.csv", "/x.csv"},
        {"real/s.yaml", "../real/../real/x.csv", "/real/x.csv"},
        {"link/s.yaml", "../x.csv", "/link/../x.csv"},
        {"link/s.yaml", "../real/../x.csv", "/link/../x.csv"},
        {"none/s.yaml", "../x.csv", "/none/../x.csv"},
        {"real/s.yaml", "..x/../x..csv", "/real/..x/../x..csv"},
        {"real/s.yaml", "..", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[128];
        char text[128];
        char expected[128];
        snprintf(name, sizeof name, "%s/%s", top, cases[i].file);
        snprintf(text, sizeof text, "seed: 1\nfile: %s\n", cases[i].said);
        snprintf(expected, sizeof expected, "%s%s", top, cases[i].path);
        assert_int_equal(
            sli_tree_read_text(&bed.arena, name, text, strlen(text), &bed.diag, &bed.root), SL_OK);
        assert_int_equal(resolve(&bed, &values), SL_OK);
        assert_string_equal(values.file, expected);
    }
    unlink(link);
    rmdir(directory);
    rmdir(top);
    test_bed_fini(&bed);
}

/* Sets keys beside what the file says in short. */
static void set_on(test_bed *bed, const char *text, const char *assignment, everything *values,
                   sl_err expected) {
    test_bed_fini(bed);
    *bed = (test_bed){0};
    assert_int_equal(read_text(bed, text), SL_OK);
    assert_int_equal(sli_tree_set(&bed->arena, bed->root, assignment, &bed->diag), SL_OK);
    assert_int_equal(resolve(bed, values), expected);
}

static void sets_keys_beside_a_shorthand(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    set_on(&bed, "seed: 1\nserver: 32 tokens\n", "server.max_seqs=7", &values, SL_OK);
    assert_int_equal(values.server.block_tokens, 32);
    assert_int_equal(values.server.max_seqs, 7);
    assert_int_equal(sli_tree_path(bed.root, "server.block")->origin, SLI_ORIGIN_FILE);
    set_on(&bed, "seed: 1\nserver: 32 tokens\n", "server.block=64 tokens", &values, SL_OK);
    assert_int_equal(values.server.block_tokens, 64);
    set_on(&bed, "seed: 1\nscheduler: vllm_v1\n", "scheduler.chunked=off", &values, SL_OK);
    assert_false(((const chunked *)values.scheduler.values)->is_chunked);
    set_on(&bed, "seed: 1\nscheduler: vllm_v1\n", "scheduler.name=orca", &values, SL_OK);
    assert_string_equal(values.scheduler.type->name, "orca");
    set_on(&bed, "seed: 1\nprompt: lognormal\n", "prompt.lognormal.cv=3", &values, SL_OK);
    assert_true(values.prompt.lognormal.cv > 2.5);
    test_bed_fini(&bed);
}

static void refuses_keys_beside_a_scalar_that_is_short_for_none(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *assignment;
        const char *messages;
    } cases[] = {
        {"title: x", "title.a=1", "--set: title.a: 'title' is 'x', not a mapping\n"},
        {"prompt: lognormal", "prompt.fixed=1 tokens",
         "--set: prompt.fixed: 'prompt' is 'lognormal', not a mapping\n"},
        {"prompt: {trace: x}", "prompt.trace.a=1",
         "--set: prompt.trace.a: 'trace' is 'x', not a mapping\n"},
        {"server: 0 tokens", "server.max_seqs=1",
         "s.yaml:2:9: server.block: must be between 1 and 1024 tokens, found '0 tokens'\n"},
        {"scheduler: vlm", "scheduler.chunked=off",
         "s.yaml:2:12: scheduler.name: expected one of orca, vllm_v1; found 'vlm'\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_bed bed = {0};
        everything values;
        char text[128];
        snprintf(text, sizeof text, "seed: 1\n%s\n", cases[i].text);
        set_on(&bed, text, cases[i].assignment, &values, SL_ERR_CONFIG);
        assert_string_equal(messages_of(&bed), cases[i].messages);
        test_bed_fini(&bed);
    }
}

static void chooses_with_a_name_alone_or_with_keys_alone(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    resolve_text(&bed, "seed: 1\nscheduler: orca\nprompt: lognormal\n", &values);
    assert_string_equal(values.scheduler.type->name, "orca");
    assert_null(values.scheduler.values);
    assert_int_equal(values.prompt.kind, 1);
    resolve_text(&bed, "seed: 1\nscheduler: {chunked: off}\n", &values);
    assert_string_equal(values.scheduler.type->name, "vllm_v1");
    assert_false(((const chunked *)values.scheduler.values)->is_chunked);
    test_bed_fini(&bed);
}

static void takes_a_bare_figure_only_as_the_default(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    resolve_text(&bed, "seed: 1\nbandwidth: 1 TB/s\n", &values);
    assert_true(values.bandwidth_bytes_per_s == 1e12);
    assert_false(values.bandwidth.is_set);
    resolve_text(&bed, "seed: 1\nbandwidth: {value: 1 TB/s, source: x, date: 2024, assumed: on}\n",
                 &values);
    assert_true(values.bandwidth.is_set);
    assert_true(values.bandwidth.is_assumed);
    test_bed_fini(&bed);
    expect_messages("seed: 1\nbandwidth: 2 TB/s\n",
                    "s.yaml:2:12: bandwidth: expected {value, source, date}, found '2 TB/s'\n");
}

/* --- Mistakes ------------------------------------------------------------------------------ */

typedef struct bad_value {
    const char *line;    /* line 2 of the text */
    const char *message; /* behind the place */
} bad_value;

#define EVERY_KEY                                                                                  \
    "seed, limit, rate, is_on, title, file, context, server, prompt, scheduler, bandwidth"

static void explains_each_bad_value(void **state) {
    (void)state;
    static const bad_value cases[] = {
        {"limit: 25", "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found '25'"},
        {"limit: 25 sec",
         "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found '25 sec'"},
        {"limit: soon", "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found "
                        "'soon'"},
        {"limit: .inf", "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found "
                        "'.inf'"},
        {"limit: nan s", "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found "
                         "'nan s'"},
        {"limit: \"25 ms\"", "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found "
                             "'25 ms' in quotes; leave them out"},
        {"limit: {a: 1}", "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found a "
                          "mapping"},
        {"limit: [1 s]", "8: limit: expected a time with a unit (ns, us, ms, s, min, h), found a "
                         "list"},
        {"limit: 1000000.5 ns", "8: limit: expected a whole number of ns, found '1000000.5 ns'"},
        {"limit: 1 us", "8: limit: must be between 1 ms and 24 h, found '1 us'"},
        {"limit: -1 s", "8: limit: must be between 1 ms and 24 h, found '-1 s'"},
        {"limit: 1e300 s", "8: limit: must be between 1 ms and 24 h, found '1e300 s'"},
        {"rate: 1e400 /s", "7: rate: must be between 0 and 1000000000 /s, found '1e400 /s'"},
        {"rate: 40", "7: rate: expected a rate with a unit (/s, /min, /h), found '40'"},
        {"rate: -1 /s", "7: rate: must be between 0 and 1000000000 /s, found '-1 /s'"},
        {"is_on: yes", "8: is_on: expected on or off, found 'yes'"},
        {"is_on: 'on'", "8: is_on: expected on or off, found 'on' in quotes; leave them out"},
        {"is_on: []", "8: is_on: expected on or off, found a list"},
        {"title: [x]", "8: title: expected a text, found a list"},
        {"file: ''", "7: file: expected a path, found ''"},
        {"context: nativ", "10: context: expected a number of tokens with a unit (tokens) or "
                           "native, found 'nativ'; did you mean 'native'?"},
        {"server: {max_seqs: 0x10}", "20: server.max_seqs: expected a whole number, found '0x10'"},
        {"server: {max_seqs: 0}", "20: server.max_seqs: must be between 1 and 1000000000000000000, "
                                  "found '0'"},
        {"server: {max_seqs: 1.5}", "20: server.max_seqs: expected a whole number, found '1.5'"},
        {"server: {max_seqs: 2 s}", "20: server.max_seqs: expected a whole number without a unit, "
                                    "found '2 s'"},
        {"server: {max_seqs: 1_000}",
         "20: server.max_seqs: expected a whole number, found '1_000'"},
        {"server: {policy: fifo}", "18: server.policy: expected one of fcfs, priority; found "
                                   "'fifo'; did you mean 'fcfs'?"},
        {"server: {policy: prioritty}", "18: server.policy: expected one of fcfs, priority; found "
                                        "'prioritty'; did you mean 'priority'?"},
        {"server: {policy: by_arrival}", "18: server.policy: expected one of fcfs, priority; found "
                                         "'by_arrival'; did you mean 'by-arrival'?"},
        {"server: {policy: {}}", "18: server.policy: expected one of fcfs, priority; found a "
                                 "mapping"},
        {"server: 5", "9: server.block: expected a number of tokens with a unit (tokens), found "
                      "'5'"},
        {"server: [1]", "9: server: expected a mapping with keys of block, max_seqs, policy; found "
                        "a list"},
        {"server: {max_seq: 1}", "10: server: unknown key 'max_seq'; expected one of block, "
                                 "max_seqs, policy; did you mean 'max_seqs'?"},
        {"server: {server: 1}", "10: server: unknown key 'server'; expected one of block, "
                                "max_seqs, policy"},
        {"server: {shards: 1}", "10: server: unknown key 'shards': there is one server"},
        {"colour: red", "1: unknown key 'colour'; expected one of " EVERY_KEY},
        {"schedule: orca",
         "1: unknown key 'schedule'; expected one of " EVERY_KEY "; did you mean 'scheduler'?"},
        {"prompt: fixed", "9: prompt: 'fixed' needs a value, as in {fixed: ...}"},
        {"prompt: fixd",
         "9: prompt: expected one of fixed, lognormal, quantiles, trace; found 'fixd'; "
         "did you mean 'fixed'?"},
        {"prompt: 1000 tokens",
         "9: prompt: expected a mapping, found '1000 tokens'; did you mean {fixed: 1000 tokens}?"},
        {"prompt: 1000", "9: prompt: expected one of fixed, lognormal, quantiles, trace; found "
                         "'1000'"},
        {"prompt: \"1000 tokens\"",
         "9: prompt: expected one of fixed, lognormal, quantiles, trace; "
         "found '1000 tokens'"},
        {"prompt: [1]",
         "9: prompt: expected one of fixed, lognormal, quantiles, trace; found a list"},
        {"prompt: {}",
         "9: prompt: expected exactly one of fixed, lognormal, quantiles, trace; found "
         "none"},
        {"prompt: {fixed: 1 tokens, lognormal: {}}",
         "27: prompt: expected exactly one of fixed, lognormal, quantiles, trace; found 'fixed' "
         "and "
         "'lognormal'"},
        {"prompt: {fixd: 1 tokens}", "10: prompt: unknown key 'fixd'; expected one of fixed, "
                                     "lognormal, quantiles, trace; did you mean 'fixed'?"},
        {"prompt: {trace: {x: 1}}", "18: prompt.trace: unknown key 'x'; there are none here"},
        {"prompt: {fixed: 0 tokens}", "17: prompt.fixed: must be between 1 and 1048576 tokens, "
                                      "found '0 tokens'"},
        {"prompt: {lognormal: {cv: -1}}", "26: prompt.lognormal.cv: must be at least 0, found "
                                          "'-1'"},
        {"prompt: {lognormal: 3}", "21: prompt.lognormal: expected a mapping with keys of mean, "
                                   "cv; found '3'"},
        {"prompt: {quantiles: 3}", "21: prompt.quantiles: expected a list of rows [frac, tokens], "
                                   "found '3'"},
        {"prompt: {quantiles: [[0, 1 tokens]]}", "21: prompt.quantiles: must have between 2 and 4 "
                                                 "rows, found 1"},
        {"prompt: {quantiles: [[], [], [], [], []]}",
         "21: prompt.quantiles: must have between 2 and 4 rows, found 5"},
        {"prompt: {quantiles: [[0, 1 tokens], 3]}",
         "37: prompt.quantiles[1]: expected a row [frac, tokens], found '3'"},
        {"prompt: {quantiles: [[0, 1 tokens], [1]]}",
         "37: prompt.quantiles[1]: expected the 2 values [frac, tokens], found 1"},
        {"prompt: {quantiles: [[0, 1 tokens], [2, 1 tokens]]}",
         "38: prompt.quantiles[1].frac: must be between 0 and 1, found '2'"},
        {"scheduler: vlm", "12: scheduler: expected one of orca, vllm_v1; found 'vlm'"},
        {"scheduler: {name: vllm_v2}", "19: scheduler.name: expected one of orca, vllm_v1; found "
                                       "'vllm_v2'"},
        {"scheduler: [orca]", "12: scheduler: expected a name or {name: ...}, found a list"},
        {"scheduler: {name: [orca]}", "19: scheduler.name: expected one of orca, vllm_v1; found a "
                                      "list"},
        {"scheduler: {name: orca, chunked: on}",
         "25: scheduler: unknown key 'chunked'; expected name"},
        {"scheduler: {chunkd: on}", "13: scheduler: unknown key 'chunkd'; expected one of name, "
                                    "chunked; did you mean 'chunked'?"},
        {"scheduler: {nam: orca}", "13: scheduler: unknown key 'nam'; expected one of name, "
                                   "chunked; did you mean 'name'?"},
        {"bandwidth: {value: 1, source: x, date: 2024}",
         "20: bandwidth.value: expected a bandwidth with a unit (B/s, kB/s, MB/s, GB/s, TB/s, "
         "KiB/s, MiB/s, GiB/s, TiB/s), found '1'"},
        {"bandwidth: {value: 1 B/s, date: 2024}", "12: bandwidth: missing required key 'source'"},
        {"bandwidth: {source: x, date: 2024}", "12: bandwidth: missing required key 'value'"},
        {"bandwidth: {value: 1 B/s, source: x, date: May 2024}",
         "44: bandwidth.date: expected a date (YYYY, YYYY-MM or YYYY-MM-DD), found 'May 2024'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        char messages[512];
        snprintf(text, sizeof text, "seed: 1\n%s\n", cases[i].line);
        snprintf(messages, sizeof messages, "s.yaml:2:%s\n", cases[i].message);
        expect_messages(text, messages);
    }
}

static void reports_all_mistakes_at_once(void **state) {
    (void)state;
    expect_messages(
        "limit: 25\n"
        "rate: 1 /s\n"
        "title:\n"
        "server:\n"
        "  max_seq: 3\n"
        "  policy: fifo\n"
        "  block: 0 tokens\n"
        "rate: 2 /s\n",
        "s.yaml:3:7: title: has no value\n"
        "s.yaml:8:1: rate: duplicate key 'rate'; the first is in line 2, column 1\n"
        "s.yaml:1:8: limit: expected a time with a unit (ns, us, ms, s, min, h), "
        "found '25'\n"
        "s.yaml:5:3: server: unknown key 'max_seq'; expected one of block, max_seqs, policy; did "
        "you mean 'max_seqs'?\n"
        "s.yaml:6:11: server.policy: expected one of fcfs, priority; found 'fifo'; did you mean "
        "'fcfs'?\n"
        "s.yaml:7:10: server.block: must be between 1 and 1024 tokens, found "
        "'0 tokens'\n"
        "s.yaml:1:1: missing required key 'seed'\n");
}

static void fails_on_a_flawed_tree_even_if_the_rest_is_right(void **state) {
    (void)state;
    expect_messages("seed: 1\nseed: 2\n",
                    "s.yaml:2:1: seed: duplicate key 'seed'; the first is in line 1, column 1\n");
    expect_messages("seed: 1\nlimit:\n", "s.yaml:2:7: limit: has no value\n");
}

static void names_the_command_line_as_the_place(void **state) {
    (void)state;
    test_bed bed = {0};
    everything values;
    assert_int_equal(read_text(&bed, smallest_text), SL_OK);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "server.max_seq=3", &bed.diag), SL_OK);
    assert_int_equal(sli_tree_set(&bed.arena, bed.root, "limit=3", &bed.diag), SL_OK);
    assert_int_equal(resolve(&bed, &values), SL_ERR_CONFIG);
    assert_string_equal(
        messages_of(&bed),
        "--set: server: unknown key 'max_seq'; expected one of block, max_seqs, policy; did you "
        "mean 'max_seqs'?\n"
        "--set: limit: expected a time with a unit (ns, us, ms, s, min, h), found '3'\n");
    test_bed_fini(&bed);
}

static void shortens_and_cleans_what_it_quotes(void **state) {
    (void)state;
    char text[400] = "seed: \"a\\nb";
    for (size_t i = 0; i < 50; i++) {
        strcat(text, "\xC3\xA4");
    }
    strcat(text, "\"\n");
    char found[256] = "";
    for (size_t i = 0; i < 36; i++) { /* 3 + 36 * 2 bytes; one more would not leave room for ... */
        strcat(found, "\xC3\xA4");
    }
    char messages[512];
    snprintf(messages, sizeof messages,
             "s.yaml:1:7: seed: expected a whole number, found 'a?b%s...' in quotes; leave them "
             "out\n",
             found);
    expect_messages(text, messages);
}

static void describes_every_key(void **state) {
    (void)state;
    char *page = NULL;
    size_t size;
    FILE *file = open_memstream(&page, &size);
    sli_schema_describe(&everything_section, NULL, file);
    fclose(file);
    static const char *const parts[] = {
        "seed                        a whole number, between 0 and 1000000000000000 (required)\n"
        "                            Seed of all random streams\n",
        "limit                       a time with a unit (ns, us, ms, s, min, h), between 1 ms and "
        "24 h (default 1 s)\n",
        "context                     a number of tokens with a unit (tokens) or native, between 1 "
        "and 1000000000 tokens (default native)\n",
        "is_on                       on or off (default off)\n",
        "server.policy               one of fcfs, priority; also by-arrival (default fcfs)\n"
        "                            Order of the queue\n",
        "prompt                      exactly one of fixed, lognormal, quantiles, trace (default "
        "lognormal)\n"
        "                            Lengths of prompts\n"
        "prompt.fixed                a number of tokens",
        "prompt.lognormal.cv         a number, at least 0 (default 1)\n",
        "prompt.quantiles            a list of rows [frac, tokens]\n",
        "scheduler                   one of orca, vllm_v1 (default vllm_v1)\n",
        "  with scheduler.name: vllm_v1\n"
        "scheduler.chunked ",
        "bandwidth                   {value, source, date}: a bandwidth with a unit (B/s",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(page, parts[i]) == NULL) {
            fail_msg("the page lacks '%s':\n%s", parts[i], page);
        }
    }
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_defaults_for_all_that_is_left_out),
        cmocka_unit_test(fills_rows_of_every_kind),
        cmocka_unit_test(takes_numbers_with_exponents_and_all_words_of_bool),
        cmocka_unit_test(accepts_both_ends_of_a_range),
        cmocka_unit_test(makes_paths_absolute),
        cmocka_unit_test(drops_detours_from_paths),
        cmocka_unit_test(sets_keys_beside_a_shorthand),
        cmocka_unit_test(refuses_keys_beside_a_scalar_that_is_short_for_none),
        cmocka_unit_test(chooses_with_a_name_alone_or_with_keys_alone),
        cmocka_unit_test(takes_a_bare_figure_only_as_the_default),
        cmocka_unit_test(explains_each_bad_value),
        cmocka_unit_test(reports_all_mistakes_at_once),
        cmocka_unit_test(fails_on_a_flawed_tree_even_if_the_rest_is_right),
        cmocka_unit_test(names_the_command_line_as_the_place),
        cmocka_unit_test(shortens_and_cleans_what_it_quotes),
        cmocka_unit_test(describes_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
