/*
 * What the config.json of each model of the catalogue says, as far as it counts.
 *
 * Not the files themselves: texts that were put together from published values, with a few of the
 * fields that make no difference. To be short they are written with ' in place of ", and with
 * <3*A,B> for A,B three times over.
 */
#ifndef SLUICE_TESTS_IMPORT_CONFIGS_H
#define SLUICE_TESTS_IMPORT_CONFIGS_H

#include "base/arena.h"

#include <stdint.h>

typedef struct import_config {
    const char *id; /* of the catalogue */
    const char *text;
    /* Where a file and the catalogue differ on purpose; 0 = they do not. */
    int64_t context_tokens;
    int64_t vocab_tokens;
} import_config;

enum { IMPORT_CONFIGS = 74 };
extern const import_config import_configs[IMPORT_CONFIGS];

/* The text as JSON, in the arena. */
const char *import_config_json(sli_arena *arena, const char *text);

#endif
