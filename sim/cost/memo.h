/*
 * A memo: terms of the cost that depend on one count alone, kept for the next step with that count.
 *
 * Floor cost. Direct-mapped, fixed size: a count that maps to a row in use takes it over. It only
 * changes speed, never a value.
 */
#ifndef SLUICE_COST_MEMO_H
#define SLUICE_COST_MEMO_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Decode batches stay below the rows, chunked prefill mostly sits at the budget. */
enum { SLI_MEMO_VALUES = 3, SLI_MEMO_ROWS = 2048 };

typedef struct sli_memo_row {
    int64_t count; /* whose values these are; -1 = none */
    double values[SLI_MEMO_VALUES];
} sli_memo_row;

typedef struct sli_memo {
    sli_memo_row *rows; /* SLI_MEMO_ROWS of them */
} sli_memo;

SL_NODISCARD sl_err sli_memo_init(sli_arena *arena, sli_memo *memo);

/* The row for a count >= 0; false if the caller has to fill its values first. O(1). Inline, as
 * every step looks here more than once. */
static inline bool sli_memo_find(const sli_memo *memo, int64_t count, sli_memo_row **row) {
    *row = &memo->rows[(uint64_t)count % SLI_MEMO_ROWS];
    bool is_known = (*row)->count == count;
    (*row)->count = count;
    return is_known;
}

#endif
