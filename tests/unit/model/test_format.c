#include "model/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static void is_printed_as(double value, const char *text) {
    char found[32];
    snprintf(found, sizeof found, "%.3f", value);
    assert_string_equal(found, text);
}

/* ---- Formats whose rows are all alike ---- */

/* Keys of 128 elements and latents of 512 + 64, by hand. */
static void a_row_weighs_its_groups_and_scales(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t key_bytes;
        int64_t latent_bytes;
    } rows[] = {{"bf16", 256, 1152},        {"fp8", 128, 576},         {"int8", 128 + 2, 576 + 2},
                {"q8_0", 4 * 34, 18 * 34},  {"q4_0", 4 * 18, 18 * 18}, {"nvfp4", 8 * 9, 36 * 9},
                {"mxfp4", 4 * 17, 18 * 17}, {"6bit", 96, 432},         {"kivi2", 48, 1152},
                {"fp8_ds_mla", 128, 656}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const sli_cache_format *format = sli_cache_format_find(rows[i].name);
        assert_non_null(format);
        assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 128), rows[i].key_bytes);
        assert_int_equal(sli_format_row_bytes(format, SLI_ROW_LATENT, 576), rows[i].latent_bytes);
    }
    assert_null(sli_cache_format_find("q9_9"));
}

static void a_part_of_a_group_is_a_whole_one(void **state) {
    (void)state;
    const sli_cache_format *format = sli_cache_format_find("q4_0");
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 1), 18);
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 33), 36);
}

static void without_a_residual_rows_add_up(void **state) {
    (void)state;
    for (const sli_cache_format *format = sli_cache_formats; format->name != NULL; format++) {
        for (int i = 0; !sli_format_has_residual(format) && i < SLI_ROW_COUNT; i++) {
            sli_row_sort sort = (sli_row_sort)i;
            assert_int_equal(sli_format_rows_bytes(format, sort, 128, 300, 1000),
                             300 * sli_format_row_bytes(format, sort, 128));
        }
    }
}

/* ---- KIVI ---- */

enum { WIDTH = 128 };

static int64_t kivi_bytes(sli_row_sort sort, int64_t rows, int64_t tokens) {
    return sli_format_rows_bytes(sli_cache_format_find("kivi2"), sort, WIDTH, rows, tokens);
}

static double bits_of(double bytes, int64_t tokens) {
    return 8.0 * bytes / (double)(2 * WIDTH * tokens);
}

static const int64_t lengths[] = {512, 2048, 4096, 32768};

/* ((16 r_K + 3 (T - r_K)) + (16 r_V + 3 (T - r_V))) / 2T, r_K = T mod 128, r_V = min(T, 128). */
static void kivi_has_the_bits_of_its_formula(void **state) {
    (void)state;
    static const char *const texts[] = {"4.625", "3.406", "3.203", "3.025"};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        int64_t bytes = kivi_bytes(SLI_ROW_KEY, lengths[i], lengths[i]) +
                        kivi_bytes(SLI_ROW_VALUE, lengths[i], lengths[i]);
        is_printed_as(bits_of((double)bytes, lengths[i]), texts[i]);
    }
}

/* The same with r_K at its mean: as many rows at each of the 128 moments between two flushes. */
static void kivi_has_the_bits_of_its_mean_residual(void **state) {
    (void)state;
    static const char *const texts[] = {"5.431", "3.608", "3.304", "3.038"};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        int64_t sum_bytes = 0;
        for (int64_t more = 0; more < 128; more++) {
            sum_bytes += kivi_bytes(SLI_ROW_KEY, lengths[i], lengths[i] + more) +
                         kivi_bytes(SLI_ROW_VALUE, lengths[i], lengths[i] + more);
        }
        is_printed_as(bits_of((double)sum_bytes / 128.0, lengths[i]), texts[i]);
    }
}

/* Token by token, as the published algorithm: a full buffer of keys is quantised in groups of 32
 * tokens a channel; the value that falls out of its buffer, in groups of 32 channels. */
static void kivi_is_what_its_buffers_hold(void **state) {
    (void)state;
    int64_t waiting_keys = 0;
    int64_t waiting_values = 0;
    int64_t key_groups = 0;
    int64_t value_groups = 0;
    for (int64_t tokens = 1; tokens <= 700; tokens++) {
        waiting_keys++;
        waiting_values++;
        if (waiting_keys == 128) {
            key_groups += waiting_keys / 32 * WIDTH;
            waiting_keys = 0;
        }
        if (waiting_values > 128) {
            value_groups += WIDTH / 32;
            waiting_values--;
        }
        assert_int_equal(kivi_bytes(SLI_ROW_KEY, tokens, tokens),
                         waiting_keys * WIDTH * 2 + key_groups * 12);
        assert_int_equal(kivi_bytes(SLI_ROW_VALUE, tokens, tokens),
                         waiting_values * WIDTH * 2 + value_groups * 12);
    }
}

/* Of 200 tokens 72 keys and 128 values wait. */
static void the_latest_rows_are_those_that_wait(void **state) {
    (void)state;
    assert_int_equal(kivi_bytes(SLI_ROW_KEY, 70, 200), 70 * 256);
    assert_int_equal(kivi_bytes(SLI_ROW_KEY, 75, 200), 72 * 256 + 3 * 48);
    assert_int_equal(kivi_bytes(SLI_ROW_VALUE, 70, 200), 70 * 256);
    assert_int_equal(kivi_bytes(SLI_ROW_VALUE, 130, 200), 128 * 256 + 2 * 48);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_weighs_its_groups_and_scales),
        cmocka_unit_test(a_part_of_a_group_is_a_whole_one),
        cmocka_unit_test(without_a_residual_rows_add_up),
        cmocka_unit_test(kivi_has_the_bits_of_its_formula),
        cmocka_unit_test(kivi_has_the_bits_of_its_mean_residual),
        cmocka_unit_test(kivi_is_what_its_buffers_hold),
        cmocka_unit_test(the_latest_rows_are_those_that_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
