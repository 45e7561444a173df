#include "model/rounding.h"

#include "base/check.h"

#include <math.h>

sli_rounding sli_rounding_uniform(double number, double low, double high, int bits) {
    SL_ASSERT(bits >= 1 && bits <= SLI_ROUNDING_BITS_MAX && low < high);
    sli_rounding rounding = {.levels = INT64_C(1) << bits};
    double inside = fmin(fmax(number, low), high);
    double steps = (double)(rounding.levels - 1);
    rounding.scale = (high - low) / steps;
    rounding.level = llrint((inside - low) / (high - low) * steps);
    /* The bounds are levels to the last bit. */
    double share = (double)rounding.level / steps;
    rounding.value = (1.0 - share) * low + share * high;
    rounding.error = fabs(number - rounding.value);
    return rounding;
}
