#include "out/scale.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const double mib = 0x1p20;
static const double gib = 0x1p30;

static void has_ticks(const sli_scale *scale, size_t count, const double *ticks, double unit) {
    assert_int_equal(scale->tick_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabs(scale->ticks[i] - ticks[i] * unit) <= 1e-12 * ticks[i] * unit);
    }
}

/* ---- Linear ---- */

static void bytes_have_powers_of_two_from_nothing_on(void **state) {
    (void)state;
    const double values[] = {1.2 * gib, 64.0 * gib, 4.0 * gib};
    const double ticks[] = {0, 16, 32, 48, 64};
    sli_scale scale = sli_scale_fit(values, COUNT_OF(values), SLI_QUANTITY_BYTES);
    assert_false(scale.is_log);
    has_ticks(&scale, COUNT_OF(ticks), ticks, gib);
    assert_true(sli_scale_place(&scale, 0.0) == 0.0);
    assert_true(sli_scale_place(&scale, 48.0 * gib) == 0.75);
}

static void times_and_counts_have_ones_twos_and_fives(void **state) {
    (void)state;
    const double times[] = {13.38e6, 20.48e6};
    const double time_ticks[] = {0, 5, 10, 15, 20, 25};
    sli_scale scale = sli_scale_fit(times, COUNT_OF(times), SLI_QUANTITY_NS);
    has_ticks(&scale, COUNT_OF(time_ticks), time_ticks, 1e6);
    const double counts[] = {0, 7, 402};
    const double count_ticks[] = {0, 100, 200, 300, 400, 500};
    scale = sli_scale_fit(counts, COUNT_OF(counts), SLI_QUANTITY_COUNT);
    has_ticks(&scale, COUNT_OF(count_ticks), count_ticks, 1.0);
}

static void counts_are_whole(void **state) {
    (void)state;
    const double counts[] = {1, 2};
    const double ticks[] = {0, 1, 2};
    sli_scale scale = sli_scale_fit(counts, COUNT_OF(counts), SLI_QUANTITY_COUNT);
    has_ticks(&scale, COUNT_OF(ticks), ticks, 1.0);
}

static void without_values_there_is_a_scale_all_the_same(void **state) {
    (void)state;
    const double values[] = {NAN, 0.0, INFINITY};
    const double ticks[] = {0, 1};
    sli_scale scale = sli_scale_fit(values, COUNT_OF(values), SLI_QUANTITY_COUNT);
    has_ticks(&scale, COUNT_OF(ticks), ticks, 1.0);
    scale = sli_scale_fit(values, 1, SLI_QUANTITY_BYTES);
    has_ticks(&scale, COUNT_OF(ticks), ticks, 1.0);
}

/* ---- Logarithmic ---- */

static void more_than_two_decades_are_logarithmic(void **state) {
    (void)state;
    assert_false(sli_scale_wants_log(3.0, 300.0));
    assert_true(sli_scale_wants_log(3.0, 301.0));
    assert_false(sli_scale_wants_log(0.0, 301.0));
    const double values[] = {3.0, NAN, 301.0};
    assert_true(sli_scale_fit(values, 3, SLI_QUANTITY_COUNT).is_log);
    const double others[] = {3.0, 0.0, 301.0};
    assert_false(sli_scale_fit(others, 3, SLI_QUANTITY_COUNT).is_log);
}

/* 59 MiB lies above 2^25, 32 GiB is 2^35: at most seven steps over ten powers are steps of two, and
 * over eight as well. */
static void logarithmic_bytes_step_by_equal_powers_of_two(void **state) {
    (void)state;
    const double values[] = {59.0 * mib, 32.0 * gib};
    const double ticks[] = {16, 64, 256, 1024, 4096, 16384, 65536};
    sli_scale scale = sli_scale_fit(values, COUNT_OF(values), SLI_QUANTITY_BYTES);
    has_ticks(&scale, COUNT_OF(ticks), ticks, mib);
    assert_true(fabs(sli_scale_place(&scale, 16.0 * mib)) < 1e-12);
    assert_true(fabs(sli_scale_place(&scale, gib) - 0.5) < 1e-12);
    const double others[] = {gib, 256.0 * gib};
    const double fewer[] = {1, 4, 16, 64, 256};
    scale = sli_scale_fit(others, COUNT_OF(others), SLI_QUANTITY_BYTES);
    has_ticks(&scale, COUNT_OF(fewer), fewer, gib);
}

static void logarithmic_counts_step_by_powers_of_ten(void **state) {
    (void)state;
    const double values[] = {1, 1100};
    const double ticks[] = {1, 10, 100, 1000, 10000};
    sli_scale scale = sli_scale_fit(values, COUNT_OF(values), SLI_QUANTITY_COUNT);
    has_ticks(&scale, COUNT_OF(ticks), ticks, 1.0);
}

/* ---- All of them ---- */

static void every_value_lies_on_its_scale(void **state) {
    (void)state;
    static const double ratios[] = {1.0, 1.7, 99.0, 101.0, 3e4, 7e9};
    for (int quantity = SLI_QUANTITY_COUNT; quantity <= SLI_QUANTITY_NS; quantity++) {
        for (double high = 1.0; high < 1e18; high *= 1.37) {
            for (size_t i = 0; i < COUNT_OF(ratios); i++) {
                const double values[] = {high / ratios[i], high};
                sli_scale scale = sli_scale_fit(values, 2, (sli_quantity)quantity);
                assert_in_range(scale.tick_count, 2, SLI_TICKS_MAX);
                assert_true(scale.low <= values[0] && values[1] <= scale.high);
                /* No more than a tick's worth of it is empty at the top. */
                assert_true(scale.ticks[scale.tick_count - 2] < high);
                for (size_t j = 1; j < scale.tick_count; j++) {
                    assert_true(scale.ticks[j] > scale.ticks[j - 1]);
                }
            }
        }
    }
}

static void labels_have_the_unit_that_reads_best(void **state) {
    (void)state;
    assert_string_equal(sli_scale_say(SLI_QUANTITY_BYTES, 0.0).text, "0");
    assert_string_equal(sli_scale_say(SLI_QUANTITY_BYTES, 256.0 * mib).text, "256 MiB");
    assert_string_equal(sli_scale_say(SLI_QUANTITY_BYTES, 2.0 * 1024 * gib).text, "2 TiB");
    assert_string_equal(sli_scale_say(SLI_QUANTITY_NS, 2.5e6).text, "2.5 ms");
    assert_string_equal(sli_scale_say(SLI_QUANTITY_NS, 999.0).text, "999 ns");
    assert_string_equal(sli_scale_say(SLI_QUANTITY_COUNT, 10000.0).text, "10,000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_powers_of_two_from_nothing_on),
        cmocka_unit_test(times_and_counts_have_ones_twos_and_fives),
        cmocka_unit_test(counts_are_whole),
        cmocka_unit_test(without_values_there_is_a_scale_all_the_same),
        cmocka_unit_test(more_than_two_decades_are_logarithmic),
        cmocka_unit_test(logarithmic_bytes_step_by_equal_powers_of_two),
        cmocka_unit_test(logarithmic_counts_step_by_powers_of_ten),
        cmocka_unit_test(every_value_lies_on_its_scale),
        cmocka_unit_test(labels_have_the_unit_that_reads_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
