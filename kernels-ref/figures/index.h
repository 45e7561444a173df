/*
 * Closed forms of index_scores and select_top.
 */
#ifndef KREF_FIGURES_INDEX_H
#define KREF_FIGURES_INDEX_H

#include "figures/work.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys are 128 wide, in bf16 or as codes of a byte with a scale. */
kref_work kref_index_scores_work(int sequences, const int32_t *lengths, int64_t tokens_max,
                                 int64_t heads, bool has_codes);

kref_work kref_select_top_work(int rows, const int32_t *lengths, int64_t top);

#ifdef __cplusplus
}
#endif

#endif
