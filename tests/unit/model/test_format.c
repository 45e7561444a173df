#include "model/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* As printed with so many decimals, that of the figure that it is compared with. */
static void is_printed_as(double value, const char *text) {
    char found[32];
    const char *point = strchr(text, '.');
    snprintf(found, sizeof found, "%.*f", (int)strlen(point + 1), value);
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
                {"kivi4", 80, 1152},        {"fp8_ds_mla", 128, 656}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const sli_cache_format *format = sli_cache_format_find(rows[i].name);
        assert_non_null(format);
        assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 1, 128), rows[i].key_bytes);
        assert_int_equal(sli_format_row_bytes(format, SLI_ROW_LATENT, 1, 576),
                         rows[i].latent_bytes);
    }
    assert_null(sli_cache_format_find("q9_9"));
}

static void a_part_of_a_group_is_a_whole_one(void **state) {
    (void)state;
    const sli_cache_format *format = sli_cache_format_find("q4_0");
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 1, 1), 18);
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 1, 33), 36);
}

static void without_a_residual_rows_add_up(void **state) {
    (void)state;
    for (const sli_cache_format *format = sli_cache_formats; format->name != NULL; format++) {
        for (int i = 0; !sli_format_has_residual(format) && i < SLI_ROW_COUNT; i++) {
            sli_row_sort sort = (sli_row_sort)i;
            assert_int_equal(sli_format_rows_bytes(format, sort, 8, 128, 300, 1000),
                             300 * sli_format_row_bytes(format, sort, 8, 128));
        }
    }
}

/* Of formats that keep nothing of a token but its rows. */
static void heads_add_up(void **state) {
    (void)state;
    static const char *const names[] = {"bf16", "int8", "q4_0", "kivi2", "turboquant_3bit_nc"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const sli_cache_format *format = sli_cache_format_find(names[i]);
        assert_int_equal(sli_format_row_bytes(format, SLI_ROW_VALUE, 8, 128),
                         8 * sli_format_row_bytes(format, SLI_ROW_VALUE, 1, 128));
        assert_int_equal(sli_format_rows_bytes(format, SLI_ROW_VALUE, 8, 128, 300, 1000),
                         8 * sli_format_rows_bytes(format, SLI_ROW_VALUE, 1, 128, 300, 1000));
    }
}

/* ---- Names ---- */

/* vLLM's --kv-cache-dtype and --dtype, November 2026. */
static void formats_have_the_names_of_engines(void **state) {
    (void)state;
    static const char *const bf16[] = {"bf16", "bfloat16", "fp16", "float16", "half"};
    static const char *const fp8[] = {"fp8", "fp8_e4m3", "fp8_e5m2"};
    for (size_t i = 0; i < COUNT_OF(bf16); i++) {
        assert_string_equal(sli_cache_format_find(bf16[i])->name, "bf16");
        assert_string_equal(sli_weight_format_find(bf16[i])->name, "bf16");
    }
    for (size_t i = 0; i < COUNT_OF(fp8); i++) {
        assert_string_equal(sli_cache_format_find(fp8[i])->name, "fp8");
        assert_string_equal(sli_weight_format_find(fp8[i])->name, "fp8");
    }
    assert_string_equal(sli_cache_format_find("auto")->name, "bf16");
    assert_null(sli_weight_format_find("auto"));
    assert_null(sli_cache_format_find("fp32"));
}

static void all_formats_are_named_in_order(void **state) {
    (void)state;
    size_t i = 0;
    for (; sli_cache_formats[i].name != NULL; i++) {
        assert_string_equal(sli_cache_format_names[i], sli_cache_formats[i].name);
    }
    assert_null(sli_cache_format_names[i]);
    i = 0;
    for (; sli_weight_formats[i].name != NULL; i++) {
        assert_string_equal(sli_weight_format_names[i], sli_weight_formats[i].name);
    }
    assert_null(sli_weight_format_names[i]);
}

static void is_plainly(const char *name, const char *plainest, int kept_count,
                       const sli_row_sort *sorts) {
    bool kept[SLI_ROW_COUNT] = {false};
    for (int i = 0; i < kept_count; i++) {
        kept[sorts[i]] = true;
    }
    const sli_cache_format *found = sli_cache_format_plainest(sli_cache_format_find(name), kept);
    assert_string_equal(found->name, plainest);
}

static void some_formats_do_no_more_than_plainer_ones(void **state) {
    (void)state;
    const sli_row_sort rows[] = {SLI_ROW_KEY, SLI_ROW_VALUE};
    const sli_row_sort latents[] = {SLI_ROW_LATENT, SLI_ROW_INDEX};
    is_plainly("kivi2", "kivi2", 2, rows);
    is_plainly("kivi2", "bf16", 2, latents);
    is_plainly("kvquant_nuq3", "bf16", 1, latents);
    is_plainly("fp8_ds_mla", "fp8", 2, rows);
    is_plainly("fp8_ds_mla", "fp8_ds_mla", 1, latents);
    is_plainly("fp8_ds_mla_mxfp4", "fp8_ds_mla", 1, latents);
    is_plainly("fp8_ds_mla_mxfp4", "fp8_ds_mla_mxfp4", 2, latents);
    is_plainly("int8", "int8", 2, rows);
    is_plainly("int8", "bf16", 0, rows);
}

/* ---- KIVI ---- */

enum { WIDTH = 128 };

static int64_t kivi_bytes(sli_row_sort sort, int64_t rows, int64_t tokens) {
    return sli_format_rows_bytes(sli_cache_format_find("kivi2"), sort, 1, WIDTH, rows, tokens);
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
    const sli_cache_format *kivi = sli_cache_format_find("kivi2");
    int64_t waiting_keys = 0;
    int64_t waiting_values = 0;
    int64_t most_keys = 0;
    int64_t key_groups = 0;
    int64_t value_groups = 0;
    for (int64_t tokens = 1; tokens <= 700; tokens++) {
        waiting_keys++;
        waiting_values++;
        most_keys = waiting_keys > most_keys ? waiting_keys : most_keys;
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
        assert_int_equal(sli_format_residual_rows(kivi, SLI_ROW_KEY, tokens), waiting_keys);
        assert_int_equal(sli_format_residual_rows(kivi, SLI_ROW_VALUE, tokens), waiting_values);
    }
    assert_int_equal(sli_format_residual_most(kivi, SLI_ROW_KEY), most_keys);
    assert_int_equal(sli_format_residual_most(kivi, SLI_ROW_VALUE), waiting_values);
    assert_int_equal(sli_format_residual_most(kivi, SLI_ROW_LATENT), 0);
}

/* Of 200 tokens 72 keys and 128 values wait. */
static void the_latest_rows_are_those_that_wait(void **state) {
    (void)state;
    assert_int_equal(kivi_bytes(SLI_ROW_KEY, 70, 200), 70 * 256);
    assert_int_equal(kivi_bytes(SLI_ROW_KEY, 75, 200), 72 * 256 + 3 * 48);
    assert_int_equal(kivi_bytes(SLI_ROW_VALUE, 70, 200), 70 * 256);
    assert_int_equal(kivi_bytes(SLI_ROW_VALUE, 130, 200), 128 * 256 + 2 * 48);
}

/* The formula with 5 bits behind the residual: 5 + (16 - 5) x 128 / 2T where no key waits. */
static void kivi_in_four_bits_has_five(void **state) {
    (void)state;
    static const char *const texts[] = {"6.375", "5.344", "5.172", "5.021"};
    const sli_cache_format *format = sli_cache_format_find("kivi4");
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        int64_t tokens = lengths[i];
        int64_t bytes = sli_format_rows_bytes(format, SLI_ROW_KEY, 1, WIDTH, tokens, tokens) +
                        sli_format_rows_bytes(format, SLI_ROW_VALUE, 1, WIDTH, tokens, tokens);
        is_printed_as(bits_of((double)bytes, tokens), texts[i]);
    }
}

/* Where 32 rows wait, of 498 tokens 18 keys do: 498 = 15 x 32 + 18. Quantised rows stay as they
 * are. */
static void kivi_may_have_fewer_rows_wait(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t row_bytes;
    } formats[] = {{"kivi2_r32", 48}, {"kivi4_r32", 80}};
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const sli_cache_format *format = sli_cache_format_find(formats[i].name);
        assert_non_null(format);
        assert_int_equal(sli_format_rows_bytes(format, SLI_ROW_KEY, 1, WIDTH, 498, 498),
                         18 * 256 + 480 * formats[i].row_bytes);
        assert_int_equal(sli_format_rows_bytes(format, SLI_ROW_VALUE, 1, WIDTH, 498, 498),
                         32 * 256 + 466 * formats[i].row_bytes);
        assert_int_equal(sli_format_residual_most(format, SLI_ROW_KEY), 32);
        assert_int_equal(sli_format_residual_most(format, SLI_ROW_VALUE), 32);
        assert_int_equal(sli_format_residual_most(format, SLI_ROW_LATENT), 0);
    }
}

/* ---- KVQuant and TurboQuant ---- */

/* Bytes of the keys and the values that a token leaves in a layer. */
static int64_t layer_bytes(const char *name, int64_t heads) {
    const sli_cache_format *format = sli_cache_format_find(name);
    assert_non_null(format);
    return sli_format_row_bytes(format, SLI_ROW_KEY, heads, WIDTH) +
           sli_format_row_bytes(format, SLI_ROW_VALUE, heads, WIDTH);
}

static double element_bits(const char *name, int64_t heads) {
    return 8.0 * (double)layer_bytes(name, heads) / (double)(2 * heads * WIDTH);
}

/* 4,096 codes of 3 bits, 41 outliers of 2 + 2 bytes, a pointer of 4; 4 bytes of scales of values.
 */
static void kvquant_keeps_codes_outliers_and_pointers(void **state) {
    (void)state;
    const sli_cache_format *format = sli_cache_format_find("kvquant_nuq3");
    int64_t key_bytes = 4096 * 3 / 8 + 41 * 4 + 4;
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 32, WIDTH), key_bytes);
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_VALUE, 32, WIDTH), key_bytes + 4);
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 1, 100), 13 * 3 + 1 * 4 + 4);
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_KEY, 1, 101), 13 * 3 + 2 * 4 + 4);
    assert_int_equal(sli_format_row_bytes(format, SLI_ROW_LATENT, 1, 576), 1152);
}

/* Widths, savings and gigabytes of LLaMA-7B (32 layers of 32 heads) at 128 Ki tokens as published:
 * tables 1, 2 and 4 and section 4.1. */
static void kvquant_has_the_published_widths(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *bits;
        const char *saving;
        const char *gib;
    } rows[] = {{"kvquant_nuq4", "4.33", "3.7", "17.3"},
                {"kvquant_nuq3", "3.33", "4.8", "13.3"},
                {"kvquant_nuq2", "2.33", "6.9", "9.3"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        is_printed_as(element_bits(rows[i].name, 32), rows[i].bits);
        is_printed_as(16.0 / element_bits(rows[i].name, 32), rows[i].saving);
        is_printed_as(32.0 * (double)layer_bytes(rows[i].name, 32) * 0x1p17 / 0x1p30, rows[i].gib);
    }
}

/* Exactly the nominal width where heads have 128 elements. */
static void turboquant_has_its_nominal_widths(void **state) {
    (void)state;
    is_printed_as(element_bits("turboquant_2.5", 8), "2.500");
    is_printed_as(element_bits("turboquant_3.5", 8), "3.500");
}

/*
 * vLLM's slots of a head of 128: fp8 keys, 128 bytes; codes of 3 bits, 48, of 4, 64; a norm of 2;
 * scale and zero point of 4. Capacities against bf16 as its study of May 2026 has them, with the
 * two first and two last layers in bf16: 2.4 times for k8v4 of Llama 70B (80 layers), and from 2.3
 * to 3.7 for Qwen3 30B (48 layers; 3.76, which the study cuts).
 */
static double capacity(const char *name, int64_t layers) {
    int64_t plain_bytes = layer_bytes("bf16", 1);
    return (double)(layers * plain_bytes) /
           (double)(4 * plain_bytes + (layers - 4) * layer_bytes(name, 1));
}

static void turboquant_of_vllm_has_its_slots_and_capacities(void **state) {
    (void)state;
    assert_int_equal(layer_bytes("turboquant_k8v4", 1), 128 + 64 + 4);
    assert_int_equal(layer_bytes("turboquant_4bit_nc", 1), 64 + 2 + 64 + 4);
    assert_int_equal(layer_bytes("turboquant_k3v4_nc", 1), 48 + 2 + 64 + 4);
    assert_int_equal(layer_bytes("turboquant_3bit_nc", 1), 48 + 2 + 48 + 4);
    is_printed_as(capacity("turboquant_k8v4", 80), "2.4");
    is_printed_as(capacity("turboquant_k8v4", 48), "2.3");
    is_printed_as(capacity("turboquant_3bit_nc", 48), "3.76");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_weighs_its_groups_and_scales),
        cmocka_unit_test(a_part_of_a_group_is_a_whole_one),
        cmocka_unit_test(without_a_residual_rows_add_up),
        cmocka_unit_test(heads_add_up),
        cmocka_unit_test(formats_have_the_names_of_engines),
        cmocka_unit_test(all_formats_are_named_in_order),
        cmocka_unit_test(some_formats_do_no_more_than_plainer_ones),
        cmocka_unit_test(kivi_has_the_bits_of_its_formula),
        cmocka_unit_test(kivi_has_the_bits_of_its_mean_residual),
        cmocka_unit_test(kivi_is_what_its_buffers_hold),
        cmocka_unit_test(the_latest_rows_are_those_that_wait),
        cmocka_unit_test(kivi_in_four_bits_has_five),
        cmocka_unit_test(kivi_may_have_fewer_rows_wait),
        cmocka_unit_test(kvquant_keeps_codes_outliers_and_pointers),
        cmocka_unit_test(kvquant_has_the_published_widths),
        cmocka_unit_test(turboquant_has_its_nominal_widths),
        cmocka_unit_test(turboquant_of_vllm_has_its_slots_and_capacities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
