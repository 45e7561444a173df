/* Diagnostics: what is printed, what is counted, and which word is suggested. */
#include "base/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static char *printed(const sli_diag *diag) {
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    sli_diag_print(diag, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void prints_entries_in_order_and_leaves_out_the_unknown(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_diag_error(&diag, (sli_mark){"a.yaml", 3, 7}, "engine.block", "%d is too small", 0);
    sli_diag_warning(&diag, (sli_mark){"a.yaml", 4, 0}, NULL, "unused");
    sli_diag_error(&diag, (sli_mark){"a.yaml", 0, 0}, "seed", "missing");
    sli_diag_error(&diag, (sli_mark){0}, NULL, "no file");
    char *text = printed(&diag);
    assert_string_equal(text, "a.yaml:3:7: engine.block: 0 is too small\n"
                              "a.yaml:4: warning: unused\n"
                              "a.yaml: seed: missing\n"
                              "no file\n");
    assert_int_equal(diag.error_count, 3);
    assert_int_equal(diag.warning_count, 1);
    free(text);
    sli_diag_fini(&diag);
}

static void copies_what_it_is_given(void **state) {
    (void)state;
    sli_diag diag = {0};
    char path[] = "model";
    char word[] = "gpt";
    sli_diag_error(&diag, (sli_mark){0}, path, "no model %s", word);
    path[0] = word[0] = '?';
    char *text = printed(&diag);
    assert_string_equal(text, "model: no model gpt\n");
    free(text);
    sli_diag_fini(&diag);
}

static void is_empty_and_usable_after_fini(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_diag_error(&diag, (sli_mark){0}, NULL, "first");
    sli_diag_fini(&diag);
    assert_int_equal(diag.error_count, 0);
    sli_diag_error(&diag, (sli_mark){0}, NULL, "second");
    char *text = printed(&diag);
    assert_string_equal(text, "second\n");
    free(text);
    sli_diag_fini(&diag);
}

static const char *const keys[] = {"prompt", "output", "rate", "requests", "priority"};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static void suggests_the_word_that_was_meant(void **state) {
    (void)state;
    assert_string_equal(sli_nearest("promt", keys, KEY_COUNT), "prompt");   /* a letter lost */
    assert_string_equal(sli_nearest("prompts", keys, KEY_COUNT), "prompt"); /* one too many */
    assert_string_equal(sli_nearest("oubput", keys, KEY_COUNT), "output");  /* a wrong one */
    assert_string_equal(sli_nearest("priorty", keys, KEY_COUNT), "priority");
    assert_string_equal(sli_nearest("request", keys, KEY_COUNT), "requests");
    assert_string_equal(sli_nearest("rate", keys, KEY_COUNT), "rate");
}

/* Half a name says more than a name of the same length with another letter. */
static void suggests_the_shortest_word_that_was_begun(void **state) {
    (void)state;
    static const char *const words[] = {"h200", "h100-sxm-96g", "h100-sxm"};
    assert_string_equal(sli_nearest("h100", words, 3), "h100-sxm");
    static const char *const policies[] = {"orca", "vllm_v1"};
    assert_string_equal(sli_nearest("vllm", policies, 2), "vllm_v1");
    assert_null(sli_nearest("vl", policies, 2)); /* too little to tell */
}

static void takes_capitals_for_small_letters(void **state) {
    (void)state;
    static const char *const words[] = {"h200", "h100-sxm-96g", "h100-sxm"};
    assert_string_equal(sli_nearest("H100-SXM", words, 3), "h100-sxm");
    assert_string_equal(sli_nearest("H100", words, 3), "h100-sxm");
    assert_string_equal(sli_nearest("H100-SMX", words, 3), "h100-sxm"); /* swapped, too */
    static const char *const proper[] = {"Llama"};
    assert_string_equal(sli_nearest("llama", proper, 1), "Llama");
}

/* Names of a fixed format: the number is a part of the word. */
static void spelling_takes_digits_for_letters(void **state) {
    (void)state;
    static const char *const words[] = {"time_min_ns", "time_median_ns", "time_p90_ns"};
    assert_string_equal(sli_nearest_spelling("time_p95_ns", words, 3), "time_p90_ns");
    assert_string_equal(sli_nearest("time_p95_ns", words, 2), "time_min_ns");
    assert_string_equal(sli_nearest_spelling("time_mim_ns", words, 3), "time_min_ns");
    assert_null(sli_nearest_spelling("hour", words, 3));
}

/* A model of another size is another model, and so is a device with another number. */
static void suggests_nothing_with_other_numbers(void **state) {
    (void)state;
    static const char *const words[] = {"llama-3.1-8b", "llama-2-70b", "h200", "vllm_v1"};
    assert_null(sli_nearest("llama-3.1-70b", words, 4));
    assert_null(sli_nearest("llama-3.1-9b", words, 4));
    assert_null(sli_nearest("h20", words, 4)); /* not even when it is the beginning */
    assert_null(sli_nearest("h100", words, 4));
    assert_string_equal(sli_nearest("llama-3.1-8n", words, 4), "llama-3.1-8b");
    assert_string_equal(sli_nearest("lama-3.1-8b", words, 4), "llama-3.1-8b");
    /* Left out, or one too many */
    assert_string_equal(sli_nearest("llama-3-8b", words, 4), "llama-3.1-8b");
    assert_string_equal(sli_nearest("llama-2-70b-2", words, 4), "llama-2-70b");
    assert_string_equal(sli_nearest("vlm_v", words, 4), "vllm_v1");
}

/* Two swapped neighbours are one mistake: of two candidates one substitution wins over none. */
static void counts_swapped_neighbours_as_one_mistake(void **state) {
    (void)state;
    static const char *const words[] = {"boar", "four"};
    assert_string_equal(sli_nearest("fuor", words, 2), "four");
    static const char *const pair[] = {"ab"};
    assert_string_equal(sli_nearest("ba", pair, 1), "ab");
}

static void is_silent_when_nothing_is_near(void **state) {
    (void)state;
    assert_null(sli_nearest("temperature", keys, KEY_COUNT));
    assert_null(sli_nearest("x", keys, KEY_COUNT));
    assert_null(sli_nearest("prompt", keys, 0));
    char endless[200];
    for (size_t i = 0; i < sizeof endless - 1; i++) {
        endless[i] = 'p';
    }
    endless[sizeof endless - 1] = '\0';
    assert_null(sli_nearest(endless, keys, KEY_COUNT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_entries_in_order_and_leaves_out_the_unknown),
        cmocka_unit_test(copies_what_it_is_given),
        cmocka_unit_test(is_empty_and_usable_after_fini),
        cmocka_unit_test(suggests_the_word_that_was_meant),
        cmocka_unit_test(suggests_the_shortest_word_that_was_begun),
        cmocka_unit_test(takes_capitals_for_small_letters),
        cmocka_unit_test(spelling_takes_digits_for_letters),
        cmocka_unit_test(suggests_nothing_with_other_numbers),
        cmocka_unit_test(counts_swapped_neighbours_as_one_mistake),
        cmocka_unit_test(is_silent_when_nothing_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
