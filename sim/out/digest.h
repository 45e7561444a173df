/*
 * The digest of a run: one number that changes when any transition of any request does.
 *
 * Floor out. A probe that folds every sl_transition into SipHash-2-4. A record goes in as 40 bytes,
 * the fields in the order of the struct, each little-endian, so that the value depends neither on
 * the byte order of the machine nor on its compiler. Steps, gaps and terminal records are not part
 * of it. It detects change; it is no evidence of truth.
 *
 * The caller owns the struct. O(1) a transition, no memory, cannot fail.
 */
#ifndef SLUICE_OUT_DIGEST_H
#define SLUICE_OUT_DIGEST_H

#include "base/siphash.h"
#include "sluice/probe.h"

#include <stdint.h>

/* The key is public and fixed for good: the bytes of "sluice digest v1", read little-endian. */
#define SLI_DIGEST_KEY0 UINT64_C(0x6420656369756c73) /* "sluice d" */
#define SLI_DIGEST_KEY1 UINT64_C(0x3176207473656769) /* "igest v1" */

#define SLI_DIGEST_TEXT_SIZE 17 /* 16 hex digits and the NUL */

typedef struct sli_digest {
    sli_siphash hash;
} sli_digest;

void sli_digest_init(sli_digest *digest);

void sli_digest_add(sli_digest *digest, const sl_transition *transition);

/* The probe borrows the digest. */
sl_probe sli_digest_probe(sli_digest *digest);

/* The digest of what was folded in so far; more may follow. */
uint64_t sli_digest_value(const sli_digest *digest);

/* Sixteen lower-case hex digits, the most significant first. */
void sli_digest_format(uint64_t value, char text[SLI_DIGEST_TEXT_SIZE]);

#endif
