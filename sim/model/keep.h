/*
 * Methods that throw tokens out of the cache of a request: what they are told, how many rows they
 * leave in each layer, and what they compute for it.
 *
 * Floor model. A method is a constant row: parameters, and functions that say as plain data what
 * follows from them. Which tokens stay, and what that does to answers, is not simulated; a method
 * only carries figures about quality that the user gives. Must not know layers' geometry, pages or
 * batches. Pure, O(1).
 *
 * All key and value heads of a layer keep equally many rows. Layers may differ; what lies in pages
 * and what a step costs goes by their mean, which is exact: a page has a slot of every layer, and
 * the cost of a row is the same in each.
 */
#ifndef SLUICE_MODEL_KEEP_H
#define SLUICE_MODEL_KEEP_H

#include "config/schema.h"
#include "model/kept.h"

/* A figure about answers, as the user found it; never computed and never used. */
typedef struct sli_keep_quality {
    const char *budget; /* that it was found with, in words */
    const char *measure;
    double figure;
    const char *source;
} sli_keep_quality;

/* The first part of the values of every method. */
typedef struct sli_keep_settings {
    sli_table quality; /* of sli_keep_quality */
} sli_keep_settings;

/* What a method does in each of its layers beside attention. Zeroed is nothing. */
typedef struct sli_keep_extra {
    bool rotates_keys;       /* keys get their positions anew in each decode step */
    bool has_scores;         /* each row and key head has a score, added to in each step */
    double rescored_share;   /* of the pairs of a prompt, whose weights are needed a second time */
    int64_t observed_tokens; /* the last ones of a prompt, whose weights for all its keys are needed
                                a second time */
    int64_t pooled_tokens;   /* summed up around each key, in the same pass */
} sli_keep_extra;

typedef struct sli_keep_method {
    const char *name;
    const char *summary; /* one sentence, no full stop */
    const char *when;    /* tokens are thrown out, as a clause */
    const char *paper;
    const char *work; /* that it does besides, and what of that is counted how */
    const sli_section *section;

    /* What is wrong with values that are each in range, as a clause, or NULL. NULL = nothing can
     * be.
     */
    const char *(*check)(const void *values);

    /* How many rows stay in the mean of the layers. */
    sli_kept (*rule)(const void *values);

    /* Rows of a prompt that one of the layers keeps once it is computed. NULL = as the rule says.
     */
    int64_t (*layer_rows)(const void *values, int64_t layer, int64_t layers, int64_t prompt_tokens);

    sli_keep_extra (*extra)(const void *values);

    /* Its budget in words, `20 % of the prompt`. */
    void (*describe)(const void *values, char *text, size_t text_bytes);
} sli_keep_method;

/* For sli_field.types, and all there are: `none`, whose item is NULL, and the methods. */
const sli_named_type *sli_keep_types(const void *context, size_t *count);

/* Rows of a prompt that a layer, from 0 on, of so many that the method cuts keeps once the prompt
 * is computed. */
int64_t sli_keep_layer_rows(const sli_keep_method *method, const void *values, int64_t layer,
                            int64_t layers, int64_t prompt_tokens);

#endif
