/*
 * Triangular numbers.
 *
 * Floor base. What the queries of a sequence that sees all of itself count as pairs.
 */
#ifndef SLUICE_BASE_TRIANGLE_H
#define SLUICE_BASE_TRIANGLE_H

#include <stdint.h>

/* 1 + 2 + ... + n, for n from 0 to 2^32 - 2; the even factor is halved first. */
static inline int64_t sli_triangle(int64_t n) {
    return n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
}

#endif
