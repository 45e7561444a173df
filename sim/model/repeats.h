/*
 * Rows of a list that come again and again: `[12, [[3, gdn, moe], [1, full, moe]]]` stands for the
 * two rows, in this order, 12 times over.
 *
 * Floor model. First the tree is unfolded, so that the schema sees each row once, where the file
 * has it, and names its mistakes once; when the rows are read and checked, they are repeated. A
 * repeat cannot hold another one. Must not know what a row means.
 */
#ifndef SLUICE_MODEL_REPEATS_H
#define SLUICE_MODEL_REPEATS_H

#include "config/schema.h"

/* A row of the list, or a repeat. */
typedef struct sli_repeat {
    int64_t times;
    size_t rows;
} sli_repeat;

/* How a list was written. */
typedef struct sli_repeats {
    const char *key;
    sli_mark mark;
    sli_repeat *entries; /* in the order of the file, in the arena */
    size_t count;
} sli_repeats;

/*
 * Puts the rows of all repeats in the list of that key in their places, each once. A mistake goes
 * to diag; then the root is flawed, so that resolving it goes on and fails. A key that is not there
 * or no list is for the schema to refuse. SL_OK or SL_ERR_NOMEM. O(rows).
 */
SL_NODISCARD sl_err sli_repeats_unfold(sli_arena *arena, sli_node *root, const char *key,
                                       sli_diag *diag, sli_repeats *repeats);

/*
 * Repeats the rows of a table that was read from the unfolded list, each of `row_bytes`. More than
 * `max_rows` of them are an error (SL_ERR_CONFIG). O(rows that come out).
 */
SL_NODISCARD sl_err sli_repeats_expand(sli_arena *arena, const sli_repeats *repeats,
                                       size_t row_bytes, int64_t max_rows, sli_diag *diag,
                                       sli_table *table);

#endif
