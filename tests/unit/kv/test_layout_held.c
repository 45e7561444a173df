/*
 * What contexts hold of a layout, by lists of blocks, and of every model of the catalogue.
 */
#include "layout_models.h"

#include "base/minmax.h"
#include "kv/layout_held.h"
#include "model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- Blocks, one by one ---- */

/* Whether a token behind `tokens` looks at the last slot of a block, slots counting from 1. */
static bool is_seen(const sli_group *group, int64_t last_slot, int64_t tokens) {
    int64_t seen = 0; /* the last slot that nobody sees */
    if (group->kind == SLI_GROUP_SLIDING) {
        seen = tokens + 1 - group->span_tokens;
    } else if (group->kind == SLI_GROUP_CHUNKED) {
        for (int64_t end = group->span_tokens; end <= tokens; end += group->span_tokens) {
            seen = end;
        }
    }
    return last_slot > seen;
}

/* While a step computes the tokens from `tokens` on to `end`. */
static int64_t count_blocks(const sli_group *group, int64_t tokens, int64_t end) {
    if (group->kind == SLI_GROUP_FIXED) {
        return group->fixed_blocks;
    }
    int64_t size = group->block_tokens;
    int64_t blocks = 0;
    for (int64_t first = 1; first <= end; first += size) {
        int64_t last = first + size - 1;
        bool has_old = first <= tokens && tokens <= last;
        bool has_new = end > tokens && first <= end && end <= last;
        bool is_held = group->kind == SLI_GROUP_STATE ? has_old || has_new
                                                      : is_seen(group, last, tokens);
        blocks += is_held ? 1 : 0;
    }
    return blocks;
}

static const sli_group samples[] = {
    {.kind = SLI_GROUP_GROWING, .block_tokens = 16, .block_pages = 3},
    {.kind = SLI_GROUP_GROWING, .block_tokens = 1, .block_pages = 1},
    {.kind = SLI_GROUP_SLIDING, .block_tokens = 16, .span_tokens = 128, .block_pages = 5},
    {.kind = SLI_GROUP_SLIDING, .block_tokens = 16, .span_tokens = 17, .block_pages = 2},
    {.kind = SLI_GROUP_SLIDING, .block_tokens = 8, .span_tokens = 1, .block_pages = 1},
    {.kind = SLI_GROUP_SLIDING, .block_tokens = 32, .span_tokens = 5, .block_pages = 7},
    {.kind = SLI_GROUP_CHUNKED, .block_tokens = 16, .span_tokens = 96, .block_pages = 4},
    {.kind = SLI_GROUP_CHUNKED, .block_tokens = 16, .span_tokens = 16, .block_pages = 1},
    {.kind = SLI_GROUP_CHUNKED, .block_tokens = 8, .span_tokens = 64, .block_pages = 2},
    {.kind = SLI_GROUP_STATE, .block_tokens = 16, .block_pages = 6},
    {.kind = SLI_GROUP_STATE, .block_tokens = 1, .block_pages = 1},
    {.kind = SLI_GROUP_FIXED, .block_tokens = 16, .fixed_blocks = 9, .block_pages = 2},
    {.kind = SLI_GROUP_SLIDING, .block_tokens = 1, .span_tokens = 1, .block_pages = 3},
    {.kind = SLI_GROUP_CHUNKED, .block_tokens = 32, .span_tokens = 96, .block_pages = 1},
};

static void holds_the_blocks_that_a_list_has(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        for (int64_t tokens = 0; tokens <= 5000; tokens++) {
            assert_int_equal(sli_group_blocks(&samples[i], tokens),
                             count_blocks(&samples[i], tokens, tokens));
        }
        for (int64_t tokens = 0; tokens <= 400; tokens++) {
            for (int64_t end = tokens; end <= tokens + 70; end++) {
                assert_int_equal(sli_group_step_blocks(&samples[i], tokens, end),
                                 count_blocks(&samples[i], tokens, end));
            }
        }
    }
}

static sli_layout sample_layout(const int *indexes, int count) {
    sli_layout layout = {.page_bytes = 1, .group_count = count, .align_tokens = 32};
    for (int i = 0; i < count; i++) {
        layout.groups[i] = samples[indexes[i]];
    }
    return layout;
}

static int64_t count_pages(const sli_layout *layout, int64_t tokens, int64_t end) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        pages += layout->groups[i].block_pages * count_blocks(&layout->groups[i], tokens, end);
    }
    return pages;
}

/* Against all steps of every length from every token on. */
static void no_step_holds_more_than_the_peak_and_one_holds_it(void **state) {
    (void)state;
    static const int sets[][4] = {{0, 2, 9, 11}, {0, 2, 3, 6},  {0, 5, 6, 9},  {1, 4, 7, 10},
                                  {0, 6, 8, 9},  {1, 8, 2, 5},  {6, 6, 6, 6},  {9, 3, 3, 4},
                                  {5, 5, 5, 5},  {13, 5, 8, 9}, {12, 12, 4, 3}};
    static const int64_t steps[] = {1, 2, 7, 16, 33, 100, 500};
    enum { TOKENS = 420 };
    for (size_t set = 0; set < COUNT_OF(sets); set++) {
        sli_layout layout = sample_layout(sets[set], 4);
        for (size_t i = 0; i < COUNT_OF(steps); i++) {
            int64_t most = count_pages(&layout, 0, 0);
            assert_int_equal(sli_layout_peak_pages(&layout, 0, steps[i]), most);
            for (int64_t end = 1; end <= TOKENS; end++) {
                for (int64_t begin = sli_max_i64(0, end - steps[i]); begin <= end; begin++) {
                    most = sli_max_i64(most, count_pages(&layout, begin, end));
                }
                assert_int_equal(sli_layout_peak_pages(&layout, end, steps[i]), most);
                assert_int_equal(sli_layout_pages(&layout, end), count_pages(&layout, end, end));
            }
        }
    }
}

/* ---- Reservations ---- */

/* Most blocks of the steps that end at a token: any within the first `known` ones, behind them of
 * one token. */
static int64_t most_blocks(const sli_group *group, int64_t known, int64_t end) {
    int64_t most = 0;
    for (int64_t begin = end <= known ? 0 : end - 1; begin < end; begin++) {
        most = sli_max_i64(most, count_blocks(group, begin, end));
    }
    return most;
}

/* And not more than that, once it is for so many tokens that a window has begun everywhere. */
static void a_reservation_is_enough_whatever_the_steps(void **state) {
    (void)state;
    static const int64_t known[] = {0, 1, 2, 17, 40, 96, 150};
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        const sli_group *group = &samples[i];
        int64_t turned_tokens = 150 + group->span_tokens + 2 * group->block_tokens;
        for (size_t j = 0; j < COUNT_OF(known); j++) {
            int64_t most = count_blocks(group, 0, 0);
            for (int64_t tokens = 1; tokens <= turned_tokens; tokens++) {
                most = sli_max_i64(most, most_blocks(group, known[j], tokens));
                assert_true(most <= sli_group_reserved_blocks(group, 1, known[j], tokens));
            }
            assert_int_equal(sli_group_reserved_blocks(group, 1, known[j], turned_tokens), most);
        }
    }
}

/* ---- Waste ---- */

/* Rows of a store in the blocks that are held, block by block. */
static int64_t count_rows(const sli_store *store, const sli_group *group, int64_t tokens) {
    int64_t step = store->kept.kind == SLI_GROWTH_STEPS ? store->kept.step_tokens : 1;
    int64_t rows = 0;
    for (int64_t first = 1; first <= tokens; first += group->block_tokens) {
        int64_t last = first + group->block_tokens - 1;
        if (is_seen(group, last, tokens)) {
            rows += sli_min_i64(last, tokens) / step - (first - 1) / step;
        }
    }
    return rows;
}

static sli_group_kind kind_of(const sli_store *store) {
    switch (store->kept.kind) {
    case SLI_GROWTH_CONSTANT:
        return SLI_GROUP_STATE;
    case SLI_GROWTH_SAWTOOTH:
        return SLI_GROUP_CHUNKED;
    case SLI_GROWTH_KEPT:
        return SLI_GROUP_KEPT;
    case SLI_GROWTH_STEPS:
        break;
    }
    return store->kept.cap_rows == INT64_MAX ? SLI_GROUP_GROWING : SLI_GROUP_SLIDING;
}

/* Of a model with one span of each kind. */
static int64_t count_used(const sli_architecture *model, const sli_layout *layout, int64_t tokens) {
    const sli_layer_run *runs = model->layers.rows;
    int64_t used_bytes = 0;
    for (size_t i = 0; i < model->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        for (int j = 0; j < facts->store_count; j++) {
            const sli_store *store = &facts->stores[j];
            sli_group_kind kind = kind_of(store);
            int64_t rows = kind == SLI_GROUP_STATE
                               ? store->kept.cap_rows
                               : count_rows(store, group_of(layout, kind), tokens);
            used_bytes += runs[i].count * rows *
                          sli_state_row_rank_bytes(store, &sli_cache_formats[0], 1);
        }
    }
    return used_bytes;
}

static void is_wasted_as_counted(const sli_architecture *model, int64_t tokens) {
    sli_layout_options options = options_of(model);
    sli_layout layout = layout_with(model, &options);
    int64_t held_bytes = count_pages(&layout, tokens, tokens) * layout.page_bytes;
    assert_int_equal(sli_layout_waste_bytes(&layout, model, &options, tokens),
                     held_bytes - count_used(model, &layout, tokens));
}

static void waste_is_what_no_row_fills(void **state) {
    (void)state;
    const sli_architecture *all = model_with(
        FULL ", " WINDOW ", " CHUNK ", " STATE,
        "[[2, full, dense], [3, window, dense], [5, chunk, dense], [7, state, dense]]");
    for (int64_t tokens = 1; tokens <= 5000; tokens++) {
        is_wasted_as_counted(all, tokens);
    }
    static const char *const names[] = {"gpt-oss-20b", "deepseek-v4-flash", "qwen3.5-9b",
                                        "gemma-4-31b", "llama-4-scout",     "minimax-m3"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const sli_architecture *model = model_of(names[i]);
        for (int64_t tokens = 1; tokens <= 20000; tokens += 61) {
            is_wasted_as_counted(model, tokens);
        }
    }
}

/* By hand, at 8,192 tokens: reserved 513 blocks of 16 tokens, of which 128 rows are in use; ignored
 * windows fill their slots. */
static void reserved_pages_are_wasted_and_ignored_windows_are_not(void **state) {
    (void)state;
    const sli_architecture *model = model_of("gpt-oss-20b");
    sli_layout_options options = options_of(model);
    options.max_model_tokens = 8192;
    options.window_pages = SLI_WINDOW_RESERVED;
    sli_layout layout = layout_with(model, &options);
    assert_int_equal(sli_layout_waste_bytes(&layout, model, &options, 8192),
                     INT64_C(12) * 2048 * (513 * 16 - 128));
    options.window_pages = SLI_WINDOW_IGNORED;
    layout = layout_with(model, &options);
    assert_int_equal(sli_layout_waste_bytes(&layout, model, &options, 8192), 0);
    assert_int_equal(sli_layout_waste_bytes(&layout, model, &options, 8193), 24 * 2048 * 15);
}

/* By hand: pages of Gemma 3 27B are those of its 10 full layers, 1.25 MiB, so its 52 windows take 6
 * of them, 8 layers of which are padding. At 1,024 tokens, where nothing has left a window, that is
 * 64 (1 + 6) pages or 560 MiB; without windows 64 pages of 62 layers, 496 MiB. */
static void windows_that_are_not_passed_cost_their_padding(void **state) {
    (void)state;
    const sli_architecture *model = model_of("gemma-3-27b");
    sli_layout_options options = options_of(model);
    sli_layout layout = layout_with(model, &options);
    assert_int_equal(sli_layout_pages(&layout, 1024), 448);
    assert_int_equal(448 * layout.page_bytes, INT64_C(560) << 20);
    options.window_pages = SLI_WINDOW_IGNORED;
    layout = layout_with(model, &options);
    assert_int_equal(sli_layout_pages(&layout, 1024) * layout.page_bytes, INT64_C(496) << 20);
}

/* ---- Rows that wait in bf16 ---- */

/* Of one layer of 2 keys and 2 values of 16 elements: 64 bytes in bf16, 12 and 24 as they lie. 128
 * keys and 128 values have buffers, of which T mod 128 and min(T, 128) are in use; they end in a
 * page of 16 tokens, 576 bytes, of which the rest is wasted as well. */
static void waste_is_what_does_not_wait_in_its_buffer(void **state) {
    (void)state;
    const sli_architecture *model = model_with(FULL, "[[1, full, dense]]");
    sli_layout_options options = options_of(model);
    options.cache = sli_cache_format_find("kivi2");
    sli_layout layout = layout_with(model, &options);
    assert_int_equal(layout.page_bytes, 16 * 36);
    assert_int_equal(layout.groups[1].block_pages, 29); /* 256 x 64 bytes in 28.4 */
    for (int64_t tokens = 1; tokens <= 1000; tokens++) {
        int64_t keys = tokens % 128;
        int64_t values = tokens < 128 ? tokens : 128;
        int64_t unfilled = (16 - tokens % 16) % 16;
        int64_t waste = unfilled * 36 + keys * 12 + values * 24 + (256 - keys - values) * 64 +
                        29 * 576 - 256 * 64;
        assert_int_equal(sli_layout_waste_bytes(&layout, model, &options, tokens), waste);
        int64_t exact_bytes = sli_state_kept(model, options.cache, tokens).cached;
        assert_int_equal(sli_layout_pages(&layout, tokens) * layout.page_bytes - exact_bytes,
                         waste);
        assert_true(waste - unfilled * 36 < 256 * 64 + 576); /* as the header says */
    }
}

/* ---- The catalogue ---- */

static uint64_t draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return *seed >> 33;
}

static bool is_tight(const sli_layout *layout) {
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (group->block_bytes != group->block_pages * layout->page_bytes ||
            group->block_tokens != 1 || group->kind == SLI_GROUP_STATE ||
            group->kind == SLI_GROUP_FIXED) {
            return false;
        }
    }
    return true;
}

/* Pages while the last of `tokens` is computed, against the rows that it sees. */
static int64_t bytes_beyond_logical(const sli_architecture *model,
                                    const sli_layout_options *options, const sli_layout *layout,
                                    int64_t tokens) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        pages += group->block_pages * sli_group_step_blocks(group, tokens - 1, tokens);
    }
    sli_state_bytes logical = sli_state_rank(model, options->cache, tokens, options->tp);
    return pages * layout->page_bytes - logical.cached - logical.fixed;
}

static void is_sound(const sli_architecture *model, const sli_layout_options *options,
                     uint64_t *seed, int *tight_count) {
    sli_layout layout = layout_with(model, options);
    assert_int_equal(layout.groups[0].kind, SLI_GROUP_GROWING);
    for (int i = 0; i < layout.group_count; i++) {
        const sli_group *group = &layout.groups[i];
        assert_int_equal(layout.align_tokens % group->block_tokens, 0);
        assert_true(group->block_bytes <= group->block_pages * layout.page_bytes);
        assert_true(i == 0 || (group->kind != SLI_GROUP_GROWING && group->block_pages > 0));
    }
    for (int i = 0; i < 100; i++) {
        int64_t tokens = 1 + (int64_t)(draw(seed) % (i % 2 == 0 ? 20000 : 1000000));
        int64_t beyond = bytes_beyond_logical(model, options, &layout, tokens);
        assert_true(is_tight(&layout) ? beyond == 0 : beyond >= 0);
        int64_t waste = sli_layout_waste_bytes(&layout, model, options, tokens);
        assert_true(waste >= 0);
        assert_true(waste < sli_layout_pages(&layout, tokens) * layout.page_bytes ||
                    sli_layout_pages(&layout, tokens) == 0);
        assert_true(sli_layout_pages(&layout, tokens) <=
                    sli_layout_peak_pages(&layout, tokens, 1 + (int64_t)(draw(seed) % 9000)));
    }
    *tight_count += is_tight(&layout) ? 1 : 0;
}

static void every_model_has_room_for_what_it_keeps(void **state) {
    (void)state;
    static const int64_t degrees[] = {1, 8};
    static const int64_t blocks[] = {16, 1};
    uint64_t seed = 1;
    int count = 0;
    int tight_count = 0;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++, count++) {
        const sli_architecture *model = model_of(file->name);
        for (int i = 0; i < 4; i++) {
            sli_layout_options options = options_of(model);
            options.tp = degrees[i % 2];
            options.block_tokens = blocks[i / 2];
            is_sound(model, &options, &seed, &tight_count);
            options.cache = sli_cache_format_find("fp8_ds_mla");
            is_sound(model, &options, &seed, &tight_count);
            options.cache = sli_cache_format_find("kivi2");
            is_sound(model, &options, &seed, &tight_count);
        }
    }
    assert_int_equal(count, 74);
    assert_true(tight_count > 29 * 4); /* plain ones with blocks of 1, and others */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_the_blocks_that_a_list_has),
        cmocka_unit_test(no_step_holds_more_than_the_peak_and_one_holds_it),
        cmocka_unit_test(a_reservation_is_enough_whatever_the_steps),
        cmocka_unit_test(waste_is_what_no_row_fills),
        cmocka_unit_test(reserved_pages_are_wasted_and_ignored_windows_are_not),
        cmocka_unit_test(windows_that_are_not_passed_cost_their_padding),
        cmocka_unit_test(waste_is_what_does_not_wait_in_its_buffer),
        cmocka_unit_test(every_model_has_room_for_what_it_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
