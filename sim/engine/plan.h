/*
 * The planning conversation, the core's side of it.
 *
 * Floor engine. Every call of a policy is checked and reserved here at once, wholly or not at all.
 * A call against the rules is a fault that names policy, rule and time, and ends the run.
 */
#ifndef SLUICE_ENGINE_PLAN_H
#define SLUICE_ENGINE_PLAN_H

#include "engine/core.h"

/* What cores hand to policies; tests and tracing may wrap it. */
extern const sl_plan_ops sli_plan_ops;

/*
 * Makes the plan of the next step: by the promise that the policy made, if that still holds, else
 * by asking it, again as long as plans come out empty after preemptions. Afterwards core->state
 * says what was planned and each request's planned_tokens its share; nothing planned means idle.
 */
void sli_core_plan(sli_core *core);

/* Whether the last plan, promised to be repeated, may be repeated now. O(1). */
bool sli_core_promise_holds(const sli_core *core);

/*
 * Whether somebody who waits may find room in a plan that he had not when the promise was made. So
 * many blocks are free before it, and it takes some of them or none. While only decoding goes on
 * windows leave blocks behind; and a block of a window or a state that is lost may spoil the hit of
 * a long prefix, without which a request asks for less at first. (Of the first group blocks are
 * lost one by one, the deepest first.) O(1).
 */
bool sli_core_may_admit(const sli_core *core, int64_t free_blocks, bool takes_blocks);

/* What the prefix index holds of a waiting request; the last token is always computed. */
sli_hit sli_core_hit(const sli_core *core, const sl_request *waiting);

/* The part of the table that only looks (view.c). */
void sli_plan_view(const sl_plan *plan, sl_plan_view *view);
void sli_plan_request(const sl_plan *plan, const sl_request *request, sl_request_view *view);
int64_t sli_plan_cached_tokens(const sl_plan *plan, const sl_request *waiting);
sl_request *sli_plan_first_running(const sl_plan *plan);
sl_request *sli_plan_next_running(const sl_plan *plan, const sl_request *request);
sl_request *sli_plan_last_running(const sl_plan *plan);
sl_request *sli_plan_first_waiting(const sl_plan *plan);
sl_request *sli_plan_next_waiting(const sl_plan *plan, const sl_request *request);
sl_request *sli_plan_victim(const sl_plan *plan);

#endif
