#include "kv/window.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "kv/layout_held.h"

/* ---- The rule of a group ---- */

static bool is_state(const sli_group *group) {
    return group->kind == SLI_GROUP_STATE;
}

/* The first block that is kept between steps. */
static int64_t first_kept(const sli_group *group, int64_t tokens) {
    return is_state(group) ? sli_max_i64(0, tokens - 1) / group->block_tokens
                           : sli_group_passed_blocks(group, tokens);
}

static int64_t blocks_for(const sli_group *group, int64_t slots) {
    return sli_divide_up(slots, group->block_tokens);
}

/* That a reservation holds at least. It is used up by the token behind the last reserved one. */
static int64_t reserved_blocks(const sli_window *window, const sli_group *group) {
    int64_t computed_tokens = window->computed_tokens;
    if (window->reserved_tokens == 0 || computed_tokens > window->reserved_tokens) {
        return 0;
    }
    return sli_group_reserved_blocks(
        group, window->prompt_tokens,
        computed_tokens < window->known_tokens ? window->known_tokens : 0, window->reserved_tokens);
}

/* The end of the blocks that slots up to `tokens` need. */
static int64_t end_for(const sli_window *window, const sli_group *group, int64_t tokens) {
    switch (group->kind) {
    case SLI_GROUP_FIXED:
        return group->fixed_blocks;
    case SLI_GROUP_KEPT:
        return blocks_for(group, sli_kept_step_slots(group->kept, window->prompt_tokens,
                                                     window->computed_tokens, tokens));
    case SLI_GROUP_GROWING:
    case SLI_GROUP_SLIDING:
    case SLI_GROUP_CHUNKED:
    case SLI_GROUP_STATE:
        break;
    }
    return blocks_for(group, tokens);
}

/* Blocks with something in them. */
static int64_t filled_blocks(const sli_window *window, const sli_group *group) {
    int64_t blocks = window->end_block - window->first_block;
    return is_state(group) ? sli_min_i64(blocks, 2) : blocks;
}

/* ---- Contents ---- */

static int64_t shared_end(const sli_window_site *site) {
    return sli_content_shared_blocks(site->view, site->group->block_tokens);
}

static sli_span *find_shared(const sli_window_site *site, int64_t position) {
    return sli_window_index_find(
        &site->pool->windows, site->number,
        sli_content_key(&site->view->content, position + 1, site->group->block_tokens));
}

static bool is_parked(const sli_window_site *site, int64_t position) {
    const sli_span *span = sli_pool_parked(site->pool, site->context, site->number);
    return span != NULL && span->start_block <= position &&
           position < span->start_block + span->blocks;
}

static bool is_findable(const sli_window_site *site, int64_t shared_end_block, int64_t position) {
    return position < shared_end_block ? find_shared(site, position) != NULL
                                       : is_parked(site, position);
}

/*
 * Looks from the upper end of a window on: what it passes first is evicted first, and a block that
 * is missing rules out all prefixes whose windows have it. No block is looked up twice: those
 * between the upper end and the missing one are the deep end of the next window.
 */
int64_t sli_window_fit(const sli_window_site *site, int64_t tokens, int64_t align_tokens) {
    int64_t block_tokens = site->group->block_tokens;
    int64_t shared_end_block = shared_end(site);
    int64_t fit = tokens - tokens % align_tokens;
    int64_t found = fit / block_tokens; /* from here to the end of the prefix all can be found */
    while (fit > 0) {
        int64_t first = first_kept(site->group, fit);
        int64_t position = first;
        while (position < found && is_findable(site, shared_end_block, position)) {
            position++;
        }
        if (position >= found) {
            break;
        }
        int64_t before = position * block_tokens;
        fit = before - before % align_tokens;
        found = sli_min_i64(first, fit / block_tokens);
    }
    return fit;
}

int64_t sli_window_free_blocks(const sli_window_site *site, int64_t tokens) {
    int64_t blocks = 0;
    int64_t end = tokens / site->group->block_tokens;
    int64_t shared_end_block = shared_end(site);
    for (int64_t position = first_kept(site->group, tokens); position < end; position++) {
        bool is_held = position < shared_end_block &&
                       find_shared(site, position)->reference_count > 0;
        blocks += is_held ? 0 : site->group->block_pages;
    }
    return blocks;
}

/* ---- Holding ---- */

static void hold(sli_window *window, const sli_window_site *site, int64_t position,
                 sli_span *block) {
    sli_window_hold *held = sli_slab_take(&site->pool->window_holds);
    if (held == NULL || block == NULL) {
        site->pool->is_out_of_memory = true;
        return;
    }
    *held = (sli_window_hold){.upper = window->deepest, .position = position, .block = block};
    *(window->deepest != NULL ? &window->deepest->deeper : &window->uppermost) = held;
    window->deepest = held;
}

static void drop(sli_window *window, const sli_window_site *site, sli_window_hold *held) {
    *(held->upper != NULL ? &held->upper->deeper : &window->uppermost) = held->deeper;
    *(held->deeper != NULL ? &held->deeper->upper : &window->deepest) = held->upper;
    sli_slab_give(&site->pool->window_holds, held);
}

void sli_window_share(sli_window *window, const sli_window_site *site, int64_t tokens) {
    SL_ASSERT(window->first_block == window->end_block);
    window->first_block = first_kept(site->group, tokens);
    window->end_block = tokens / site->group->block_tokens;
    window->published_block = window->end_block;
    int64_t position = window->first_block;
    int64_t shared_end_block = sli_min_i64(window->end_block, shared_end(site));
    for (; position < shared_end_block; position++) {
        sli_span *block = find_shared(site, position);
        SL_ASSERT(block != NULL);
        sli_pool_share(site->pool, block);
        hold(window, site, position, block);
    }
    if (position < window->end_block) {
        sli_pool_unpark(site->pool, site->context, site->number, position, window->end_block);
        window->is_first_saved = is_state(site->group);
    }
}

int64_t sli_window_need(const sli_window *window, const sli_group *group, int64_t prefix_tokens,
                        int64_t tokens) {
    int64_t prefix_end = prefix_tokens / group->block_tokens;
    int64_t shared = prefix_tokens > 0 ? prefix_end - first_kept(group, prefix_tokens) : 0;
    int64_t held = filled_blocks(window, group) + shared;
    int64_t from = sli_max_i64(window->end_block, prefix_end);
    int64_t more = sli_max_i64(0, end_for(window, group, tokens) - from);
    more = is_state(group) ? sli_min_i64(more, 1) : more;
    int64_t wanted = sli_max_i64(held + more, reserved_blocks(window, group));
    return sli_max_i64(0, wanted - held - window->spare_blocks) * group->block_pages;
}

int64_t sli_window_fit_need(const sli_window *window, const sli_group *group, int64_t prefix_tokens,
                            int64_t tokens, int64_t fit_tokens) {
    int64_t need = sli_window_need(window, group, prefix_tokens, tokens);
    if (group->kind != SLI_GROUP_KEPT || fit_tokens == 0) {
        return need;
    }
    int64_t slots = sli_kept_most_slots(group->kept, window->prompt_tokens, fit_tokens);
    return sli_max_i64(need, blocks_for(group, slots) * group->block_pages);
}

static void move_end(sli_window *window, const sli_group *group, int64_t end) {
    if (is_state(group)) {
        bool held_nothing = window->first_block == window->end_block;
        window->first_block = held_nothing ? end - 1 : window->end_block - 1;
        window->is_first_saved = !held_nothing && window->is_first_saved;
        window->is_last_saved = false;
    }
    window->end_block = end;
}

/* What the reservation holds and does not fill. */
static int64_t wanted_spare(const sli_window *window, const sli_group *group) {
    return sli_max_i64(0, reserved_blocks(window, group) - filled_blocks(window, group));
}

void sli_window_grow(sli_window *window, const sli_group *group, int64_t tokens) {
    int64_t end = end_for(window, group, tokens);
    if (end > window->end_block) {
        move_end(window, group, end);
    }
    window->spare_blocks = wanted_spare(window, group);
}

int64_t sli_window_blocks(const sli_window *window, const sli_group *group) {
    return (filled_blocks(window, group) + window->spare_blocks) * group->block_pages;
}

bool sli_window_is_settled(const sli_window *window, const sli_group *group) {
    return window->spare_blocks == wanted_spare(window, group);
}

/* ---- Publishing ---- */

static void publish_shared(sli_window *window, const sli_window_site *site, int64_t position) {
    sli_block_key key = sli_content_key(&site->view->content, position + 1,
                                        site->group->block_tokens);
    hold(window, site, position, sli_window_index_add(site->pool, site->number, key));
}

/* A state is that behind the last token: it can be found where that ends a block. */
static void publish_state(sli_window *window, const sli_window_site *site, int64_t tokens,
                          int64_t limit_tokens) {
    int64_t last = window->end_block - 1;
    bool is_only = window->first_block == last;
    bool ends_block = tokens == window->end_block * site->group->block_tokens;
    bool is_known = window->deepest != NULL && window->deepest->position == last;
    if (!ends_block || tokens > limit_tokens || is_known) {
        return;
    }
    if (last < shared_end(site)) {
        publish_shared(window, site, last);
    } else {
        *(is_only ? &window->is_first_saved : &window->is_last_saved) = true;
    }
}

void sli_window_publish(sli_window *window, const sli_window_site *site, int64_t tokens,
                        int64_t limit_tokens) {
    if (is_state(site->group)) {
        publish_state(window, site, tokens, limit_tokens);
        return;
    }
    int64_t full = sli_min_i64(tokens, limit_tokens) / site->group->block_tokens;
    int64_t position = sli_max_i64(window->published_block, window->first_block);
    int64_t shared_end_block = position < full ? sli_min_i64(full, shared_end(site)) : full;
    for (; position < shared_end_block; position++) {
        publish_shared(window, site, position);
    }
    window->published_block = sli_max_i64(window->published_block, full);
}

void sli_window_retract(sli_window *window, const sli_window_site *site, int64_t tokens) {
    int64_t full = tokens / site->group->block_tokens;
    while (window->deepest != NULL && window->deepest->position >= full) {
        SL_ASSERT(window->deepest->block->reference_count == 1);
        sli_window_index_remove(&site->pool->windows, window->deepest->block);
        drop(window, site, window->deepest);
    }
    window->published_block = sli_min_i64(window->published_block, full);
    window->is_last_saved = window->is_last_saved && window->end_block <= full;
    window->is_first_saved = window->is_first_saved && window->first_block < full;
}

/* ---- Giving back ---- */

/* The deepest of the holds before a position. */
static sli_window_hold *deepest_before(const sli_window *window, int64_t position) {
    sli_window_hold *held = window->uppermost;
    while (held != NULL && held->deeper != NULL && held->deeper->position < position) {
        held = held->deeper;
    }
    return held != NULL && held->position < position ? held : NULL;
}

/* Releases the holds before a position, deepest first; answers how many. */
static int64_t release_before(sli_window *window, const sli_window_site *site, int64_t position) {
    int64_t count = 0;
    for (sli_window_hold *held = deepest_before(window, position), *upper; held != NULL;
         held = upper) {
        upper = held->upper;
        sli_pool_release(site->pool, held->block);
        drop(window, site, held);
        count++;
    }
    return count;
}

/* What is kept has moved together. Answers how many blocks have nothing in them now. */
static int64_t shrink(sli_window *window, const sli_group *group, int64_t tokens) {
    int64_t end = sli_min_i64(window->end_block, end_for(window, group, tokens));
    int64_t left = window->end_block - end;
    window->end_block = end;
    return left;
}

/* The same of those before the first one that is kept, apart from those that others may find. */
static int64_t pass(sli_window *window, const sli_window_site *site, int64_t tokens) {
    int64_t first = first_kept(site->group, tokens);
    if (first <= window->first_block) {
        return 0;
    }
    int64_t passed = is_state(site->group) ? 1 : first - window->first_block;
    int64_t found = release_before(window, site, first);
    window->first_block = first;
    window->is_first_saved = window->is_last_saved;
    window->is_last_saved = false;
    return passed - found;
}

int64_t sli_window_slide(sli_window *window, const sli_window_site *site, int64_t tokens) {
    const sli_group *group = site->group;
    window->computed_tokens = tokens;
    int64_t left = window->spare_blocks + (group->kind == SLI_GROUP_KEPT
                                               ? shrink(window, group, tokens)
                                               : pass(window, site, tokens));
    window->spare_blocks = sli_min_i64(left, wanted_spare(window, group));
    return (left - window->spare_blocks) * group->block_pages;
}

static void give_counted(const sli_window_site *site, int64_t start_block, int64_t blocks,
                         bool is_parked) {
    if (is_parked) {
        sli_pool_park(site->pool, site->context, site->number, start_block, blocks);
    } else {
        sli_pool_give_blank(site->pool, blocks * site->group->block_pages);
    }
}

/* One block of a state, by its position. */
static void release_state(sli_window *window, const sli_window_site *site, int64_t position,
                          bool is_parked) {
    if (window->deepest != NULL && window->deepest->position == position) {
        sli_pool_release(site->pool, window->deepest->block);
        drop(window, site, window->deepest);
    } else {
        give_counted(site, position, 1, is_parked);
    }
}

static void release_states(sli_window *window, const sli_window_site *site, bool will_be_back) {
    if (window->first_block < window->end_block - 1) {
        release_state(window, site, window->end_block - 1, will_be_back && window->is_last_saved);
    }
    if (window->first_block < window->end_block) {
        release_state(window, site, window->first_block, will_be_back && window->is_first_saved);
    }
}

static void release_blocks(sli_window *window, const sli_window_site *site, bool will_be_back) {
    int64_t counted = window->deepest != NULL ? window->deepest->position + 1 : window->first_block;
    int64_t found_end = sli_max_i64(counted, window->published_block);
    give_counted(site, found_end, window->end_block - found_end, false);
    give_counted(site, counted, found_end - counted, will_be_back);
    (void)release_before(window, site, window->end_block);
}

void sli_window_release(sli_window *window, const sli_window_site *site, bool will_be_back) {
    give_counted(site, window->end_block, window->spare_blocks, false);
    if (is_state(site->group)) {
        release_states(window, site, will_be_back);
    } else {
        release_blocks(window, site, will_be_back);
    }
    *window = (sli_window){0};
}
