/*
 * How layers whose tokens are thrown out lie in pages, and what a request of given prompt holds.
 *
 * Llama 3.1 8B leaves 131,072 bytes a token in bf16: a block of 16 is 2 MiB.
 */
#include "../model/keep_methods.h"
#include "layout_models.h"

#include "base/minmax.h"
#include "kv/layout_held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static sli_arena arena;

static int release(void **state) {
    sli_arena_fini(&arena);
    return free_models(state);
}

/* ---- By model and method ---- */

static const sli_architecture *cut_model(const char *model, const sli_keep *keep) {
    const sli_architecture *cut = NULL;
    assert_int_equal(sli_keep_cut(&arena, model_of(model), keep, &cut), SL_OK);
    return cut;
}

static int64_t bytes_of(const sli_layout *layout, int64_t prompt_tokens, int64_t tokens) {
    return layout->page_bytes * sli_layout_request_pages(layout, prompt_tokens, tokens);
}

static void a_page_has_a_slot_of_all_layers(void **state) {
    (void)state;
    sli_layout layout = layout_of(cut_model("llama-3.1-8b", &keep_h2o));
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.groups[0].block_pages, 0);
    assert_int_equal(layout.groups[0].block_tokens, 16);
    assert_int_equal(layout.groups[1].kind, SLI_GROUP_KEPT);
    assert_string_equal(layout.groups[1].name, "kept");
    assert_int_equal(layout.groups[1].layers, 32);
    assert_int_equal(layout.groups[1].block_pages, 1);
    assert_int_equal(layout.page_bytes, 2 << 20);
    assert_int_equal(layout.align_tokens, 16);
    assert_false(layout.is_shareable);
}

/* 20 % of a prompt of 10,000 tokens in 125 blocks of 16, however long the answer; without a method
 * 625. 4 + 2,044 tokens in 128 blocks of any length. 4,096 of 16 Ki in 256, and 500 more tokens in
 * 4,596 slots. 2,048 in the mean of PyramidKV's layers in 128. */
static void bytes_are_those_of_the_budgets(void **state) {
    (void)state;
    const int64_t mib = 1 << 20;
    sli_layout whole = layout_of(model_of("llama-3.1-8b"));
    sli_layout h2o = layout_of(cut_model("llama-3.1-8b", &keep_h2o));
    assert_int_equal(bytes_of(&whole, 10000, 10000), 1250 * mib);
    assert_int_equal(bytes_of(&h2o, 10000, 10000), 250 * mib);
    assert_int_equal(bytes_of(&h2o, 10000, 14000), 250 * mib);
    assert_int_equal(bytes_of(&h2o, 10000, 9999), 1250 * mib);
    sli_layout streaming = layout_of(cut_model("llama-3.1-8b", &keep_streaming_llm));
    assert_int_equal(bytes_of(&streaming, 100000, 2048), 256 * mib);
    assert_int_equal(bytes_of(&streaming, 100000, 99999), 256 * mib);
    assert_int_equal(bytes_of(&streaming, 100, 100000), 256 * mib);
    assert_int_equal(sli_layout_request_peak_pages(&streaming, 100000, 130000, 8192), 128);
    sli_layout snapkv = layout_of(cut_model("llama-3.1-8b", &keep_snapkv));
    assert_int_equal(bytes_of(&snapkv, 16384, 16384), 512 * mib);
    assert_int_equal(bytes_of(&snapkv, 16384, 16884), 288 * 2 * mib);
    sli_layout pyramid = layout_of(cut_model("llama-3.1-8b", &keep_pyramid_kv));
    assert_int_equal(bytes_of(&pyramid, 16384, 16384), 256 * mib);
}

/* gpt-oss-20b: pages of 12 layers x 16 tokens x 2,048 bytes. */
static void windows_stay_beside_what_is_kept(void **state) {
    (void)state;
    sli_layout layout = layout_of(cut_model("gpt-oss-20b", &keep_snapkv));
    assert_int_equal(layout.group_count, 3);
    assert_int_equal(layout.page_bytes, 12 * 16 * 2048);
    assert_int_equal(group_of(&layout, SLI_GROUP_KEPT)->layers, 12);
    assert_int_equal(group_of(&layout, SLI_GROUP_SLIDING)->span_tokens, 128);
    /* 256 blocks, and those of the last 127 of 20,000 tokens: 8. */
    assert_int_equal(sli_layout_request_pages(&layout, 20000, 20000), 256 + 8);
}

/* Of Gemma 4 E2B 20 layers read what others keep. */
static void layers_that_read_what_others_keep_take_no_pages(void **state) {
    (void)state;
    sli_layout layout = layout_of(model_of("gemma-4-e2b"));
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.groups[0].layers, 3);
    assert_int_equal(layout.groups[1].layers, 12);
    layout = layout_of(cut_model("gemma-4-e2b", &keep_h2o));
    assert_int_equal(layout.group_count, 3);
    assert_int_equal(group_of(&layout, SLI_GROUP_KEPT)->layers, 3);
}

/* All that is prompt: 3,000 tokens of which 600 stay, in 38 blocks of which the last has 8. */
static void slots_without_a_row_are_wasted(void **state) {
    (void)state;
    const sli_architecture *cut = cut_model("llama-3.1-8b", &keep_h2o);
    sli_layout_options options = options_of(cut);
    sli_layout layout = layout_with(cut, &options);
    assert_int_equal(sli_layout_waste_bytes(&layout, cut, &options, 3000), 8 * 131072);
}

/* ---- The peak, against all steps ---- */

static const sl_kept rules[] = {
    {true, 1000000, 100, 1, 0},  {false, 200000, INT64_MAX, 0, INT64_MAX},
    {false, 1000000, 64, 32, 0}, {false, 1000000, 70, 0, 1},
    {true, 400000, 90, 0, 3},    {true, 300000, INT64_MAX, 0, 2},
};

static const sli_group others[] = {
    {.kind = SLI_GROUP_GROWING, .block_tokens = 16, .block_pages = 2},
    {.kind = SLI_GROUP_SLIDING, .block_tokens = 16, .span_tokens = 50, .block_pages = 5},
    {.kind = SLI_GROUP_CHUNKED, .block_tokens = 16, .span_tokens = 96, .block_pages = 4},
    {.kind = SLI_GROUP_STATE, .block_tokens = 32, .block_pages = 6},
    {.kind = SLI_GROUP_FIXED, .block_tokens = 16, .fixed_blocks = 3, .block_pages = 2},
};

/* A growing group of no pages, one of the rules, and one other group or none. */
static sli_layout layout_around(const sl_kept *rule, size_t other, int64_t kept_block) {
    sli_layout layout = {.page_bytes = 1, .align_tokens = 32, .group_count = 2};
    layout.groups[0] = (sli_group){.kind = SLI_GROUP_GROWING, .block_tokens = 16};
    layout.groups[1] = (sli_group){
        .kind = SLI_GROUP_KEPT, .block_tokens = kept_block, .block_pages = 3, .kept = rule};
    if (other < COUNT_OF(others)) {
        layout.groups[layout.group_count++] = others[other];
    }
    return layout;
}

static int64_t count_pages(const sli_layout *layout, int64_t prompt_tokens, int64_t begin,
                           int64_t end) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        int64_t slots = group->kind == SLI_GROUP_KEPT
                            ? sli_kept_step_slots(group->kept, prompt_tokens, begin, end)
                            : 0;
        int64_t blocks = group->kind == SLI_GROUP_KEPT
                             ? (slots + group->block_tokens - 1) / group->block_tokens
                             : sli_group_step_blocks(group, begin, end);
        pages += group->block_pages * blocks;
    }
    return pages;
}

static void assert_peaks(const sli_layout *layout, int64_t prompt_tokens, int64_t step_tokens) {
    int64_t most = 0;
    for (int64_t end = 0; end <= 330; end++) {
        for (int64_t begin = sli_max_i64(0, end - step_tokens); begin <= end; begin++) {
            most = sli_max_i64(most, count_pages(layout, prompt_tokens, begin, end));
        }
        assert_int_equal(sli_layout_request_peak_pages(layout, prompt_tokens, end, step_tokens),
                         most);
        assert_int_equal(sli_layout_request_pages(layout, prompt_tokens, end),
                         count_pages(layout, prompt_tokens, end, end));
    }
}

static void no_step_holds_more_than_the_peak_and_one_holds_it(void **state) {
    (void)state;
    static const int64_t prompts[] = {1, 2, 31, 97, 144, 200, 329, 400};
    static const int64_t steps[] = {1, 7, 33, 100, 500};
    for (size_t rule = 0; rule < COUNT_OF(rules); rule++) {
        for (size_t other = 0; other <= COUNT_OF(others); other++) {
            for (size_t i = 0; i < COUNT_OF(prompts); i++) {
                sli_layout layout = layout_around(&rules[rule], other, i % 2 == 0 ? 16 : 32);
                for (size_t j = 0; j < COUNT_OF(steps); j++) {
                    assert_peaks(&layout, prompts[i], steps[j]);
                }
            }
        }
    }
}

/* Steps within what is known, then of one token; both are more than the prompt where a request is
 * computed again. */
static int64_t most_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t known,
                          int64_t tokens) {
    int64_t most = 0;
    for (int64_t end = 1; end <= tokens; end++) {
        for (int64_t begin = end <= known ? 0 : end - 1; begin < end; begin++) {
            most = sli_max_i64(most, sli_kept_step_slots(kept, prompt_tokens, begin, end));
        }
    }
    return most;
}

static void a_reservation_is_enough_whatever_the_steps(void **state) {
    (void)state;
    for (size_t rule = 0; rule < COUNT_OF(rules); rule++) {
        sli_layout layout = layout_around(&rules[rule], COUNT_OF(others), 1);
        const sli_group *group = &layout.groups[1];
        for (int64_t prompt_tokens = 1; prompt_tokens <= 240; prompt_tokens += 7) {
            for (int64_t known = prompt_tokens; known <= 240; known += 31) {
                assert_int_equal(sli_group_reserved_blocks(group, prompt_tokens, known, 240),
                                 most_slots(group->kept, prompt_tokens, known, 240));
                assert_int_equal(sli_group_reserved_blocks(group, prompt_tokens, 0, 240),
                                 sli_kept_slots(group->kept, prompt_tokens, 240));
            }
        }
    }
}

/* The most is at neither end for the rule of 0.4 up to 90 rows and 1 of 3 behind the prompt. */
static void there_is_room_for_the_reservation_of_any_prompt(void **state) {
    (void)state;
    for (size_t rule = 0; rule < COUNT_OF(rules); rule++) {
        sli_layout layout = layout_around(&rules[rule], COUNT_OF(others), 1);
        for (int64_t tokens = 16; tokens <= 400; tokens += 16) {
            int64_t most = 0;
            for (int64_t prompt_tokens = 1; prompt_tokens <= tokens; prompt_tokens++) {
                most = sli_max_i64(most, sli_group_reserved_blocks(&layout.groups[1], prompt_tokens,
                                                                   prompt_tokens, tokens));
            }
            assert_int_equal(sli_layout_reserved_pages(&layout, tokens - 3), 3 * most);
        }
    }
}

/* Where nobody says what the prompt is, all of it is. */
static void all_tokens_are_prompt_unless_it_is_given(void **state) {
    (void)state;
    sli_layout layout = layout_around(&rules[3], 1, 16);
    for (int64_t tokens = 1; tokens <= 300; tokens++) {
        assert_int_equal(sli_layout_pages(&layout, tokens),
                         sli_layout_request_pages(&layout, tokens, tokens));
        assert_int_equal(sli_layout_peak_pages(&layout, tokens, 40),
                         sli_layout_request_peak_pages(&layout, tokens, tokens, 40));
        assert_int_equal(sli_group_blocks(&layout.groups[1], tokens),
                         (sli_min_i64(tokens, 70) + 15) / 16);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_a_slot_of_all_layers),
        cmocka_unit_test(bytes_are_those_of_the_budgets),
        cmocka_unit_test(windows_stay_beside_what_is_kept),
        cmocka_unit_test(layers_that_read_what_others_keep_take_no_pages),
        cmocka_unit_test(slots_without_a_row_are_wasted),
        cmocka_unit_test(no_step_holds_more_than_the_peak_and_one_holds_it),
        cmocka_unit_test(a_reservation_is_enough_whatever_the_steps),
        cmocka_unit_test(there_is_room_for_the_reservation_of_any_prompt),
        cmocka_unit_test(all_tokens_are_prompt_unless_it_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
