#include "cost/collectives.h"
#include "cost/operators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

/* Figures by hand or by a few lines of Python from the formulas, never from this code. */

static sli_arena arena;
static const sli_device *h100;
static const sli_device *a100;

static int read_devices(void **state) {
    (void)state;
    sli_catalogue_site site = {0};
    sli_diag diag = {0};
    sl_err err = sli_device_read(&arena, "h100-sxm", site, &diag, &h100);
    if (err == SL_OK) {
        err = sli_device_read(&arena, "a100-80g", site, &diag, &a100);
    }
    sli_diag_print(&diag, stderr);
    sli_diag_fini(&diag);
    return err == SL_OK ? 0 : -1;
}

static int free_devices(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    return 0;
}

static void is_near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected))) {
        fail_msg("%.17g instead of %.17g", value, expected);
    }
}

static void pnorm_lies_between_maximum_and_sum(void **state) {
    (void)state;
    is_near(sli_pnorm(3, 4, 1), 7);
    is_near(sli_pnorm(3, 4, 2), 5);
    is_near(sli_pnorm(4, 3, 2), 5);
    is_near(sli_pnorm(3, 4, 500), 4);
    is_near(sli_pnorm(0, 4, 1.6), 4);
    is_near(sli_pnorm(4, 0, 1.6), 4);
    is_near(sli_pnorm(3e200, 4e200, 2), 5e200);
    assert_true(sli_pnorm(0, 0, 2) == 0);
    /* Below 1 it exceeds the sum: (1 + 1)^2 = 4. */
    is_near(sli_pnorm(1, 1, 0.5), 4);
}

/*
 * H100, one row through [6144 x 4096]: compute 2 x 6144 x 4096 / (.814 x 989e12) = 62.519 ns,
 * memory (4096 + 6144 x 4096 + 6144) x 2 / (.874 x 3.35e12) = 17,197.35 ns;
 * 3540 + (62.519^2.83 + 17197.35^2.83)^(1/2.83) = 20737.3531...
 */
static void gemm_is_bound_by_memory_with_few_rows(void **state) {
    (void)state;
    is_near(sli_gemm_ns(h100, &(sli_gemm){1, 6144, 4096}), 20737.353127268492);
    /* What computing adds to the memory time is below a picosecond. */
    double memory_ns = (4096.0 + 6144.0 * 4096.0 + 6144.0) * 2.0 / (.874 * 3.35e3);
    double added_ns = sli_gemm_ns(h100, &(sli_gemm){1, 6144, 4096}) - 3540 - memory_ns;
    assert_true(added_ns > 0 && added_ns < 1e-3);
}

/* Compute 2,390,058 ns, memory 206,280 ns; A100: 48,697.6 and 37,169.2 ns, p = 1.60. */
static void gemm_is_bound_by_compute_with_many_rows(void **state) {
    (void)state;
    is_near(sli_gemm_ns(h100, &(sli_gemm){8192, 28672, 4096}), 2395292.904156284);
    is_near(sli_gemm_ns(a100, &(sli_gemm){256, 6144, 4096}), 71127.4056068823);
}

static void gemm_without_rows_takes_no_time(void **state) {
    (void)state;
    assert_true(sli_gemm_ns(h100, &(sli_gemm){0, 6144, 4096}) == 0);
}

/* Llama-3.1-8B on one rank: Hq 32, Hkv 8, d 128. c = 2048 over nothing: F_pad = 4 x 32 x 128 x 2048
 * x 1088, crit = 4 x 128 x 128 x 2048, B = (2 x 8 + 2 x 32) x 128 x 2048 x 2. */
static void prefill_of_a_whole_prompt(void **state) {
    (void)state;
    sli_prefill_work work = {
        .tile_flops = 4.0 * 32 * 128 * 2048 * 1088,
        .critical_flops = 4.0 * 128 * 128 * 2048,
        .bytes = 80.0 * 128 * 2048 * 2,
    };
    is_near(sli_prefill_ns(h100, &work), 93076.23675253954);
}

/* 16 rows over 8192 tokens are padded to 128 rows and k + 72 keys; the longest thread block
 * (65,536 x 8208 FLOP on 1/132 of the device: 83.0 us) hides the FLOPs of all (26.6 us). */
static void prefill_of_a_small_chunk_waits_for_its_longest_block(void **state) {
    (void)state;
    sli_prefill_work work = {
        .tile_flops = 4.0 * 32 * 128 * 128 * (8192 + 72),
        .critical_flops = 4.0 * 128 * 128 * 8208,
        .bytes = 2.0 * (2 * 8 * 128 * 8208.0 + 2 * 32 * 128 * 16.0),
    };
    double with_block_ns = sli_prefill_ns(h100, &work);
    is_near(with_block_ns, 114491.65402335871);
    work.critical_flops = 0;
    assert_true(sli_prefill_ns(h100, &work) < 0.6 * with_block_ns);
}

/* Two chunks, 500 over 1000 and 100 over 0, on the A100, whose r is below 1. */
static void prefill_sums_over_chunks(void **state) {
    (void)state;
    sli_prefill_work work = {
        .tile_flops = 4.0 * 32 * 128 * (512 * (1000 + 314.0) + 128 * 114.0),
        .critical_flops = 4.0 * 128 * 128 * 1500,
        .bytes = 2.0 * (2 * 8 * 128 * 1600.0 + 2 * 32 * 128 * 600.0),
    };
    is_near(sli_prefill_ns(a100, &work), 111446.3356295556);
}

/* Rows that see 1025, 2049 and 513 keys; Hkv 8: 11,500 + .17 x 2049 + 4096 x 3587 / (.95 x 3.35e3)
 * + 23.8 x 24 = 11,500 + 348.33 + 4,616.607 + 571.2; in a graph .6 of the first, .5 of the last. */
static void decode_adds_its_four_terms(void **state) {
    (void)state;
    sli_decode_work work = {.bytes = 4096.0 * 3587, .longest_tokens = 2049, .row_heads = 24};
    is_near(sli_decode_ns(h100, &work, false), 17036.13706991359);
    is_near(sli_decode_ns(h100, &work, true), 12150.537069913591);
    assert_true(sli_decode_ns(h100, &(sli_decode_work){0}, true) == 0);
}

/* 2,200 + 8 x 256 x 4096 / (.5 x 3.35e3) */
static void elementwise_moves_bytes_at_half_the_bandwidth(void **state) {
    (void)state;
    is_near(sli_elementwise_ns(h100, 8.0 * 256 * 4096), 7208.124179104478);
    assert_true(sli_elementwise_ns(h100, 0) == 0);
}

/* 8 MiB: 4,530 + 6.56 x sqrt(8388608) + 8388608 x 1.75 / (1.06 x 450) = 4,530 + 18,999.91 +
 * 30,775.69. */
static void all_reduce_has_a_root_and_a_line(void **state) {
    (void)state;
    double bytes = 2.0 * 1024 * 4096;
    is_near(sli_all_reduce_ns(h100, 2, bytes), 35527.231833556936);
    is_near(sli_all_reduce_ns(h100, 4, bytes), 51680.29597413272);
    is_near(sli_all_reduce_ns(h100, 8, bytes), 54305.60501848188);
    assert_true(sli_all_reduce_ns(h100, 1, bytes) == 0);
    assert_true(sli_all_reduce_ns(h100, 8, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pnorm_lies_between_maximum_and_sum),
        cmocka_unit_test(gemm_is_bound_by_memory_with_few_rows),
        cmocka_unit_test(gemm_is_bound_by_compute_with_many_rows),
        cmocka_unit_test(gemm_without_rows_takes_no_time),
        cmocka_unit_test(prefill_of_a_whole_prompt),
        cmocka_unit_test(prefill_of_a_small_chunk_waits_for_its_longest_block),
        cmocka_unit_test(prefill_sums_over_chunks),
        cmocka_unit_test(decode_adds_its_four_terms),
        cmocka_unit_test(elementwise_moves_bytes_at_half_the_bandwidth),
        cmocka_unit_test(all_reduce_has_a_root_and_a_line),
    };
    return cmocka_run_group_tests(tests, read_devices, free_devices);
}
