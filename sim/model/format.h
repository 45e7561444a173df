/*
 * How many bytes the rows of the cache take, and the parameters of a model.
 *
 * Floor model. A token leaves rows in the cache (keys, latents, an index key), in each head one;
 * a format says for each sort of row what it weighs, scales and all, whether outliers lie apart
 * from it, and whether the latest rows of a sequence stay in bf16. Recurrent state is not part of
 * it: its type belongs to the model. Formats of weights are chosen apart. All formats are constant
 * data; what they say is O(1). Their sources stand beside them in format.c.
 */
#ifndef SLUICE_MODEL_FORMAT_H
#define SLUICE_MODEL_FORMAT_H

#include "sluice/param.h"

#include <stdbool.h>
#include <stdint.h>

/* What a row is. */
typedef enum sli_row_sort {
    SLI_ROW_KEY,
    SLI_ROW_VALUE,
    SLI_ROW_LATENT, /* MLA: compressed keys and values, and the rotary part of the key */
    SLI_ROW_ENTRY,  /* DeepSeek V4: one vector that is key and value */
    SLI_ROW_INDEX,  /* the key that a sparse layer is searched by */
    SLI_ROW_COUNT
} sli_row_sort;

/* Which of the rows of a sequence of T tokens wait in bf16 to be quantised. */
typedef enum sli_residual_kind {
    SLI_RESIDUAL_NONE,
    SLI_RESIDUAL_LATEST,    /* min(T, R): the oldest of them leaves when a row comes */
    SLI_RESIDUAL_REMAINDER, /* T mod R: all of them leave when there are R */
} sli_residual_kind;

/* Elements are stored in groups that share scales; a part of a group counts as a whole one. What
 * does not fit the scale of its row may lie apart: of the elements that a token has in all heads
 * one in so many, in whole ones, so that the bytes of tokens add up. */
typedef struct sli_row_format {
    int64_t group_elements;
    int64_t group_bytes;
    int64_t row_bytes;   /* on top; with no groups (0 elements) the whole row, whatever its width */
    int64_t token_bytes; /* on top, once for the rows of all heads */
    int64_t outlier_elements; /* one of so many is an outlier; 0 = none is */
    int64_t outlier_bytes;    /* of one, with its place */
    sli_residual_kind residual;
    int64_t residual_tokens; /* R */
} sli_row_format;

typedef struct sli_cache_format {
    const char *name;
    const char *help;
    sli_row_format rows[SLI_ROW_COUNT];
} sli_cache_format;

/* Ends with a row whose name is NULL; the first is bf16. */
extern const sli_cache_format sli_cache_formats[];

/* Their names in the same order, NULL behind the last, for schemas; and what engines call them
 * (fp8_e4m3, fp16; `auto`, the type that a model computes in, is bf16). */
extern const char *const sli_cache_format_names[];
extern const sl_word sli_cache_format_words[];

/* The format of a name or a word for it, or NULL. O(names). */
const sli_cache_format *sli_cache_format_find(const char *name);

/* The first format that stores rows of the given sorts like this one, often itself: kivi2 leaves
 * latents in bf16. O(formats). */
const sli_cache_format *sli_cache_format_plainest(const sli_cache_format *format,
                                                  const bool kept[SLI_ROW_COUNT]);

/* A row of each of the heads, at rest, behind any residual. */
int64_t sli_format_row_bytes(const sli_cache_format *format, sli_row_sort sort, int64_t heads,
                             int64_t elements);

/* The latest `rows` rows of each of the heads, in a sequence of so many tokens. With a residual it
 * is not monotonic in the tokens: keys that were waiting shrink together. */
int64_t sli_format_rows_bytes(const sli_cache_format *format, sli_row_sort sort, int64_t heads,
                              int64_t elements, int64_t rows, int64_t tokens);

/* Of a sequence of so many tokens, those that wait in bf16, and the most that ever do so while
 * others come: 0 where none waits. */
int64_t sli_format_residual_rows(const sli_cache_format *format, sli_row_sort sort, int64_t tokens);
int64_t sli_format_residual_most(const sli_cache_format *format, sli_row_sort sort);

/* Whether any rows wait in bf16. */
bool sli_format_has_residual(const sli_cache_format *format);

/* What weights are stored in; groups of parameters share scales. model/weights.h says which weights
 * of a model are in which. */
typedef struct sli_weight_format {
    const char *name;
    const char *help;
    int64_t group_params;
    int64_t group_bytes;
} sli_weight_format;

/* Ends with a row whose name is NULL; the first is bf16. */
extern const sli_weight_format sli_weight_formats[];

/* Their names in the same order, NULL behind the last, for schemas, and what engines call them; and
 * both behind a name in front: as all other weights, as the model is published (also `auto`). */
extern const char *const sli_weight_format_names[];
extern const sl_word sli_weight_format_words[];
extern const char *const sli_weight_format_or_same[];
extern const sl_word sli_weight_format_or_same_words[];
extern const char *const sli_weight_format_or_published[];
extern const sl_word sli_weight_format_or_published_words[];

/* The format of a name or a word for it, or NULL. O(names). */
const sli_weight_format *sli_weight_format_find(const char *name);

#endif
