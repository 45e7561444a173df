/*
 * Contexts of several groups at random in two pools, against a model that knows every page.
 *
 * A context goes on in steps, as the engine has it: slots are taken and what they fill becomes
 * findable, then the step is over and windows give back what they have passed; or it never happens
 * and all is taken back. In between a context may coast: tokens come one by one, others take its
 * pages for it, and it is told about them afterwards. After every action everything that can be
 * seen from outside is compared, and the queue from end to end, page by page. The file is long
 * because the actions, what is compared after each, and the worlds are nothing without each other.
 */
#include "block_model.h"
#include "kv/audit.h"
#include "kv/layout_held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { POOLS = 2, CONTEXTS = 5, ACTIONS = 250, WORLDS = 300, SEQUENCES = CONTEXTS + ACTIONS };

/* How often what is to be tested came up. */
typedef struct census {
    int64_t hits;        /* in tokens */
    int64_t window_hits; /* blocks of windows that were shared */
    int64_t parked_hits; /* of private contents of windows, by their own context */
    int64_t refusals;
    int64_t retractions;
    int64_t passed;
    int64_t coasted; /* steps */
    int64_t spared;  /* blocks filled without taking any */
} census;

typedef struct tenant {
    sli_context context;
    sli_block_table tables[SLI_GROUP_MAX];
    sli_block_table spares[SLI_GROUP_MAX]; /* what its reservation holds and does not fill */
    int64_t reserved_tokens;               /* in whole blocks of the first group */
    int64_t known_at_start;
    int pool; /* the one that it is in, or was in last */
    const sli_sequence *sequence;
    int64_t known_tokens;
    bool is_in;
    bool is_planned; /* a step up to end_tokens is under way */
    int64_t computed_tokens;
    int64_t end_tokens;
} tenant;

typedef struct world {
    sli_rng rng;
    sli_layout layout;
    sli_pool pools[POOLS];
    sli_block_model models[POOLS];
    tenant tenants[CONTEXTS];
    sli_sequence sequences[SEQUENCES]; /* all that were ever drawn, as the index points at ids */
    int sequence_count;
    census census;
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static const sli_group *group_at(const world *it, int g) {
    return &it->layout.groups[g];
}

static sli_block_model *model_of(world *it, const tenant *who) {
    return &it->models[who->pool];
}

/* ---- Tables ---- */

static bool has_block(const tenant *who, int g, int64_t position) {
    return who->tables[g].blocks[position] != SLI_MODEL_NONE;
}

static int64_t held_pages(const world *it, const tenant *who) {
    int64_t pages = 0;
    for (int g = 0; g < it->layout.group_count; g++) {
        for (int64_t p = 0; p < who->tables[g].count; p++) {
            pages += has_block(who, g, p) ? group_at(it, g)->block_pages : 0;
        }
        pages += who->spares[g].count * group_at(it, g)->block_pages;
    }
    return pages;
}

/* A state has no block where a step goes on beyond it. */
static bool is_left_out(const sli_group *group, int64_t position, int64_t tokens) {
    return group->kind == SLI_GROUP_STATE && sli_model_is_reached(group, position + 1, tokens);
}

static int64_t pages_to_add(const world *it, int g, int64_t from_position, int64_t tokens) {
    const sli_group *group = group_at(it, g);
    int64_t pages = 0;
    for (int64_t p = from_position; sli_model_is_reached(group, p, tokens); p++) {
        pages += is_left_out(group, p, tokens) ? 0 : group->block_pages;
    }
    return pages;
}

/* Blocks of a window that its reservation holds at least; test_layout_held.c shows that they are
 * enough. */
static int64_t reserved_blocks(const world *it, const tenant *who, int g) {
    bool is_over = who->reserved_tokens == 0 || who->computed_tokens > who->reserved_tokens;
    int64_t known = who->computed_tokens < who->known_at_start ? who->known_at_start : 0;
    return is_over || g == 0
               ? 0
               : sli_group_reserved_blocks(group_at(it, g), who->sequence->prompt_tokens, known,
                                           who->reserved_tokens);
}

static int64_t filled_blocks(const tenant *who, int g) {
    int64_t blocks = 0;
    for (int64_t p = 0; p < who->tables[g].count; p++) {
        blocks += has_block(who, g, p);
    }
    return blocks;
}

static int64_t wanted_spare(const world *it, const tenant *who, int g) {
    return max_of(0, reserved_blocks(it, who, g) - filled_blocks(who, g));
}

/* Whoever holds so many blocks in a group, beside its spare ones, and fills these pages more. */
static int64_t pages_to_take(const world *it, const tenant *who, int g, int64_t held,
                             int64_t more_pages) {
    int64_t block_pages = group_at(it, g)->block_pages;
    int64_t reserved = reserved_blocks(it, who, g) * block_pages;
    int64_t held_pages = held * block_pages;
    int64_t spare_pages = who->spares[g].count * block_pages;
    return max_of(0, max_of(held_pages + more_pages, reserved) - held_pages - spare_pages);
}

static int64_t need_pages(const world *it, const tenant *who, int64_t tokens) {
    int64_t pages = 0;
    for (int g = 0; g < it->layout.group_count; g++) {
        int64_t more_pages = pages_to_add(it, g, who->tables[g].count, tokens);
        pages += pages_to_take(it, who, g, filled_blocks(who, g), more_pages);
    }
    return pages;
}

static void add_blocks(world *it, tenant *who, int g, int64_t tokens) {
    sli_block_table *table = &who->tables[g];
    sli_block_table *spare = &who->spares[g];
    while (sli_model_is_reached(group_at(it, g), table->count, tokens)) {
        if (is_left_out(group_at(it, g), table->count, tokens)) {
            sli_model_skip(table);
        } else if (spare->count > 0) {
            table->blocks[table->count++] = spare->blocks[--spare->count];
            it->census.spared++;
        } else {
            sli_model_take(model_of(it, who), g, table);
        }
    }
    while (spare->count < wanted_spare(it, who, g)) {
        sli_model_take(model_of(it, who), g, spare);
    }
}

static void add_all_blocks(world *it, tenant *who, int64_t tokens) {
    for (int g = 0; g < it->layout.group_count; g++) {
        add_blocks(it, who, g, tokens);
    }
}

/* ---- Comparing ---- */

/* The page at a place of the queue is one of block number `depth` of a span. */
static void assert_entry(const world *it, int p, const sli_span *span, int64_t depth, int place) {
    const sli_block_model *model = &it->models[p];
    const sli_model_page *block = &model->pages[model->pages[model->queue[place]].first];
    if (span->kind == SLI_SPAN_BLANK) {
        assert_null(block->contents);
        return;
    }
    assert_non_null(block->contents);
    assert_int_equal(block->group, span->group);
    if (span->kind == SLI_SPAN_PARKED) {
        const tenant *parker = (const tenant *)span->parker; /* the context is its first member */
        assert_ptr_equal(block->contents, parker->sequence);
        assert_int_equal(block->length, (span->start_block + depth + 1) *
                                            group_at(it, (int)span->group)->block_tokens);
    } else if (span->kind == SLI_SPAN_COPY) {
        assert_int_equal(block->length, (span->run->start_block + depth + 1) * model->block_tokens);
        int64_t last = block->length - 1;
        assert_int_equal(block->contents->tokens[last], sli_model_token(&span->run->content, last));
    } else {
        assert_true(block->length <= block->contents->shared_tokens);
    }
}

static void assert_queue(const world *it, int p) {
    const sli_pool *pool = &it->pools[p];
    int place = 0;
    for (const sli_span *span = pool->queue.after; span != &pool->queue; span = span->after) {
        bool is_blank = span->kind == SLI_SPAN_BLANK;
        int64_t pages = is_blank ? 1 : group_at(it, (int)span->group)->block_pages;
        for (int64_t page = sli_pool_span_blocks(pool, span); page-- > 0; place++) {
            assert_true(place < it->models[p].free_pages);
            assert_entry(it, p, span, page / pages, place);
        }
    }
    assert_int_equal(place, it->models[p].free_pages);
}

static void assert_hit(sli_hit hit, sli_hit expected) {
    assert_int_equal(hit.blocks, expected.blocks);
    assert_int_equal(hit.free_blocks, expected.free_blocks);
}

/* What anybody finds of a sequence, and what its own context finds where it holds nothing. */
static void assert_lookups(world *it, int p, const tenant *who) {
    static const sli_context stranger;
    const sli_content_view *view = &who->sequence->view;
    int64_t max_tokens = draw(it, 0, who->known_tokens);
    int64_t shared_tokens = min_of(max_tokens, who->sequence->shared_tokens);
    assert_hit(sli_context_lookup(&stranger, &it->pools[p], view, shared_tokens),
               sli_model_lookup(&it->models[p], who->sequence, shared_tokens));
    if (!who->is_in || who->pool != p) {
        assert_hit(sli_context_lookup(&who->context, &it->pools[p], view, max_tokens),
                   sli_model_lookup(&it->models[p], who->sequence, max_tokens));
    }
}

static void assert_pool(world *it, int p) {
    const sli_pool *pool = &it->pools[p];
    const sli_block_model *model = &it->models[p];
    const sli_context *contexts[CONTEXTS];
    size_t count = 0;
    for (int i = 0; i < CONTEXTS; i++) {
        assert_lookups(it, p, &it->tenants[i]);
        if (it->tenants[i].pool == p) {
            contexts[count++] = &it->tenants[i].context;
        }
    }
    assert_int_equal(pool->free_blocks, model->free_pages);
    assert_int_equal(pool->cached_blocks, sli_model_cached(model));
    assert_queue(it, p);
    assert_false(pool->is_out_of_memory);
    const char *fault = sli_pool_audit(pool, contexts, count);
    if (fault != NULL) {
        fail_msg("audit: %s", fault);
    }
}

static void assert_agrees(world *it) {
    for (int p = 0; p < POOLS; p++) {
        assert_pool(it, p);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        const tenant *who = &it->tenants[i];
        assert_int_equal(who->context.held_blocks, held_pages(it, who));
        assert_int_equal(who->context.block_count, who->tables[0].count);
        assert_int_equal(who->context.published_blocks, who->tables[0].published);
    }
}

/* ---- Contents ---- */

static bool is_full(const sli_group *group, int64_t position, int64_t tokens) {
    int64_t length = (position + 1) * group->block_tokens;
    return group->kind == SLI_GROUP_STATE ? length == tokens : length <= tokens;
}

static void publish_window(world *it, tenant *who, int g, int64_t tokens) {
    const sli_group *group = group_at(it, g);
    sli_block_model *model = model_of(it, who);
    int64_t limit_tokens = model->caches_generated ? tokens : who->sequence->prompt_tokens;
    for (int64_t p = 0; p < who->tables[g].count; p++) {
        int block = who->tables[g].blocks[p];
        int64_t length = (p + 1) * group->block_tokens;
        if (block >= 0 && model->pages[block].contents == NULL && is_full(group, p, tokens) &&
            length <= limit_tokens) {
            sli_model_publish(model, block, g, who->sequence, length);
        }
    }
}

static void publish(world *it, tenant *who, int64_t tokens) {
    sli_block_model *model = model_of(it, who);
    sli_context_publish(&who->context, &it->pools[who->pool], &who->sequence->view, tokens);
    while (sli_model_publish_next(model, &who->tables[0], who->sequence, tokens)) {
    }
    for (int g = 1; model->has_index && g < it->layout.group_count; g++) {
        publish_window(it, who, g, tokens);
    }
}

/* Whether a held block is of those that a plan made findable. */
static bool is_planned_block(world *it, const tenant *who, int block) {
    if (block < 0) {
        return false;
    }
    const sli_model_page *page = &model_of(it, who)->pages[block];
    return page->contents != NULL && page->length > who->computed_tokens;
}

/* False when somebody has found something that would have to be taken back. */
static bool retract(world *it, tenant *who) {
    sli_block_model *model = model_of(it, who);
    for (int g = 0; g < it->layout.group_count; g++) {
        for (int64_t p = 0; p < who->tables[g].count; p++) {
            int block = who->tables[g].blocks[p];
            if (is_planned_block(it, who, block) && model->pages[block].shares > 0) {
                return false;
            }
        }
    }
    sli_context_retract(&who->context, &it->pools[who->pool], who->computed_tokens);
    for (int g = 0; g < it->layout.group_count; g++) {
        for (int64_t p = 0; p < who->tables[g].count; p++) {
            int block = who->tables[g].blocks[p];
            if (is_planned_block(it, who, block)) {
                model->pages[block].contents = NULL;
                it->census.retractions++;
            }
        }
    }
    who->tables[0].published = min_of(who->tables[0].published,
                                      who->computed_tokens / model->block_tokens);
    return true;
}

/* ---- Coming and going ---- */

static void move_in(world *it, tenant *who) {
    sli_sequence *sequence = &it->sequences[it->sequence_count++];
    sli_sequence_draw(&it->rng, (uint64_t)it->sequence_count, sequence);
    who->sequence = sequence;
    who->known_tokens = sequence->prompt_tokens;
}

static void move_out(world *it, tenant *who) {
    sli_context_forget(&who->context);
    for (int p = 0; p < POOLS; p++) {
        sli_model_forget(&it->models[p], who->sequence);
    }
    assert_null(who->context.parked);
    move_in(it, who);
}

static void share_group(world *it, tenant *who, int g, int64_t tokens) {
    sli_block_model *model = model_of(it, who);
    const sli_group *group = group_at(it, g);
    sli_block_table *table = &who->tables[g];
    for (int64_t p = 0; sli_model_is_reached(group, p, tokens); p++) {
        if (group->block_pages == 0 || sli_model_is_passed(group, p, tokens)) {
            sli_model_skip(table);
            continue;
        }
        int64_t length = (p + 1) * group->block_tokens;
        sli_model_share(model, table, sli_model_find(model, who->sequence, g, length));
        it->census.window_hits += g > 0;
        it->census.parked_hits += g > 0 && length > who->sequence->shared_tokens;
    }
}

static int64_t shared_blocks(const sli_group *group, int64_t hit_tokens) {
    int64_t blocks = 0;
    for (int64_t p = 0; hit_tokens > 0 && sli_model_is_reached(group, p, hit_tokens); p++) {
        blocks += !sli_model_is_passed(group, p, hit_tokens);
    }
    return blocks;
}

static int64_t pages_wanted(world *it, const tenant *who, const sli_acquisition *want) {
    const sli_block_model *model = model_of(it, who);
    int64_t hit_tokens = want->hit.blocks * model->block_tokens;
    int64_t must_fit = max_of(max_of(want->tokens, want->reserve_tokens), want->fit_tokens);
    int64_t pages = want->hit.free_blocks + want->keep_free_blocks;
    pages += pages_to_add(it, 0, want->hit.blocks, must_fit);
    for (int g = 1; g < it->layout.group_count; g++) {
        const sli_group *group = group_at(it, g);
        int64_t more_pages = pages_to_add(it, g, hit_tokens / group->block_tokens, want->tokens);
        pages += pages_to_take(it, who, g, shared_blocks(group, hit_tokens), more_pages);
    }
    return pages;
}

static void model_acquire(world *it, tenant *who, const sli_acquisition *want) {
    int64_t hit_tokens = want->hit.blocks * model_of(it, who)->block_tokens;
    for (int g = 0; g < it->layout.group_count && hit_tokens > 0; g++) {
        share_group(it, who, g, hit_tokens);
    }
    sli_model_forget(model_of(it, who), who->sequence);
    add_blocks(it, who, 0, max_of(want->tokens, who->reserved_tokens));
    for (int g = 1; g < it->layout.group_count; g++) {
        add_blocks(it, who, g, want->tokens);
    }
    who->tables[0].published = want->hit.blocks;
    who->is_in = true;
    who->is_planned = true;
    who->computed_tokens = hit_tokens;
    who->end_tokens = want->tokens;
    it->census.hits += hit_tokens;
}

static void acquire(world *it, tenant *who) {
    who->pool = (int)draw(it, 0, POOLS - 1);
    int64_t most_tokens = who->known_tokens - 1;
    most_tokens = draw(it, 0, 4) == 0 ? draw(it, 0, most_tokens) : most_tokens;
    sli_hit hit = sli_model_lookup(model_of(it, who), who->sequence, most_tokens);
    const sli_acquisition want = {
        .hit = hit,
        .tokens = draw(it, hit.blocks * model_of(it, who)->block_tokens + 1, who->known_tokens),
        .reserve_tokens = draw(it, 0, 2) == 0 ? draw(it, 0, SLI_MODEL_TOKENS - 8) : 0,
        .fit_tokens = draw(it, 0, 2) == 0 ? who->known_tokens : 0,
        .known_tokens = who->known_tokens,
        .keep_free_blocks = draw(it, 0, 2),
    };
    who->reserved_tokens = sli_model_blocks_for(model_of(it, who), want.reserve_tokens) *
                           model_of(it, who)->block_tokens;
    who->known_at_start = who->known_tokens;
    who->computed_tokens = 0;
    int64_t missing = sli_context_acquire(&who->context, &it->pools[who->pool],
                                          &who->sequence->view, &want);
    int64_t over_pages = pages_wanted(it, who, &want) - model_of(it, who)->free_pages;
    assert_int_equal(missing, max_of(0, over_pages));
    if (missing > 0) {
        it->census.refusals++;
        return;
    }
    model_acquire(it, who, &want);
    publish(it, who, who->end_tokens);
}

/* Preempted, to come back with all it knows and one token more, or gone for good. */
static void release(world *it, tenant *who, bool will_be_back) {
    who->known_tokens = max_of(who->known_tokens, who->computed_tokens + 1);
    sli_context_release(&who->context, &it->pools[who->pool], &who->sequence->view, will_be_back);
    for (int g = 0; g < it->layout.group_count; g++) {
        while (who->spares[g].count > 0) {
            sli_model_give_last(model_of(it, who), &who->spares[g], false);
        }
        while (who->tables[g].count > 0) {
            sli_model_give_last(model_of(it, who), &who->tables[g], false);
        }
        who->tables[g] = (sli_block_table){0};
    }
    who->is_in = false;
    who->is_planned = false;
    if (!will_be_back) {
        move_out(it, who);
    }
}

/* ---- Steps ---- */

static void plan(world *it, tenant *who) {
    sli_pool *pool = &it->pools[who->pool];
    int64_t end_tokens = min_of(SLI_MODEL_TOKENS, who->computed_tokens + draw(it, 1, 8));
    int64_t pages = need_pages(it, who, end_tokens);
    assert_int_equal(sli_context_need(&who->context, pool, end_tokens), pages);
    if (pages > model_of(it, who)->free_pages) {
        return;
    }
    if (end_tokens > who->context.tokens) {
        sli_context_extend(&who->context, pool, end_tokens);
    }
    add_all_blocks(it, who, end_tokens);
    who->end_tokens = end_tokens;
    who->is_planned = true;
    publish(it, who, end_tokens);
}

/* Whether the block is one that others may find. */
static bool is_public(world *it, const tenant *who, int block) {
    if (block < 0) {
        return false;
    }
    const sli_model_page *page = &model_of(it, who)->pages[block];
    return page->contents != NULL && page->length <= who->sequence->shared_tokens;
}

/* Spare blocks that the reservation does not want; answers their pages. */
static int64_t give_spare(world *it, tenant *who, int g) {
    int64_t pages = 0;
    while (who->spares[g].count > wanted_spare(it, who, g)) {
        sli_model_give_last(model_of(it, who), &who->spares[g], false);
        pages += group_at(it, g)->block_pages;
    }
    return pages;
}

/* What a window has passed goes: what others may find, deepest first, or all else, which nobody
 * can find any more and which may be spare. Answers the pages. */
static int64_t pass(world *it, tenant *who, int g, int64_t tokens, bool gives_public) {
    sli_block_table *table = &who->tables[g];
    sli_block_table *spare = &who->spares[g];
    for (int64_t p = table->count - 1; p >= 0; p--) {
        int block = table->blocks[p];
        if (block >= 0 && sli_model_is_passed(group_at(it, g), p, tokens) &&
            is_public(it, who, block) == gives_public) {
            if (gives_public) {
                sli_model_give(model_of(it, who), table, p, false);
            } else {
                model_of(it, who)->pages[block].contents = NULL;
                spare->blocks[spare->count++] = block;
                table->blocks[p] = SLI_MODEL_NONE;
            }
            it->census.passed++;
        }
    }
    return gives_public ? 0 : give_spare(it, who, g);
}

static int64_t pass_all(world *it, tenant *who, int64_t tokens, bool gives_public) {
    int64_t pages = 0;
    for (int g = 1; g < it->layout.group_count; g++) {
        pages += pass(it, who, g, tokens, gives_public);
    }
    return pages;
}

static void complete(world *it, tenant *who) {
    sli_pool *pool = &it->pools[who->pool];
    int64_t blank_pages = sli_context_slide(&who->context, pool, who->end_tokens);
    (void)pass_all(it, who, who->end_tokens, true);
    assert_queue(it, who->pool); /* contents that others may find come first */
    sli_pool_give_blank(pool, blank_pages);
    who->computed_tokens = who->end_tokens;
    assert_int_equal(pass_all(it, who, who->end_tokens, false), blank_pages);
    who->known_tokens = max_of(who->known_tokens, who->computed_tokens);
    who->is_planned = false;
}

static bool passes_public(world *it, const tenant *who, int64_t tokens) {
    for (int g = 1; g < it->layout.group_count; g++) {
        for (int64_t p = 0; p < who->tables[g].count; p++) {
            if (is_public(it, who, who->tables[g].blocks[p]) &&
                sli_model_is_passed(group_at(it, g), p, tokens)) {
                return true;
            }
        }
    }
    return false;
}

static void coast_once(world *it, tenant *who) {
    sli_pool *pool = &it->pools[who->pool];
    int64_t tokens = who->computed_tokens + 1;
    sli_pool_take(pool, need_pages(it, who, tokens));
    add_all_blocks(it, who, tokens);
    assert_int_equal(sli_context_held_at(&who->context, pool, tokens - 1, tokens),
                     held_pages(it, who));
    who->computed_tokens = tokens;
    sli_pool_give_blank(pool, pass_all(it, who, tokens, false));
    assert_int_equal(sli_context_held_at(&who->context, pool, tokens, tokens), held_pages(it, who));
    it->census.coasted++;
}

/* Whether all of its reservation is there. */
static bool is_whole(const world *it, const tenant *who) {
    for (int g = 1; g < it->layout.group_count; g++) {
        if (who->spares[g].count < wanted_spare(it, who, g)) {
            return false;
        }
    }
    return true;
}

/* One token a step, as far as pages and blocks that nobody else may find go; then the context is
 * told. */
static void coast(world *it, tenant *who) {
    sli_pool *pool = &it->pools[who->pool];
    for (int g = 1; g < it->layout.group_count; g++) {
        const sli_window *window = &who->context.windows[g - 1];
        bool is_settled = who->spares[g].count >= wanted_spare(it, who, g);
        assert_int_equal(sli_window_is_settled(window, group_at(it, g)), is_settled);
    }
    if (!is_whole(it, who)) {
        return;
    }
    for (int64_t steps = draw(it, 0, 12); steps > 0; steps--) {
        int64_t tokens = who->computed_tokens + 1;
        if (tokens > SLI_MODEL_TOKENS || passes_public(it, who, tokens) ||
            need_pages(it, who, tokens) > model_of(it, who)->free_pages) {
            break;
        }
        coast_once(it, who);
    }
    sli_context_grow(&who->context, pool, who->computed_tokens);
    (void)sli_context_slide(&who->context, pool, who->computed_tokens);
    publish(it, who, who->computed_tokens);
    who->known_tokens = max_of(who->known_tokens, who->computed_tokens);
}

static void act_at_random(world *it) {
    tenant *who = &it->tenants[draw(it, 0, CONTEXTS - 1)];
    bool can_go_on = who->computed_tokens < SLI_MODEL_TOKENS;
    if (!who->is_in && draw(it, 0, 19) == 0) {
        move_out(it, who); /* its client went away while it waited */
    } else if (!who->is_in) {
        acquire(it, who);
    } else if (who->is_planned && draw(it, 0, 3) == 0 && retract(it, who)) {
        release(it, who, true);
    } else if (who->is_planned) {
        complete(it, who);
    } else if (draw(it, 0, 3) == 0 || !can_go_on) {
        release(it, who, can_go_on && draw(it, 0, 2) > 0);
    } else if (who->computed_tokens >= who->sequence->prompt_tokens && draw(it, 0, 1) == 0) {
        coast(it, who);
    } else {
        plan(it, who);
    }
}

/* ---- Worlds ---- */

/* Blocks of states end where hits may; others are equal to them, smaller, or larger than those of
 * the first group. */
static sli_group draw_group(world *it, int64_t block_tokens, int64_t align_tokens) {
    static const sli_group_kind kinds[] = {SLI_GROUP_SLIDING, SLI_GROUP_CHUNKED, SLI_GROUP_STATE,
                                           SLI_GROUP_SLIDING, SLI_GROUP_STATE,   SLI_GROUP_FIXED};
    const int64_t sizes[] = {block_tokens, align_tokens,
                             block_tokens % 2 == 0 ? block_tokens / 2 : block_tokens};
    sli_group group = {
        .kind = kinds[draw(it, 0, draw(it, 0, 3) == 0 ? 5 : 4)],
        .block_tokens = sizes[draw(it, 0, 2)],
        .block_pages = draw(it, 1, 3),
    };
    if (group.kind == SLI_GROUP_SLIDING) {
        group.span_tokens = draw(it, 1, 20);
    } else if (group.kind == SLI_GROUP_CHUNKED) {
        group.span_tokens = align_tokens * draw(it, 1, 2);
    } else if (group.kind == SLI_GROUP_FIXED) {
        group.fixed_blocks = draw(it, 1, 3);
    } else {
        group.block_tokens = align_tokens;
    }
    return group;
}

static sli_layout draw_layout(world *it) {
    int64_t block_tokens = draw(it, 1, 6);
    sli_layout layout = {
        .align_tokens = block_tokens * draw(it, 1, 2),
        .is_shareable = true,
        .group_count = 2 + (int)draw(it, 0, 2),
    };
    layout.groups[0] = (sli_group){
        .kind = SLI_GROUP_GROWING,
        .block_tokens = block_tokens,
        .block_pages = draw(it, 0, 4) == 0 ? 0 : draw(it, 1, 2),
    };
    for (int g = 1; g < layout.group_count; g++) {
        layout.groups[g] = draw_group(it, block_tokens, layout.align_tokens);
        layout.is_shareable = layout.is_shareable && layout.groups[g].kind != SLI_GROUP_FIXED;
    }
    return layout;
}

static void world_init(world *it, uint64_t number) {
    *it = (world){0};
    sli_rng_init(&it->rng, 1, "test-groups", 0, number);
    it->layout = draw_layout(it);
    for (int p = 0; p < POOLS; p++) {
        const sli_pool_config config = {
            .block_count = p == 0 ? draw(it, 10, SLI_MODEL_PAGES) : draw(it, 10, 50),
            .block_tokens = it->layout.groups[0].block_tokens,
            .has_index = it->layout.is_shareable && number % 10 != 0,
            .caches_generated = number % 4 != 0,
            .layout = &it->layout,
        };
        assert_int_equal(sli_pool_init(&it->pools[p], &config), SL_OK);
        sli_model_init(&it->models[p], &config);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        move_in(it, &it->tenants[i]);
    }
}

static void world_fini(world *it) {
    for (int i = 0; i < CONTEXTS; i++) {
        tenant *who = &it->tenants[i];
        sli_context_release(&who->context, &it->pools[who->pool], &who->sequence->view, false);
        sli_context_forget(&who->context);
    }
    for (int p = 0; p < POOLS; p++) {
        assert_int_equal(it->pools[p].free_blocks, it->models[p].page_count);
        assert_null(sli_pool_audit(&it->pools[p], NULL, 0));
        sli_pool_fini(&it->pools[p]);
    }
}

static void count_up(census *sum, const census *one) {
    sum->hits += one->hits;
    sum->window_hits += one->window_hits;
    sum->parked_hits += one->parked_hits;
    sum->refusals += one->refusals;
    sum->retractions += one->retractions;
    sum->passed += one->passed;
    sum->coasted += one->coasted;
    sum->spared += one->spared;
}

static void agrees_with_a_model_that_knows_every_page(void **state) {
    (void)state;
    static world it;
    census sum = {0};
    int64_t evictions = 0;
    for (uint64_t number = 0; number < WORLDS; number++) {
        world_init(&it, number);
        for (int action = 0; action < ACTIONS; action++) {
            act_at_random(&it);
            assert_agrees(&it);
        }
        count_up(&sum, &it.census);
        evictions += it.models[0].evictions + it.models[1].evictions;
        world_fini(&it);
    }
    /* The worlds were full of what is to be tested. */
    assert_true(sum.hits > 10000 && sum.window_hits > 3000 && sum.parked_hits > 500);
    assert_true(sum.refusals > 5000 && sum.retractions > 8000 && sum.passed > 15000);
    assert_true(sum.coasted > 10000 && evictions > 15000 && sum.spared > 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_model_that_knows_every_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
