/*
 * Sums over a batch that counts of work are multiples of.
 *
 * Floor model. What a mixer computes and moves for a batch is linear in a few sums: so much a
 * decode row, a key that such a row sees, a pair of a query of a chunk and a key. A part finds its
 * factors once; a step makes the sums and multiplies. Rows that do not grow or that every token
 * adds one to need no sums but those that every shape has; those of other growths are asked for by
 * a cost model (sl_cost_model.growths). Must not know what the rows hold. O(1) in all functions.
 */
#ifndef SLUICE_MODEL_BATCH_SUMS_H
#define SLUICE_MODEL_BATCH_SUMS_H

#include "model/growth.h"
#include "sluice/cost.h"

/* The growths whose sums are asked for, each once. Zeroed is empty. */
typedef struct sli_growth_list {
    sli_growth rows[SL_VISIBLE_MAX];
    int count;
} sli_growth_list;

/* Adds a growth that needs sums of its own and is not there yet; false if the list is full. */
bool sli_growth_list_add(sli_growth_list *list, const sli_growth *growth);

/* k tokens are computed before a row or chunk, c are those of the chunk. */
typedef enum sli_batch_sum {
    SLI_SUM_DECODES,       /* decode rows */
    SLI_SUM_DECODE_KEYS,   /* k + 1 */
    SLI_SUM_DECODE_PREFIX, /* k */
    SLI_SUM_CHUNKS,        /* prefill chunks */
    SLI_SUM_CHUNK_TOKENS,  /* c */
    SLI_SUM_CHUNK_PREFIX,  /* k */
    SLI_SUM_CHUNK_KEYS,    /* k + c */
    SLI_SUM_CHUNK_PAIRS,   /* of queries and keys */
    /* From here on one for each growth of the list. */
    SLI_SUM_DECODE_VISIBLE,
    SLI_SUM_CHUNK_VISIBLE = SLI_SUM_DECODE_VISIBLE + SL_VISIBLE_MAX,
    SLI_SUM_CHUNK_WINDOW = SLI_SUM_CHUNK_VISIBLE + SL_VISIBLE_MAX,
    SLI_SUM_CHUNK_CHOSEN = SLI_SUM_CHUNK_WINDOW + SL_VISIBLE_MAX,
    SLI_SUM_COUNT = SLI_SUM_CHUNK_CHOSEN + SL_VISIBLE_MAX,
} sli_batch_sum;

typedef struct sli_batch_sums {
    double values[SLI_SUM_COUNT];
} sli_batch_sums;

/* The shape holds the sums of the growths of the list, in its order. */
void sli_batch_sums_make(const sli_growth_list *list, const sl_batch_shape *shape,
                         sli_batch_sums *sums);

/* A factor of a sum. */
typedef struct sli_sum_term {
    sli_batch_sum sum;
    double factor;
} sli_sum_term;

/* Rows that all decode rows see, that is the sum of growth(k + 1); the growth was added to the
 * list, here and below. */
sli_sum_term sli_sum_of_decodes(const sli_growth_list *list, const sli_growth *growth);

/* Pairs of the queries of all chunks and the rows that they see. */
sli_sum_term sli_sum_of_pairs(const sli_growth_list *list, const sli_growth *growth);

/*
 * Rows that at least one query of a chunk sees, over all chunks; `kept` is the growth of those that
 * are there. All of them when nothing bounds the growth. The latest ones, of a window or an
 * attention chunk of span s: c + s - 1 at most. Chosen ones, when more are kept than seen: at most
 * as many as pairs. Two bounds of a sum, of which the smaller is taken, so with chunks of very
 * different lengths it may be too high, never too low.
 */
sli_sum_term sli_sum_of_chunk_rows(const sli_growth_list *list, const sli_growth *read,
                                   const sli_growth *kept);

/* A count: the sum of its terms. Zeroed is 0. */
enum { SLI_TERM_MAX = 8 };
typedef struct sli_linear_count {
    sli_sum_term terms[SLI_TERM_MAX]; /* of different sums */
    int term_count;
} sli_linear_count;

/* Adds `each` >= 0 for every unit of the term. */
void sli_linear_add(sli_linear_count *count, sli_sum_term term, double each);

/* Inline: a step of the roofline does little else. */
static inline double sli_linear_at(const sli_linear_count *count, const sli_batch_sums *sums) {
    double value = 0.0;
    for (int i = 0; i < count->term_count; i++) {
        value += count->terms[i].factor * sums->values[count->terms[i].sum];
    }
    return value;
}

#endif
