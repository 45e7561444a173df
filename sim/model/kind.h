/*
 * A kind of layer part: what it may be told, and what follows from that.
 *
 * Floor model. A layer is a mixer (attention, or what stands in its place) and a feed-forward. A
 * kind of either is a constant table: parameters, and a function that says as plain data which
 * matrices a part multiplies, which rows it keeps in the cache, and what it computes on them. All
 * figures (bytes, FLOPs, parameters; model/state.h, model/params.h, model/opcount.h) are sums over
 * that data, so a new kind is one file and one row in model/kinds.c. Must not know devices, time,
 * pages or batches.
 *
 * Tensor parallelism: what a part has comes in equal pieces (heads, columns); a rank holds
 * ceil(pieces / ranks) of them, so that fewer pieces than ranks are copied. A latent is one piece.
 */
#ifndef SLUICE_MODEL_KIND_H
#define SLUICE_MODEL_KIND_H

#include "config/schema.h"
#include "model/format.h"
#include "model/growth.h"

/* Weights that a token is multiplied with (or, rarely, that it is looked up in). */
typedef struct sli_matrix {
    const char *name;
    int64_t in;
    int64_t out;
    int64_t pieces; /* that ranks share out; 1 = every rank holds all of it */
    int64_t count;  /* equal matrices */
    int64_t active; /* of them a token uses; fewer than count = routed experts */
} sli_matrix;

/* Rows of one sort that a sequence keeps. */
typedef struct sli_store {
    const char *name;
    sli_row_sort sort;
    int64_t heads;    /* rows of this kind side by side; pieces that ranks share out */
    int64_t elements; /* of a row */
    /* 0 = as the cache format says; otherwise the model fixes the type, as that of a recurrent
     * state, and `sort` means nothing. */
    int64_t element_bytes;
    sli_growth kept;   /* rows after T tokens */
    sli_growth read;   /* rows that a decode step of a sequence of T tokens reads */
    bool is_rewritten; /* a step writes back what it has read, as a recurrent state */
} sli_store;

/* What a query does with each of the rows that it sees, over all heads. */
typedef struct sli_core_work {
    const char *name;
    double row_flops;   /* a query and row, a multiply-add being two */
    sli_growth visible; /* rows to a query at position T; constant 1 = once a token */
    int64_t pieces;     /* heads that ranks share out; 1 = every rank does all of it */
} sli_core_work;

/* Queries of MLA can be put to latents as they are (absorbed), or to keys and values that are made
 * from them first (expanded). All zero where there are no latents. */
typedef struct sli_latent_ways {
    double absorbed_row_flops;
    double expanded_row_flops;
    double expand_flops;       /* to make keys and values from one latent */
    int64_t expanded_elements; /* that they have, in each head */
} sli_latent_ways;

enum { SLI_MATRIX_MAX = 12, SLI_STORE_MAX = 5, SLI_WORK_MAX = 4 };

typedef enum sli_part_role { SLI_PART_MIXER, SLI_PART_FFN } sli_part_role;

/* One part of one layer. */
typedef struct sli_part_facts {
    sli_part_role role; /* by where the file names it, not by the kind */
    sli_matrix matrices[SLI_MATRIX_MAX];
    sli_store stores[SLI_STORE_MAX];
    sli_core_work decode[SLI_WORK_MAX];
    sli_core_work prefill[SLI_WORK_MAX];
    int matrix_count;
    int store_count;
    int decode_count;
    int prefill_count;
    double prefix_flops; /* a cached token, each time that a chunk of prefill is put behind it: MLA
                            expands its latents anew */
    sli_latent_ways latent;  /* the first work of each phase is one of them */
    int64_t summed_elements; /* what a head of the first work of decode sums up over rows: a value,
                                a latent, an entry; 0 = nothing, as a recurrence */
    bool is_borrower;        /* reads what an earlier layer has kept */
} sli_part_facts;

typedef struct sli_layer_kind {
    const char *name;
    const char *help;

    /* What is wrong with values that are each in range, as a clause ("2 heads do not divide ..."),
     * or NULL. NULL = nothing can be. */
    const char *(*check)(const void *values);

    /* Fills zeroed facts. `hidden` is the width of the residual stream. */
    void (*describe)(const void *values, int64_t hidden, sli_part_facts *facts);

    /* Whether a borrower can read what an earlier part of the same kind keeps. NULL = never. */
    bool (*lends)(const void *lender, const void *borrower);
} sli_layer_kind;

/* For kinds: add one row. A matrix or store of no elements is left out. */
void sli_facts_matrix(sli_part_facts *facts, sli_matrix matrix);
void sli_facts_store(sli_part_facts *facts, sli_store store);
void sli_facts_work(sli_part_facts *facts, sli_core_work work); /* of both phases */
void sli_facts_decode(sli_part_facts *facts, sli_core_work work);
void sli_facts_prefill(sli_part_facts *facts, sli_core_work work);

#endif
