#include "kernel/rng.h"

#include "base/check.h"
#include "base/siphash.h"

#include <string.h>

/* Salmon et al., SC 2011, section 3.3: the multipliers and Weyl constants of Philox4x32. */
enum { ROUNDS = 10 };
static const uint32_t MULTIPLIER_0 = 0xd2511f53;
static const uint32_t MULTIPLIER_1 = 0xcd9e8d57;
static const uint32_t WEYL_0 = 0x9e3779b9; /* golden ratio */
static const uint32_t WEYL_1 = 0xbb67ae85; /* sqrt(3) - 1 */

void sli_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]) {
    uint32_t c0 = counter[0];
    uint32_t c1 = counter[1];
    uint32_t c2 = counter[2];
    uint32_t c3 = counter[3];
    uint32_t k0 = key[0];
    uint32_t k1 = key[1];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t product0 = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t product1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    output[0] = c0;
    output[1] = c1;
    output[2] = c2;
    output[3] = c3;
}

enum { BLOCK_WORDS = 4 };

/* The upper half of the counter is the index of the stream, the lower half counts blocks. */
static void start(sli_rng_state *state, uint64_t key, uint64_t index) {
    *state = (sli_rng_state){
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .counter = {0, 0, (uint32_t)index, (uint32_t)(index >> 32)},
        .used = BLOCK_WORDS,
    };
}

static uint32_t next_word(sli_rng_state *state) {
    if (state->used == BLOCK_WORDS) {
        sli_philox4x32(state->counter, state->key, state->block);
        state->used = 0;
        state->counter[0]++;
        if (state->counter[0] == 0) {
            state->counter[1]++;
        }
    }
    return state->block[state->used++];
}

static uint64_t next_two_words(sli_rng_state *state) {
    uint64_t low = next_word(state);
    return (uint64_t)next_word(state) << 32 | low;
}

static double next_uniform(sli_rng_state *state) {
    return (double)(next_two_words(state) >> 11) * 0x1p-53;
}

static void gsl_set(void *state, unsigned long seed) {
    start(state, seed, 0);
}

static unsigned long gsl_get(void *state) {
    return next_word(state);
}

static double gsl_get_double(void *state) {
    return next_uniform(state);
}

static const gsl_rng_type PHILOX = {
    .name = "philox4x32-10",
    .max = UINT32_MAX,
    .min = 0,
    .size = sizeof(sli_rng_state),
    .set = gsl_set,
    .get = gsl_get,
    .get_double = gsl_get_double,
};

const gsl_rng_type *const sli_rng_philox = &PHILOX;

static void add_word(sli_siphash *hash, uint64_t word) {
    unsigned char bytes[8]; /* little-endian on every machine */
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(word >> (8 * i));
    }
    sli_siphash_add(hash, bytes, sizeof bytes);
}

void sli_rng_init(sli_rng *rng, uint64_t seed, const char *purpose, uint64_t entity,
                  uint64_t index) {
    sli_siphash hash;
    sli_siphash_init(&hash, seed, 0);
    sli_siphash_add(&hash, purpose, strlen(purpose));
    add_word(&hash, entity); /* last and of fixed length: no two triples look alike */
    start(&rng->state, sli_siphash_value(&hash), index);
    rng->gsl = (gsl_rng){.type = sli_rng_philox, .state = &rng->state};
}

uint32_t sli_rng_next(sli_rng *rng) {
    return next_word(&rng->state);
}

double sli_rng_uniform(sli_rng *rng) {
    return next_uniform(&rng->state);
}

uint64_t sli_rng_below(sli_rng *rng, uint64_t bound) {
    SL_ASSERT(bound >= 1);
    /* 2^64 mod bound values are turned away, so that the rest divides evenly. */
    uint64_t surplus = (0 - bound) % bound;
    uint64_t drawn;
    do {
        drawn = next_two_words(&rng->state);
    } while (drawn < surplus);
    return drawn % bound;
}
