#include "cost/memo.h"

/* Decode batches stay below it, chunked prefill mostly sits at the budget. */
enum { ROW_COUNT = 2048 };

sl_err sli_memo_init(sli_arena *arena, sli_memo *memo) {
    memo->rows = sli_arena_array(arena, ROW_COUNT, sizeof memo->rows[0]);
    if (memo->rows == NULL) {
        return SL_ERR_NOMEM;
    }
    for (int i = 0; i < ROW_COUNT; i++) {
        memo->rows[i].count = -1;
    }
    return SL_OK;
}

bool sli_memo_find(const sli_memo *memo, int64_t count, sli_memo_row **row) {
    *row = &memo->rows[count % ROW_COUNT];
    if ((*row)->count == count) {
        return true;
    }
    (*row)->count = count;
    return false;
}
