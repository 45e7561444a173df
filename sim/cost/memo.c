#include "cost/memo.h"

sl_err sli_memo_init(sli_arena *arena, sli_memo *memo) {
    memo->rows = sli_arena_array(arena, SLI_MEMO_ROWS, sizeof memo->rows[0]);
    if (memo->rows == NULL) {
        return SL_ERR_NOMEM;
    }
    for (int i = 0; i < SLI_MEMO_ROWS; i++) {
        memo->rows[i].count = -1;
    }
    return SL_OK;
}
