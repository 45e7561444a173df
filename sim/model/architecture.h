/*
 * An architecture: what a model is made of, as data.
 *
 * Floor model. Read from YAML: the files of workloads/models by name, any other by path. Layers
 * come as runs of equal ones, each naming its attention and its feed-forward kind; the geometry of
 * a kind is said once. One kind of each is known so far. Must not know devices, batches or time.
 * All that is read lives in the arena that it was read into.
 */
#ifndef SLUICE_MODEL_ARCHITECTURE_H
#define SLUICE_MODEL_ARCHITECTURE_H

#include "base/embedded.h"
#include "config/catalogue.h"
#include "config/schema.h"

#include <stdint.h>

typedef enum sli_attention_kind {
    SLI_ATTENTION_FULL, /* grouped-query attention over all that came before */
} sli_attention_kind;

typedef enum sli_ffn_kind {
    SLI_FFN_DENSE, /* gated: down(act(gate x) * up x) */
} sli_ffn_kind;

typedef struct sli_full_attention {
    int64_t q_heads;
    int64_t kv_heads;
    int64_t head_dim;
    bool has_qk_norm; /* queries and keys are normalised a head */
} sli_full_attention;

typedef struct sli_dense_ffn {
    int64_t width; /* of the inner layer */
} sli_dense_ffn;

/* `count` equal layers in a row. */
typedef struct sli_layer_run {
    int64_t count;
    int attention; /* sli_attention_kind */
    int ffn;       /* sli_ffn_kind */
} sli_layer_run;

typedef struct sli_architecture {
    const char *id;   /* the name that a scenario uses; of a file: its name without .yaml */
    const char *name; /* as its makers write it */
    const char *source;
    int64_t hidden;
    int64_t vocab_tokens;
    bool has_tied_embeddings; /* the head is the embedding */
    int64_t context_native_tokens;
    double published_params; /* as advertised; for comparison only */
    sli_full_attention full;
    sli_dense_ffn dense;
    sli_table layers; /* of sli_layer_run */
} sli_architecture;

/* The models that were compiled in. */
extern const sli_embedded sli_model_files[];

/* The schema of a model file. */
extern const sli_section sli_architecture_section;

/* Reads a model by name or path; mistakes go to diag (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_architecture_read(sli_arena *arena, const char *name_or_path,
                                          sli_catalogue_site site, sli_diag *diag,
                                          const sli_architecture **architecture);

int64_t sli_architecture_layers(const sli_architecture *architecture);

#endif
