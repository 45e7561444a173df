#include "oracle/rounding.h"

#include <math.h>

double kref_round_bf16(double value) {
    enum { SIGNIFICANT_BITS = 8, LEAST_EXPONENT = -126 };
    int exponent;
    frexp(value, &exponent); /* value = 0.1... x 2^exponent */
    if (exponent - 1 < LEAST_EXPONENT) {
        exponent = LEAST_EXPONENT + 1;
    }
    double unit = ldexp(1.0, exponent - SIGNIFICANT_BITS);
    return nearbyint(value / unit) * unit;
}
