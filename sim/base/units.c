#include "base/units.h"

#include "base/check.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One unit is scale * 10^power / divisor base units. */
typedef struct unit {
    const char *name;
    int64_t scale;
    int power;
    int64_t divisor;
} unit;

enum { MAX_UNITS = 9 };

typedef struct dimension {
    const char *names;     /* for messages */
    const char *alias;     /* another name of the first unit, or NULL */
    const char *nouns[2];  /* what may stand in front of a unit: `req/s` is `/s` */
    unit units[MAX_UNITS]; /* the first is the one for small values; a NULL name ends the list */
} dimension;

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)
#define TIB (INT64_C(1) << 40)

static const dimension DIMENSIONS[SL_DIM_COUNT] = {
    [SL_DIM_NONE] = {.names = "", .units = {{"", 1, 0, 1}}},
    [SL_DIM_TIME] = {.names = "ns, us, ms, s, min, h",
                     .units = {{"ns", 1, 0, 1},
                               {"us", 1, 3, 1},
                               {"ms", 1, 6, 1},
                               {"s", 1, 9, 1},
                               {"min", 6, 10, 1},
                               {"h", 36, 11, 1}}},
    [SL_DIM_BYTES] = {.names = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
                      .units = {{"B", 1, 0, 1},
                                {"kB", 1, 3, 1},
                                {"MB", 1, 6, 1},
                                {"GB", 1, 9, 1},
                                {"TB", 1, 12, 1},
                                {"KiB", KIB, 0, 1},
                                {"MiB", MIB, 0, 1},
                                {"GiB", GIB, 0, 1},
                                {"TiB", TIB, 0, 1}}},
    [SL_DIM_TOKENS] = {.names = "tokens", .alias = "token", .units = {{"tokens", 1, 0, 1}}},
    [SL_DIM_PER_S] = {.names = "/s, /min, /h",
                      .nouns = {"requests", "req"},
                      .units = {{"/s", 1, 0, 1}, {"/min", 1, 0, 60}, {"/h", 1, 0, 3600}}},
    [SL_DIM_BYTES_PER_S] = {.names = "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s",
                            .units = {{"B/s", 1, 0, 1},
                                      {"kB/s", 1, 3, 1},
                                      {"MB/s", 1, 6, 1},
                                      {"GB/s", 1, 9, 1},
                                      {"TB/s", 1, 12, 1},
                                      {"KiB/s", KIB, 0, 1},
                                      {"MiB/s", MIB, 0, 1},
                                      {"GiB/s", GIB, 0, 1},
                                      {"TiB/s", TIB, 0, 1}}},
    [SL_DIM_FLOPS_PER_S] = {.names = "GFLOPS, TFLOPS, PFLOPS",
                            .units = {{"GFLOPS", 1, 9, 1},
                                      {"TFLOPS", 1, 12, 1},
                                      {"PFLOPS", 1, 15, 1}}},
    [SL_DIM_WATT] = {.names = "W, kW", .units = {{"W", 1, 0, 1}, {"kW", 1, 3, 1}}},
};

static bool is_unit(const dimension *dim, size_t i) {
    return i < MAX_UNITS && dim->units[i].name != NULL;
}

/* Base units in one unit, times the divisor; at most 10^15. */
static int64_t base_units(const unit *of) {
    int64_t result = of->scale;
    for (int i = 0; i < of->power; i++) {
        result *= 10;
    }
    return result;
}

/*
 * A number as it is written: the value is 0.d0 d1 d2 ... times 10^point, where the d are the digits
 * of the mantissa. Nothing is computed yet, so nothing can be lost.
 */
typedef struct number {
    bool is_negative;
    const char *mantissa;
    int64_t whole_count; /* digits in front of the decimal point as written */
    int64_t digit_count;
    int64_t point;
} number;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Digit i of the mantissa; digits beyond its ends are zero. */
static unsigned digit_at(const number *of, int64_t i) {
    if (i < 0 || i >= of->digit_count) {
        return 0;
    }
    return (unsigned)(of->mantissa[i < of->whole_count ? i : i + 1] - '0');
}

static int64_t count_digits(const char *text) {
    int64_t count = 0;
    while (is_digit(text[count])) {
        count++;
    }
    return count;
}

/* The value of an exponent, whose digits begin at *next; beyond any use it stops growing. */
static int64_t scan_exponent(const char **next) {
    int64_t exponent = 0;
    for (; is_digit(**next); (*next)++) {
        if (exponent < 100000000) {
            exponent = exponent * 10 + (**next - '0');
        }
    }
    return exponent;
}

/* Scans [sign] digits [. digits] [e [sign] digits]; NULL if there is none, else what follows. */
static const char *scan_number(const char *text, number *result) {
    number scanned = {.is_negative = text[0] == '-'};
    const char *next = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    scanned.mantissa = next;
    scanned.whole_count = count_digits(next);
    scanned.digit_count = scanned.whole_count;
    next += scanned.whole_count;
    if (next[0] == '.') {
        int64_t fraction_count = count_digits(next + 1);
        scanned.digit_count += fraction_count;
        next += 1 + fraction_count;
    }
    if (scanned.digit_count == 0) {
        return NULL;
    }
    scanned.point = scanned.whole_count;
    if (next[0] == 'e' || next[0] == 'E') {
        const char *digits = next[1] == '-' || next[1] == '+' ? next + 2 : next + 1;
        if (is_digit(digits[0])) {
            bool is_negative = next[1] == '-';
            int64_t exponent = scan_exponent(&digits);
            scanned.point += is_negative ? -exponent : exponent;
            next = digits;
        }
    }
    *result = scanned;
    return next;
}

/* What follows a number and makes it none: another number, or 0x. */
static bool is_garbage(const char *rest) {
    return rest[0] != '\0' && strchr("0123456789.,_'+-xX", rest[0]) != NULL;
}

static const char *skip_noun(const dimension *of, const char *name) {
    for (size_t i = 0; i < sizeof of->nouns / sizeof of->nouns[0]; i++) {
        size_t length = of->nouns[i] != NULL ? strlen(of->nouns[i]) : 0;
        if (length > 0 && strncmp(name, of->nouns[i], length) == 0) {
            return name + length;
        }
    }
    return name;
}

/* Splits a text into its number and its unit. */
static sli_unit_status split(const char *text, sl_dim dim, number *value, const unit **found) {
    const dimension *of = &DIMENSIONS[dim];
    const char *name = scan_number(text, value);
    if (name == NULL || is_garbage(name)) {
        return SLI_UNIT_NOT_A_NUMBER;
    }
    name += strspn(name, " ");
    if (name[0] == '\0' && dim != SL_DIM_NONE) {
        return SLI_UNIT_MISSING;
    }
    if (of->alias != NULL && strcmp(name, of->alias) == 0) {
        name = of->units[0].name;
    }
    name = skip_noun(of, name);
    for (size_t i = 0; is_unit(of, i); i++) {
        if (strcmp(name, of->units[i].name) == 0) {
            *found = &of->units[i];
            return SLI_UNIT_OK;
        }
    }
    return dim == SL_DIM_NONE ? SLI_UNIT_UNEXPECTED : SLI_UNIT_UNKNOWN;
}

__extension__ typedef unsigned __int128 wide;

/* Beyond int64_t for every divisor; times the largest unit it still fits. */
static const wide WIDE_LIMIT = (wide)1 << 76;

/*
 * The number times `factor`, exactly; *is_whole says whether a fraction was left over. Digits in
 * front of the point make an integer; those behind it are multiplied as on paper, from the right,
 * and what is carried across the point belongs to the integer.
 */
static sli_unit_status multiply(const number *value, uint64_t factor, wide *product,
                                bool *is_whole) {
    wide whole = 0;
    for (int64_t i = 0; i < value->point && (whole != 0 || i < value->digit_count); i++) {
        whole = whole * 10 + digit_at(value, i);
        if (whole > WIDE_LIMIT) {
            return SLI_UNIT_OVERFLOW;
        }
    }
    uint64_t carry = 0;
    *is_whole = true;
    for (int64_t i = value->digit_count - 1; i >= value->point && (i >= 0 || carry != 0); i--) {
        uint64_t term = digit_at(value, i) * factor + carry;
        *is_whole = *is_whole && term % 10 == 0;
        carry = term / 10;
    }
    *product = whole * factor + carry;
    return SLI_UNIT_OK;
}

sli_unit_status sli_parse_int(const char *text, sl_dim dim, int64_t *value) {
    number written;
    const unit *of;
    sli_unit_status status = split(text, dim, &written, &of);
    if (status != SLI_UNIT_OK) {
        return status;
    }
    wide magnitude;
    bool is_whole;
    status = multiply(&written, (uint64_t)base_units(of), &magnitude, &is_whole);
    if (status != SLI_UNIT_OK) {
        return status;
    }
    wide divisor = (wide)of->divisor;
    wide limit = (wide)INT64_MAX + (written.is_negative ? 1 : 0);
    if (magnitude / divisor > limit) {
        return SLI_UNIT_OVERFLOW;
    }
    if (!is_whole || magnitude % divisor != 0) {
        return SLI_UNIT_NOT_WHOLE;
    }
    uint64_t bits = (uint64_t)(magnitude / divisor);
    if (!written.is_negative) {
        *value = (int64_t)bits;
    } else {
        *value = bits == 0 ? 0 : -(int64_t)(bits - 1) - 1;
    }
    return SLI_UNIT_OK;
}

/* No halfway point between two doubles has more than 767 significant digits. */
enum { REAL_DIGITS = 768 };

/*
 * The double nearest to the number times 10^power. What strtod is given has no decimal point, so
 * that the locale does not matter.
 */
static double to_double(const number *value, int power) {
    char text[REAL_DIGITS + 32];
    int64_t next = 0;
    size_t length = 0;
    while (next < value->digit_count && digit_at(value, next) == 0) {
        next++;
    }
    for (; next < value->digit_count && length < REAL_DIGITS; next++) {
        text[length++] = (char)('0' + digit_at(value, next));
    }
    for (int64_t i = next; i < value->digit_count; i++) {
        if (digit_at(value, i) != 0) {
            text[length - 1] = '1'; /* more than nothing is cut off: not a halfway point */
            break;
        }
    }
    if (length == 0) {
        return 0.0;
    }
    snprintf(text + length, sizeof text - length, "e%" PRId64, value->point - next + power);
    return strtod(text, NULL);
}

sli_unit_status sli_parse_real(const char *text, sl_dim dim, double *value) {
    number written;
    const unit *of;
    sli_unit_status status = split(text, dim, &written, &of);
    if (status != SLI_UNIT_OK) {
        return status;
    }
    double magnitude = to_double(&written, of->power);
    magnitude = magnitude * (double)of->scale / (double)of->divisor;
    if (magnitude > DBL_MAX) {
        return SLI_UNIT_OVERFLOW;
    }
    *value = written.is_negative ? -magnitude : magnitude;
    return SLI_UNIT_OK;
}

const char *sli_unit_names(sl_dim dim) {
    return DIMENSIONS[dim].names;
}

/* Holds any text that is a candidate for an answer. */
enum { TEXT_BYTES = 64, DIGITS_BYTES = 24 };

/*
 * Takes the candidate if it is shorter than the best so far, or equally long with a shorter number:
 * 5 min is better than 300 s.
 */
static void offer(char best[TEXT_BYTES], const char *candidate) {
    size_t best_length = strlen(best);
    size_t length = strlen(candidate);
    bool is_tie = length == best_length && strcspn(candidate, " ") < strcspn(best, " ");
    if (best_length == 0 || length < best_length || is_tie) {
        memcpy(best, candidate, length + 1);
    }
}

/* Appends the unit behind a number, if there is one. */
static void append_unit(char text[TEXT_BYTES], const unit *of) {
    size_t length = strlen(text);
    snprintf(text + length, TEXT_BYTES - length, "%s%s", of->name[0] != '\0' ? " " : "", of->name);
}

/* Writes magnitude / factor with all of its decimals; false if there are more than 20. */
static bool write_quotient(bool is_negative, uint64_t magnitude, uint64_t factor,
                           char text[TEXT_BYTES]) {
    int length = snprintf(text, TEXT_BYTES, "%s%" PRIu64, is_negative ? "-" : "",
                          magnitude / factor);
    uint64_t rest = magnitude % factor;
    if (rest != 0) {
        text[length++] = '.';
    }
    for (int decimals = 0; rest != 0; decimals++) {
        if (decimals == 20) {
            return false;
        }
        text[length++] = (char)('0' + rest * 10 / factor);
        rest = rest * 10 % factor;
    }
    text[length] = '\0';
    return true;
}

void sli_format_int(int64_t value, sl_dim dim, char *text, size_t size) {
    const dimension *of = &DIMENSIONS[dim];
    uint64_t magnitude = value < 0 ? (uint64_t) - (value + 1) + 1 : (uint64_t)value;
    char best[TEXT_BYTES] = "";
    for (size_t i = 0; is_unit(of, i); i++) {
        uint64_t factor = (uint64_t)base_units(&of->units[i]);
        /* 500 ms is better than 0.5 s; and a fraction of a base unit makes an integer longer. */
        bool is_apt = i == 0 || (factor <= magnitude && of->units[i].divisor == 1);
        char candidate[TEXT_BYTES];
        if (is_apt && write_quotient(value < 0, magnitude, factor, candidate)) {
            append_unit(candidate, &of->units[i]);
            offer(best, candidate);
        }
    }
    snprintf(text, size, "%s", best);
}

/* The `count` leading decimal digits of a positive value d.ddd * 10^exponent, rounded. */
static int leading_digits(double value, int count, char digits[DIGITS_BYTES]) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    char *end = strchr(text, 'e');
    int length = 0;
    for (const char *next = text; next < end; next++) {
        if (is_digit(*next)) { /* whatever the decimal point of the locale is */
            digits[length++] = *next;
        }
    }
    digits[length] = '\0';
    return atoi(end + 1);
}

/* Writes d.ddd * 10^exponent, without an exponent where people would. */
static void write_decimal(bool is_negative, const char digits[DIGITS_BYTES], int exponent,
                          char text[TEXT_BYTES]) {
    const char *sign = is_negative ? "-" : "";
    int count = (int)strlen(digits);
    if (exponent < -5 || exponent > 15) {
        snprintf(text, TEXT_BYTES, "%s%c%s%se%d", sign, digits[0], count > 1 ? "." : "", digits + 1,
                 exponent);
    } else if (exponent < 0) {
        snprintf(text, TEXT_BYTES, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
    } else if (count <= exponent + 1) {
        snprintf(text, TEXT_BYTES, "%s%s%.*s", sign, digits, exponent + 1 - count,
                 "000000000000000");
    } else {
        snprintf(text, TEXT_BYTES, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
    }
}

/* Writes the value in a unit with as few digits as read back exactly; false if 17 do not. */
static bool write_real(double value, sl_dim dim, const unit *of, char text[TEXT_BYTES]) {
    double magnitude = value < 0 ? -value : value;
    double scaled = magnitude * (double)of->divisor / (double)of->scale;
    for (int count = 1; count <= 17; count++) {
        char digits[DIGITS_BYTES];
        double read;
        int exponent = scaled > 0 ? leading_digits(scaled, count, digits) - of->power : 0;
        write_decimal(value<0, scaled> 0 ? digits : "0", exponent, text);
        append_unit(text, of);
        if (sli_parse_real(text, dim, &read) == SLI_UNIT_OK && read >= value && read <= value) {
            return true;
        }
    }
    return false;
}

void sli_format_real(double value, sl_dim dim, char *text, size_t size) {
    SL_ASSERT(value >= -DBL_MAX && value <= DBL_MAX);
    const dimension *of = &DIMENSIONS[dim];
    double magnitude = value < 0 ? -value : value;
    char best[TEXT_BYTES] = "";
    for (size_t i = 0; is_unit(of, i); i++) {
        double factor = (double)base_units(&of->units[i]) / (double)of->units[i].divisor;
        bool is_apt = i == 0 || (factor > 1 ? factor <= magnitude : magnitude < 1);
        char candidate[TEXT_BYTES];
        if (is_apt && write_real(value, dim, &of->units[i], candidate)) {
            offer(best, candidate);
        }
    }
    snprintf(text, size, "%s", best);
}

void sli_format_count(int64_t value, char *text, size_t size) {
    char digits[TEXT_BYTES];
    char grouped[TEXT_BYTES];
    int count = snprintf(digits, sizeof digits, "%" PRId64, value);
    int length = 0;
    for (int i = 0; i < count; i++) {
        bool is_group = (count - i) % 3 == 0 && i > 0 && is_digit(digits[i - 1]);
        if (is_group) {
            grouped[length++] = ',';
        }
        grouped[length++] = digits[i];
    }
    grouped[length] = '\0';
    snprintf(text, size, "%s", grouped);
}

sli_said sli_say_number(double value) {
    sli_said said;
    bool is_grouped = value >= 999.995 && value < 1e13;
    if (!is_grouped) {
        snprintf(said.text, sizeof said.text, "%g", value);
        return said;
    }
    int64_t hundredths = (int64_t)(value * 100 + 0.5);
    char whole[TEXT_BYTES];
    char rest[TEXT_BYTES] = "";
    sli_format_count(hundredths / 100, whole, sizeof whole);
    if (hundredths % 100 != 0) {
        snprintf(rest, sizeof rest, ".%02d", (int)(hundredths % 100));
        rest[hundredths % 10 == 0 ? 2 : 3] = '\0';
    }
    snprintf(said.text, sizeof said.text, "%.28s%.8s", whole, rest);
    return said;
}
