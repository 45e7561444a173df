/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012), one-shot and streaming.
 *
 * Floor base. Used for the digest of a run, for keys of random streams and for hash tables.
 */
#ifndef SLUICE_BASE_SIPHASH_H
#define SLUICE_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct sli_siphash {
    uint64_t v[4];
    uint64_t tail;   /* bytes not yet mixed in, little-endian */
    uint64_t length; /* bytes so far */
} sli_siphash;

void sli_siphash_init(sli_siphash *hash, uint64_t key0, uint64_t key1);
void sli_siphash_add(sli_siphash *hash, const void *bytes, size_t length);

/* The hash of what was added so far; more may be added afterwards. */
uint64_t sli_siphash_value(const sli_siphash *hash);

uint64_t sli_siphash_bytes(uint64_t key0, uint64_t key1, const void *bytes, size_t length);

#endif
