/*
 * How long a step takes.
 *
 * The engine sums up a batch as a shape: a handful of integers that no architecture or device
 * enters. A cost model turns the shape into nanoseconds by cause. Doubles live only in here; the
 * sum is rounded to an integer once, to nearest with ties to even, and is at least 1 ns.
 */
#ifndef SLUICE_COST_H
#define SLUICE_COST_H

#include <stdint.h>

struct sli_growth;

/* Growths that a cost model may ask for. */
enum { SL_VISIBLE_MAX = 6 };

/*
 * A chunk of c tokens over k computed ones has k + c visible keys at its end. A chunk of one token
 * over a past (c = 1, k > 0) is a decode row; everything else is a prefill chunk.
 */
typedef struct sl_batch_shape {
    int64_t tokens;            /* all of the step */
    int64_t sequences;         /* requests with at least one token */
    int64_t emitting;          /* requests that get a token out of the step: rows of the head */
    int64_t decodes;           /* decode rows */
    int64_t decode_kv_tokens;  /* sum of k + 1 over decode rows */
    int64_t decode_kv_max;     /* longest k + 1 of a decode row */
    int64_t prefills;          /* prefill chunks */
    int64_t prefill_tokens;    /* sum of c */
    int64_t prefill_kv_tokens; /* sum of k + c */
    int64_t prefill_kv_max;    /* longest k + c of a chunk */
    int64_t prefill_pairs;     /* exact causal pairs: sum of c k + c (c + 1) / 2 */
    /* Twice the pairs of 128-row tiles, to stay integral: sum of
     * ceil(c / 128) * 128 * (2 k + c + 128). */
    int64_t prefill_tile_pairs_x2;
    /* For each growth g that the cost model names, the rows that queries see, windows and chosen
     * entries say: the sum of g(k + 1) over decode rows, and of g(k + 1) + ... + g(k + c) over
     * chunks. */
    int64_t decode_visible[SL_VISIBLE_MAX];
    int64_t prefill_visible[SL_VISIBLE_MAX];
} sl_batch_shape;

typedef enum sl_cause {
    SL_CAUSE_GEMM,
    SL_CAUSE_ATTENTION,
    SL_CAUSE_ELEMENTWISE,
    SL_CAUSE_HEAD,
    SL_CAUSE_COLLECTIVE,
    SL_CAUSE_ENGINE, /* what the serving engine adds on the host */
    SL_CAUSE_COUNT
} sl_cause;

typedef struct sl_step_cost {
    double cause_ns[SL_CAUSE_COUNT];
    int64_t total_ns; /* the terms summed in a fixed order, rounded once; >= 1 */
} sl_step_cost;

typedef struct sl_cost_ops {
    /* A function of the shape alone; O(1). It may remember earlier answers, so an instance belongs
     * to one trial. */
    void (*step)(void *self, const sl_batch_shape *shape, sl_step_cost *cost);
} sl_cost_ops;

typedef struct sl_cost_model {
    const sl_cost_ops *ops;
    void *self;
    const struct sli_growth *growths; /* whose sums it needs, at most SL_VISIBLE_MAX */
    int growth_count;
} sl_cost_model;

#endif
