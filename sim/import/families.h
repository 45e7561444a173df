/*
 * Families of models: which model types of config.json there are, and how each is read.
 *
 * Floor import. A family is a row in the table of the file that reads it; a new one is a row there,
 * with traits for a reader that exists or with a reader of its own. Must not know files or verbs.
 */
#ifndef SLUICE_IMPORT_FAMILIES_H
#define SLUICE_IMPORT_FAMILIES_H

#include "import/fields.h"
#include "import/model.h"

typedef struct sli_family {
    const char *name;   /* the model type, which --family takes too; NULL ends a table */
    const char *others; /* more model types of the same form, `a|b`; NULL = none */
    /* Asks for the fields and fills the model; what it does not ask for is judged afterwards. */
    void (*read)(sli_fields *fields, sli_import_model *model, const void *traits);
    const void *traits;                /* for read; NULL = none */
    const sli_field_default *defaults; /* NULL = none */
} sli_family;

/* plain.c: attention over keys and values of heads, in all or in a window. */
extern const sli_family sli_plain_families[];

/* gemma.c: Gemma 4, with shared keys and values and embeddings of layers. */
extern const sli_family sli_gemma_families[];

/* latent.c: latents and compressed entries, DeepSeek V2 to V4, GLM-5, Kimi K2. */
extern const sli_family sli_latent_families[];

/* hybrid.c: linear attention between layers with keys and values. */
extern const sli_family sli_hybrid_families[];

/* recurrent.c: Mamba and RWKV. */
extern const sli_family sli_recurrent_families[];

/* The family of a model type; capitals and underscores do not matter. NULL = unknown. */
const sli_family *sli_family_find(const char *model_type);

/* All names and other model types, in the arena; NULL when memory is out. */
const char *const *sli_family_names(sli_arena *arena, size_t *count);

#endif
