/*
 * A model file that is being made, and how it is written: the YAML that model/architecture.h reads.
 *
 * Floor import. Parts are made of keys and values in the order of the calls; a value that the
 * schema has as its default (0, NULL) is left out, and so is a part that no layer names. Layers
 * are given one by one, first to last; equal neighbours become a run, and runs that come again a
 * repeat (import/groups.h). Must not know where the figures come from, nor what the kinds of
 * parts may be told: the schema checks what was written.
 *
 * All lives in the arena of the model. When memory is out the calls do nothing, and writing
 * answers SL_ERR_NOMEM.
 */
#ifndef SLUICE_IMPORT_MODEL_H
#define SLUICE_IMPORT_MODEL_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SLI_IMPORT_PARTS_MAX = 8 }; /* the last one stays empty and ends the list */

/* A mixer or a feed-forward. */
typedef struct sli_import_part {
    struct sli_import_model *model;
    const char *name; /* NULL = there is none */
    const char *text; /* `type: gqa, q_heads: 32`, perhaps with a group that is not closed yet */
    bool is_fresh;    /* the next key is the first of its group */
} sli_import_part;

typedef struct sli_import_run {
    int64_t count;
    const char *mixer;
    const char *ffn;
} sli_import_run;

typedef struct sli_import_runs {
    sli_import_run *rows;
    size_t count;
    size_t capacity;
} sli_import_runs;

/* Names of formats of weights (model/format.h); NULL = as `other`, which NULL means bf16. */
typedef struct sli_import_weights {
    const char *experts; /* left out where no part has routed experts */
    const char *attention;
    const char *embeddings;
    const char *other;
} sli_import_weights;

/* Zeroed with an arena is valid and empty. */
typedef struct sli_import_model {
    sli_arena *arena;
    const char *name;
    sli_import_weights weights;
    const char *note; /* NULL = none */
    bool has_assumptions;
    int64_t hidden;
    int64_t vocab_tokens;
    int64_t context_tokens; /* 0 = unlimited */
    bool has_tied_embeddings;
    int64_t layer_embedding; /* 0 = none */
    int64_t hyper_streams;   /* 0 = none */
    sli_import_part mixers[SLI_IMPORT_PARTS_MAX];
    sli_import_part ffns[SLI_IMPORT_PARTS_MAX];
    sli_import_runs layers;
    sli_import_runs mtp_layers;
    bool is_out_of_memory;
} sli_import_model;

/* A new part; names are constants. */
sli_import_part *sli_import_mixer(sli_import_model *model, const char *name, const char *type);
sli_import_part *sli_import_ffn(sli_import_model *model, const char *name, const char *type);

/* One more key. */
void sli_import_number(sli_import_part *part, const char *key, int64_t value);
void sli_import_tokens(sli_import_part *part, const char *key, int64_t tokens);
void sli_import_word(sli_import_part *part, const char *key, const char *word);
void sli_import_switch(sli_import_part *part, const char *key, bool is_on);

/* What stands between is a group of that key. */
void sli_import_open(sli_import_part *part, const char *key);
void sli_import_close(sli_import_part *part);

/* Layers behind those that there are. A count of 0 adds none. */
void sli_import_layers(sli_import_model *model, int64_t count, const char *mixer, const char *ffn);
void sli_import_mtp_layers(sli_import_model *model, int64_t count, const char *mixer,
                           const char *ffn);

/* One more clause of the note. */
void sli_import_note(sli_import_model *model, const char *clause);

/* Lines of less than 100 characters, but for names that are longer. */
SL_NODISCARD sl_err sli_import_write(const sli_import_model *model, FILE *file);

#endif
