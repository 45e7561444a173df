/*
 * Named random streams: counter-based, so that a new draw disturbs nobody.
 *
 * Floor kernel. The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011). A stream
 * is keyed by (seed, purpose, entity, index), whatever the order of use, so policies can be
 * compared on common random numbers. Streams that differ in the index alone never overlap; others
 * do with probability 2^-64 a pair. A stream is a few words on the stack and acts as a gsl_rng, so
 * every GSL distribution works on it.
 */
#ifndef SLUICE_KERNEL_RNG_H
#define SLUICE_KERNEL_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

typedef struct sli_rng_state {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4]; /* outputs of the current counter */
    uint32_t used;     /* of block */
} sli_rng_state;

typedef struct sli_rng {
    gsl_rng gsl; /* pass &rng.gsl to gsl_ran_* */
    sli_rng_state state;
} sli_rng;

extern const gsl_rng_type *const sli_rng_philox;

/*
 * The stream (seed, purpose, entity, index); `purpose` says what its draws are for. `rng` must not
 * be moved afterwards. O(1), no memory.
 */
void sli_rng_init(sli_rng *rng, uint64_t seed, const char *purpose, uint64_t entity,
                  uint64_t index);

uint32_t sli_rng_next(sli_rng *rng);

/* Uniform in [0, 1) with 53 bits. */
double sli_rng_uniform(sli_rng *rng);

/* Uniform in [0, bound), unbiased; bound >= 1. */
uint64_t sli_rng_below(sli_rng *rng, uint64_t bound);

/* The ten-round block function itself, for tests against published vectors. */
void sli_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);

#endif
