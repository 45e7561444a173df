#include "out/scale.h"

#include <math.h>
#include <stdio.h>

enum { LOG_RATIO = 100, LINEAR_STEPS = 5, LOG_STEPS = 7 };

bool sli_scale_wants_log(double low, double high) {
    return low > 0.0 && high > LOG_RATIO * low;
}

/* ---- Ends and ticks ---- */

/* base^exponent by multiplication alone, so that it is the same everywhere. */
static double power(double base, int exponent) {
    double value = 1.0;
    for (int i = 0; i < exponent; i++) {
        value *= base;
    }
    for (int i = 0; i > exponent; i--) {
        value /= base;
    }
    return value;
}

/* The largest exponent whose power is not above a positive value. */
static int exponent_below(double base, double value) {
    int exponent = 0;
    while (power(base, exponent) > value) {
        exponent--;
    }
    while (power(base, exponent + 1) <= value) {
        exponent++;
    }
    return exponent;
}

/* The least round number that is not below a positive value. */
static double round_up(sli_quantity quantity, double value) {
    bool is_binary = quantity == SLI_QUANTITY_BYTES;
    double below = power(is_binary ? 2.0 : 10.0, exponent_below(is_binary ? 2.0 : 10.0, value));
    static const double decimal[] = {1.0, 2.0, 5.0, 10.0};
    static const double binary[] = {1.0, 2.0, 2.0, 2.0};
    const double *factors = is_binary ? binary : decimal;
    int i = 0;
    while (i < 3 && factors[i] * below < value) {
        i++;
    }
    return factors[i] * below;
}

static void fit_linear(sli_scale *scale, double high) {
    double step = high > 0.0 ? round_up(scale->quantity, high / LINEAR_STEPS) : 1.0;
    if (scale->quantity != SLI_QUANTITY_NS && step < 1.0) {
        step = 1.0;
    }
    do {
        scale->ticks[scale->tick_count] = step * (double)scale->tick_count;
    } while (scale->ticks[scale->tick_count++] < high || scale->tick_count < 2);
}

/* Ticks at every so-many-th power, so that there are not too many. */
static void fit_log(sli_scale *scale, double low, double high) {
    double base = scale->quantity == SLI_QUANTITY_BYTES ? 2.0 : 10.0;
    int first = exponent_below(base, low);
    int last = exponent_below(base, high);
    last += power(base, last) < high;
    int step = (last - first + LOG_STEPS - 1) / LOG_STEPS;
    first -= (first % step + step) % step;
    for (int exponent = first; exponent < last + step; exponent += step) {
        scale->ticks[scale->tick_count++] = power(base, exponent);
    }
}

sli_scale sli_scale_fit(const double *values, size_t count, sli_quantity quantity) {
    sli_scale scale = {.quantity = quantity};
    double low = INFINITY;
    double high = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
    }
    scale.is_log = sli_scale_wants_log(low, high);
    if (scale.is_log) {
        fit_log(&scale, low, high);
    } else {
        fit_linear(&scale, high);
    }
    scale.low = scale.ticks[0];
    scale.high = scale.ticks[scale.tick_count - 1];
    return scale;
}

double sli_scale_place(const sli_scale *scale, double value) {
    return scale->is_log ? log(value / scale->low) / log(scale->high / scale->low)
                         : (value - scale->low) / (scale->high - scale->low);
}

/* ---- Labels ---- */

typedef struct unit {
    const char *name;
    double size;
} unit;

static sli_said say_in(const unit *units, double value) {
    sli_said label;
    while (units->size > 1.0 && value < units->size) {
        units++;
    }
    snprintf(label.text, sizeof label.text, "%.4g %s", value / units->size, units->name);
    return label;
}

sli_said sli_scale_say(sli_quantity quantity, double value) {
    static const unit bytes[] = {
        {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1.0}};
    static const unit times[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1.0}};
    if (value == 0.0 || quantity == SLI_QUANTITY_COUNT) {
        return sli_say_number(value);
    }
    return say_in(quantity == SLI_QUANTITY_BYTES ? bytes : times, value);
}
