/*
 * What rounding to bf16 does to a number, and how far from exact a computed one may be.
 *
 * Plain C, from the definition of the format: 8 significant bits, exponents of IEEE single. Knows
 * nothing of the kernels' own types, which are tested against it.
 */
#ifndef KREF_ORACLE_ROUNDING_H
#define KREF_ORACLE_ROUNDING_H

#ifdef __cplusplus
extern "C" {
#endif

/* Largest relative error of one rounding to nearest: half a unit of the last place. */
#define KREF_F32_UNIT  0x1p-24
#define KREF_BF16_UNIT 0x1p-8

/* To nearest, ties to even; finite numbers of bf16's range. */
double kref_round_bf16(double value);

#ifdef __cplusplus
}
#endif

#endif
