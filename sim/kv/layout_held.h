/*
 * What a context holds of a layout: blocks, pages, the most there ever are, and what of them is
 * empty.
 *
 * Floor kv. A context of T computed tokens holds, of a group with B tokens a block, between steps:
 *
 *     growing   ceil(T / B)
 *     sliding   ceil(T / B) - floor(max(0, T - W + 1) / B)
 *               those with one of the last W - 1 tokens, which the next one looks back at
 *     chunked   ceil(T / B) - floor(T / C) * C / B
 *               those of the chunk of the next token
 *     state     1, that of token T; 0 before the first token
 *     fixed     a number that does not depend on T, from the admission on
 *     kept      ceil(slots / B), of which a rule for thrown out tokens says how many there are when
 *               the prompt has so many tokens (model/kept.h)
 *
 * and while a step computes more tokens, the blocks of these besides: of a state that of the last
 * of them.
 *
 * Closed forms of the tokens; kv/context.h is what holds them. Must not know requests or
 * scheduling. Pure arithmetic, O(groups).
 */
#ifndef SLUICE_KV_LAYOUT_HELD_H
#define SLUICE_KV_LAYOUT_HELD_H

#include "kv/layout.h"

/* The blocks in front of the first one that a token behind `tokens` looks back at: of windows and
 * chunks; 0 of others. */
int64_t sli_group_passed_blocks(const sli_group *group, int64_t tokens);

/* Blocks of a group that a context of `tokens` computed tokens holds between steps, and while a
 * step computes those behind them up to `end_tokens`. Here and below a kept group takes all tokens
 * for the prompt, but where the prompt is given. */
int64_t sli_group_blocks(const sli_group *group, int64_t tokens);
int64_t sli_group_step_blocks(const sli_group *group, int64_t tokens, int64_t end_tokens);
int64_t sli_group_request_step_blocks(const sli_group *group, int64_t prompt_tokens, int64_t tokens,
                                      int64_t end_tokens);

/* Blocks of a group that a reservation for `tokens` tokens holds: whatever the steps, a context has
 * no need of more until it has so many. A step may compute all of the `known_tokens` first ones; 0
 * = those are there, and steps are of one token. Of a window as many as its tokens can lie in. */
int64_t sli_group_reserved_blocks(const sli_group *group, int64_t prompt_tokens,
                                  int64_t known_tokens, int64_t tokens);

/* Pages that are enough for a reservation of so many tokens, in whole blocks of the first group,
 * whatever part of them is prompt. */
int64_t sli_layout_reserved_pages(const sli_layout *layout, int64_t tokens);

/* Pages of all groups between steps, and most that a context of at most `tokens` ever holds when a
 * step computes no more than `step_tokens`; the latter is exact, and costs a look at each place
 * near the end where a block begins. */
int64_t sli_layout_pages(const sli_layout *layout, int64_t tokens);
int64_t sli_layout_peak_pages(const sli_layout *layout, int64_t tokens, int64_t step_tokens);
int64_t sli_layout_request_pages(const sli_layout *layout, int64_t prompt_tokens, int64_t tokens);
int64_t sli_layout_request_peak_pages(const sli_layout *layout, int64_t prompt_tokens,
                                      int64_t tokens, int64_t step_tokens);

/* Bytes of sli_layout_pages that hold nothing: unfilled slots and padding, and what is reserved and
 * not used. A slot whose token has left its window holds something until its block is freed. For
 * the architecture and the options that the layout was made of. O(stores). */
int64_t sli_layout_waste_bytes(const sli_layout *layout, const sli_architecture *architecture,
                               const sli_layout_options *options, int64_t tokens);

#endif
