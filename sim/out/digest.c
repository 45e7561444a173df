#include "out/digest.h"

#include <stddef.h>

static unsigned char *put_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        *at++ = (unsigned char)(value >> (8 * i) & 0xff);
    }
    return at;
}

static unsigned char *put_u64(unsigned char *at, uint64_t value) {
    for (int i = 0; i < 8; i++) {
        *at++ = (unsigned char)(value >> (8 * i) & 0xff);
    }
    return at;
}

void sli_digest_init(sli_digest *digest) {
    sli_siphash_init(&digest->hash, SLI_DIGEST_KEY0, SLI_DIGEST_KEY1);
}

void sli_digest_add(sli_digest *digest, const sl_transition *transition) {
    unsigned char bytes[sizeof(sl_transition)];
    unsigned char *at = bytes;
    at = put_u64(at, (uint64_t)transition->at_ns);
    at = put_u32(at, transition->kind);
    at = put_u32(at, transition->replica);
    at = put_u64(at, transition->request);
    at = put_u64(at, (uint64_t)transition->tokens);
    at = put_u64(at, (uint64_t)transition->blocks);
    sli_siphash_add(&digest->hash, bytes, (size_t)(at - bytes));
}

static void on_transition(void *self, const sl_transition *transition) {
    sli_digest_add(self, transition);
}

sl_probe sli_digest_probe(sli_digest *digest) {
    static const sl_probe_ops ops = {.transition = on_transition};
    return (sl_probe){&ops, digest};
}

uint64_t sli_digest_value(const sli_digest *digest) {
    return sli_siphash_value(&digest->hash);
}

void sli_digest_format(uint64_t value, char text[SLI_DIGEST_TEXT_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        text[i] = digits[value >> (60 - 4 * i) & 0xf];
    }
    text[16] = '\0';
}
