#include "kv/layout_held.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "kv/layer_share.h"
#include "kv/waiting_rows.h"
#include "model/state.h"

/* ---- What a context holds ---- */

int64_t sli_group_passed_blocks(const sli_group *group, int64_t tokens) {
    switch (group->kind) {
    case SLI_GROUP_SLIDING:
        return sli_max_i64(0, tokens - (group->span_tokens - 1)) / group->block_tokens;
    case SLI_GROUP_CHUNKED:
        return (tokens - tokens % group->span_tokens) / group->block_tokens;
    case SLI_GROUP_GROWING:
    case SLI_GROUP_STATE:
    case SLI_GROUP_FIXED:
    case SLI_GROUP_KEPT:
        break;
    }
    return 0;
}

int64_t sli_group_request_step_blocks(const sli_group *group, int64_t prompt_tokens, int64_t tokens,
                                      int64_t end_tokens) {
    SL_DCHECK(0 <= tokens && tokens <= end_tokens);
    int64_t begun_blocks = sli_divide_up(end_tokens, group->block_tokens);
    switch (group->kind) {
    case SLI_GROUP_FIXED:
        return group->fixed_blocks;
    case SLI_GROUP_STATE:
        return (tokens > 0 ? 1 : 0) +
               (begun_blocks > sli_divide_up(tokens, group->block_tokens) ? 1 : 0);
    case SLI_GROUP_KEPT:
        return sli_divide_up(sli_kept_step_slots(group->kept, prompt_tokens, tokens, end_tokens),
                             group->block_tokens);
    case SLI_GROUP_GROWING:
    case SLI_GROUP_SLIDING:
    case SLI_GROUP_CHUNKED:
        break;
    }
    return begun_blocks - sli_group_passed_blocks(group, tokens);
}

/* A context that is all prompt. */
static int64_t prompt_of(int64_t tokens) {
    return sli_max_i64(1, tokens);
}

int64_t sli_group_step_blocks(const sli_group *group, int64_t tokens, int64_t end_tokens) {
    return sli_group_request_step_blocks(group, prompt_of(end_tokens), tokens, end_tokens);
}

int64_t sli_group_blocks(const sli_group *group, int64_t tokens) {
    return sli_group_step_blocks(group, tokens, tokens);
}

static int64_t step_pages(const sli_layout *layout, int64_t prompt_tokens, int64_t tokens,
                          int64_t end_tokens) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        pages += group->block_pages *
                 sli_group_request_step_blocks(group, prompt_tokens, tokens, end_tokens);
    }
    return pages;
}

int64_t sli_layout_request_pages(const sli_layout *layout, int64_t prompt_tokens, int64_t tokens) {
    return step_pages(layout, prompt_tokens, tokens, tokens);
}

int64_t sli_layout_pages(const sli_layout *layout, int64_t tokens) {
    return sli_layout_request_pages(layout, prompt_of(tokens), tokens);
}

/* ---- The most that it ever holds ---- */

/*
 * For a step of given length from T on, what is held repeats in T after align_tokens, but that the
 * growing group has more, and the kept one on either side of the end of the prompt: of two such
 * places the later one counts, unless a chunk ended in between. Between places where a block begins
 * it only falls. So it is enough to look, on either side, at those near the last step, and near the
 * last ends of chunks.
 */

/* Steps of one length that begin on one side of the end of the prompt, from `first` on. */
typedef struct step_range {
    const sli_layout *layout;
    int64_t prompt_tokens;
    int64_t step_tokens;
    int64_t first;
} step_range;

static int64_t pages_up_to(const step_range *range, int64_t end_tokens) {
    return step_pages(range->layout, range->prompt_tokens, end_tokens - range->step_tokens,
                      end_tokens);
}

static int64_t kept_blocks(const step_range *range, const sli_group *group, int64_t end_tokens) {
    return sli_group_request_step_blocks(group, range->prompt_tokens, range->first, end_tokens);
}

/* The end behind `low` and up to `high`, where it is, at which the kept group first has more than
 * so many blocks. */
static int64_t kept_begin(const step_range *range, const sli_group *group, int64_t blocks,
                          int64_t low, int64_t high) {
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(kept_blocks(range, group, middle) > blocks ? &high : &low) = middle;
    }
    return high;
}

/* At the ends from `low` to `high` where a block of the group begins. */
static int64_t most_of_group(const step_range *range, const sli_group *group, int64_t low,
                             int64_t high) {
    int64_t most = 0;
    if (group->kind == SLI_GROUP_KEPT) {
        int64_t last_blocks = kept_blocks(range, group, high);
        for (int64_t blocks = kept_blocks(range, group, low); blocks < last_blocks; blocks++) {
            int64_t end = kept_begin(range, group, blocks, low, high);
            most = sli_max_i64(most, pages_up_to(range, end));
        }
        return most;
    }
    int64_t end = sli_round_up(low - 1, group->block_tokens) + 1;
    for (; end <= high; end += group->block_tokens) {
        most = sli_max_i64(most, pages_up_to(range, end));
    }
    return most;
}

/* The most of all steps that begin at T = first .. last, near the last one. */
static int64_t latest_pages(const step_range *range, int64_t last) {
    int64_t first = sli_max_i64(range->first, last - range->layout->align_tokens + 1);
    int64_t low = first + range->step_tokens;
    int64_t most = pages_up_to(range, low);
    for (int i = 0; i < range->layout->group_count; i++) {
        most = sli_max_i64(
            most, most_of_group(range, &range->layout->groups[i], low, last + range->step_tokens));
    }
    return most;
}

/* After so many tokens all chunks end together; at most `limit_tokens`. */
static int64_t chunk_period(const sli_layout *layout, int64_t limit_tokens) {
    int64_t period_tokens = 1;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (group->kind == SLI_GROUP_CHUNKED) {
            int64_t times = group->span_tokens /
                            sli_common_divisor(group->span_tokens, period_tokens);
            period_tokens = sli_min_i64(times, sli_divide_up(limit_tokens, period_tokens)) *
                            period_tokens;
        }
    }
    return sli_min_i64(period_tokens, limit_tokens);
}

/* The most of those that begin right before a chunk ends, at or before `last`. */
static int64_t chunk_end_pages(const step_range *range, int64_t last) {
    const sli_layout *layout = range->layout;
    int64_t from = sli_max_i64(range->first, last - chunk_period(layout, last));
    int64_t most = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        int64_t span_tokens = group->span_tokens;
        if (group->kind == SLI_GROUP_CHUNKED) {
            for (int64_t end = last / span_tokens * span_tokens; end > from; end -= span_tokens) {
                most = sli_max_i64(most, latest_pages(range, end - 1));
            }
        }
    }
    return most;
}

/* Of all steps up to `tokens` that begin from range->first to `last`. Of those that `tokens` cuts
 * the first one counts, if no whole one does. */
static int64_t range_pages(const step_range *range, int64_t last, int64_t tokens) {
    int64_t last_whole = sli_min_i64(last, tokens - range->step_tokens);
    if (last_whole < range->first) {
        return step_pages(range->layout, range->prompt_tokens, range->first, tokens);
    }
    return sli_max_i64(latest_pages(range, last_whole), chunk_end_pages(range, last_whole));
}

int64_t sli_layout_request_peak_pages(const sli_layout *layout, int64_t prompt_tokens,
                                      int64_t tokens, int64_t step_tokens) {
    SL_DCHECK(prompt_tokens >= 1 && tokens >= 0 && step_tokens >= 1);
    step_range range = {layout, prompt_tokens, step_tokens, 1};
    int64_t most = step_pages(layout, prompt_tokens, 0, sli_min_i64(tokens, step_tokens));
    int64_t last_within = sli_min_i64(prompt_tokens - 1, tokens);
    if (last_within >= 1) {
        /* Behind its first token a context has a state besides that which comes. */
        most = sli_max_i64(most, range_pages(&range, last_within, tokens));
    }
    range.first = prompt_tokens;
    return prompt_tokens <= tokens ? sli_max_i64(most, range_pages(&range, tokens, tokens)) : most;
}

int64_t sli_layout_peak_pages(const sli_layout *layout, int64_t tokens, int64_t step_tokens) {
    return sli_layout_request_peak_pages(layout, prompt_of(tokens), tokens, step_tokens);
}
/* ---- Reservations ---- */

/* Slots of a rule for thrown out tokens. Until all that is known is computed it may all be there.
 */
static int64_t reserved_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t known_tokens,
                              int64_t tokens) {
    if (known_tokens == 0) {
        return sli_kept_slots(kept, prompt_tokens, tokens);
    }
    int64_t whole_tokens = kept->is_rolling ? 0 : sli_min_i64(known_tokens, tokens);
    return sli_max_i64(whole_tokens, sli_kept_most_slots(kept, prompt_tokens, tokens));
}

int64_t sli_group_reserved_blocks(const sli_group *group, int64_t prompt_tokens,
                                  int64_t known_tokens, int64_t tokens) {
    int64_t block_tokens = group->block_tokens;
    int64_t span_tokens = group->span_tokens;
    int64_t all = sli_divide_up(tokens, block_tokens);
    int64_t at_once = sli_divide_up(sli_min_i64(known_tokens, tokens), block_tokens);
    switch (group->kind) {
    case SLI_GROUP_FIXED:
        return group->fixed_blocks;
    case SLI_GROUP_STATE:
        return sli_min_i64(all, 2);
    case SLI_GROUP_KEPT:
        return sli_divide_up(reserved_slots(group->kept, prompt_tokens, known_tokens, tokens),
                             block_tokens);
    case SLI_GROUP_SLIDING:
        return sli_max_i64(
            at_once, sli_min_i64(all, sli_divide_up(span_tokens + block_tokens - 1, block_tokens)));
    case SLI_GROUP_CHUNKED:
        return sli_max_i64(at_once, sli_min_i64(all, span_tokens / block_tokens));
    case SLI_GROUP_GROWING:
        break;
    }
    return all;
}

/* The shortest prompt of which as much stays as of any; at most `tokens`. */
static int64_t bend_of(const sl_kept *kept, int64_t tokens) {
    bool has_bend = sli_kept_of_prompt(kept, tokens) == kept->cap_rows;
    return has_bend ? (kept->cap_rows - 1) * SL_WHOLE_PPM / kept->share_ppm + 1 : tokens;
}

/* Of a rule what stays of the prompt grows with it up to the bend, and what the tokens behind it
 * add shrinks: the most is at one of the ends or there. Of others when all is prompt. */
static int64_t most_reserved_blocks(const sli_group *group, int64_t tokens) {
    int64_t most = sli_group_reserved_blocks(group, tokens, tokens, tokens);
    if (group->kind == SLI_GROUP_KEPT) {
        int64_t bend = bend_of(group->kept, tokens);
        most = sli_max_i64(most, sli_group_reserved_blocks(group, 1, 1, tokens));
        most = sli_max_i64(most, sli_group_reserved_blocks(group, bend, bend, tokens));
    }
    return most;
}

int64_t sli_layout_reserved_pages(const sli_layout *layout, int64_t tokens) {
    int64_t whole_tokens = sli_round_up(tokens, layout->groups[0].block_tokens);
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        pages += group->block_pages * most_reserved_blocks(group, whole_tokens);
    }
    return pages;
}

/* ---- What of it holds nothing ---- */

/* Bytes of a group that come with its tokens or its state; 0 of those that are counted store by
 * store: entries that end inside a block, and what a reserved window has use for. */
static int64_t held_bytes(const sli_group *group, int64_t tokens) {
    int64_t passed_tokens = sli_group_passed_blocks(group, tokens) * group->block_tokens;
    switch (group->kind) {
    case SLI_GROUP_SLIDING:
    case SLI_GROUP_CHUNKED:
        return (tokens - passed_tokens) * (group->block_bytes / group->block_tokens);
    case SLI_GROUP_STATE:
        return sli_group_blocks(group, tokens) * group->block_bytes;
    case SLI_GROUP_GROWING:
    case SLI_GROUP_FIXED:
    case SLI_GROUP_KEPT:
        break;
    }
    return 0;
}

static int64_t held_rows(const sli_store *store, const sli_layout_options *options,
                         int64_t tokens) {
    sli_group_kind kind = sli_layer_group_kind(store, options);
    if (kind == SLI_GROUP_GROWING) {
        return sli_layer_rows_left(store, tokens);
    }
    bool is_reserved = sli_group_is_window(kind) && options->window_pages == SLI_WINDOW_RESERVED;
    return is_reserved || kind == SLI_GROUP_KEPT ? sli_layer_rows_kept(store, tokens) : 0;
}

/* Of the rows that are kept, at most; those that wait are in their buffer besides what they will
 * take, which holds nothing yet. */
static int64_t held_store_bytes(const sli_store *store, const sli_layout_options *options,
                                int64_t tokens) {
    int64_t row_bytes = sli_state_row_rank_bytes(store, options->cache, options->tp);
    int64_t more_bytes = sli_waiting_row_bytes(store, options) - row_bytes;
    return held_rows(store, options, tokens) * row_bytes +
           sli_waiting_rows(store, options, tokens) * more_bytes;
}

int64_t sli_layout_waste_bytes(const sli_layout *layout, const sli_architecture *architecture,
                               const sli_layout_options *options, int64_t tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t waste_bytes = sli_layout_pages(layout, tokens) * layout->page_bytes;
    for (int i = 0; i < layout->group_count; i++) {
        waste_bytes -= held_bytes(&layout->groups[i], tokens);
    }
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        for (int j = 0; j < facts->store_count; j++) {
            waste_bytes -= runs[i].count * held_store_bytes(&facts->stores[j], options, tokens);
        }
    }
    return waste_bytes;
}
