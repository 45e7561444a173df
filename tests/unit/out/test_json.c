#include "out/json.h"
#include "out/json_run.h"

#include "run_fixture.h"

#include <json-c/json.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A stream into memory, parsed by json-c when it is done; both are given back by close_text. */
typedef struct text {
    FILE *file;
    char *bytes;
    size_t length;
    struct json_object *root;
} text;

static void open_text(text *t) {
    *t = (text){0};
    t->file = open_memstream(&t->bytes, &t->length);
    assert_non_null(t->file);
}

static struct json_object *parse_text(text *t) {
    fclose(t->file);
    enum json_tokener_error error = json_tokener_success;
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    t->root = json_tokener_parse_ex(tokener, t->bytes, (int)t->length);
    error = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    if (error != json_tokener_success) {
        fail_msg("%s in %s", json_tokener_error_desc(error), t->bytes);
    }
    return t->root;
}

static void close_text(text *t) {
    json_object_put(t->root);
    free(t->bytes);
}

static struct json_object *get(struct json_object *object, const char *key) {
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(object, key, &value)) {
        fail_msg("no key %s", key);
    }
    return value;
}

static void nests_and_separates(void **state) {
    (void)state;
    text t;
    sli_json json;
    open_text(&t);
    sli_json_init(&json, t.file);
    sli_json_open_object(&json, NULL);
    sli_json_open_array(&json, "empty");
    sli_json_close_array(&json);
    sli_json_open_array(&json, "list");
    sli_json_int(&json, NULL, 1);
    sli_json_bool(&json, NULL, true);
    sli_json_open_object(&json, NULL);
    sli_json_null(&json, "nothing");
    sli_json_close_object(&json);
    sli_json_close_array(&json);
    sli_json_bool(&json, "last", false);
    sli_json_close_object(&json);
    assert_int_equal(sli_json_finish(&json), SL_OK);
    parse_text(&t);
    assert_string_equal(t.bytes, "{\n"
                                 "  \"empty\": [],\n"
                                 "  \"list\": [\n"
                                 "    1,\n"
                                 "    true,\n"
                                 "    {\n"
                                 "      \"nothing\": null\n"
                                 "    }\n"
                                 "  ],\n"
                                 "  \"last\": false\n"
                                 "}\n");
    close_text(&t);
}

/* The text read back from a file that holds it alone. */
static void expect_read_back(const char *written, const char *expected) {
    text t;
    sli_json json;
    open_text(&t);
    sli_json_init(&json, t.file);
    sli_json_string(&json, NULL, written);
    assert_int_equal(sli_json_finish(&json), SL_OK);
    assert_string_equal(json_object_get_string(parse_text(&t)), expected);
    close_text(&t);
}

static void texts_read_back_the_same(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "plain",
                                        "quote \" backslash \\ slash /",
                                        "tab\tline\nreturn\r",
                                        "\x01\x1f\x7f",
                                        "µs × €",
                                        "\xf0\x9f\x9a\xb0",
                                        "\xed\x9f\xbf\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect_read_back(texts[i], texts[i]);
    }
}

/* RFC 8259, section 7: everything below U+0020; readers often let it pass, so look at the bytes. */
static void control_characters_are_escaped(void **state) {
    (void)state;
    text t;
    sli_json json;
    open_text(&t);
    sli_json_init(&json, t.file);
    sli_json_string(&json, NULL, "\x01\n\x1f ");
    assert_int_equal(sli_json_finish(&json), SL_OK);
    parse_text(&t);
    assert_string_equal(t.bytes, "\"\\u0001\\n\\u001f \"\n");
    close_text(&t);
}

static void bytes_that_are_not_utf8_are_replaced(void **state) {
    (void)state;
#define BAD "\xef\xbf\xbd"
    expect_read_back("no \xff at all", "no " BAD " at all");
    expect_read_back("cut \xe2\x82", "cut " BAD BAD);
    expect_read_back("\xc0\xaf", BAD BAD);                 /* overlong */
    expect_read_back("\xe0\x9f\xbf", BAD BAD BAD);         /* overlong */
    expect_read_back("\xed\xa0\x80", BAD BAD BAD);         /* surrogate */
    expect_read_back("\xf0\x8f\xbf\xbf", BAD BAD BAD BAD); /* overlong */
    expect_read_back("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* above U+10FFFF */
}

static void numbers_read_back_the_same(void **state) {
    (void)state;
    static const double reals[] = {
        0, 0.1, 1.0 / 3, 40, -2.5e-300, 1e300, 5e-324, 123456789012345678.0, 99.8};
    static const int64_t integers[] = {0, -1, INT64_MAX, INT64_MIN, INT64_C(9007199254740993)};
    text t;
    sli_json json;
    open_text(&t);
    sli_json_init(&json, t.file);
    sli_json_open_array(&json, NULL);
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        sli_json_real(&json, NULL, reals[i]);
    }
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        sli_json_int(&json, NULL, integers[i]);
    }
    sli_json_real(&json, NULL, NAN);
    sli_json_real(&json, NULL, INFINITY);
    sli_json_close_array(&json);
    assert_int_equal(sli_json_finish(&json), SL_OK);
    struct json_object *array = parse_text(&t);
    size_t at = 0;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        struct json_object *item = json_object_array_get_idx(array, at++);
        double read = json_object_get_double(item);
        assert_memory_equal(&read, &reals[i], sizeof read);
        assert_int_equal(json_object_get_type(item), json_type_double);
    }
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        struct json_object *item = json_object_array_get_idx(array, at++);
        assert_int_equal(json_object_get_type(item), json_type_int);
        assert_int_equal(json_object_get_int64(item), integers[i]);
    }
    assert_null(json_object_array_get_idx(array, at++));
    assert_null(json_object_array_get_idx(array, at++));
    assert_int_equal(json_object_array_length(array), at);
    assert_non_null(strstr(t.bytes, "0.1,")); /* the shortest text, not seventeen digits */
    assert_non_null(strstr(t.bytes, "99.8,"));
    close_text(&t);
}

static void a_failed_stream_is_reported(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    sli_json json;
    sli_json_init(&json, full);
    sli_json_int(&json, NULL, 1);
    assert_int_equal(sli_json_finish(&json), SL_ERR_IO);
    fclose(full);
}

static void a_run_is_one_object(void **state) {
    (void)state;
    static const sli_fact_param params[] = {{"engine.block", "16 tokens", "default"}};
    static const char *const warnings[] = {"it \"thrashes\""};
    static const sli_fact_group groups[] = {{"full", 12, 16, 1, 300}, {"state", 36, 32, 3, 1100}};
    sli_run_facts facts = {.version = "0.1.0",
                           .model = "llama-3.1-8b bf16",
                           .seed = 42,
                           .slo = fixture_slo,
                           .digest = 10,
                           .simulated_ns = INT64_C(9007199254740993),
                           .page_bytes = 400,
                           .groups = groups,
                           .group_count = 2,
                           .wall_s = 1.25,
                           .params = params,
                           .param_count = 1,
                           .warnings = warnings,
                           .warning_count = 1};
    sli_collector collector;
    sli_metrics metrics;
    assert_int_equal(fixture_collect(false, &collector), SL_OK);
    assert_int_equal(sli_metrics_make(&collector, &metrics), SL_OK);
    text t;
    open_text(&t);
    assert_int_equal(sli_json_run_write(t.file, &facts, &metrics), SL_OK);
    struct json_object *run = parse_text(&t);
    assert_int_equal(json_object_get_int64(get(run, "simulated_ns")), facts.simulated_ns);
    assert_string_equal(json_object_get_string(get(run, "digest")), "000000000000000a");
    assert_null(get(run, "hardware"));
    assert_false(json_object_get_boolean(get(run, "is_partial")));
    assert_int_equal(json_object_get_int64(get(get(run, "slo"), "ttft_ns")), 100);
    struct json_object *layout = get(run, "layout");
    struct json_object *states = json_object_array_get_idx(get(layout, "groups"), 1);
    assert_int_equal(json_object_get_int64(get(layout, "page_bytes")), 400);
    assert_int_equal(json_object_array_length(get(layout, "groups")), 2);
    assert_string_equal(json_object_get_string(get(states, "name")), "state");
    assert_int_equal(json_object_get_int64(get(states, "layer_count")), 36);
    assert_int_equal(json_object_get_int64(get(states, "block_tokens")), 32);
    assert_int_equal(json_object_get_int64(get(states, "block_pages")), 3);
    assert_int_equal(json_object_get_int64(get(states, "block_bytes")), 1100);
    struct json_object *all = get(run, "metrics");
    assert_int_equal(json_object_object_length(all), metrics.list_count);
    assert_int_equal(json_object_object_length(get(run, "counts")), metrics.list_count);
    assert_int_equal(json_object_get_type(get(all, "ttft_max_ns")), json_type_int);
    assert_int_equal(json_object_get_int64(get(all, "ttft_max_ns")), 100);
    assert_int_equal(json_object_get_int64(get(get(run, "counts"), "tpot_max_ns")), 2);
    assert_null(get(all, "ttft_p99_queued_frac"));
    assert_string_equal(json_object_get_string(get(get(run, "parameters"), "engine.block")),
                        "16 tokens");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(get(run, "warnings"), 0)),
                        "it \"thrashes\"");
    struct json_object *second = json_object_array_get_idx(get(run, "replicas"), 1);
    assert_int_equal(json_object_get_int64(get(second, "kv_peak_blocks")), 80);
    close_text(&t);
    sli_collector_fini(&collector);
}

static void an_objective_nobody_asked_for_is_null(void **state) {
    (void)state;
    sli_run_facts facts = {.slo = {.ttft_ns = SLI_SLO_NONE, .tpot_ns = SLI_SLO_NONE},
                           .is_partial = true,
                           .partial_reason = "interrupted"};
    sli_metrics metrics = {0};
    text t;
    open_text(&t);
    assert_int_equal(sli_json_run_write(t.file, &facts, &metrics), SL_OK);
    struct json_object *run = parse_text(&t);
    assert_null(get(run, "slo"));
    assert_true(json_object_get_boolean(get(run, "is_partial")));
    assert_string_equal(json_object_get_string(get(run, "partial_reason")), "interrupted");
    close_text(&t);
}

static void what_was_thrown_out_is_an_object(void **state) {
    (void)state;
    const sli_fact_quality given[] = {{"20 %", "XSUM", 11.25, "a paper"},
                                      {"4 %", "XSUM", -1, "another"}};
    sli_run_facts facts = {
        .slo = {.ttft_ns = SLI_SLO_NONE, .tpot_ns = SLI_SLO_NONE},
        .keep = {.method = "h2o", .budget = "20 % of the prompt"},
        .quality = given,
        .quality_count = 2,
    };
    sli_metrics metrics = {0};
    text t;
    open_text(&t);
    assert_int_equal(sli_json_run_write(t.file, &facts, &metrics), SL_OK);
    struct json_object *run = parse_text(&t);
    struct json_object *keep = get(run, "keep");
    assert_string_equal(json_object_get_string(get(keep, "method")), "h2o");
    assert_string_equal(json_object_get_string(get(keep, "budget")), "20 % of the prompt");
    assert_null(get(keep, "layers"));
    assert_string_equal(json_object_get_string(get(keep, "quality")), "not simulated");
    struct json_object *rows = get(run, "quality_given");
    assert_int_equal(json_object_array_length(rows), 2);
    struct json_object *first = json_object_array_get_idx(rows, 0);
    assert_string_equal(json_object_get_string(get(first, "setting")), "20 %");
    assert_string_equal(json_object_get_string(get(first, "measure")), "XSUM");
    assert_true(json_object_get_double(get(first, "figure")) == 11.25);
    assert_string_equal(json_object_get_string(get(first, "source")), "a paper");
    close_text(&t);
    facts.keep.method = NULL;
    open_text(&t);
    assert_int_equal(sli_json_run_write(t.file, &facts, &metrics), SL_OK);
    assert_null(get(parse_text(&t), "keep"));
    close_text(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_thrown_out_is_an_object),
        cmocka_unit_test(nests_and_separates),
        cmocka_unit_test(texts_read_back_the_same),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(numbers_read_back_the_same),
        cmocka_unit_test(a_failed_stream_is_reported),
        cmocka_unit_test(a_run_is_one_object),
        cmocka_unit_test(an_objective_nobody_asked_for_is_null),
    };
    return cmocka_run_group_tests_name("out/json", tests, NULL, NULL);
}
