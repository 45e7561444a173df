#include "oracle/quantize.h"

#include <math.h>

/* Within 2^-20 of its size, x is the same as the middle. */
static bool is_near(double x, double middle) {
    return fabs(x - middle) <= 0x1p-20 * fmax(fabs(x), fabs(middle));
}

double kref_round_fp16(double value) {
    enum { SIGNIFICANT_BITS = 11, LEAST_EXPONENT = -14 };
    int exponent;
    frexp(value, &exponent); /* value = 0.1... x 2^exponent */
    if (exponent - 1 < LEAST_EXPONENT) {
        exponent = LEAST_EXPONENT + 1;
    }
    double unit = ldexp(1.0, exponent - SIGNIFICANT_BITS);
    return nearbyint(value / unit) * unit;
}

/* ---- e4m3: 4 bits of exponent with bias 7, 3 of mantissa; the largest is 448, code 0x7e ---- */

enum { E4M3_LARGEST = 0x7e, E4M3_SIGN = 0x80 };

double kref_e4m3_value(uint8_t code) {
    int exponent = code >> 3 & 15;
    int mantissa = code & 7;
    double magnitude = exponent == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, exponent - 10);
    return (code & E4M3_SIGN) != 0 ? -magnitude : magnitude;
}

/* The codes of one sign rise with their values: the first whose upper middle is not passed. */
static uint8_t nearest_e4m3(double x, bool *is_close) {
    double magnitude = fabs(x);
    uint8_t code = 0;
    *is_close = false;
    for (; code < E4M3_LARGEST; code++) {
        double middle = (kref_e4m3_value(code) + kref_e4m3_value((uint8_t)(code + 1))) / 2.0;
        *is_close = *is_close || is_near(magnitude, middle);
        if (magnitude < middle || (magnitude == middle && code % 2 == 0)) {
            break;
        }
    }
    return (uint8_t)(signbit(x) ? code | E4M3_SIGN : code);
}

void kref_quantize_fp8(const double *row, int elements, double scale, const kref_codes *to) {
    for (int i = 0; i < elements; i++) {
        to->codes[i] = nearest_e4m3(row[i] / scale, &to->is_close[i]);
    }
}

/* ---- int8 ---- */

double kref_quantize_int8(const double *row, int elements, const kref_codes *to) {
    double greatest = 0.0;
    for (int i = 0; i < elements; i++) {
        greatest = fmax(greatest, fabs(row[i]));
    }
    double scale = kref_round_fp16(greatest / 127.0);
    for (int i = 0; i < elements; i++) {
        double x = scale > 0.0 ? row[i] / scale : 0.0;
        double code = fmin(fmax(nearbyint(x), -127.0), 127.0);
        to->codes[i] = (uint8_t)(int8_t)code;
        to->is_close[i] = is_near(x, floor(x) + 0.5);
    }
    return scale;
}

/* ---- q4_0 ---- */

double kref_quantize_q4(const double *group, const kref_codes *to) {
    double greatest = 0.0;
    for (int i = 0; i < KREF_Q4_GROUP; i++) {
        bool is_greater = fabs(group[i]) > fabs(greatest);
        bool is_positive_twin = fabs(group[i]) == fabs(greatest) && group[i] > 0.0;
        greatest = is_greater || is_positive_twin ? group[i] : greatest;
    }
    double scale = kref_round_fp16(greatest / -8.0);
    for (int i = 0; i < KREF_Q4_GROUP; i++) {
        double x = scale != 0.0 ? group[i] / scale : 0.0;
        to->codes[i] = (uint8_t)fmin(fmax(floor(x + 8.5), 0.0), 15.0);
        /* Beside a sum with 8.5 the rounding is that of numbers up to 16. */
        to->is_close[i] = fabs(x + 8.5 - nearbyint(x + 8.5)) <= 0x1p-20 * 16.0;
    }
    return scale;
}
