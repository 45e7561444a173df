/*
 * An architecture: what a model is made of, as data.
 *
 * Floor model. Read from YAML: the files of workloads/models by name, any other by path. The file
 * names its mixers (under `attention`) and feed-forwards, says the kind and geometry of each once,
 * and lists its layers as runs of equal ones, or as runs that are repeated (model/repeats.h). What
 * is read has all runs, one behind the other. Must not know devices, batches or time. All that is
 * read lives in the arena that it was read into.
 */
#ifndef SLUICE_MODEL_ARCHITECTURE_H
#define SLUICE_MODEL_ARCHITECTURE_H

#include "base/embedded.h"
#include "config/catalogue.h"
#include "model/kind.h"
#include "model/kinds.h"
#include "model/weights.h"

/* A mixer or a feed-forward of the file. */
typedef struct sli_layer_part {
    const char *name; /* the file's own */
    const sli_layer_kind *kind;
    const void *values; /* sli_gqa when kind is &sli_gqa_kind */
    sli_part_facts facts;
} sli_layer_part;

/* `count` equal layers in a row. */
typedef struct sli_layer_run {
    int64_t count;
    const char *attention_name; /* as written; of mixer->name */
    const char *ffn_name;
    const sli_layer_part *mixer;
    const sli_layer_part *ffn;
} sli_layer_run;

typedef enum sli_confidence {
    SLI_CONFIDENCE_SOLID, /* from the published configuration, or two sources that agree */
    SLI_CONFIDENCE_MIXED, /* some figures are assumed; the note says which */
} sli_confidence;

typedef enum sli_model_role {
    SLI_ROLE_CATALOGUE,
    SLI_ROLE_EXPERIMENT, /* kept because a published experiment needs it */
} sli_model_role;

typedef struct sli_architecture {
    const char *id;   /* the name that a scenario uses; of a file: its name without .yaml */
    const char *name; /* as its makers write it */
    const char *source;
    int confidence; /* sli_confidence */
    int role;       /* sli_model_role */
    const char *note;
    sli_weights_config weights_config;
    sli_weights weights; /* as published */
    int64_t hidden;
    int64_t vocab_tokens;
    bool has_tied_embeddings; /* the head is the embedding */
    int64_t layer_embedding;  /* width of the embedding that every layer has, Gemma 4 E; 0 = no */
    int64_t hyper_streams;    /* residual streams of DeepSeek V4; 0 = one and no mixing */
    int64_t context_native_tokens;
    double published_params; /* as advertised; for comparison only; 0 = unknown */
    double published_active_params;
    const char *published_difference; /* what these count otherwise than we do, rounding apart */
    sli_map_values attention;
    sli_map_values ffns;
    sli_table layers;     /* of sli_layer_run */
    sli_table mtp_layers; /* of sli_layer_run: multi-token prediction, not part of the backbone */
    const sli_layer_part *mixer_parts; /* attention.count of them */
    const sli_layer_part *ffn_parts;   /* ffns.count */
    const char *keep; /* the method that throws tokens out (model/keep.h); NULL = none,
                         as in a file */
} sli_architecture;

/* The models that were compiled in. */
extern const sli_embedded sli_model_files[];

/* The schema of a model file. */
extern const sli_section sli_architecture_section;

/* Whether a tree has what a model file has and nothing else. O(keys). */
bool sli_architecture_is_file(const sli_node *root);

/* Refuses a path that ends in .json and is a config.json, with the command that imports it, in one
 * message (SL_ERR_CONFIG); anything else is SL_OK, whatever is wrong with it. Linear. */
SL_NODISCARD sl_err sli_architecture_refuse_config(sli_arena *arena, const char *path,
                                                   sli_catalogue_site site, sli_diag *diag);

/* Reads a model by name or path; mistakes go to diag (SL_ERR_CONFIG). */
SL_NODISCARD sl_err sli_architecture_read(sli_arena *arena, const char *name_or_path,
                                          sli_catalogue_site site, sli_diag *diag,
                                          const sli_architecture **architecture);

/* The same from a tree that is read already, in which repeats are unfolded then; the tree and `id`
 * must outlive it. */
SL_NODISCARD sl_err sli_architecture_resolve(sli_arena *arena, const char *id, sli_node *root,
                                             sli_diag *diag, const sli_architecture **architecture);

/* Layers of the backbone, and those of them with a given mixer or feed-forward. O(runs). */
int64_t sli_architecture_layers(const sli_architecture *architecture);
int64_t sli_architecture_layers_of(const sli_architecture *architecture,
                                   const sli_layer_part *part);

/* Whether a part is of the sort that operators were measured for (cost/pnorm.h): attention over all
 * keys and values of every head, or a dense feed-forward. O(1). */
bool sli_layer_part_is_plain(const sli_layer_part *part);

/* The first part that is not plain, or NULL when all layers are. O(runs). */
const sli_layer_part *sli_architecture_unplain(const sli_architecture *architecture);

#endif
