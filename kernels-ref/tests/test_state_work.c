/*
 * The closed forms of what is kept between steps: by hand where that is short, and against the
 * model where both speak of the same.
 */
#include "figures/copy.h"
#include "model/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Three blocks of 8208 bytes are two pieces of 8 KiB each; 128 threads of each read both lists. */
static void copies_by_hand(void **state) {
    (void)state;
    kref_work work = kref_block_copy_work(3, 8208, 2);
    assert_int_equal(work.stored_bytes, 3 * 8208);
    assert_int_equal(work.loaded_bytes, 3 * 8208 + 3 * 2 * 128 * 2 * 4);
    assert_int_equal(work.algorithmic_bytes, 2 * 3 * 8208);
    work = kref_gather_rows_work(5, 4, 576);
    assert_int_equal(work.stored_bytes, 5 * 1152);
    assert_int_equal(work.loaded_bytes, 4 * 1152 + 32 * 4 * (5 + 4));
}

/* Two tokens of one head of 128, one with a slot: 16 lanes a row, so one block each for keys and
 * values. */
static void append_by_hand(void **state) {
    (void)state;
    kref_work work = kref_kv_append_work(KREF_CACHE_INT8, 2, 1, 1, 128);
    assert_int_equal(work.stored_bytes, 2 * 130);
    assert_int_equal(work.loaded_bytes, 2 * 256 + 2 * 2 * 16 * 4);
    assert_int_equal(work.vector_flops, 2 * 128 * (16 + 4 + 2 + 8));
    work = kref_kv_append_work(KREF_CACHE_Q4_0, 2, 1, 1, 128);
    assert_int_equal(work.stored_bytes, 2 * 72);
    assert_int_equal(work.vector_flops, 2 * 128 * (14 + 4 + 3 + 16));
    work = kref_kv_append_work(KREF_CACHE_FP8, 2, 1, 1, 128);
    assert_int_equal(work.stored_bytes, 2 * 128);
    assert_int_equal(work.loaded_bytes, 2 * 256 + 2 * 2 * 16 * 4 + 2 * 16 * 4);
}

/* A row weighs what the model says, keys and values alike. */
static void rows_weigh_what_the_model_says(void **state) {
    (void)state;
    const struct {
        const char *name;
        kref_cache_format format;
    } formats[] = {{"fp8", KREF_CACHE_FP8}, {"int8", KREF_CACHE_INT8}, {"q4_0", KREF_CACHE_Q4_0}};
    for (int i = 0; i < 3; i++) {
        const sli_cache_format *its = sli_cache_format_find(formats[i].name);
        assert_non_null(its);
        for (int64_t head_dim = 32; head_dim <= 256; head_dim *= 2) {
            int64_t bytes = kref_cache_row_bytes(formats[i].format, head_dim);
            assert_int_equal(bytes, sli_format_row_bytes(its, SLI_ROW_KEY, head_dim));
            assert_int_equal(bytes, sli_format_row_bytes(its, SLI_ROW_VALUE, head_dim));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_by_hand),
        cmocka_unit_test(append_by_hand),
        cmocka_unit_test(rows_weigh_what_the_model_says),
    };
    return cmocka_run_group_tests_name("state_work", tests, NULL, NULL);
}
