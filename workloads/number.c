#include "workloads/number.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text) {
    size_t count = 0;
    while (is_digit(text[count])) {
        count++;
    }
    return count;
}

bool sli_decimal_u64(const char *text, size_t length, uint64_t *value) {
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i])) {
            return false;
        }
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    if (length == 0) {
        return false;
    }
    *value = sum;
    return true;
}

/* A decimal number cut into its parts: digits with a point after the first `whole` of them. */
typedef struct decimal {
    const char *whole;
    size_t whole_count;
    const char *fraction;
    size_t fraction_count;
    int exponent;
    bool is_negative;
} decimal;

/* Exponents beyond this cannot matter: the result is 0 or too large for any number of digits. */
enum { EXPONENT_LIMIT = 10000 };

static bool parse_exponent(const char **text, int *exponent) {
    const char *at = *text + 1;
    bool is_negative = *at == '-';
    if (*at == '-' || *at == '+') {
        at++;
    }
    size_t count = count_digits(at);
    int value = 0;
    for (size_t i = 0; i < count && value < EXPONENT_LIMIT; i++) {
        value = value * 10 + (at[i] - '0');
    }
    *exponent = is_negative ? -value : value;
    *text = at + count;
    return count > 0;
}

static bool parse(const char *text, decimal *number) {
    *number = (decimal){0};
    if (*text == '-') {
        number->is_negative = true;
        text++;
    }
    number->whole = text;
    number->whole_count = count_digits(text);
    text += number->whole_count;
    if (*text == '.') {
        number->fraction = text + 1;
        number->fraction_count = count_digits(text + 1);
        text += 1 + number->fraction_count;
        if (number->fraction_count == 0) {
            return false;
        }
    }
    if (*text == 'e' || *text == 'E') {
        if (!parse_exponent(&text, &number->exponent)) {
            return false;
        }
    }
    return number->whole_count > 0 && *text == '\0';
}

static int digit_at(const decimal *number, size_t i) {
    if (i < number->whole_count) {
        return number->whole[i] - '0';
    }
    i -= number->whole_count;
    return i < number->fraction_count ? number->fraction[i] - '0' : 0;
}

static bool is_zero(const decimal *number) {
    for (size_t i = 0; i < number->whole_count + number->fraction_count; i++) {
        if (digit_at(number, i) != 0) {
            return false;
        }
    }
    return true;
}

/* Whether the digits from `first` on are above, at or below one half of a unit: 1, 0, -1. */
static int compare_half(const decimal *number, size_t first, size_t digit_count) {
    if (first >= digit_count) {
        return -1;
    }
    int digit = digit_at(number, first);
    if (digit != 5) {
        return digit > 5 ? 1 : -1;
    }
    for (size_t i = first + 1; i < digit_count; i++) {
        if (digit_at(number, i) != 0) {
            return 1;
        }
    }
    return 0;
}

bool sli_decimal_ns(const char *text, int exponent, int64_t *ns) {
    decimal number;
    if (!parse(text, &number) || (number.is_negative && !is_zero(&number))) {
        return false;
    }
    size_t digit_count = number.whole_count + number.fraction_count;
    long long kept = (long long)number.whole_count + number.exponent + exponent;
    int64_t sum = 0;
    for (long long i = 0; i < kept; i++) {
        if ((size_t)i >= digit_count && sum == 0) {
            break; /* nothing but zeros */
        }
        int digit = digit_at(&number, (size_t)i);
        if (sum > (INT64_MAX - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    int half = kept < 0 ? -1 : compare_half(&number, (size_t)kept, digit_count);
    if (half > 0 || (half == 0 && sum % 2 != 0)) {
        if (sum == INT64_MAX) {
            return false;
        }
        sum++;
    }
    *ns = sum;
    return true;
}
