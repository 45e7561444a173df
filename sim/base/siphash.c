#include "base/siphash.h"

static uint64_t rotate(uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

static void round_once(uint64_t v[4]) {
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void mix_word(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    round_once(v);
    round_once(v);
    v[0] ^= word;
}

void sli_siphash_init(sli_siphash *hash, uint64_t key0, uint64_t key1) {
    *hash = (sli_siphash){
        .v = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du, key0 ^ 0x6c7967656e657261u,
              key1 ^ 0x7465646279746573u},
    };
}

/* Compilers see that this is one load on a little-endian machine. */
static uint64_t read_word(const unsigned char *bytes) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

/* Whole words while nothing of an earlier call waits to fill one; returns the bytes added. */
static size_t add_words(sli_siphash *hash, const unsigned char *bytes, size_t length) {
    size_t added = 0;
    if (hash->length % 8 == 0) {
        for (; length - added >= 8; added += 8) {
            mix_word(hash->v, read_word(bytes + added));
        }
        hash->length += added;
    }
    return added;
}

void sli_siphash_add(sli_siphash *hash, const void *bytes, size_t length) {
    const unsigned char *next = bytes;
    for (size_t i = add_words(hash, next, length); i < length; i++) {
        unsigned shift = (unsigned)(hash->length % 8) * 8;
        hash->tail |= (uint64_t)next[i] << shift;
        hash->length++;
        if (hash->length % 8 == 0) {
            mix_word(hash->v, hash->tail);
            hash->tail = 0;
        }
    }
}

uint64_t sli_siphash_value(const sli_siphash *hash) {
    uint64_t v[4] = {hash->v[0], hash->v[1], hash->v[2], hash->v[3]};
    mix_word(v, hash->tail | (hash->length << 56));
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) {
        round_once(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t sli_siphash_bytes(uint64_t key0, uint64_t key1, const void *bytes, size_t length) {
    sli_siphash hash;
    sli_siphash_init(&hash, key0, key1);
    sli_siphash_add(&hash, bytes, length);
    return sli_siphash_value(&hash);
}
