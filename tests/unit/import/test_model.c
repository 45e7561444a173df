/*
 * How a model file is written: what is left out, where lines break. The texts are those that
 * somebody would write by hand in the form of the catalogue.
 */
#include "import/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    sli_arena arena;
    sli_import_model model;
} world;

static int set_up(void **state) {
    static world fresh;
    fresh = (world){.model = {.name = "M", .hidden = 64, .vocab_tokens = 100}};
    fresh.model.arena = &fresh.arena;
    *state = &fresh;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    sli_arena_fini(&w->arena);
    return 0;
}

static void is_written_as(world *w, const char *wanted) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(sli_import_write(&w->model, file), SL_OK);
    fclose(file);
    assert_string_equal(text, wanted);
    free(text);
}

#define HEAD                                                                                       \
    "name: M\nsource: imported from config.json\nhidden: 64\nvocab: 100 tokens\n"                  \
    "tie_embeddings: off\n"

static void defaults_are_left_out(void **state) {
    world *w = *state;
    sli_import_part *full = sli_import_mixer(&w->model, "full", "gqa");
    sli_import_number(full, "q_heads", 4);
    sli_import_number(full, "value_dim", 0);
    sli_import_tokens(full, "window", 0);
    sli_import_word(full, "kv", NULL);
    sli_import_switch(full, "qk_norm", false);
    sli_import_ffn(&w->model, "none", "none");
    sli_import_layers(&w->model, 2, "full", "none");
    is_written_as(w, HEAD "context_native: unlimited\n"
                          "attention:\n"
                          "  full: {type: gqa, q_heads: 4}\n"
                          "ffn:\n"
                          "  none: {type: none}\n"
                          "layers:  # count, attention, ffn\n"
                          "  - [2, full, none]\n");
}

static void everything_else_is_written(void **state) {
    world *w = *state;
    w->model.weights.other = "fp8";
    w->model.context_tokens = 4096;
    w->model.has_tied_embeddings = true;
    w->model.layer_embedding = 8;
    w->model.hyper_streams = 4;
    w->model.has_assumptions = true;
    sli_import_note(&w->model, "One");
    sli_import_note(&w->model, "two");
    sli_import_part *full = sli_import_mixer(&w->model, "full", "gqa");
    sli_import_tokens(full, "window", 16);
    sli_import_switch(full, "qk_norm", true);
    sli_import_open(full, "sparse");
    sli_import_number(full, "top", 2);
    sli_import_word(full, "keys", "own");
    sli_import_close(full);
    sli_import_word(full, "kv", "shared");
    sli_import_ffn(&w->model, "dense", "dense");
    sli_import_layers(&w->model, 1, "full", "dense");
    sli_import_mtp_layers(&w->model, 1, "full", "dense");
    is_written_as(w, "name: M\n"
                     "source: imported from config.json\n"
                     "confidence: mixed\n"
                     "note: One; two\n"
                     "weights: fp8\n"
                     "hidden: 64\n"
                     "vocab: 100 tokens\n"
                     "tie_embeddings: on\n"
                     "layer_embedding: 8\n"
                     "hyper_streams: 4\n"
                     "context_native: 4096 tokens\n"
                     "attention:\n"
                     "  full: {type: gqa, window: 16 tokens, qk_norm: on, "
                     "sparse: {top: 2, keys: own}, kv: shared}\n"
                     "ffn:\n"
                     "  dense: {type: dense}\n"
                     "layers:  # count, attention, ffn\n"
                     "  - [1, full, dense]\n"
                     "mtp_layers:  # count, attention, ffn\n"
                     "  - [1, full, dense]\n");
}

/* In the order of the layers; `b` is no mixer of any, though a feed-forward is called so. */
static void parts_are_those_of_the_layers(void **state) {
    world *w = *state;
    sli_import_mixer(&w->model, "a", "none");
    sli_import_mixer(&w->model, "b", "none");
    sli_import_mixer(&w->model, "c", "none");
    sli_import_mixer(&w->model, "d", "none");
    sli_import_ffn(&w->model, "b", "none");
    sli_import_layers(&w->model, 1, "c", "b");
    sli_import_layers(&w->model, 0, "b", "b");
    sli_import_layers(&w->model, 2, "c", "b");
    sli_import_layers(&w->model, 1, "a", "b");
    sli_import_layers(&w->model, 1, "c", "b");
    sli_import_mtp_layers(&w->model, 1, "d", "b");
    is_written_as(w, HEAD "context_native: unlimited\n"
                          "attention:\n"
                          "  c: {type: none}\n"
                          "  a: {type: none}\n"
                          "  d: {type: none}\n"
                          "ffn:\n"
                          "  b: {type: none}\n"
                          "layers:  # count, attention, ffn\n"
                          "  - [3, c, b]\n"
                          "  - [1, a, b]\n"
                          "  - [1, c, b]\n"
                          "mtp_layers:  # count, attention, ffn\n"
                          "  - [1, d, b]\n");
}

/* A key stays with its value, and a group in one line where it fits into one. */
static void lines_break_between_keys(void **state) {
    world *w = *state;
    sli_import_part *part = sli_import_mixer(&w->model, "mixer", "gqa");
    sli_import_number(part, "quite_a_long_key_for_a_number", 123456789);
    sli_import_tokens(part, "one_more_to_column_99", 12345);
    sli_import_tokens(part, "window", 4096);
    sli_import_number(part, "another_key_to_fill_the_line", 123456789);
    sli_import_open(part, "index");
    sli_import_word(part, "keys", "own");
    sli_import_tokens(part, "top", 2048);
    sli_import_number(part, "heads", 64);
    sli_import_close(part);
    sli_import_ffn(&w->model, "ffn", "none");
    sli_import_layers(&w->model, 1, "mixer", "ffn");
    is_written_as(w,
                  HEAD "context_native: unlimited\n"
                       "attention:\n"
                       "  mixer: {type: gqa, quite_a_long_key_for_a_number: 123456789, "
                       "one_more_to_column_99: 12345 tokens,\n"
                       "          window: 4096 tokens, another_key_to_fill_the_line: 123456789,\n"
                       "          index: {keys: own, top: 2048 tokens, heads: 64}}\n"
                       "ffn:\n"
                       "  ffn: {type: none}\n"
                       "layers:  # count, attention, ffn\n"
                       "  - [1, mixer, ffn]\n");
}

/* One that fits into no line breaks as well as the rest. */
static void long_groups_break_too(void **state) {
    world *w = *state;
    sli_import_part *part = sli_import_mixer(&w->model, "m", "gqa");
    sli_import_open(part, "group");
    sli_import_number(part, "the_first_of_some_long_keys", 123456789);
    sli_import_number(part, "the_second_of_some_long_keys", 123456789);
    sli_import_number(part, "the_third_of_some_long_keys", 123456789);
    sli_import_close(part);
    sli_import_ffn(&w->model, "f", "none");
    sli_import_layers(&w->model, 1, "m", "f");
    is_written_as(w, HEAD "context_native: unlimited\n"
                          "attention:\n"
                          "  m: {type: gqa, group: {the_first_of_some_long_keys: 123456789,\n"
                          "      the_second_of_some_long_keys: 123456789, "
                          "the_third_of_some_long_keys: 123456789}}\n"
                          "ffn:\n"
                          "  f: {type: none}\n"
                          "layers:  # count, attention, ffn\n"
                          "  - [1, m, f]\n");
}

static void notes_break_between_words(void **state) {
    world *w = *state;
    sli_import_note(&w->model, "A note with so many words that they do not find room beside their "
                               "key in a line of its");
    sli_import_note(&w->model, "own, goes below it");
    sli_import_mixer(&w->model, "a", "none");
    sli_import_ffn(&w->model, "b", "none");
    sli_import_layers(&w->model, 1, "a", "b");
    is_written_as(w, "name: M\n"
                     "source: imported from config.json\n"
                     "note:\n"
                     "  A note with so many words that they do not find room beside their key in a "
                     "line of its; own, goes\n"
                     "  below it\n"
                     "hidden: 64\n"
                     "vocab: 100 tokens\n"
                     "tie_embeddings: off\n"
                     "context_native: unlimited\n"
                     "attention:\n"
                     "  a: {type: none}\n"
                     "ffn:\n"
                     "  b: {type: none}\n"
                     "layers:  # count, attention, ffn\n"
                     "  - [1, a, b]\n");
}

static void has_parts(world *w) {
    sli_import_mixer(&w->model, "recurrence", "none");
    sli_import_mixer(&w->model, "attention", "none");
    sli_import_ffn(&w->model, "experts", "none");
}

#define PARTS                                                                                      \
    "context_native: unlimited\n"                                                                  \
    "attention:\n"                                                                                 \
    "  recurrence: {type: none}\n"                                                                 \
    "  attention: {type: none}\n"                                                                  \
    "ffn:\n"                                                                                       \
    "  experts: {type: none}\n"

static void runs_that_come_again_are_repeated(void **state) {
    world *w = *state;
    has_parts(w);
    for (int i = 0; i < 12; i++) {
        sli_import_layers(&w->model, 3, "recurrence", "experts");
        sli_import_layers(&w->model, 1, "attention", "experts");
    }
    sli_import_layers(&w->model, 2, "recurrence", "experts");
    for (int i = 0; i < 2; i++) {
        sli_import_mtp_layers(&w->model, 1, "attention", "experts");
        sli_import_mtp_layers(&w->model, 1, "recurrence", "experts");
    }
    is_written_as(w, HEAD PARTS "layers:  # count, attention, ffn\n"
                                "  - [12, [[3, recurrence, experts], [1, attention, experts]]]\n"
                                "  - [2, recurrence, experts]\n"
                                "mtp_layers:  # count, attention, ffn\n"
                                "  - [2, [[1, attention, experts], [1, recurrence, experts]]]\n");
}

/* Rows stay whole, and stand below each other. */
static void long_repeats_break_between_rows(void **state) {
    world *w = *state;
    has_parts(w);
    for (int i = 0; i < 10; i++) {
        for (int count = 1; count <= 2; count++) {
            sli_import_layers(&w->model, count, "recurrence", "experts");
            sli_import_layers(&w->model, count, "attention", "experts");
        }
    }
    is_written_as(w, HEAD PARTS "layers:  # count, attention, ffn\n"
                                "  - [10, [[1, recurrence, experts], [1, attention, experts], "
                                "[2, recurrence, experts],\n"
                                "          [2, attention, experts]]]\n");
}

/* Eight still have a line each. */
static void many_groups_share_lines(void **state) {
    world *w = *state;
    has_parts(w);
    for (int count = 1; count <= 8; count++) {
        sli_import_layers(&w->model, count, count % 2 == 1 ? "recurrence" : "attention", "experts");
    }
    is_written_as(w, HEAD PARTS "layers:  # count, attention, ffn\n"
                                "  - [1, recurrence, experts]\n"
                                "  - [2, attention, experts]\n"
                                "  - [3, recurrence, experts]\n"
                                "  - [4, attention, experts]\n"
                                "  - [5, recurrence, experts]\n"
                                "  - [6, attention, experts]\n"
                                "  - [7, recurrence, experts]\n"
                                "  - [8, attention, experts]\n");
    for (int i = 0; i < 2; i++) {
        sli_import_layers(&w->model, 1, "recurrence", "experts");
        sli_import_layers(&w->model, 1, "attention", "experts");
    }
    is_written_as(w, HEAD PARTS
                  "layers:  # count, attention, ffn\n"
                  "  [[1, recurrence, experts], [2, attention, experts], "
                  "[3, recurrence, experts],\n"
                  "   [4, attention, experts], [5, recurrence, experts], [6, attention, experts],\n"
                  "   [7, recurrence, experts], [8, attention, experts], "
                  "[2, [[1, recurrence, experts],\n"
                  "   [1, attention, experts]]]]\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(everything_else_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_are_those_of_the_layers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_break_between_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_groups_break_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notes_break_between_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_that_come_again_are_repeated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_repeats_break_between_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_groups_share_lines, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
