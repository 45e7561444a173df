/*
 * How many rows stay of a request whose tokens are thrown out, and how many of them a query sees.
 *
 * Floor model. A rule is a few integers: what stays of a prompt, and what the tokens behind it add.
 * Unlike a growth (model/growth.h) it depends on where the prompt ends. Which tokens stay is not
 * simulated, only how many. With a prompt of P tokens and S(n) = min(ceil(share n), cap):
 *
 *     a query at its position i sees     within the prompt     behind it
 *         a rule that drops d at once    i up to the cap, then again and again cap - d + 1 .. cap
 *         another rule                   S(i)                  S(P) + floor((i - P) / row_tokens)
 *         a rule that does not roll      i                     as above
 *
 * So many rows stay behind a token that is computed, of a rule that does not roll from the last
 * token of the prompt on; all of them before that. Who drops needs slots up to the cap even while
 * fewer rows are there, since they fill up again. A token behind the prompt takes the slot of one
 * that it pushes out. A rolling rule throws out while the prompt is computed; else a chunk of the
 * prompt keeps all of its tokens and those before it until the step ends, also those behind the
 * prompt when they are computed again.
 *
 * Must not know methods, layers or blocks. Values of a few words, passed by address; O(1), pairs of
 * a rolling share O(log tokens).
 */
#ifndef SLUICE_MODEL_KEPT_H
#define SLUICE_MODEL_KEPT_H

#include "sluice/policy.h"

/* Whether the integers of a rule are in their ranges, which end at SLI_GROWTH_TOKENS_MAX
 * (model/growth.h). */
bool sli_kept_is_valid(const sl_kept *kept);

/* The plainest rule that does the same to every request of no more tokens: a cap that none passes
 * is no cap, and rows that would come later never come. What counts stairs needs memory for each of
 * their tokens (engine/stairs.h), so far ones are not to be counted. */
sl_kept sli_kept_within(const sl_kept *kept, int64_t longest_tokens);

/* S(n). */
int64_t sli_kept_of_prompt(const sl_kept *kept, int64_t tokens);

/* Slots of a request of so many computed tokens between steps, and while a step computes those
 * behind them up to `end_tokens`. Neither falls in `tokens` from the end of the prompt on. */
int64_t sli_kept_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t tokens);
int64_t sli_kept_step_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t tokens,
                            int64_t end_tokens);

/* The most that a request holds between steps until it has so many computed tokens. */
int64_t sli_kept_most_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t tokens);

/* Rows that the query at a position, from 1 on, sees, its own among them. */
int64_t sli_kept_seen(const sl_kept *kept, int64_t prompt_tokens, int64_t position);

/* The sum of sli_kept_seen over prefix + 1 .. prefix + added. */
int64_t sli_kept_pairs(const sl_kept *kept, int64_t prompt_tokens, int64_t prefix_tokens,
                       int64_t added_tokens);

#endif
