/* Caches of which the latest rows wait in bf16, how they lie in pages, by hand. */
#include "layout_models.h"

#include "kv/layout_held.h"
#include "model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static sli_layout layout_in(const sli_architecture *model, const char *cache) {
    sli_layout_options options = options_of(model);
    options.cache = sli_cache_format_find(cache);
    return layout_with(model, &options);
}

/* Llama 3.1 8B in kivi2: 48 bytes for a row of 128 elements, 256 keys and 256 values a token; 128
 * of each in bf16 are 16 MiB, 42.7 pages of 16 tokens. */
static void kivi_has_room_for_its_buffers_from_the_admission_on(void **state) {
    (void)state;
    sli_layout layout = layout_in(model_of("llama-3.1-8b"), "kivi2");
    assert_int_equal(layout.page_bytes, 16 * 512 * 48);
    assert_int_equal(layout.group_count, 2);
    assert_int_equal(layout.groups[0].block_pages, 1);
    assert_int_equal(layout.groups[0].block_bytes, layout.page_bytes);
    assert_int_equal(layout.groups[1].kind, SLI_GROUP_FIXED);
    assert_string_equal(layout.groups[1].name, "waiting in bf16");
    assert_int_equal(layout.groups[1].layers, 32);
    assert_int_equal(layout.groups[1].block_bytes, 128 * 512 * 256);
    assert_int_equal(layout.groups[1].block_pages, 43);
    assert_int_equal(layout.align_tokens, 16);
    assert_true(layout.has_buffers);
    assert_false(layout.is_shareable);
    assert_int_equal(sli_layout_pages(&layout, 0), 43);
    assert_int_equal(sli_layout_pages(&layout, 100), 43 + 7);
    assert_int_equal(sli_layout_peak_pages(&layout, 100, 9), 43 + 7);
    sli_layout four = layout_in(model_of("llama-3.1-8b"), "kivi4");
    assert_int_equal(four.page_bytes, 16 * 512 * 80);
    assert_int_equal(four.groups[1].block_pages, 26); /* 25.6 */
}

/* 2.8 of the reference: 3.025 bits at 32,768 tokens, where 128 values wait and no key does. Beyond
 * that the place of those values, an empty buffer of 128 keys, and 128 KiB of the last page. */
static void kivi_has_three_bits_and_what_its_buffers_take(void **state) {
    (void)state;
    const sli_architecture *llama = model_of("llama-3.1-8b");
    const sli_cache_format *kivi = sli_cache_format_find("kivi2");
    sli_layout layout = layout_in(llama, "kivi2");
    int64_t exact_bytes = sli_state_kept(llama, kivi, 32768).cached;
    int64_t bf16_bytes = sli_state_kept(llama, &sli_cache_formats[0], 32768).cached;
    int64_t held_bytes = sli_layout_pages(&layout, 32768) * layout.page_bytes;
    double exact_bits = 16.0 * (double)exact_bytes / (double)bf16_bytes;
    assert_true(exact_bits > 3.0245 && exact_bits < 3.0255);
    assert_int_equal(held_bytes, (2048 + 43) * 393216);
    assert_int_equal(held_bytes - exact_bytes,
                     128 * 256 * 48 + 128 * 256 * 256 + (43 * 393216 - 128 * 512 * 256));
    double held_bits = 16.0 * (double)held_bytes / (double)bf16_bytes;
    assert_true(held_bits > 3.0625 && held_bits < 3.0635);
}

/* Never more than there are: of a window of 40 tokens 40 rows, of a chunk of 96 as many, of a
 * context of 100 tokens 100. A row is 2 x 16 x 2 = 64 bytes, keys and values 128. */
static void buffers_are_no_longer_than_what_is_kept(void **state) {
    (void)state;
    const sli_architecture *model = model_with(
        FULL ", " WINDOW ", " CHUNK ", " STATE,
        "[[2, full, dense], [3, window, dense], [5, chunk, dense], [7, state, dense]]");
    static const struct {
        int64_t max_model_tokens;
        int64_t bytes;
    } cases[] = {{10000, (2 * 128 + 3 * 40 + 5 * 96) * 128},
                 {100, (2 * 100 + 3 * 40 + 5 * 96) * 128},
                 {30, (2 + 3 + 5) * 30 * 128}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sli_layout_options options = options_of(model);
        options.max_model_tokens = cases[i].max_model_tokens;
        sli_layout plain = layout_with(model, &options);
        options.cache = sli_cache_format_find("kivi2");
        sli_layout layout = layout_with(model, &options);
        assert_int_equal(layout.group_count, plain.group_count + 1);
        const sli_group *buffers = group_of(&layout, SLI_GROUP_FIXED);
        assert_int_equal(buffers->layers, 10);
        assert_int_equal(buffers->block_bytes, cases[i].bytes);
        assert_int_equal(buffers->block_pages,
                         (cases[i].bytes + layout.page_bytes - 1) / layout.page_bytes);
    }
}

/* Reserved windows keep their own group; latents of MLA, which KIVI leaves in bf16, do not wait. */
static void only_keys_and_values_wait(void **state) {
    (void)state;
    const sli_architecture *gpt = model_of("gpt-oss-20b");
    sli_layout_options options = options_of(gpt);
    options.cache = sli_cache_format_find("kivi2");
    options.window_pages = SLI_WINDOW_RESERVED;
    options.tp = 8;
    sli_layout layout = layout_with(gpt, &options);
    assert_int_equal(layout.group_count, 3);
    assert_string_equal(layout.groups[1].name, "sliding 128");
    assert_string_equal(layout.groups[2].name, "waiting in bf16");
    assert_int_equal(layout.groups[2].block_bytes, 24 * 128 * 2048 / 8);
    const sli_architecture *v3 = model_of("deepseek-v3");
    sli_layout latents = layout_in(v3, "kivi2");
    assert_int_equal(latents.group_count, 1);
    assert_int_equal(latents.page_bytes, layout_of(v3).page_bytes);
    assert_false(latents.has_buffers);
    assert_true(latents.is_shareable);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kivi_has_room_for_its_buffers_from_the_admission_on),
        cmocka_unit_test(kivi_has_three_bits_and_what_its_buffers_take),
        cmocka_unit_test(buffers_are_no_longer_than_what_is_kept),
        cmocka_unit_test(only_keys_and_values_wait),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
