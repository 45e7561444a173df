/*
 * The pages that requests of a query lie in, as a run would lay them out.
 *
 * Floor run. Part of estimate.h: kv/layout.h for the layers of a stage. Must not know devices. No
 * memory; O(layer runs).
 */
#ifndef SLUICE_RUN_ESTIMATE_PAGES_H
#define SLUICE_RUN_ESTIMATE_PAGES_H

#include "run/estimate.h"

/* How layers of the query's model lie in pages; what keeps them from it goes to diag
 * (SL_ERR_CONFIG). Some of them have to keep something. */
SL_NODISCARD sl_err sli_estimate_lay_out(const sli_estimate_query *query, const sli_stage *layers,
                                         sli_diag *diag, sli_layout *layout);

/* Requests of the copy of the attention that has most of them: the dp copies have their own. */
int64_t sli_estimate_copy_requests(const sli_estimate_query *query);

/* Pages that a request ever holds while it decodes, at most; of kept rows those of its last step.
 */
int64_t sli_estimate_request_pages(const sli_estimate_query *query, const sli_layout *layout);

/* Pages that it holds besides while its prompt is computed, before a method throws tokens out. */
int64_t sli_estimate_prompt_pages(const sli_estimate_query *query, const sli_layout *layout);

/* Those of them that it has in common with others: whole blocks of what grows. Pages of windows and
 * states are never taken to be shared. */
int64_t sli_estimate_prefix_pages(const sli_estimate_query *query, const sli_layout *layout);

/* What a run finds of the query's shared prefix at most, by the layout of all layers. All zero
 * without a prefix. */
SL_NODISCARD sl_err sli_estimate_share(const sli_estimate_query *query, sli_diag *diag,
                                       sli_estimate_sharing *sharing);

#endif
