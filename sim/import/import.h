/*
 * A model file from a config.json of Hugging Face.
 *
 * Floor import. Finds the family by the model type (import/families.h), has the fields read
 * and writes the model as the YAML that model/architecture.h takes, which is checked before it is
 * given away. A text model inside of one for several modalities (text_config) is the model. Must
 * not know where the result goes.
 */
#ifndef SLUICE_IMPORT_IMPORT_H
#define SLUICE_IMPORT_IMPORT_H

#include "base/arena.h"
#include "base/diag.h"

typedef struct sli_import_request {
    const char *path;   /* of the file; for a text, its name in messages */
    const char *name;   /* of the model; NULL = as the file says, or else its model type */
    const char *family; /* to read it as; NULL = by its model type */
} sli_import_request;

/*
 * The YAML, in the arena, which the names in diagnostics live in too. SL_ERR_CONFIG when there are
 * mistakes: no JSON, an unknown model type, fields that are missing, wrong, or not known how to
 * read. What was left out because it looked harmless is a warning. O(text + layers).
 */
SL_NODISCARD sl_err sli_import_file(sli_arena *arena, const sli_import_request *request,
                                    sli_diag *diag, const char **yaml);
SL_NODISCARD sl_err sli_import_text(sli_arena *arena, const sli_import_request *request,
                                    const char *text, size_t length, sli_diag *diag,
                                    const char **yaml);

#endif
