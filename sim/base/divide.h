/*
 * Division that rounds up, and what goes with it.
 *
 * Floor base. Pure functions of amounts from 0 on and parts from 1 on, whose sums stay below 2^63.
 */
#ifndef SLUICE_BASE_DIVIDE_H
#define SLUICE_BASE_DIVIDE_H

#include <stdint.h>

/* ceil(amount / parts). */
static inline int64_t sli_divide_up(int64_t amount, int64_t parts) {
    return (amount + parts - 1) / parts;
}

/* The first multiple of the unit that is not below the amount. */
static inline int64_t sli_round_up(int64_t amount, int64_t unit) {
    return sli_divide_up(amount, unit) * unit;
}

/* The greatest common divisor; the other one when one is 0. */
static inline int64_t sli_common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
