/*
 * Numbers in traces, read from their text so that nothing is lost on the way.
 *
 * Part workloads. Binary floating point can hold neither all 64-bit ids nor decimal times, so
 * neither goes through a double here. All functions are pure.
 */
#ifndef WORKLOADS_NUMBER_H
#define WORKLOADS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a decimal number, with fraction and exponent as JSON allows them, as that many units of
 * 10^exponent ns and rounds it to whole ns, ties to even: ("12.5", 6) is 12.5 ms = 12,500,000 ns.
 * False if it is not such a number, negative or beyond int64_t. The sign of -0 is forgiven.
 */
bool sli_decimal_ns(const char *text, int exponent, int64_t *ns);

/* Reads digits only, at most 2^64 - 1. */
bool sli_decimal_u64(const char *text, size_t length, uint64_t *value);

#endif
