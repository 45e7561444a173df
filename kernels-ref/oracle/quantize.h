/*
 * Rows in fewer bits, from the definitions of the formats: e4m3 with a scale, int8 with an fp16
 * scale a row, and ggml's q4_0 (cuda/cache_format.h has them in words). The oracle of kv_append.
 *
 * Besides the codes there is, for each element, whether a kernel may come to the neighbouring code:
 * where x / scale lies so close to the middle of two that a float cannot tell, within
 * 2^-20 |x / scale| (three roundings: inverse, product, sum). Elsewhere codes are exact, and so are
 * the scales, because a bf16 divided by 127 is never close to the middle of two fp16.
 *
 * Plain C; knows no kernel. The caller owns all memory. O(elements).
 */
#ifndef KREF_ORACLE_QUANTIZE_H
#define KREF_ORACLE_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KREF_Q4_GROUP = 32 };

/* To nearest, ties to even; finite numbers that are not too large. */
double kref_round_fp16(double value);

/* The value of a code of e4m3. */
double kref_e4m3_value(uint8_t code);

/* What a row becomes, the caller's arrays of `elements`. Each code is worth its number times the
 * scale: of e4m3 kref_e4m3_value(code), of int8 the byte with its sign, of q4_0 code - 8. */
typedef struct kref_codes {
    uint8_t *codes; /* of q4_0 one an element, not packed */
    bool *is_close; /* the neighbour may come out */
} kref_codes;

void kref_quantize_fp8(const double *row, int elements, double scale, const kref_codes *to);

/* Returns the scale. */
double kref_quantize_int8(const double *row, int elements, const kref_codes *to);

/* One group of 32. Returns its d. */
double kref_quantize_q4(const double *group, const kref_codes *to);

#ifdef __cplusplus
}
#endif

#endif
