/* Numbers with units: exact integers, correctly rounded reals, and texts that read back. */
#include "base/siphash.h"
#include "base/units.h"

#include <float.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_int(const char *text, sl_dim dim, int64_t expected) {
    int64_t value = ~expected;
    sli_unit_status status = sli_parse_int(text, dim, &value);
    if (status != SLI_UNIT_OK || value != expected) {
        fail_msg("%s: status %d, %" PRId64, text, (int)status, value);
    }
}

static void assert_real(const char *text, sl_dim dim, double expected) {
    double value = -1.0;
    sli_unit_status status = sli_parse_real(text, dim, &value);
    if (status != SLI_UNIT_OK || !(value >= expected && value <= expected)) {
        fail_msg("%s: status %d, %.17g", text, (int)status, value);
    }
}

/* The refusal, and that the output is untouched by it. */
static void assert_refused(const char *text, sl_dim dim, sli_unit_status expected) {
    int64_t value = 42;
    sli_unit_status status = sli_parse_int(text, dim, &value);
    if (status != expected || value != 42) {
        fail_msg("%s: status %d, %" PRId64, text, (int)status, value);
    }
}

static void every_unit_has_its_size(void **state) {
    (void)state;
    assert_int("1 ns", SL_DIM_TIME, 1);
    assert_int("1 us", SL_DIM_TIME, 1000);
    assert_int("25 ms", SL_DIM_TIME, 25000000);
    assert_int("1 s", SL_DIM_TIME, 1000000000);
    assert_int("1 min", SL_DIM_TIME, 60000000000);
    assert_int("1 h", SL_DIM_TIME, 3600000000000);
    assert_int("7 B", SL_DIM_BYTES, 7);
    assert_int("7 kB", SL_DIM_BYTES, 7000);
    assert_int("7 MB", SL_DIM_BYTES, 7000000);
    assert_int("80 GB", SL_DIM_BYTES, 80000000000);
    assert_int("7 TB", SL_DIM_BYTES, 7000000000000);
    assert_int("7 KiB", SL_DIM_BYTES, 7168);
    assert_int("7 MiB", SL_DIM_BYTES, 7340032);
    assert_int("80 GiB", SL_DIM_BYTES, 85899345920);
    assert_int("1 TiB", SL_DIM_BYTES, 1099511627776);
    assert_int("16 tokens", SL_DIM_TOKENS, 16);
    assert_int("1 token", SL_DIM_TOKENS, 1);
    assert_int("40 /s", SL_DIM_PER_S, 40);
    assert_int("120 /min", SL_DIM_PER_S, 2);
    assert_int("7200 /h", SL_DIM_PER_S, 2);
    assert_int("3.35 TB/s", SL_DIM_BYTES_PER_S, 3350000000000);
    assert_int("1 GiB/s", SL_DIM_BYTES_PER_S, 1073741824);
    assert_int("1 GFLOPS", SL_DIM_FLOPS_PER_S, 1000000000);
    assert_int("989 TFLOPS", SL_DIM_FLOPS_PER_S, 989000000000000);
    assert_int("1 PFLOPS", SL_DIM_FLOPS_PER_S, 1000000000000000);
    assert_int("700 W", SL_DIM_WATT, 700);
    assert_int("10.2 kW", SL_DIM_WATT, 10200);
}

static void integers_may_be_written_in_many_ways(void **state) {
    (void)state;
    assert_int("1000", SL_DIM_NONE, 1000);
    assert_int("+1000", SL_DIM_NONE, 1000);
    assert_int("-1000", SL_DIM_NONE, -1000);
    assert_int("-0", SL_DIM_NONE, 0);
    assert_int("1e3", SL_DIM_NONE, 1000);
    assert_int("1E+3", SL_DIM_NONE, 1000);
    assert_int("1000000e-3", SL_DIM_NONE, 1000);
    assert_int("1000.000", SL_DIM_NONE, 1000);
    assert_int("00001e3", SL_DIM_NONE, 1000);
    assert_int(".5e1", SL_DIM_NONE, 5);
    assert_int("5.", SL_DIM_NONE, 5);
    assert_int("0e999999999999999999999", SL_DIM_NONE, 0);
    assert_int("25ms", SL_DIM_TIME, 25000000);
    assert_int("25   ms", SL_DIM_TIME, 25000000);
    assert_int("1.5e-3s", SL_DIM_TIME, 1500000);
}

static void fractions_of_a_unit_are_exact(void **state) {
    (void)state;
    assert_int("0.5 us", SL_DIM_TIME, 500);
    assert_int("0.000000001 s", SL_DIM_TIME, 1);
    assert_int("0.1 h", SL_DIM_TIME, 360000000000);
    assert_int("1.5 KiB", SL_DIM_BYTES, 1536);
    /* 2^-40 has 40 decimals; one byte as TiB. */
    assert_int("0.0000000000009094947017729282379150390625 TiB", SL_DIM_BYTES, 1);
    assert_int("9223372036.854775807 s", SL_DIM_TIME, INT64_MAX);
}

static void limits_of_int64_are_reached_and_not_passed(void **state) {
    (void)state;
    assert_int("9223372036854775807", SL_DIM_NONE, INT64_MAX);
    assert_int("-9223372036854775808", SL_DIM_NONE, INT64_MIN);
    assert_int("553402322211286548420 /min", SL_DIM_PER_S, INT64_MAX);
    assert_refused("9223372036854775808", SL_DIM_NONE, SLI_UNIT_OVERFLOW);
    assert_refused("-9223372036854775809", SL_DIM_NONE, SLI_UNIT_OVERFLOW);
    assert_refused("9223372036.854775808 s", SL_DIM_TIME, SLI_UNIT_OVERFLOW);
    assert_refused("8388608 TiB", SL_DIM_BYTES, SLI_UNIT_OVERFLOW);
    assert_refused("1e19", SL_DIM_NONE, SLI_UNIT_OVERFLOW);
    assert_refused("1e999999999999999999999", SL_DIM_NONE, SLI_UNIT_OVERFLOW);
    assert_refused("18446744073709551617", SL_DIM_NONE, SLI_UNIT_OVERFLOW);
    assert_refused("340282366920938463463374607431768211457", SL_DIM_NONE, SLI_UNIT_OVERFLOW);
}

static void what_is_not_whole_is_refused(void **state) {
    (void)state;
    assert_refused("0.3 ns", SL_DIM_TIME, SLI_UNIT_NOT_WHOLE);
    assert_refused("1.0000000001 s", SL_DIM_TIME, SLI_UNIT_NOT_WHOLE);
    assert_refused("0.1 KiB", SL_DIM_BYTES, SLI_UNIT_NOT_WHOLE);
    assert_refused("30 /min", SL_DIM_PER_S, SLI_UNIT_NOT_WHOLE);
    assert_refused("1e-1", SL_DIM_NONE, SLI_UNIT_NOT_WHOLE);
    assert_refused("1e-999999999999999999999", SL_DIM_NONE, SLI_UNIT_NOT_WHOLE);
    assert_refused("1.00000000000000000000000000000000000000000001", SL_DIM_NONE,
                   SLI_UNIT_NOT_WHOLE);
}

static void what_is_not_a_number_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",    " ",     "ms",  ".",    "+",    "-",     "--1",
                                        "nan", "NaN",   "inf", "-inf", "0x10", "1.2.3", "1,000",
                                        "1_0", "1'000", "5-3", "e5",   " 5",   ".e1",   "+-1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double real;
        assert_refused(texts[i], SL_DIM_NONE, SLI_UNIT_NOT_A_NUMBER);
        assert_refused(texts[i], SL_DIM_TIME, SLI_UNIT_NOT_A_NUMBER);
        assert_int_equal(sli_parse_real(texts[i], SL_DIM_NONE, &real), SLI_UNIT_NOT_A_NUMBER);
    }
}

static void units_are_required_and_checked(void **state) {
    (void)state;
    assert_refused("25", SL_DIM_TIME, SLI_UNIT_MISSING);
    assert_refused("25 ", SL_DIM_TIME, SLI_UNIT_MISSING);
    assert_refused("25 m", SL_DIM_TIME, SLI_UNIT_UNKNOWN);
    assert_refused("25 MS", SL_DIM_TIME, SLI_UNIT_UNKNOWN);
    assert_refused("25 ms x", SL_DIM_TIME, SLI_UNIT_UNKNOWN);
    assert_refused("25 GB", SL_DIM_TIME, SLI_UNIT_UNKNOWN);
    assert_refused("25 GB", SL_DIM_BYTES_PER_S, SLI_UNIT_UNKNOWN);
    assert_refused("25 GB/s", SL_DIM_BYTES, SLI_UNIT_UNKNOWN);
    assert_refused("25 KB", SL_DIM_BYTES, SLI_UNIT_UNKNOWN);
    assert_refused("25 tokens", SL_DIM_NONE, SLI_UNIT_UNEXPECTED);
    assert_refused("25 req", SL_DIM_PER_S, SLI_UNIT_UNKNOWN);
    assert_refused("25 reqs/s", SL_DIM_PER_S, SLI_UNIT_UNKNOWN);
    assert_refused("25 req/", SL_DIM_PER_S, SLI_UNIT_UNKNOWN);
    assert_refused("25 req/s", SL_DIM_BYTES_PER_S, SLI_UNIT_UNKNOWN);
}

static void reals_are_rounded_once(void **state) {
    (void)state;
    assert_real("0.1", SL_DIM_NONE, 0.1);
    assert_real("-2.5e-3", SL_DIM_NONE, -2.5e-3);
    assert_real("0.3 ns", SL_DIM_TIME, 0.3);
    assert_real("3.35 TB/s", SL_DIM_BYTES_PER_S, 3.35e12);
    assert_real("8.2 TB/s", SL_DIM_BYTES_PER_S, 8.2e12); /* 8.2 * 1e12 rounds twice, to another */
    assert_real("30 /min", SL_DIM_PER_S, 0.5);
    assert_real("36 /h", SL_DIM_PER_S, 0.01);
    assert_real("30 req/s", SL_DIM_PER_S, 30);
    assert_real("30requests/min", SL_DIM_PER_S, 0.5);
    assert_real("1.5 h", SL_DIM_TIME, 5400e9);
    assert_real("0", SL_DIM_NONE, 0.0);
    assert_real("000000.000", SL_DIM_NONE, 0.0);
    assert_real("1e-400", SL_DIM_NONE, 0.0);
    double value = 42.0;
    assert_int_equal(sli_parse_real("1e400", SL_DIM_NONE, &value), SLI_UNIT_OVERFLOW);
    assert_int_equal(sli_parse_real("-1e308 h", SL_DIM_TIME, &value), SLI_UNIT_OVERFLOW);
    assert_true(value >= 42.0 && value <= 42.0);
}

/* 2^53 + 1 lies halfway between two doubles; a digit after a thousand zeros decides. */
static void the_last_digit_of_a_long_real_counts(void **state) {
    (void)state;
    char text[1100] = "9007199254740993.";
    size_t length = strlen(text);
    memset(text + length, '0', 1000);
    assert_real(text, SL_DIM_NONE, 9007199254740992.0); /* ties to even */
    text[length + 999] = '1';
    assert_real(text, SL_DIM_NONE, 9007199254740994.0);
}

static void assert_int_text(int64_t value, sl_dim dim, const char *expected) {
    char text[64];
    sli_format_int(value, dim, text, sizeof text);
    assert_string_equal(text, expected);
}

static void assert_real_text(double value, sl_dim dim, const char *expected) {
    char text[64];
    sli_format_real(value, dim, text, sizeof text);
    assert_string_equal(text, expected);
}

static void integers_are_written_as_people_would(void **state) {
    (void)state;
    assert_int_text(25000000, SL_DIM_TIME, "25 ms");
    assert_int_text(1500000000, SL_DIM_TIME, "1.5 s");
    assert_int_text(500000000, SL_DIM_TIME, "500 ms"); /* not 0.5 s */
    assert_int_text(300000000000, SL_DIM_TIME, "5 min");
    assert_int_text(86400000000000, SL_DIM_TIME, "24 h");
    assert_int_text(0, SL_DIM_TIME, "0 ns");
    assert_int_text(-1, SL_DIM_TIME, "-1 ns");
    assert_int_text(16, SL_DIM_TOKENS, "16 tokens");
    assert_int_text(85899345920, SL_DIM_BYTES, "80 GiB");
    assert_int_text(80000000000, SL_DIM_BYTES, "80 GB");
    assert_int_text(1610612736, SL_DIM_BYTES, "1.5 GiB");
    assert_int_text(1025, SL_DIM_BYTES, "1025 B");
    assert_int_text(3350000000000, SL_DIM_BYTES_PER_S, "3350 GB/s");
    assert_int_text(40, SL_DIM_PER_S, "40 /s");
    assert_int_text(-8192, SL_DIM_NONE, "-8192");
}

static void reals_are_written_as_people_would(void **state) {
    (void)state;
    assert_real_text(0.9, SL_DIM_NONE, "0.9");
    assert_real_text(0.0, SL_DIM_NONE, "0");
    assert_real_text(-0.001, SL_DIM_NONE, "-0.001");
    assert_real_text(1000000.0, SL_DIM_NONE, "1000000");
    assert_real_text(1e22, SL_DIM_NONE, "1e22");
    assert_real_text(1.25e-9, SL_DIM_NONE, "1.25e-9");
    assert_real_text(1.0 / 3.0, SL_DIM_NONE, "0.3333333333333333");
    assert_real_text(989e12, SL_DIM_FLOPS_PER_S, "989 TFLOPS");
    assert_real_text(0.05, SL_DIM_PER_S, "3 /min");
    assert_real_text(0.5, SL_DIM_PER_S, "0.5 /s");
    assert_real_text(700.0, SL_DIM_WATT, "700 W");
}

static uint64_t bits_at(uint64_t i) {
    return sli_siphash_bytes(3, 4, &i, sizeof i);
}

/* Round numbers in all units, their neighbours, and numbers of every length. */
static void integers_read_back(void **state) {
    (void)state;
    static const int64_t grains[] = {1, 1000, 1000000, 60000000000, 1024, 1073741824, 36};
    for (uint64_t i = 0; i < 20000; i++) {
        int64_t value = (int64_t)(bits_at(i) >> (i % 64));
        int64_t grain = grains[i % 7];
        if (i % 3 != 0) {
            value = value % (INT64_MAX / grain) * grain + (i % 3 == 2 ? 1 : 0);
        }
        sl_dim dim = (sl_dim)(i / 7 % SL_DIM_COUNT);
        char text[64];
        char digits[32];
        int64_t read = ~value;
        sli_format_int(value, dim, text, sizeof text);
        assert_int_equal(sli_parse_int(text, dim, &read), SLI_UNIT_OK);
        assert_true(read == value);
        /* Never longer than the plain number in the smallest unit. */
        snprintf(digits, sizeof digits, "%" PRId64, value);
        assert_true(strcspn(text, " ") <= strlen(digits) || dim == SL_DIM_FLOPS_PER_S);
    }
    for (sl_dim dim = 0; dim < SL_DIM_COUNT; dim++) {
        static const int64_t limits[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX};
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            char text[64];
            int64_t read = ~limits[i];
            sli_format_int(limits[i], dim, text, sizeof text);
            assert_int_equal(sli_parse_int(text, dim, &read), SLI_UNIT_OK);
            assert_true(read == limits[i]);
        }
    }
}

static void assert_real_reads_back(double value, sl_dim dim) {
    char text[64];
    double read = 0.0;
    sli_format_real(value, dim, text, sizeof text);
    assert_int_equal(sli_parse_real(text, dim, &read), SLI_UNIT_OK);
    if (!(read >= value && read <= value)) {
        fail_msg("%.17g as %s reads back as %.17g", value, text, read);
    }
}

/* Doubles of all exponents, by their bits, and those that people write. */
static void reals_read_back(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 5000; i++) {
        sl_dim dim = (sl_dim)(i % SL_DIM_COUNT);
        uint64_t bits = bits_at(i);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (value >= -DBL_MAX && value <= DBL_MAX) { /* neither NaN nor infinite */
            assert_real_reads_back(value, dim);
        }
        assert_real_reads_back((double)(bits % 100000) / 1000.0, dim);
        assert_real_reads_back((double)(bits >> 20), dim);
    }
    assert_real_reads_back(DBL_MAX, SL_DIM_TIME);
    assert_real_reads_back(DBL_MIN, SL_DIM_PER_S);
    assert_real_reads_back(5e-324, SL_DIM_FLOPS_PER_S);
}

static void names_in_messages_are_units(void **state) {
    (void)state;
    assert_string_equal(sli_unit_names(SL_DIM_TIME), "ns, us, ms, s, min, h");
    for (sl_dim dim = SL_DIM_TIME; dim < SL_DIM_COUNT; dim++) {
        char names[128];
        char *rest = names;
        snprintf(names, sizeof names, "%s", sli_unit_names(dim));
        for (char *name; (name = strtok_r(rest, ", ", &rest)) != NULL;) {
            char text[64];
            double value;
            snprintf(text, sizeof text, "1 %s", name);
            assert_int_equal(sli_parse_real(text, dim, &value), SLI_UNIT_OK);
        }
    }
    assert_string_equal(sli_unit_names(SL_DIM_NONE), "");
}

static void counts_are_grouped_by_thousands(void **state) {
    (void)state;
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {1234567, "1,234,567"},
        {-123, "-123"},
        {-123456, "-123,456"},
        {INT64_MAX, "9,223,372,036,854,775,807"},
        {INT64_MIN, "-9,223,372,036,854,775,808"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        sli_format_count(rows[i].value, text, sizeof text);
        assert_string_equal(text, rows[i].text);
    }
}

static void figures_are_grouped_and_short(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {0.001, "0.001"},
        {12.5, "12.5"},
        {100.0 / 3, "33.3333"},
        {999, "999"},
        {999.9999, "1,000"},
        {1000, "1,000"},
        {1234.5, "1,234.5"},
        {1234.05, "1,234.05"},
        {1e9, "1,000,000,000"},
        {9999999999999, "9,999,999,999,999"},
        {1e13, "1e+13"},
        {-5000, "-5000"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(sli_say_number(rows[i].value).text, rows[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unit_has_its_size),
        cmocka_unit_test(integers_may_be_written_in_many_ways),
        cmocka_unit_test(fractions_of_a_unit_are_exact),
        cmocka_unit_test(limits_of_int64_are_reached_and_not_passed),
        cmocka_unit_test(what_is_not_whole_is_refused),
        cmocka_unit_test(what_is_not_a_number_is_refused),
        cmocka_unit_test(units_are_required_and_checked),
        cmocka_unit_test(reals_are_rounded_once),
        cmocka_unit_test(the_last_digit_of_a_long_real_counts),
        cmocka_unit_test(integers_are_written_as_people_would),
        cmocka_unit_test(reals_are_written_as_people_would),
        cmocka_unit_test(integers_read_back),
        cmocka_unit_test(reals_read_back),
        cmocka_unit_test(names_in_messages_are_units),
        cmocka_unit_test(counts_are_grouped_by_thousands),
        cmocka_unit_test(figures_are_grouped_and_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
