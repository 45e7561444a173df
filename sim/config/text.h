/*
 * Bytes of the user as characters: what may stand in a file and how it is shown in a message.
 *
 * Floor config, internal. Knows nothing of YAML.
 */
#ifndef SLUICE_CONFIG_TEXT_H
#define SLUICE_CONFIG_TEXT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Decodes the character at the front; answers its bytes, 0 when they are not UTF-8. length >= 1. */
size_t sli_utf8_decode(const char *bytes, size_t length, uint32_t *character);

/* False for control characters, line and paragraph separators and what Unicode reserves. */
bool sli_is_printable(uint32_t character);

/* A text on one line for a message: not printable characters as `?`, a long tail as `...`. */
enum { SLI_EXCERPT_BYTES = 80 };
typedef struct sli_excerpt {
    char text[SLI_EXCERPT_BYTES];
} sli_excerpt;

sli_excerpt sli_excerpt_of(const char *text);

/* The names, separated by ", "; NULL when memory is out. */
char *sli_join(sli_arena *arena, const char *const *names, size_t count);

#endif
