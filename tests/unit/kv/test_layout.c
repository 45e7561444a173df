/*
 * How every sort of layer lies in pages, by hand.
 *
 * gpt-oss-20b has 12 full layers and 12 of a window of 128 tokens, each 2 x 8 x 64 x 2 = 2,048
 * bytes a token. Figures of DeepSeek V4 are those of the appendix of vLLM's blog of 2026-04-24.
 */
#include "layout_models.h"

#include "kv/layout_held.h"
#include "model/parallel.h"
#include "model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static double to_gib(int64_t bytes) {
    return (double)bytes / 0x1p30;
}

/* ---- One sort of layers ---- */

/* What the budget has always counted: the rows of a block in all layers. */
static void plain_models_have_a_page_for_a_block(void **state) {
    (void)state;
    int count = 0;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        const sli_architecture *model = model_of(file->name);
        if (sli_architecture_unplain(model) != NULL) {
            continue;
        }
        count++;
        for (int i = 0; i < SLI_TP_COUNT; i++) {
            sli_layout_options options = options_of(model);
            options.tp = sli_tp_degrees[i];
            sli_layout layout = layout_with(model, &options);
            int64_t token_bytes = sli_state_rank(model, options.cache, 1, options.tp).cached;
            assert_int_equal(layout.page_bytes, 16 * token_bytes);
            assert_int_equal(layout.group_count, 1);
            assert_int_equal(layout.groups[0].kind, SLI_GROUP_GROWING);
            assert_int_equal(layout.groups[0].block_tokens, 16);
            assert_int_equal(layout.groups[0].block_pages, 1);
            assert_int_equal(layout.groups[0].block_bytes, layout.page_bytes);
            assert_int_equal(layout.align_tokens, 16);
            assert_true(layout.is_shareable);
            assert_int_equal(sli_layout_pages(&layout, 1000), 63);
        }
    }
    assert_int_equal(count, 29);
}

/* Rows of several widths, and layers that differ, as long as all of them grow: MiniMax-M3 has 3
 * layers of 2,048 bytes a token and 57 of 2,304, GLM-5.2 21 of 1,408 and 57 of 1,152. */
static void layers_that_all_grow_share_one_page(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t layers;
        int64_t token_bytes;
    } models[] = {{"minimax-m3", 60, 3 * 2048 + 57 * 2304},
                  {"glm-5.2", 78, 21 * 1408 + 57 * 1152},
                  {"deepseek-v3.2", 61, 61 * 1408}};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        sli_layout layout = layout_of(model_of(models[i].name));
        assert_int_equal(layout.group_count, 1);
        assert_int_equal(layout.groups[0].layers, models[i].layers);
        assert_int_equal(layout.groups[0].block_pages, 1);
        assert_int_equal(layout.page_bytes, 16 * models[i].token_bytes);
    }
}

/* Mistral 7B: 32 layers, 4,096 bytes a token, and nothing that grows. */
static void a_model_of_windows_has_an_empty_growing_group(void **state) {
    (void)state;
    sli_layout layout = layout_of(model_of("mistral-7b-v0.1"));
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.groups[0].kind, SLI_GROUP_GROWING);
    assert_int_equal(layout.groups[0].layers, 0);
    assert_int_equal(layout.groups[0].block_pages, 0);
    assert_int_equal(layout.groups[0].block_tokens, 16);
    assert_int_equal(layout.groups[1].kind, SLI_GROUP_SLIDING);
    assert_int_equal(layout.groups[1].span_tokens, 4096);
    assert_string_equal(layout.groups[1].name, "sliding 4096");
    assert_int_equal(layout.groups[1].block_pages, 1);
    assert_int_equal(layout.page_bytes, 32 * 16 * 4096);
    assert_int_equal(sli_layout_pages(&layout, 4096), 256);
    assert_int_equal(sli_layout_pages(&layout, 100000), 256);
}

/* Mamba-2 2.7B: a page is the states of all 64 layers. */
static void a_model_of_states_has_a_page_for_all_of_them(void **state) {
    (void)state;
    const sli_architecture *model = model_of("mamba-2-2.7b");
    sli_layout layout = layout_of(model);
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.groups[0].block_pages, 0);
    assert_int_equal(layout.groups[1].block_tokens, 16);
    assert_int_equal(layout.page_bytes, sli_state_kept(model, &sli_cache_formats[0], 9).fixed);
    assert_int_equal(sli_layout_pages(&layout, 0), 0);
    assert_int_equal(sli_layout_pages(&layout, 1), 1);
    assert_int_equal(sli_layout_pages(&layout, 100000), 1);
}

/* ---- Groups as vLLM makes them ---- */

/* 10 full layers and 52 of a window: 1 + 6 groups of 10, 8 of them padding; 8,192 bytes a token. */
static void gemma_3_has_seven_groups_and_eight_layers_of_padding(void **state) {
    (void)state;
    sli_layout layout = layout_of(model_of("gemma-3-27b"));
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.page_bytes, 10 * 16 * 8192);
    assert_int_equal(layout.groups[0].block_pages, 1);
    assert_int_equal(layout.groups[0].block_bytes, layout.page_bytes);
    assert_int_equal(layout.groups[1].layers, 52);
    assert_int_equal(layout.groups[1].block_pages, 6);
    assert_int_equal(6 * layout.page_bytes - layout.groups[1].block_bytes, 8 * 16 * 8192);
}

/* 1.25 times as many layers are still filled up to the most: 5 + 6 make two pages, 4 + 5 three. */
static void nearly_equal_counts_share_the_larger_page(void **state) {
    (void)state;
    sli_layout five = layout_of(
        model_with(FULL ", " WINDOW, "[[5, full, dense], [6, window, dense]]"));
    assert_int_equal(five.page_bytes, 6 * 16 * 128);
    assert_int_equal(five.groups[0].block_pages, 1);
    assert_int_equal(five.groups[0].block_bytes, 5 * 16 * 128);
    assert_int_equal(five.groups[1].block_pages, 1);
    sli_layout four = layout_of(
        model_with(FULL ", " WINDOW, "[[4, full, dense], [5, window, dense]]"));
    assert_int_equal(four.page_bytes, 4 * 16 * 128);
    assert_int_equal(four.groups[1].block_pages, 2);
}

/* Gemma 4 31B: 50 windows of 16,384 bytes a token, 10 full layers of 8,192. A page of a layer is
 * 16 tokens of the one and 32 of the other; over 8 ranks both have 2,048. */
static void who_needs_fewer_bytes_has_more_tokens_a_block(void **state) {
    (void)state;
    const sli_architecture *gemma = model_of("gemma-4-31b");
    sli_layout_options options = options_of(gemma);
    sli_layout layout = layout_with(gemma, &options);
    assert_int_equal(layout.page_bytes, 10 * 16 * 16384);
    assert_int_equal(layout.groups[0].block_tokens, 32);
    assert_int_equal(layout.groups[0].block_bytes, layout.page_bytes);
    assert_int_equal(layout.groups[1].block_tokens, 16);
    assert_int_equal(layout.groups[1].block_pages, 5);
    assert_int_equal(layout.align_tokens, 32);
    options.tp = 8;
    layout = layout_with(gemma, &options);
    assert_int_equal(layout.page_bytes, 10 * 16 * 2048);
    assert_int_equal(layout.groups[0].block_tokens, 16);
    assert_int_equal(layout.align_tokens, 16);
}

/* Gemma 4 E2B: 12 windows of 1,024 bytes a token and 3 full layers of 2,048; the other 20 read what
 * these keep. */
static void who_reads_the_rows_of_others_has_no_pages(void **state) {
    (void)state;
    sli_layout layout = layout_of(model_of("gemma-4-e2b"));
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.page_bytes, 3 * 16 * 2048);
    assert_int_equal(layout.groups[0].layers, 3);
    assert_int_equal(layout.groups[0].block_pages, 1);
    assert_int_equal(layout.groups[1].kind, SLI_GROUP_SLIDING);
    assert_int_equal(layout.groups[1].layers, 12);
    assert_int_equal(layout.groups[1].block_tokens, 32);
    assert_int_equal(layout.groups[1].block_pages, 4);
    assert_int_equal(layout.groups[1].block_bytes, 4 * layout.page_bytes);
}

/* 320 bytes a token are 2.5 times 128: two blocks fit, and a fifth of the page is padding. */
static void what_does_not_divide_is_filled_up(void **state) {
    (void)state;
    const sli_architecture *model = model_with(
        FULL ", wide: {type: gqa, q_heads: 5, kv_heads: 5, head_dim: 16, window: 40 tokens}",
        "[[3, full, dense], [3, wide, dense]]");
    sli_layout layout = layout_of(model);
    assert_int_equal(layout.page_bytes, 3 * 16 * 320);
    assert_int_equal(layout.groups[0].block_tokens, 32);
    assert_int_equal(layout.groups[0].block_bytes, 3 * 32 * 128);
    assert_int_equal(layout.groups[1].block_bytes, layout.page_bytes);
}

/* Two windows of 40 tokens, of 128 and of 256 bytes a token, are two types. */
static void windows_of_one_span_may_differ(void **state) {
    (void)state;
    const sli_architecture *model = model_with(
        FULL ", " WINDOW ", wide: {type: gqa, q_heads: 4, kv_heads: 4, head_dim: 16, window: 40 "
             "tokens}",
        "[[2, full, dense], [2, wide, dense], [4, window, dense]]");
    sli_layout layout = layout_of(model);
    assert_int_equal(layout.group_count, 3);
    assert_int_equal(layout.page_bytes, 2 * 16 * 256);
    assert_int_equal(layout.groups[1].block_tokens, 16);
    assert_int_equal(layout.groups[1].layers, 2);
    assert_int_equal(layout.groups[1].block_pages, 1);
    assert_int_equal(layout.groups[2].block_tokens, 32);
    assert_int_equal(layout.groups[2].layers, 4);
    assert_int_equal(layout.groups[2].block_pages, 2);
}

/* Qwen3.5 9B: 8 full layers of 4,096 bytes a token, 24 states of 32 x 128 x 128 x 4 + 3 x 8,192 x 2
 * = 2,146,304 bytes, 524 tokens; over 8 ranks 1,024 bytes and an eighth of a state, 262 tokens. */
static void blocks_grow_to_the_size_of_a_state(void **state) {
    (void)state;
    const sli_architecture *qwen = model_of("qwen3.5-9b");
    sli_layout_options options = options_of(qwen);
    sli_layout layout = layout_with(qwen, &options);
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.page_bytes, 8 * 528 * 4096);
    assert_int_equal(layout.groups[0].block_tokens, 528);
    assert_int_equal(layout.groups[0].block_pages, 1);
    assert_int_equal(layout.groups[1].kind, SLI_GROUP_STATE);
    assert_string_equal(layout.groups[1].name, "state");
    assert_int_equal(layout.groups[1].block_tokens, 528);
    assert_int_equal(layout.groups[1].block_pages, 3);
    assert_int_equal(layout.groups[1].block_bytes, 24 * 2146304);
    assert_int_equal(layout.align_tokens, 528);
    options.block_tokens = 7;
    assert_int_equal(layout_with(qwen, &options).groups[0].block_tokens, 525);
    options.block_tokens = 1000;
    assert_int_equal(layout_with(qwen, &options).groups[0].block_tokens, 1000);
    options.tp = 8;
    options.block_tokens = 16;
    layout = layout_with(qwen, &options);
    assert_int_equal(layout.groups[0].block_tokens, 272);
    assert_int_equal(layout.page_bytes, 8 * 272 * 1024);
}

/* Windows of 128 bytes a token beside a state of 1,408 bytes: three blocks of 4 tokens hold it, and
 * they are the blocks of the engine although nothing grows. */
static void windows_grow_to_the_size_of_a_state_too(void **state) {
    (void)state;
    const sli_architecture *model = model_with(WINDOW ", " STATE,
                                               "[[1, window, dense], [1, state, dense]]");
    sli_layout_options options = options_of(model);
    options.block_tokens = 4;
    sli_layout layout = layout_with(model, &options);
    assert_int_equal(layout.page_bytes, 12 * 128);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(layout.groups[i].block_tokens, 12);
    }
}

/* With layers that grow differently nothing is filled up: 2 x 128 + 3 x 144 = 688 bytes a token, 4
 * windows of 128, a state of 1,408; 16 x 688 = 11,008 and 16 x 512 = 8,192 have 256 in common, and
 * 1,408 has 128 with that. */
static void layers_that_grow_differently_count_in_a_common_unit(void **state) {
    (void)state;
    sli_layout layout = layout_of(model_with(FULL ", " SPARSE ", " WINDOW ", " STATE,
                                             "[[1, sparse, dense], [2, full, dense], [2, sparse, "
                                             "dense], [4, window, dense], [1, state, dense]]"));
    assert_int_equal(layout.page_bytes, 128);
    assert_int_equal(layout.groups[0].layers, 5);
    assert_int_equal(layout.groups[0].block_tokens, 16);
    assert_int_equal(layout.groups[0].block_pages, 16 * 688 / 128);
    assert_int_equal(layout.groups[1].block_pages, 16 * 512 / 128);
    assert_int_equal(layout.groups[2].block_pages, 11);
    for (int i = 0; i < 3; i++) {
        const sli_group *group = &layout.groups[i];
        assert_int_equal(group->block_bytes, group->block_pages * layout.page_bytes);
    }
}

/* ---- DeepSeek V4 ---- */

static void has_sizes(const sli_layout *layout, const int64_t *sizes_bytes, int count) {
    assert_int_equal(layout->size_count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(layout->sizes_bytes[i], sizes_bytes[i]);
    }
}

/* The three pools of vLLM's blog: entries of CSA, windows and states; index keys; entries of HCA.
 * In bf16 64 rows of 1,024 bytes and of 256, and 2 of 1,024, in multiples of 576. */
static void deepseek_v4_names_the_sizes_of_its_pages(void **state) {
    (void)state;
    static const struct {
        const char *cache;
        int64_t sizes_bytes[3];
    } cases[] = {{"fp8_ds_mla", {37440, 8640, 1728}},
                 {"fp8_ds_mla_mxfp4", {37440, 4608, 1728}},
                 {"bf16", {114 * 576, 29 * 576, 4 * 576}}};
    const sli_architecture *pro = model_of("deepseek-v4-pro");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sli_layout_options options = options_of(pro);
        options.cache = sli_cache_format_find(cases[i].cache);
        sli_layout layout = layout_with(pro, &options);
        has_sizes(&layout, cases[i].sizes_bytes, 3);
    }
    sli_layout plain = layout_of(model_of("llama-3.1-8b"));
    has_sizes(&plain, NULL, 0);
}

/* V4-Pro: 30 CSA layers, 31 HCA. Pages of 37,440, 8,640 and 1,728 bytes; 1 Mi tokens take 5.478
 * GiB, with index keys in mxfp4 (4,608) 5.016. */
static void deepseek_v4_has_the_pages_of_vllm(void **state) {
    (void)state;
    const sli_architecture *pro = model_of("deepseek-v4-pro");
    sli_layout_options options = options_of(pro);
    options.cache = sli_cache_format_find("fp8_ds_mla");
    sli_layout layout = layout_with(pro, &options);
    assert_int_equal(layout.page_bytes, 576);
    assert_int_equal(layout.align_tokens, 256);
    const sli_group *full = &layout.groups[0];
    assert_int_equal(full->block_tokens, 256);
    assert_int_equal(full->layers, 61);
    assert_int_equal(full->block_pages * 576, 30 * 37440 + 30 * 8640 + 31 * 1728);
    assert_int_equal(full->block_bytes, 30 * 64 * 584 + 30 * 64 * 132 + 31 * 2 * 584);
    double gib = to_gib((INT64_C(1) << 20) / 256 * full->block_pages * 576);
    assert_true(gib > 5.4775 && gib < 5.4785);
    options.cache = sli_cache_format_find("fp8_ds_mla_mxfp4");
    options.block_tokens = 16;
    layout = layout_with(pro, &options);
    assert_int_equal(layout.groups[0].block_pages * layout.page_bytes,
                     30 * 37440 + 30 * 4608 + 31 * 1728);
    gib = to_gib((INT64_C(1) << 20) / 256 * layout.groups[0].block_pages * layout.page_bytes);
    assert_true(gib > 5.0155 && gib < 5.0165);
    options.cache = &sli_cache_formats[0]; /* 64 x 1,024, 64 x 256, 2 x 1,024, aligned to 576 */
    layout = layout_with(pro, &options);
    assert_int_equal(layout.groups[0].block_pages * layout.page_bytes,
                     30 * 114 * 576 + 30 * 29 * 576 + 31 * 4 * 576);
}

/* Windows of 128 tokens in blocks of 64, one page of entries in each layer. States of 64 KiB (two
 * pages of 37,440 bytes) and 16 KiB (two of 8,640) in CSA, of 512 KiB (15 of 37,440) in HCA. */
static void deepseek_v4_keeps_windows_and_states_in_whole_pages(void **state) {
    (void)state;
    const sli_architecture *pro = model_of("deepseek-v4-pro");
    sli_layout_options options = options_of(pro);
    options.cache = sli_cache_format_find("fp8_ds_mla");
    sli_layout layout = layout_with(pro, &options);
    assert_int_equal(layout.group_count, 3);
    const sli_group *window = group_of(&layout, SLI_GROUP_SLIDING);
    assert_int_equal(window->block_tokens, 64);
    assert_int_equal(window->span_tokens, 128);
    assert_int_equal(window->block_pages * 576, 61 * 37440);
    const sli_group *states = group_of(&layout, SLI_GROUP_STATE);
    assert_int_equal(states->layers, 61);
    assert_int_equal(states->block_tokens, 256);
    assert_int_equal(states->block_pages * 576, 30 * (2 * 37440 + 2 * 8640) + 31 * 15 * 37440);
    assert_int_equal(states->block_bytes, sli_state_kept(pro, options.cache, 1).fixed);
    /* Flash: two layers are nothing but windows. */
    layout = layout_of(model_of("deepseek-v4-flash"));
    assert_int_equal(layout.groups[0].layers, 41);
    assert_int_equal(group_of(&layout, SLI_GROUP_SLIDING)->layers, 43);
    assert_int_equal(group_of(&layout, SLI_GROUP_STATE)->layers, 41);
}

/* An entry of 32 bytes for 100 tokens: three of them at the most end in a block of 256. Three
 * layers of 96 bytes of entries, 64 x 32 of a window and 2 x 4 x 16 x 4 of state, in pages of 64
 * entries.
 */
static void any_ratio_has_room_for_whole_entries(void **state) {
    (void)state;
    sli_layout layout = layout_of(model_with(
        "entries: {type: compressed, q_heads: 2, head_dim: 16, q_lora: 8, o_lora: 8, o_groups: 1, "
        "window: 128 tokens, ratio: 100, state_span: 2 tokens, state_vectors: 4}",
        "[[3, entries, dense]]"));
    assert_int_equal(layout.page_bytes, 3 * 576);
    assert_int_equal(layout.groups[0].block_bytes, 3 * 96);
    assert_int_equal(layout.groups[0].block_pages, 1);
    assert_int_equal(layout.groups[1].block_bytes, 3 * 2048);
    assert_int_equal(layout.groups[1].block_pages, 4);
    assert_int_equal(layout.groups[2].block_bytes, 3 * 512);
    assert_int_equal(layout.groups[2].block_pages, 4);
}

/* Windows of equal spans and bytes a block, 64 x 256 and 256 x 64, but of other blocks. */
static void windows_in_other_blocks_are_other_windows(void **state) {
    (void)state;
    sli_layout layout = layout_of(model_with(
        "vectors: {type: compressed, q_heads: 2, head_dim: 128, q_lora: 8, o_lora: 8, o_groups: 1, "
        "window: 128 tokens}, "
        "rows: {type: gqa, q_heads: 1, kv_heads: 1, head_dim: 16, window: 128 tokens}",
        "[[1, vectors, dense], [1, rows, dense]]"));
    assert_int_equal(layout.group_count, 3);
    assert_int_equal(layout.groups[1].block_tokens, 64);
    assert_int_equal(layout.groups[1].block_bytes, 64 * 256);
    assert_int_equal(layout.groups[2].block_tokens, 256);
    assert_int_equal(layout.groups[2].block_bytes, 256 * 64);
}

/* ---- Options ---- */

static void gpt_oss_takes_what_its_windows_are_given(void **state) {
    (void)state;
    const sli_architecture *model = model_of("gpt-oss-20b");
    sli_state_bytes logical = sli_state_kept(model, &sli_cache_formats[0], 8192);
    assert_true(to_gib(32 * logical.cached) == 6.09375);
    static const struct {
        sli_window_pages window_pages;
        int64_t max_batched_tokens;
        double gib; /* 32 requests of 8,192 tokens */
    } cases[] = {
        {SLI_WINDOW_FREED, 8192, 6.10546875},     /* 9 blocks of 16 tokens at the worst */
        {SLI_WINDOW_RESERVED, 2048, 7.60546875},  /* ceil(2,175 / 16) + 1 = 137 */
        {SLI_WINDOW_RESERVED, 8192, 12.01171875}, /* ceil(8,192 / 16) + 1 = 513 */
        {SLI_WINDOW_IGNORED, 8192, 12.0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_layout_options options = options_of(model);
        options.window_pages = cases[i].window_pages;
        options.max_batched_tokens = cases[i].max_batched_tokens;
        options.max_model_tokens = 8192;
        sli_layout layout = layout_with(model, &options);
        int64_t pages = sli_layout_peak_pages(&layout, 8192, 1);
        assert_true(to_gib(32 * pages * layout.page_bytes) == cases[i].gib);
    }
}

/* Right where a token more would need another block: 39 + 105 tokens of a window of 40 are nine
 * blocks and one, 96 + 96 of a chunk twelve. */
static void reserves_for_a_window_or_a_chunk_and_a_step(void **state) {
    (void)state;
    const sli_architecture *model = model_with(
        FULL ", " WINDOW ", " CHUNK, "[[2, full, dense], [2, window, dense], [2, chunk, dense]]");
    static const struct {
        int64_t batched_tokens;
        int64_t context_tokens;
        int64_t window_blocks;
        int64_t chunk_blocks;
    } cases[] = {{105, 9999, 10, 13}, {106, 9999, 11, 13}, {96, 9999, 10, 12},
                 {97, 9999, 10, 13},  {97, 64, 5, 4},      {97, 65, 6, 5}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_layout_options options = options_of(model);
        options.window_pages = SLI_WINDOW_RESERVED;
        options.max_batched_tokens = cases[i].batched_tokens;
        options.max_model_tokens = cases[i].context_tokens;
        sli_layout layout = layout_with(model, &options);
        assert_int_equal(layout.group_count, 3);
        assert_int_equal(layout.groups[1].kind, SLI_GROUP_FIXED);
        assert_string_equal(layout.groups[1].name, "sliding 40");
        assert_int_equal(layout.groups[1].span_tokens, 0);
        assert_int_equal(layout.groups[1].fixed_blocks, cases[i].window_blocks);
        assert_int_equal(layout.groups[2].kind, SLI_GROUP_FIXED);
        assert_string_equal(layout.groups[2].name, "chunked 96");
        assert_int_equal(layout.groups[2].fixed_blocks, cases[i].chunk_blocks);
        int64_t fixed_pages = cases[i].window_blocks + cases[i].chunk_blocks;
        assert_int_equal(sli_layout_pages(&layout, 0), fixed_pages);
        assert_int_equal(sli_layout_pages(&layout, 17), fixed_pages + 2);
    }
}

static void ignored_windows_join_what_grows(void **state) {
    (void)state;
    const sli_architecture *model = model_with(
        FULL ", " WINDOW ", " CHUNK, "[[2, full, dense], [3, window, dense], [4, chunk, dense]]");
    sli_layout_options options = options_of(model);
    options.window_pages = SLI_WINDOW_IGNORED;
    sli_layout layout = layout_with(model, &options);
    assert_int_equal(layout.group_count, 1);
    assert_int_equal(layout.groups[0].layers, 9);
    assert_int_equal(layout.page_bytes, 9 * 16 * 128);
}

static void shares_nothing_that_is_reserved_or_not_saved(void **state) {
    (void)state;
    static const struct {
        const char *name;
        sli_window_pages window_pages;
        sli_state_saves state_saves;
        bool is_shareable;
    } cases[] = {
        {"gpt-oss-20b", SLI_WINDOW_FREED, SLI_STATE_NONE, true},
        {"gpt-oss-20b", SLI_WINDOW_IGNORED, SLI_STATE_ALIGNED, true},
        {"gpt-oss-20b", SLI_WINDOW_RESERVED, SLI_STATE_ALIGNED, false},
        {"llama-3.1-8b", SLI_WINDOW_RESERVED, SLI_STATE_NONE, true},
        {"qwen3.5-9b", SLI_WINDOW_RESERVED, SLI_STATE_ALIGNED, true},
        {"qwen3.5-9b", SLI_WINDOW_FREED, SLI_STATE_NONE, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const sli_architecture *model = model_of(cases[i].name);
        sli_layout_options options = options_of(model);
        options.window_pages = cases[i].window_pages;
        options.state_saves = cases[i].state_saves;
        assert_int_equal(layout_with(model, &options).is_shareable, cases[i].is_shareable);
    }
}

/* ---- Refusals ---- */

static void is_refused(const sli_architecture *model, const sli_layout_options *options,
                       const char *clause) {
    sli_layout layout = {.page_bytes = 77};
    char why[128] = "";
    assert_int_equal(sli_layout_make(model, options, &layout, why, sizeof why), SL_ERR_CONFIG);
    assert_string_equal(why, clause);
    assert_int_equal(layout.page_bytes, 77); /* untouched */
}

static void refuses_what_cannot_lie_in_pages(void **state) {
    (void)state;
    const sli_architecture *chunked = model_with(FULL ", " CHUNK,
                                                 "[[1, full, dense], [1, chunk, dense]]");
    sli_layout_options options = options_of(chunked);
    options.block_tokens = 64;
    is_refused(chunked, &options, "a chunk of 96 tokens is no multiple of a block of 64 tokens");
    /* 48 are three blocks of 16 tokens of its own, but one and a half of what grows. */
    const sli_architecture *mixed = model_with(
        FULL ", wide: {type: gqa, q_heads: 4, kv_heads: 4, head_dim: 16, chunk: 48 tokens}",
        "[[1, full, dense], [1, wide, dense]]");
    options.block_tokens = 16;
    is_refused(mixed, &options, "a chunk of 48 tokens is no multiple of a block of 32 tokens");
    const sli_architecture *empty = model_with("no: {type: none}", "[[2, no, dense]]");
    options = options_of(empty);
    is_refused(empty, &options, "no layer keeps anything");
}

/* Seven windows and what grows are eight sorts. */
static void refuses_more_sorts_than_it_has_room_for(void **state) {
    (void)state;
    char mixers[1024] = FULL;
    char layers[256] = "[[1, full, dense]";
    for (int i = 1; i <= 8; i++) {
        char mixer[96];
        char run[32];
        snprintf(mixer, sizeof mixer, ", w%d: {" GQA ", window: %d tokens}", i, i);
        snprintf(run, sizeof run, ", [1, w%d, dense]", i);
        strcat(mixers, mixer);
        strcat(layers, run);
        char closed[sizeof layers + 1];
        snprintf(closed, sizeof closed, "%s]", layers);
        const sli_architecture *model = model_with(mixers, closed);
        sli_layout_options options = options_of(model);
        if (i < 8) {
            assert_int_equal(layout_with(model, &options).group_count, 1 + i);
        } else {
            is_refused(model, &options, "its layers keep more than 8 different things");
        }
        options.cache = sli_cache_format_find("kivi2"); /* and a group of rows that wait */
        if (i < 7) {
            assert_int_equal(layout_with(model, &options).group_count, 2 + i);
        } else {
            is_refused(model, &options, "its layers keep more than 8 different things");
        }
    }
}

#define NARROW(name, dim)                                                                          \
    name ": {type: gqa, q_heads: 1, kv_heads: 1, head_dim: " dim ", window: 8 tokens}"

/* The widest layer has 1,033 times the block of the narrowest; or, of 65,536 elements beside 1, 3
 * and 5, 65,536 and 21,845 and 13,107 times, which is beyond 2^31 tokens before all have met. */
static void refuses_blocks_whose_ends_hardly_meet(void **state) {
    (void)state;
    const sli_architecture *model = model_with(NARROW("a", "1033") ", " NARROW("b", "1"),
                                               "[[1, a, dense], [1, b, dense]]");
    sli_layout_options options = options_of(model);
    is_refused(model, &options, "the blocks of its layers end together only every 16528 tokens");
    model = model_with(
        NARROW("a", "65536") ", " NARROW("b", "1") ", " NARROW("c", "3") ", " NARROW("d", "5"),
        "[[1, a, dense], [1, b, dense], [1, c, dense], [1, d, dense]]");
    is_refused(model, &options, "the blocks of its layers never end together");
}

/* A token of a layer has 2 x 65,536 x 65,536 x 2 bytes; a state 10^6 x 65,536 x 65,536 x 4. */
#define WIDE "wide: {type: gqa, q_heads: 65536, kv_heads: 65536, head_dim: 65536}"
#define HUGE                                                                                       \
    "huge: {type: recurrent, rule: linear, heads: 1000000, key_dim: 65536, value_dim: 65536}"

static void refuses_what_no_memory_holds(void **state) {
    (void)state;
    const sli_architecture *wide = model_with(WIDE, "[[100, wide, dense]]");
    sli_layout_options options = options_of(wide);
    options.block_tokens = 1000000;
    is_refused(wide, &options, "a block of all its layers is beyond all memory");
    options.block_tokens = 16;
    const sli_architecture *narrow = model_with(FULL ", " HUGE,
                                                "[[1, full, dense], [1, huge, dense]]");
    is_refused(narrow, &options, "its states are too large to share pages with its rows");
    const sli_architecture *many = model_with(WIDE ", " HUGE,
                                              "[[100, wide, dense], [1, huge, dense]]");
    is_refused(many, &options, "its states are too large to share pages with its rows");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_models_have_a_page_for_a_block),
        cmocka_unit_test(layers_that_all_grow_share_one_page),
        cmocka_unit_test(a_model_of_windows_has_an_empty_growing_group),
        cmocka_unit_test(a_model_of_states_has_a_page_for_all_of_them),
        cmocka_unit_test(gemma_3_has_seven_groups_and_eight_layers_of_padding),
        cmocka_unit_test(nearly_equal_counts_share_the_larger_page),
        cmocka_unit_test(who_needs_fewer_bytes_has_more_tokens_a_block),
        cmocka_unit_test(who_reads_the_rows_of_others_has_no_pages),
        cmocka_unit_test(what_does_not_divide_is_filled_up),
        cmocka_unit_test(windows_of_one_span_may_differ),
        cmocka_unit_test(blocks_grow_to_the_size_of_a_state),
        cmocka_unit_test(windows_grow_to_the_size_of_a_state_too),
        cmocka_unit_test(layers_that_grow_differently_count_in_a_common_unit),
        cmocka_unit_test(deepseek_v4_names_the_sizes_of_its_pages),
        cmocka_unit_test(deepseek_v4_has_the_pages_of_vllm),
        cmocka_unit_test(deepseek_v4_keeps_windows_and_states_in_whole_pages),
        cmocka_unit_test(any_ratio_has_room_for_whole_entries),
        cmocka_unit_test(windows_in_other_blocks_are_other_windows),
        cmocka_unit_test(gpt_oss_takes_what_its_windows_are_given),
        cmocka_unit_test(reserves_for_a_window_or_a_chunk_and_a_step),
        cmocka_unit_test(ignored_windows_join_what_grows),
        cmocka_unit_test(shares_nothing_that_is_reserved_or_not_saved),
        cmocka_unit_test(refuses_what_cannot_lie_in_pages),
        cmocka_unit_test(refuses_more_sorts_than_it_has_room_for),
        cmocka_unit_test(refuses_blocks_whose_ends_hardly_meet),
        cmocka_unit_test(refuses_what_no_memory_holds),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
