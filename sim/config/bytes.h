/*
 * The bytes of a file, whatever they say.
 *
 * Floor config, internal. Must not know formats or diagnostics: the reader of each format says in
 * its own words what went wrong.
 */
#ifndef SLUICE_CONFIG_BYTES_H
#define SLUICE_CONFIG_BYTES_H

#include "sluice/err.h"

#include <stddef.h>
#include <stdio.h>

/* No honest file comes near this; it keeps a device that never ends from taking all memory. */
#define SLI_TEXT_MAX_BYTES ((size_t)16 * 1024 * 1024)

/* All that is left of a stream, or one byte more than is allowed; ferror says whether it could be
 * read. The caller frees the text. Linear. */
SL_NODISCARD sl_err sli_bytes_read(FILE *file, char **text, size_t *length);

/* What an errno means, in words. */
typedef struct sli_reason {
    char text[128];
} sli_reason;

sli_reason sli_reason_of(int error);

/* `cannot read 'a.yaml': No such file or directory`, for a message where a key names the file; a
 * long name is cut as in config/text.h. */
typedef struct sli_unread {
    char text[256];
} sli_unread;

sli_unread sli_unread_of(const char *name, int error);

#endif
