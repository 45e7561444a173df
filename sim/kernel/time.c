#include "kernel/time.h"

#include <stdbool.h>

int64_t sli_time_round(double ns) {
    const double two_to_63 = 9223372036854775808.0;
    if (!(ns > 0.0)) { /* NaN too */
        return 0;
    }
    if (ns >= two_to_63) {
        return SLI_NEVER;
    }
    /* Truncation and this difference are exact, so no rounding mode has a say. */
    int64_t whole = (int64_t)ns;
    double rest = ns - (double)whole;
    bool is_up = rest > 0.5 || (!(rest < 0.5) && whole % 2 != 0);
    return is_up ? whole + 1 : whole;
}
