#include "block_model.h"

#include <string.h>

static int64_t draw(sli_rng *rng, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(rng, (uint64_t)(high - low + 1));
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Sequences ---- */

uint64_t sli_model_token(const sl_content *content, int64_t place) {
    uint64_t id = content->ids[place / content->id_tokens];
    return id * 1000 + (uint64_t)(place % content->id_tokens) * 10 + content->scope;
}

/* An id spells the path to its unit, one bit a choice, then the length of units and how far the
 * last one is filled: whatever differs is another id. */
static void draw_ids(sli_rng *rng, sli_sequence *drawn, int64_t unit_count, int64_t unit_tokens) {
    uint64_t path = 1;
    for (int64_t i = 0; i < unit_count; i++) {
        bool is_partial = (i + 1) * unit_tokens > drawn->prompt_tokens;
        int64_t filled_tokens = is_partial ? drawn->prompt_tokens % unit_tokens : 0;
        path = path * 2 + (uint64_t)(draw(rng, 0, 7) == 0);
        drawn->ids[i] = path * 64 + (uint64_t)(unit_tokens * 8 + filled_tokens);
    }
}

void sli_sequence_draw(sli_rng *rng, uint64_t request, sli_sequence *drawn) {
    int64_t unit_tokens = 1 + 2 * draw(rng, 0, 2);
    drawn->prompt_tokens = draw(rng, 1, SLI_MODEL_PROMPT_TOKENS);
    int64_t most_units = (drawn->prompt_tokens + unit_tokens - 1) / unit_tokens;
    int64_t unit_count = draw(rng, 0, 3) > 0 ? most_units : draw(rng, 0, most_units);
    draw_ids(rng, drawn, unit_count, unit_tokens);
    drawn->shared_tokens = min_of(unit_count * unit_tokens, drawn->prompt_tokens);
    drawn->view = (sli_content_view){
        .content = {drawn->ids, unit_count, unit_tokens, 1 + (draw(rng, 0, 7) == 0)},
        .request = request,
        .prompt_tokens = drawn->prompt_tokens,
    };
    for (int64_t place = 0; place < SLI_MODEL_TOKENS; place++) {
        uint64_t private_token = (request << 32) + (uint64_t)place * 10;
        drawn->tokens[place] = place < drawn->shared_tokens
                                   ? sli_model_token(&drawn->view.content, place)
                                   : private_token;
    }
}

/* ---- What groups keep ---- */

/* The first slot, counted from 1, that the token behind `tokens` or a later one looks at. */
static int64_t first_seen(const sli_group *group, int64_t tokens) {
    int64_t begin = 0;
    switch (group->kind) {
    case SLI_GROUP_SLIDING:
        return tokens + 1 - (group->span_tokens - 1);
    case SLI_GROUP_CHUNKED:
        while (begin + group->span_tokens <= tokens) {
            begin += group->span_tokens;
        }
        return begin + 1;
    case SLI_GROUP_STATE:
        return tokens;
    case SLI_GROUP_GROWING:
    case SLI_GROUP_KEPT: /* not in these tests */
    case SLI_GROUP_FIXED:
        break;
    }
    return 1;
}

bool sli_model_is_passed(const sli_group *group, int64_t position, int64_t tokens) {
    return (position + 1) * group->block_tokens < first_seen(group, tokens);
}

bool sli_model_is_reached(const sli_group *group, int64_t position, int64_t tokens) {
    return group->kind == SLI_GROUP_FIXED ? position < group->fixed_blocks
                                          : position * group->block_tokens < tokens;
}

/* ---- Questions ---- */

static sli_layout one_group(int64_t block_tokens) {
    return (sli_layout){
        .align_tokens = block_tokens,
        .group_count = 1,
        .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = block_tokens, .block_pages = 1}},
    };
}

void sli_model_init(sli_block_model *model, const sli_pool_config *config) {
    *model = (sli_block_model){
        .layout = config->layout != NULL ? *config->layout : one_group(config->block_tokens),
        .page_count = config->block_count,
        .block_tokens = config->block_tokens,
        .has_index = config->has_index,
        .caches_generated = config->caches_generated,
        .free_pages = config->block_count,
    };
    for (int page = 0; page < model->page_count; page++) {
        model->pages[page] = (sli_model_page){.first = page, .next = SLI_MODEL_NONE};
        model->queue[page] = page;
    }
}

int64_t sli_model_blocks_for(const sli_block_model *model, int64_t tokens) {
    int64_t count = 0;
    while (count * model->block_tokens < tokens) {
        count++;
    }
    return count;
}

int64_t sli_model_cached(const sli_block_model *model) {
    int64_t count = 0;
    for (int64_t place = 0; place < model->free_pages; place++) {
        int first = model->pages[model->queue[place]].first;
        count += model->pages[first].contents != NULL;
    }
    return count;
}

int sli_model_find(const sli_block_model *model, const sli_sequence *sequence, int group,
                   int64_t length) {
    int oldest = SLI_MODEL_NONE;
    for (int page = 0; page < model->page_count; page++) {
        const sli_model_page *candidate = &model->pages[page];
        if (candidate->contents != NULL && candidate->group == group &&
            candidate->length == length &&
            memcmp(candidate->contents->tokens, sequence->tokens,
                   (size_t)length * sizeof(uint64_t)) == 0 &&
            (oldest < 0 || candidate->published_at < model->pages[oldest].published_at)) {
            oldest = page;
        }
    }
    return oldest;
}

/* All that a group keeps of a prefix is there; adds the free pages of it. */
static bool has_all(const sli_block_model *model, const sli_sequence *sequence, int g,
                    int64_t tokens, int64_t *free_pages) {
    const sli_group *group = &model->layout.groups[g];
    for (int64_t p = 0; group->block_pages > 0 && sli_model_is_reached(group, p, tokens); p++) {
        if (sli_model_is_passed(group, p, tokens)) {
            continue;
        }
        int found = sli_model_find(model, sequence, g, (p + 1) * group->block_tokens);
        if (found < 0) {
            return false;
        }
        *free_pages += model->pages[found].holders == 0 ? group->block_pages : 0;
    }
    return true;
}

sli_hit sli_model_lookup(const sli_block_model *model, const sli_sequence *sequence,
                         int64_t max_tokens) {
    int64_t align_tokens = model->layout.align_tokens;
    int64_t tokens = model->has_index ? max_tokens - max_tokens % align_tokens : 0;
    for (; tokens > 0; tokens -= align_tokens) {
        int64_t free_pages = 0;
        int g = 0;
        while (g < model->layout.group_count && has_all(model, sequence, g, tokens, &free_pages)) {
            g++;
        }
        if (g == model->layout.group_count) {
            return (sli_hit){tokens / model->block_tokens, free_pages};
        }
    }
    return (sli_hit){0};
}

/* ---- The queue ---- */

static void leave_queue(sli_block_model *model, int page) {
    int64_t place = 0;
    while (model->queue[place] != page) {
        place++;
    }
    model->free_pages--;
    memmove(&model->queue[place], &model->queue[place + 1],
            (size_t)(model->free_pages - place) * sizeof model->queue[0]);
}

/* A block is lost with the first page of it that is handed out; the others are of no block then. */
static int take_page(sli_block_model *model) {
    int taken = model->queue[0];
    int page = model->pages[taken].first;
    leave_queue(model, taken);
    model->evictions += model->pages[page].contents != NULL;
    while (page >= 0) {
        int next = model->pages[page].next;
        model->pages[page] = (sli_model_page){.first = page, .next = SLI_MODEL_NONE};
        page = next;
    }
    return taken;
}

void sli_model_take(sli_block_model *model, int group, sli_block_table *table) {
    int first = SLI_MODEL_NONE;
    int last = SLI_MODEL_NONE;
    for (int64_t i = 0; i < model->layout.groups[group].block_pages; i++) {
        int page = take_page(model);
        first = i == 0 ? page : first;
        model->pages[page] = (sli_model_page){
            .holders = 1, .first = first, .next = SLI_MODEL_NONE, .group = group};
        if (i > 0) {
            model->pages[last].next = page;
        }
        last = page;
    }
    table->blocks[table->count++] = first;
}

void sli_model_share(sli_block_model *model, sli_block_table *table, int block) {
    for (int page = block; page >= 0; page = model->pages[page].next) {
        if (model->pages[page].holders++ == 0) {
            leave_queue(model, page);
        }
    }
    model->pages[block].shares++;
    table->blocks[table->count++] = block;
}

void sli_model_skip(sli_block_table *table) {
    table->blocks[table->count++] = SLI_MODEL_NONE;
}

static void enter_queue(sli_block_model *model, int page, int64_t place) {
    memmove(&model->queue[place + 1], &model->queue[place],
            (size_t)(model->free_pages - place) * sizeof model->queue[0]);
    model->queue[place] = page;
    model->free_pages++;
}

void sli_model_give(sli_block_model *model, sli_block_table *table, int64_t position,
                    bool puts_back) {
    int page = table->blocks[position];
    table->blocks[position] = SLI_MODEL_NONE;
    for (; page >= 0; page = model->pages[page].next) {
        if (--model->pages[page].holders == 0) {
            enter_queue(model, page, puts_back ? 0 : model->free_pages);
        }
    }
}

void sli_model_give_last(sli_block_model *model, sli_block_table *table, bool puts_back) {
    sli_model_give(model, table, --table->count, puts_back);
}

/* ---- Contents ---- */

void sli_model_publish(sli_block_model *model, int block, int group, const sli_sequence *sequence,
                       int64_t length) {
    sli_model_page *it = &model->pages[block];
    it->contents = sequence;
    it->group = group;
    it->length = length;
    it->shares = 0;
    it->published_at = model->publications++;
}

bool sli_model_publish_next(sli_block_model *model, sli_block_table *table,
                            const sli_sequence *sequence, int64_t tokens) {
    int64_t length = (table->published + 1) * model->block_tokens;
    bool is_generated = length > sequence->prompt_tokens;
    if (!model->has_index || length > tokens || (is_generated && !model->caches_generated)) {
        return false;
    }
    int block = table->blocks[table->published++];
    if (block >= 0) {
        sli_model_publish(model, block, 0, sequence, length);
    }
    return true;
}

void sli_model_forget(sli_block_model *model, const sli_sequence *sequence) {
    for (int page = 0; page < model->page_count; page++) {
        sli_model_page *it = &model->pages[page];
        if (it->contents == sequence && it->length > sequence->shared_tokens && it->holders == 0) {
            it->contents = NULL;
        }
    }
}
