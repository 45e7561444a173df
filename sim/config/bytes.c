#include "config/bytes.h"

#include "config/text.h"

#include <stdlib.h>
#include <string.h>

sl_err sli_bytes_read(FILE *file, char **text, size_t *length) {
    char *bytes = NULL;
    size_t used = 0;
    size_t size = 0;
    while (used == size && size <= SLI_TEXT_MAX_BYTES) {
        size_t grown = size == 0 ? 64 * (size_t)1024 : 2 * size;
        grown = grown > SLI_TEXT_MAX_BYTES ? SLI_TEXT_MAX_BYTES + 1 : grown;
        char *larger = realloc(bytes, grown);
        if (larger == NULL) {
            free(bytes);
            return SL_ERR_NOMEM;
        }
        bytes = larger;
        size = grown;
        used += fread(bytes + used, 1, size - used, file);
    }
    *text = bytes;
    *length = used;
    return SL_OK;
}

sli_reason sli_reason_of(int error) {
    sli_reason reason;
    if (strerror_r(error, reason.text, sizeof reason.text) != 0) {
        snprintf(reason.text, sizeof reason.text, "error %d", error);
    }
    return reason;
}

sli_unread sli_unread_of(const char *name, int error) {
    sli_unread unread;
    snprintf(unread.text, sizeof unread.text, "cannot read '%s': %s", sli_excerpt_of(name).text,
             sli_reason_of(error).text);
    return unread;
}
