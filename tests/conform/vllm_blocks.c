#include "vllm_blocks.h"

#include "base/check.h"

enum { NOBODY = SLI_VLLM_NOBODY };

static int64_t at_least(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* ---- Contents, token by token ---- */

typedef struct token {
    uint64_t who; /* the scope of shared contents; else who is alone in having it */
    uint64_t id;
    int64_t position;
    bool is_shared;
} token;

static token token_of(const sli_vllm_blocks *it, int r, int64_t position) {
    const sli_small_request *request = &it->world->requests[r];
    const sl_content *content = &request->desc.content;
    if (position < request->desc.prompt_tokens && content->id_count > 0 &&
        position / content->id_tokens < content->id_count) {
        return (token){content->scope, request->ids[position / content->id_tokens], position, true};
    }
    return (token){(uint64_t)r, 0, position, false};
}

static bool is_same_start(const sli_vllm_blocks *it, int a, int b, int64_t end) {
    for (int64_t i = 0; i < end; i++) {
        token x = token_of(it, a, i);
        token y = token_of(it, b, i);
        if (x.who != y.who || x.id != y.id || x.is_shared != y.is_shared) {
            return false;
        }
    }
    return true;
}

/* ---- Groups ---- */

static const sli_group *group_at(const sli_vllm_blocks *it, int g) {
    return &it->layout.groups[g];
}

/* Tokens that no later one looks at (get_num_skipped_tokens). */
static int64_t skipped_tokens(const sli_group *group, int64_t computed) {
    switch (group->kind) {
    case SLI_GROUP_SLIDING:
        return at_least(0, computed - group->span_tokens + 1);
    case SLI_GROUP_CHUNKED:
        return computed / group->span_tokens * group->span_tokens;
    case SLI_GROUP_STATE:
        return at_least(0, computed - 1);
    case SLI_GROUP_GROWING:
    case SLI_GROUP_KEPT: /* not of vLLM */
    case SLI_GROUP_FIXED:
        break;
    }
    return 0;
}

static bool is_skipped(const sli_group *group, int64_t position, int64_t computed) {
    return (position + 1) * group->block_tokens <= skipped_tokens(group, computed);
}

/* The position behind the last block that slots up to `tokens` need. */
static int64_t end_of(const sli_group *group, int64_t tokens) {
    return group->kind == SLI_GROUP_FIXED ? group->fixed_blocks
                                          : ceil_div(tokens, group->block_tokens);
}

/* Of a state there is one block for a step, however far that goes. */
static bool is_left_out(const sli_group *group, int64_t position, int64_t tokens) {
    return group->kind == SLI_GROUP_STATE && position + 1 < end_of(group, tokens);
}

static int64_t pages_between(const sli_group *group, int64_t from, int64_t tokens) {
    int64_t pages = 0;
    for (int64_t p = from; p < end_of(group, tokens); p++) {
        pages += is_left_out(group, p, tokens) ? 0 : group->block_pages;
    }
    return pages;
}

/* ---- Pages ---- */

void sli_vllm_blocks_init(sli_vllm_blocks *it, const sli_small_world *world) {
    const sli_pool_config *pool = &world->engine.pool;
    const sli_layout one_group = {
        .align_tokens = pool->block_tokens,
        .group_count = 1,
        .groups = {{.kind = SLI_GROUP_GROWING,
                    .block_tokens = pool->block_tokens,
                    .block_pages = 1}},
    };
    SL_ASSERT(pool->block_count <= SLI_VLLM_PAGES);
    *it = (sli_vllm_blocks){
        .world = world,
        .layout = world->has_layout ? world->layout : one_group,
    };
    for (int i = 0; i < SLI_VLLM_PAGES; i++) {
        it->pages[i] = (sli_vllm_page){
            .first = i, .next = NOBODY, .like_request = NOBODY, .free_since = ++it->stamp};
    }
}

static int64_t count_free(const sli_vllm_blocks *it) {
    int64_t count = 0;
    for (int i = 0; i < it->world->engine.pool.block_count; i++) {
        count += it->pages[i].holders == 0;
    }
    return count;
}

int64_t sli_vllm_held_pages(const sli_vllm_blocks *it, int r) {
    int64_t pages = 0;
    for (int g = 0; g < it->layout.group_count; g++) {
        const sli_vllm_table *table = &it->tables[r][g];
        for (int p = 0; p < table->count; p++) {
            pages += table->blocks[p] != NOBODY ? group_at(it, g)->block_pages : 0;
        }
    }
    return pages;
}

/* What a block held is forgotten; its pages are of no block then. */
static void dissolve(sli_vllm_blocks *it, int block) {
    for (int page = block, next; page != NOBODY; page = next) {
        next = it->pages[page].next;
        it->pages[page].first = page;
        it->pages[page].next = NOBODY;
        it->pages[page].like_request = NOBODY;
    }
}

/* The one that has been free longest; with it its block is lost. */
static int take_page(sli_vllm_blocks *it) {
    int best = NOBODY;
    for (int i = 0; i < it->world->engine.pool.block_count; i++) {
        if (it->pages[i].holders == 0 &&
            (best == NOBODY || it->pages[i].free_since < it->pages[best].free_since)) {
            best = i;
        }
    }
    SL_ASSERT(best != NOBODY);
    dissolve(it, it->pages[best].first);
    return best;
}

static int take_block(sli_vllm_blocks *it, int64_t pages) {
    int first = NOBODY;
    int last = NOBODY;
    for (; pages > 0; pages--) {
        int page = take_page(it);
        first = first == NOBODY ? page : first;
        it->pages[page] = (sli_vllm_page){
            .holders = 1, .first = first, .next = NOBODY, .like_request = NOBODY};
        if (last != NOBODY) {
            it->pages[last].next = page;
        }
        last = page;
    }
    return first;
}

static void touch_block(sli_vllm_blocks *it, int block) {
    for (int page = block; page != NOBODY; page = it->pages[page].next) {
        it->pages[page].holders++;
    }
}

static void free_block(sli_vllm_blocks *it, sli_vllm_table *table, int position) {
    int page = table->blocks[position];
    table->blocks[position] = NOBODY;
    for (; page != NOBODY; page = it->pages[page].next) {
        if (--it->pages[page].holders == 0) {
            it->pages[page].free_since = ++it->stamp;
        }
    }
}

/* ---- Hits ---- */

/* The block of a group that holds the tokens of request r up to `end`: the one known longest. */
static int find_block(const sli_vllm_blocks *it, int r, int g, int64_t end) {
    int best = NOBODY;
    for (int i = 0; i < it->world->engine.pool.block_count; i++) {
        const sli_vllm_page *at = &it->pages[i];
        if (at->like_request != NOBODY && at->like_group == g && at->like_end == end &&
            is_same_start(it, at->like_request, r, end) &&
            (best == NOBODY || at->found_since < it->pages[best].found_since)) {
            best = i;
        }
    }
    return best;
}

static bool has_block(const sli_vllm_blocks *it, int r, int g, int64_t position) {
    return find_block(it, r, g, (position + 1) * group_at(it, g)->block_tokens) != NOBODY;
}

static int64_t full_hit(const sli_vllm_blocks *it, int r, int64_t tokens) {
    const sli_group *group = group_at(it, 0);
    int64_t count = 0;
    while ((count + 1) * group->block_tokens <= tokens &&
           (group->block_pages == 0 || has_block(it, r, 0, count))) {
        count++;
    }
    return count * group->block_tokens;
}

/* From the right: so many blocks in a row as a window needs, or those at the start. */
static int64_t sliding_hit(const sli_vllm_blocks *it, int r, int g, int64_t tokens) {
    const sli_group *group = group_at(it, g);
    int64_t wanted = ceil_div(group->span_tokens - 1, group->block_tokens);
    int64_t in_a_row = 0;
    int64_t position = tokens / group->block_tokens;
    if (wanted == 0) {
        return tokens;
    }
    while (position > 0 && in_a_row < wanted) {
        bool is_aligned = position * group->block_tokens % it->layout.align_tokens == 0;
        position--;
        if (!has_block(it, r, g, position)) {
            in_a_row = 0;
        } else if (in_a_row > 0 || is_aligned) {
            in_a_row++;
        }
    }
    return (position + in_a_row) * group->block_tokens;
}

/* From the left, beginning with the chunk in which the prefix ends. */
static int64_t chunked_hit(const sli_vllm_blocks *it, int r, int g, int64_t tokens) {
    const sli_group *group = group_at(it, g);
    int64_t position = tokens / group->span_tokens * group->span_tokens / group->block_tokens;
    while ((position + 1) * group->block_tokens <= tokens && has_block(it, r, g, position)) {
        position++;
    }
    return position * group->block_tokens;
}

/* From the right: the last state at a place where a hit may end. */
static int64_t state_hit(const sli_vllm_blocks *it, int r, int g, int64_t tokens) {
    const sli_group *group = group_at(it, g);
    int64_t position = tokens / group->block_tokens;
    while (position > 0 && (position * group->block_tokens % it->layout.align_tokens != 0 ||
                            !has_block(it, r, g, position - 1))) {
        position--;
    }
    return position * group->block_tokens;
}

static int64_t window_hit(const sli_vllm_blocks *it, int r, int g, int64_t tokens) {
    switch (group_at(it, g)->kind) {
    case SLI_GROUP_SLIDING:
        return sliding_hit(it, r, g, tokens);
    case SLI_GROUP_CHUNKED:
        return chunked_hit(it, r, g, tokens);
    case SLI_GROUP_STATE:
        return state_hit(it, r, g, tokens);
    case SLI_GROUP_GROWING:
    case SLI_GROUP_KEPT: /* not of vLLM */
    case SLI_GROUP_FIXED:
        break;
    }
    return tokens;
}

int64_t sli_vllm_find_hit(const sli_vllm_blocks *it, int r, int64_t tokens) {
    int64_t hit = it->world->engine.pool.has_index ? full_hit(it, r, tokens) : 0;
    int64_t before;
    do {
        before = hit;
        for (int g = 1; g < it->layout.group_count && hit > 0; g++) {
            hit = window_hit(it, r, g, hit / it->layout.align_tokens * it->layout.align_tokens);
        }
        hit = hit / it->layout.align_tokens * it->layout.align_tokens;
    } while (hit < before);
    return hit;
}

/* ---- Holding ---- */

static void take_blocks(sli_vllm_blocks *it, int r, int64_t tokens) {
    for (int g = 0; g < it->layout.group_count; g++) {
        const sli_group *group = group_at(it, g);
        sli_vllm_table *table = &it->tables[r][g];
        while (table->count < end_of(group, tokens)) {
            bool is_there = !is_left_out(group, table->count, tokens);
            table->blocks[table->count++] = is_there ? take_block(it, group->block_pages) : NOBODY;
        }
    }
}

/* Full blocks are findable as soon as their tokens are scheduled; a state is that at the end. */
static void cache_block(sli_vllm_blocks *it, int r, int g, int position, int64_t tokens) {
    const sli_group *group = group_at(it, g);
    const sli_pool_config *pool = &it->world->engine.pool;
    int64_t end = (position + 1) * group->block_tokens;
    bool is_generated = end > it->world->requests[r].desc.prompt_tokens;
    bool is_full = group->kind == SLI_GROUP_STATE ? end == tokens : end <= tokens;
    int block = it->tables[r][g].blocks[position];
    if (block != NOBODY && it->pages[block].like_request == NOBODY && is_full &&
        (!is_generated || pool->caches_generated)) {
        it->pages[block].like_request = r;
        it->pages[block].like_group = g;
        it->pages[block].like_end = end;
        it->pages[block].found_since = ++it->stamp;
    }
}

static void cache_blocks(sli_vllm_blocks *it, int r, int64_t tokens) {
    for (int g = 0; g < it->layout.group_count && it->world->engine.pool.has_index; g++) {
        for (int p = 0; p < it->tables[r][g].count; p++) {
            cache_block(it, r, g, p, tokens);
        }
    }
}

bool sli_vllm_allocate_running(sli_vllm_blocks *it, int r, int64_t end_tokens) {
    int64_t need = 0;
    for (int g = 0; g < it->layout.group_count; g++) {
        need += pages_between(group_at(it, g), it->tables[r][g].count, end_tokens);
    }
    if (need > count_free(it)) {
        return false;
    }
    take_blocks(it, r, end_tokens);
    cache_blocks(it, r, end_tokens);
    return true;
}

/* Takes what a group keeps of a prefix, or only counts the pages of it that are free. */
static int64_t look_at_hit(sli_vllm_blocks *it, int r, int g, int64_t hit_tokens, bool takes) {
    const sli_group *group = group_at(it, g);
    sli_vllm_table *table = &it->tables[r][g];
    int64_t free_pages = 0;
    for (int64_t p = 0; p < hit_tokens / group->block_tokens; p++) {
        bool is_there = group->block_pages > 0 && !is_skipped(group, p, hit_tokens);
        int block = is_there ? find_block(it, r, g, (p + 1) * group->block_tokens) : NOBODY;
        SL_ASSERT(!is_there || block != NOBODY);
        free_pages += is_there && it->pages[block].holders == 0 ? group->block_pages : 0;
        if (takes) {
            touch_block(it, block);
            table->blocks[table->count++] = block;
        }
    }
    return free_pages;
}

bool sli_vllm_allocate_waiting(sli_vllm_blocks *it, int r, const sli_vllm_wish *wish) {
    int64_t need = wish->headroom_pages;
    for (int g = 0; g < it->layout.group_count; g++) {
        const sli_group *group = group_at(it, g);
        int64_t tokens = g == 0 ? at_least(wish->end_tokens, wish->fit_tokens) : wish->end_tokens;
        need += look_at_hit(it, r, g, wish->hit_tokens, false);
        need += pages_between(group, wish->hit_tokens / group->block_tokens, tokens);
    }
    if (need > count_free(it)) {
        return false;
    }
    for (int g = 0; g < it->layout.group_count; g++) {
        (void)look_at_hit(it, r, g, wish->hit_tokens, true);
    }
    take_blocks(it, r, wish->end_tokens);
    cache_blocks(it, r, wish->end_tokens);
    return true;
}

/* ---- Giving back ---- */

void sli_vllm_uncache(sli_vllm_blocks *it, int r, int64_t computed_tokens) {
    for (int g = 0; g < it->layout.group_count; g++) {
        for (int p = 0; p < it->tables[r][g].count; p++) {
            int block = it->tables[r][g].blocks[p];
            if (block != NOBODY && it->pages[block].like_end > computed_tokens) {
                it->pages[block].like_request = NOBODY;
            }
        }
    }
}

/* Group by group, the last block first, so that the start of a prompt survives longest. */
void sli_vllm_free(sli_vllm_blocks *it, int r) {
    for (int g = 0; g < it->layout.group_count; g++) {
        sli_vllm_table *table = &it->tables[r][g];
        while (table->count > 0) {
            free_block(it, table, --table->count);
        }
    }
}

static bool can_others_find(const sli_vllm_blocks *it, int block) {
    const sli_vllm_page *at = &it->pages[block];
    return at->like_request != NOBODY && token_of(it, at->like_request, at->like_end - 1).is_shared;
}

void sli_vllm_skip(sli_vllm_blocks *it, int r, int64_t computed_tokens, bool others_can_find) {
    for (int g = 1; g < it->layout.group_count; g++) {
        sli_vllm_table *table = &it->tables[r][g];
        for (int p = table->count - 1; p >= 0; p--) {
            int block = table->blocks[p];
            if (block == NOBODY || !is_skipped(group_at(it, g), p, computed_tokens) ||
                can_others_find(it, block) != others_can_find) {
                continue;
            }
            if (!others_can_find) {
                it->pages[block].like_request = NOBODY;
            }
            free_block(it, table, p);
        }
    }
}
