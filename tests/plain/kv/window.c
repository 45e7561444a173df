#include "kv/window.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

/* ---- The rule of a group ---- */

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The first block that is kept between steps. */
static int64_t first_kept(const sli_group *group, int64_t tokens) {
    switch (group->kind) {
    case SLI_GROUP_SLIDING:
        return max_of(0, tokens - (group->span_tokens - 1)) / group->block_tokens;
    case SLI_GROUP_CHUNKED:
        return tokens / group->span_tokens * group->span_tokens / group->block_tokens;
    case SLI_GROUP_STATE:
        return max_of(0, tokens - 1) / group->block_tokens;
    case SLI_GROUP_GROWING:
    case SLI_GROUP_FIXED:
    case SLI_GROUP_KEPT:
        break;
    }
    return 0;
}

static bool is_kept(const sli_group *group) {
    return group->kind == SLI_GROUP_KEPT;
}

static int64_t blocks_for(const sli_group *group, int64_t slots) {
    return (slots + group->block_tokens - 1) / group->block_tokens;
}

/* Slots for what stays between steps when the tokens come one by one, and the most on the way. */
typedef struct kept_walk {
    int64_t slots;
    int64_t most;
} kept_walk;

static kept_walk walk_kept(const sl_kept *kept, int64_t prompt_tokens, int64_t tokens) {
    kept_walk walk = {0};
    for (int64_t token = 1; token <= tokens; token++) {
        if (token < prompt_tokens && !kept->is_rolling) {
            walk.slots++;
        } else if (token <= prompt_tokens) {
            walk.most = kept->is_rolling ? walk.most : token;
            walk.slots = kept->is_rolling ? walk.slots : 0;
            while (walk.slots * 1000000 < token * kept->share_ppm && walk.slots < kept->cap_rows) {
                walk.slots++;
            }
        } else if (kept->drop_rows > 0) {
            walk.slots += walk.slots < kept->cap_rows;
        } else {
            walk.slots += (token - prompt_tokens) % kept->row_tokens == 0;
        }
        walk.most = max_of(walk.most, walk.slots);
    }
    return walk;
}

/* The block behind the last one that slots up to `tokens` need. */
static int64_t end_needed(const sli_window *window, const sli_group *group, int64_t tokens) {
    if (group->kind == SLI_GROUP_FIXED) {
        return group->fixed_blocks;
    }
    if (!is_kept(group)) {
        return blocks_for(group, tokens);
    }
    bool keeps_all = window->computed_tokens < window->prompt_tokens && !group->kept->is_rolling;
    return blocks_for(
        group, keeps_all ? tokens : walk_kept(group->kept, window->prompt_tokens, tokens).slots);
}

/* ---- Reservations ---- */

/* Blocks that so many tokens in a row lie in at most, wherever they begin. */
static int64_t most_spanned(const sli_group *group, int64_t tokens) {
    int64_t most = 0;
    for (int64_t first = 0; first < group->block_tokens; first++) {
        most = max_of(most, (first + tokens - 1) / group->block_tokens + 1);
    }
    return most;
}

/* Of a rule for thrown out tokens: while some of what was known is missing all of it may come. */
static int64_t reserved_slots(const sli_window *window, const sl_kept *kept, bool is_whole) {
    int64_t prompt_tokens = window->prompt_tokens;
    int64_t reserved = window->reserved_tokens;
    if (is_whole) {
        return walk_kept(kept, prompt_tokens, reserved).slots;
    }
    int64_t known = window->known_tokens < reserved ? window->known_tokens : reserved;
    return max_of(kept->is_rolling ? 0 : known, walk_kept(kept, prompt_tokens, reserved).most);
}

/* Blocks that a reservation holds at least, as many as may be needed before it is used up. */
static int64_t reserved_blocks(const sli_window *window, const sli_group *group) {
    int64_t tokens = window->reserved_tokens;
    bool is_whole = window->computed_tokens >= window->known_tokens;
    if (tokens == 0 || window->computed_tokens > tokens) {
        return 0;
    }
    if (is_kept(group)) {
        return blocks_for(group, reserved_slots(window, group->kept, is_whole));
    }
    int64_t all = blocks_for(group, tokens);
    int64_t known = is_whole ? 0 : blocks_for(group, window->known_tokens);
    int64_t needed = all;
    if (group->kind == SLI_GROUP_FIXED) {
        return group->fixed_blocks;
    } else if (group->kind == SLI_GROUP_STATE) {
        needed = 2; /* that of before the step and that of behind it */
        known = 0;
    } else if (group->kind == SLI_GROUP_SLIDING) {
        needed = most_spanned(group, group->span_tokens);
    } else if (group->kind == SLI_GROUP_CHUNKED) {
        needed = group->span_tokens / group->block_tokens;
    }
    needed = max_of(needed, known);
    return needed < all ? needed : all;
}

/* ---- Looking up ---- */

static uint32_t find(const sli_window_site *site, const sli_content_view *view, int64_t position) {
    sli_block_key key = sli_block_key_of(view, (uint32_t)(position + 1), site->group->block_tokens);
    key.group = site->number;
    return sli_prefix_find(&site->pool->prefix, key);
}

static bool fits(const sli_window_site *site, const sli_content_view *view, int64_t tokens) {
    int64_t end = tokens / site->group->block_tokens;
    for (int64_t position = first_kept(site->group, tokens); position < end; position++) {
        if (find(site, view, position) == SLI_NO_BLOCK) {
            return false;
        }
    }
    return true;
}

int64_t sli_window_fit(const sli_window_site *site, const sli_content_view *view, int64_t tokens,
                       int64_t align_tokens) {
    int64_t fit = tokens / align_tokens * align_tokens;
    while (fit > 0 && !fits(site, view, fit)) {
        fit -= align_tokens;
    }
    return fit;
}

int64_t sli_window_free_pages(const sli_window_site *site, const sli_content_view *view,
                              int64_t tokens) {
    int64_t end = tokens / site->group->block_tokens;
    int64_t pages = 0;
    for (int64_t position = first_kept(site->group, tokens); position < end; position++) {
        bool is_free = site->pool->blocks[find(site, view, position)].reference_count == 0;
        pages += is_free ? site->group->block_pages : 0;
    }
    return pages;
}

/* ---- Holding ---- */

static sl_err append(sli_window *window, int64_t position, uint32_t first_page) {
    if (window->count == window->capacity) {
        int64_t capacity = window->capacity > 0 ? 2 * window->capacity : 8;
        sli_window_block *blocks = realloc(window->blocks, (size_t)capacity * sizeof *blocks);
        if (blocks == NULL) {
            return SL_ERR_NOMEM;
        }
        window->blocks = blocks;
        window->capacity = capacity;
    }
    window->blocks[window->count++] = (sli_window_block){position, first_page};
    window->end_block = position + 1;
    return SL_OK;
}

sl_err sli_window_share(sli_window *window, const sli_window_site *site,
                        const sli_content_view *view, int64_t tokens) {
    SL_ASSERT(window->count == 0);
    int64_t end = tokens / site->group->block_tokens;
    for (int64_t position = first_kept(site->group, tokens); position < end; position++) {
        uint32_t first_page = find(site, view, position);
        sli_pool_share_chain(site->pool, first_page);
        SL_TRY(append(window, position, first_page));
    }
    return SL_OK;
}

/* The blocks of its reservation that stand empty. */
static int64_t wanted_spare(const sli_window *window, const sli_group *group) {
    return max_of(0, reserved_blocks(window, group) - window->count);
}

static void add_spare(sli_window *window, uint32_t first_page) {
    if (window->spare_count == window->spare_capacity) {
        window->spare_capacity = window->spare_capacity > 0 ? 2 * window->spare_capacity : 8;
        window->spare = realloc(window->spare,
                                (size_t)window->spare_capacity * sizeof *window->spare);
        SL_ASSERT(window->spare != NULL);
    }
    window->spare[window->spare_count++] = first_page;
}

/* The positions that are missing: from *from up to the answer. A state skips all but the last. */
static int64_t missing_range(const sli_window *window, const sli_window_site *site,
                             int64_t prefix_tokens, int64_t tokens, int64_t *from) {
    int64_t end = end_needed(window, site->group, tokens);
    *from = max_of(window->end_block, prefix_tokens / site->group->block_tokens);
    if (site->group->kind == SLI_GROUP_STATE && *from < end) {
        *from = end - 1;
    }
    return end;
}

int64_t sli_window_need(const sli_window *window, const sli_window_site *site,
                        int64_t prefix_tokens, int64_t tokens) {
    const sli_group *group = site->group;
    int64_t from;
    int64_t end = missing_range(window, site, prefix_tokens, tokens, &from);
    int64_t held = window->count + prefix_tokens / group->block_tokens -
                   first_kept(group, prefix_tokens);
    int64_t filled = held + max_of(0, end - from);
    int64_t wanted = max_of(filled, reserved_blocks(window, group));
    return max_of(0, wanted - held - window->spare_count) * group->block_pages;
}

int64_t sli_window_fit_need(const sli_window *window, const sli_window_site *site,
                            int64_t prefix_tokens, int64_t tokens, int64_t fit_tokens) {
    const sli_group *group = site->group;
    int64_t need = sli_window_need(window, site, prefix_tokens, tokens);
    if (!is_kept(group)) {
        return need;
    }
    int64_t slots = walk_kept(group->kept, window->prompt_tokens, fit_tokens).most;
    return max_of(need, blocks_for(group, slots) * group->block_pages);
}

sl_err sli_window_extend(sli_window *window, const sli_window_site *site, int64_t prefix_tokens,
                         int64_t tokens) {
    int64_t from;
    int64_t end = missing_range(window, site, prefix_tokens, tokens, &from);
    for (int64_t position = from; position < end; position++) {
        bool has_spare = window->spare_count > 0;
        uint32_t first_page = has_spare ? window->spare[--window->spare_count]
                                        : sli_pool_take_chain(site->pool, site->group->block_pages);
        SL_TRY(append(window, position, first_page));
    }
    while (window->spare_count < wanted_spare(window, site->group)) {
        add_spare(window, sli_pool_take_chain(site->pool, site->group->block_pages));
    }
    return SL_OK;
}

/* ---- Publishing ---- */

/* A state is that behind the last token, so only full where this ends a block. */
static bool is_full(const sli_group *group, int64_t position, int64_t tokens) {
    int64_t end_tokens = (position + 1) * group->block_tokens;
    return group->kind == SLI_GROUP_STATE ? end_tokens == tokens : end_tokens <= tokens;
}

void sli_window_publish(sli_window *window, const sli_window_site *site,
                        const sli_content_view *view, int64_t tokens, int64_t limit_tokens) {
    if (site->group->kind == SLI_GROUP_FIXED) {
        return;
    }
    for (int64_t i = 0; i < window->count; i++) {
        const sli_window_block *block = &window->blocks[i];
        if (is_full(site->group, block->position, tokens) &&
            (block->position + 1) * site->group->block_tokens <= limit_tokens &&
            !sli_pool_is_findable(site->pool, block->first_page)) {
            sli_block_key key = sli_block_key_of(view, (uint32_t)(block->position + 1),
                                                 site->group->block_tokens);
            key.group = site->number;
            sli_pool_publish(site->pool, block->first_page, key, site->group->block_pages);
        }
    }
}

void sli_window_retract(sli_window *window, const sli_window_site *site, int64_t tokens) {
    for (int64_t i = window->count - 1; i >= 0; i--) {
        const sli_window_block *block = &window->blocks[i];
        if ((block->position + 1) * site->group->block_tokens > tokens &&
            sli_pool_is_findable(site->pool, block->first_page)) {
            sli_pool_retract(site->pool, block->first_page);
        }
    }
}

/* ---- Giving back ---- */

static bool is_shared(const sli_window_site *site, const sli_content_view *view, int64_t position) {
    return sli_block_key_of(view, (uint32_t)(position + 1), site->group->block_tokens).scope != 0;
}

/* What stays has moved together. */
static void shrink(sli_window *window, const sli_window_site *site, int64_t tokens) {
    int64_t end = end_needed(window, site->group, tokens);
    while (window->count > end) {
        add_spare(window, window->blocks[--window->count].first_page);
        window->end_block = window->count;
    }
}

/* What its reservation does not want goes back. */
static void give_spare(sli_window *window, const sli_window_site *site) {
    while (window->spare_count > wanted_spare(window, site->group)) {
        sli_pool_release_chain(site->pool, window->spare[--window->spare_count]);
    }
}

/* Of what a window has passed. */
static void pass(sli_window *window, const sli_window_site *site, const sli_content_view *view,
                 int64_t tokens, bool gives_blank) {
    int64_t first = first_kept(site->group, tokens);
    int64_t passed = 0;
    while (passed < window->count && window->blocks[passed].position < first) {
        passed++;
    }
    int64_t kept = 0; /* blank ones that wait for their turn */
    for (int64_t i = passed - 1; i >= 0; i--) {
        const sli_window_block *block = &window->blocks[i];
        bool is_found = sli_pool_is_findable(site->pool, block->first_page);
        if (is_found && !is_shared(site, view, block->position)) {
            sli_pool_retract(site->pool, block->first_page);
            is_found = false;
        }
        if (is_found || gives_blank) {
            if (is_found) {
                sli_pool_release_chain(site->pool, block->first_page);
            } else {
                add_spare(window, block->first_page);
            }
            window->blocks[i].position = -1;
        } else {
            kept++;
        }
    }
    int64_t to = 0;
    for (int64_t i = 0; i < window->count; i++) {
        if (window->blocks[i].position >= 0) {
            window->blocks[to++] = window->blocks[i];
        }
    }
    SL_ASSERT(to == window->count - passed + kept);
    window->count = to;
}

void sli_window_slide(sli_window *window, const sli_window_site *site, const sli_content_view *view,
                      int64_t tokens, bool gives_blank) {
    if (gives_blank) {
        window->computed_tokens = tokens;
    }
    if (!is_kept(site->group)) {
        pass(window, site, view, tokens, gives_blank);
    } else if (gives_blank) {
        shrink(window, site, tokens);
    }
    if (gives_blank) {
        give_spare(window, site);
    }
}

void sli_window_release(sli_window *window, const sli_window_site *site) {
    while (window->spare_count > 0) {
        sli_pool_release_chain(site->pool, window->spare[--window->spare_count]);
    }
    while (window->count > 0) {
        sli_pool_release_chain(site->pool, window->blocks[--window->count].first_page);
    }
    free(window->blocks);
    free(window->spare);
    *window = (sli_window){0};
}
