/*
 * Windows, chunks and states by themselves against sets of positions.
 *
 * The model knows of each position of a window whether it is held and who can find it, and of each
 * findable block how many hold it. What is passed is asked token by token. In which order blocks
 * lie in the queue is tested with whole contexts (test_context_model.c).
 */
#include "block_model.h"
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PAGES = 4000, TOKENS = 64, TENANTS = 4, BLOCKS = 4096, WORLDS = 400, ACTIONS = 300 };

/* What a tenant has at a position: nothing, a block that nobody finds, one that only itself finds,
 * or the block of that number. */
enum { NOTHING = -3, UNSAVED = -2, SAVED = -1 };

/* A block that anybody can find who has the same id there; deleted blocks keep their numbers. */
typedef struct findable {
    bool exists;
    uint64_t id;
    int64_t position;
    int holders;
    int shares; /* how often it was found */
} findable;

typedef struct tenant {
    sli_context context; /* that parks; its one window is the one below */
    sli_window window;
    uint64_t ids[TOKENS];
    sli_content_view view;
    bool is_in;
    bool is_planned;         /* a step up to end_tokens is under way */
    int64_t computed_tokens; /* at the end of the last step */
    int64_t end_tokens;
    int64_t slot_tokens; /* for which blocks were ever taken or shared */
    int held[TOKENS];
    bool is_parked[TOKENS];
} tenant;

typedef struct census {
    int64_t shares;
    int64_t unparked;
    int64_t retractions;
    int64_t duplicates;
    int64_t shorter_fits; /* something was there, but not all */
} census;

typedef struct world {
    sli_rng rng;
    sli_layout layout;
    sli_pool pool;
    bool caches_generated;
    tenant tenants[TENANTS];
    findable blocks[BLOCKS]; /* the oldest first */
    int block_count;
    census census;
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static const sli_group *group_of(const world *it) {
    return &it->layout.groups[1];
}

static sli_window_site site_of(world *it, tenant *who) {
    return (sli_window_site){&it->pool, &who->context, &who->view, group_of(it), 1};
}

/* ---- Questions to the model ---- */

static int find_block(const world *it, const tenant *who, int64_t position) {
    int64_t end_tokens = (position + 1) * group_of(it)->block_tokens;
    for (int i = 0; i < it->block_count && end_tokens <= who->view.content.id_count; i++) {
        const findable *block = &it->blocks[i];
        if (block->exists && block->position == position && block->id == who->ids[end_tokens - 1]) {
            return i;
        }
    }
    return NOTHING;
}

static bool is_found(const world *it, const tenant *who, int64_t position) {
    return who->is_parked[position] || find_block(it, who, position) != NOTHING;
}

static int64_t model_fit(world *it, const tenant *who, int64_t tokens) {
    int64_t fit = tokens - tokens % it->layout.align_tokens;
    for (; fit > 0; fit -= it->layout.align_tokens) {
        bool has_all = true;
        bool has_any = false;
        for (int64_t p = 0; sli_model_is_reached(group_of(it), p, fit); p++) {
            bool is_needed = !sli_model_is_passed(group_of(it), p, fit);
            has_all = has_all && (!is_needed || is_found(it, who, p));
            has_any = has_any || (is_needed && is_found(it, who, p));
        }
        if (has_all) {
            return fit;
        }
        it->census.shorter_fits += has_any;
    }
    return 0;
}

static int64_t model_free_blocks(const world *it, const tenant *who, int64_t tokens) {
    int64_t count = 0;
    for (int64_t p = 0; sli_model_is_reached(group_of(it), p, tokens); p++) {
        int block = find_block(it, who, p);
        bool is_free = block < 0 || it->blocks[block].holders == 0;
        count += !sli_model_is_passed(group_of(it), p, tokens) && is_free ? 1 : 0;
    }
    return count * group_of(it)->block_pages;
}

/* Positions that slots up to `tokens` add to what is held; of a state only the last. */
static bool is_added(const world *it, const tenant *who, int64_t position, int64_t tokens) {
    const sli_group *group = group_of(it);
    bool has_been = who->slot_tokens > 0 && sli_model_is_reached(group, position, who->slot_tokens);
    bool is_last = !sli_model_is_reached(group, position + 1, tokens);
    return sli_model_is_reached(group, position, tokens) && !has_been &&
           (group->kind != SLI_GROUP_STATE || is_last);
}

static int64_t count_added(const world *it, const tenant *who, int64_t tokens) {
    int64_t count = 0;
    for (int64_t p = 0; p < TOKENS; p++) {
        count += is_added(it, who, p, tokens);
    }
    return count;
}

/* ---- Comparing ---- */

static void assert_window(const world *it, const tenant *who) {
    int64_t count = 0;
    for (int64_t p = 0; p < TOKENS; p++) {
        count += who->held[p] != NOTHING;
    }
    assert_int_equal(sli_window_blocks(&who->window, group_of(it)),
                     count * group_of(it)->block_pages);
    const sli_window_hold *held = who->window.uppermost;
    for (int64_t p = 0; p < TOKENS; p++) {
        if (who->held[p] >= 0) {
            assert_non_null(held);
            assert_int_equal(held->position, p);
            assert_int_equal(held->block->reference_count, it->blocks[who->held[p]].holders);
            held = held->deeper;
        }
    }
    assert_null(held);
}

static void assert_counts(const world *it) {
    int64_t held = 0;
    int64_t cached = 0;
    for (int i = 0; i < it->block_count; i++) {
        held += it->blocks[i].exists && it->blocks[i].holders > 0;
        cached += it->blocks[i].exists && it->blocks[i].holders == 0;
    }
    for (int t = 0; t < TENANTS; t++) {
        for (int64_t p = 0; p < TOKENS; p++) {
            held += it->tenants[t].held[p] == SAVED || it->tenants[t].held[p] == UNSAVED;
            cached += it->tenants[t].is_parked[p];
        }
    }
    assert_int_equal(sli_pool_held_blocks(&it->pool), held * group_of(it)->block_pages);
    assert_int_equal(it->pool.cached_blocks, cached * group_of(it)->block_pages);
}

static void assert_agrees(world *it) {
    const sli_context *contexts[TENANTS];
    for (int t = 0; t < TENANTS; t++) {
        contexts[t] = &it->tenants[t].context;
        assert_window(it, &it->tenants[t]);
    }
    assert_counts(it);
    const char *fault = sli_pool_audit(&it->pool, contexts, TENANTS);
    if (fault != NULL) {
        fail_msg("audit: %s", fault);
    }
}

/* ---- Actions ---- */

/* One of two documents that part after 10 tokens; a part of the prompt may be private. */
static void move_in(world *it, tenant *who) {
    int64_t document = draw(it, 0, 1);
    int64_t prompt_tokens = draw(it, 1, TOKENS / 2);
    for (int64_t i = 0; i < TOKENS; i++) {
        who->ids[i] = (uint64_t)(i + (i < 10 ? 0 : 100 * document));
        who->held[i] = NOTHING;
        who->is_parked[i] = false;
    }
    int64_t id_count = draw(it, 0, 2) > 0 ? prompt_tokens : draw(it, 0, prompt_tokens);
    who->view = (sli_content_view){{who->ids, id_count, 1, 1}, 0, prompt_tokens};
}

static void move_out(world *it, tenant *who) {
    sli_context_forget(&who->context);
    move_in(it, who);
}

static void grow(world *it, tenant *who, int64_t tokens) {
    int64_t pages = count_added(it, who, tokens) * group_of(it)->block_pages;
    assert_int_equal(sli_window_need(&who->window, group_of(it), 0, tokens), pages);
    sli_pool_take(&it->pool, pages);
    sli_window_grow(&who->window, group_of(it), tokens);
    for (int64_t p = 0; p < TOKENS; p++) {
        who->held[p] = is_added(it, who, p, tokens) ? UNSAVED : who->held[p];
    }
    who->slot_tokens = max_of(who->slot_tokens, tokens);
}

static void model_publish(world *it, tenant *who, int64_t position) {
    int64_t end_tokens = (position + 1) * group_of(it)->block_tokens;
    if (end_tokens > who->view.content.id_count) {
        who->held[position] = SAVED;
        return;
    }
    it->census.duplicates += find_block(it, who, position) != NOTHING;
    assert_true(it->block_count < BLOCKS);
    it->blocks[it->block_count] = (findable){true, who->ids[end_tokens - 1], position, 1, 0};
    who->held[position] = it->block_count++;
}

static void publish(world *it, tenant *who) {
    if (!it->pool.config.has_index) {
        return;
    }
    int64_t limit_tokens = it->caches_generated ? who->end_tokens
                                                : min_of(who->end_tokens, who->view.prompt_tokens);
    const sli_window_site site = site_of(it, who);
    sli_window_publish(&who->window, &site, who->end_tokens, limit_tokens);
    for (int64_t p = 0; p < TOKENS; p++) {
        int64_t end_tokens = (p + 1) * group_of(it)->block_tokens;
        bool is_full = group_of(it)->kind == SLI_GROUP_STATE ? end_tokens == who->end_tokens
                                                             : end_tokens <= who->end_tokens;
        if (who->held[p] == UNSAVED && is_full && end_tokens <= limit_tokens) {
            model_publish(it, who, p);
        }
    }
}

/* A step of some tokens: its slots are taken and what it fills is findable before it is over, or
 * that is said afterwards. */
static void plan(world *it, tenant *who) {
    who->end_tokens = min_of(TOKENS, who->computed_tokens + draw(it, 1, 9));
    who->is_planned = true;
    grow(it, who, who->end_tokens);
    if (draw(it, 0, 4) > 0) {
        publish(it, who);
    }
}

static void model_share(world *it, tenant *who, int64_t tokens) {
    for (int64_t p = 0; sli_model_is_reached(group_of(it), p, tokens); p++) {
        if (sli_model_is_passed(group_of(it), p, tokens)) {
            continue;
        }
        int block = find_block(it, who, p);
        who->held[p] = block == NOTHING ? SAVED : block;
        it->census.unparked += block == NOTHING;
        if (block != NOTHING) {
            it->blocks[block].holders++;
            it->blocks[block].shares++;
            it->census.shares++;
        }
    }
    memset(who->is_parked, 0, sizeof who->is_parked);
}

static void share(world *it, tenant *who) {
    const sli_window_site site = site_of(it, who);
    int64_t most_tokens = draw(it, 0, 2) > 0 ? TOKENS - 1 : draw(it, 0, TOKENS - 1);
    int64_t tokens = sli_window_fit(&site, most_tokens, it->layout.align_tokens);
    assert_int_equal(tokens, model_fit(it, who, most_tokens));
    assert_int_equal(sli_window_free_blocks(&site, tokens), model_free_blocks(it, who, tokens));
    int64_t further_tokens = min_of(TOKENS, tokens + draw(it, 1, 9));
    int64_t need = sli_window_need(&who->window, group_of(it), tokens, further_tokens);
    if (tokens > 0) {
        sli_window_share(&who->window, &site, tokens);
    }
    sli_pool_forget_parked_here(&it->pool, &who->context);
    model_share(it, who, tokens);
    who->computed_tokens = tokens;
    who->slot_tokens = tokens;
    /* Asking before is asking afterwards. */
    assert_int_equal(need, sli_window_need(&who->window, group_of(it), 0, further_tokens));
}

static void come_in(world *it, tenant *who) {
    who->is_in = true;
    who->computed_tokens = 0;
    who->slot_tokens = 0;
    if (it->pool.config.has_index) {
        share(it, who);
    }
    if (group_of(it)->kind != SLI_GROUP_STATE && draw(it, 0, 4) == 0) {
        grow(it, who, draw(it, who->computed_tokens + 1, TOKENS)); /* a reservation */
    }
    plan(it, who);
}

/* The step is over: what nobody looks at any more goes. */
static void complete(world *it, tenant *who) {
    const sli_window_site site = site_of(it, who);
    int64_t blank_pages = sli_window_slide(&who->window, &site, who->end_tokens);
    sli_pool_give_blank(&it->pool, blank_pages);
    who->computed_tokens = who->end_tokens;
    who->is_planned = false;
    for (int64_t p = 0; p < TOKENS; p++) {
        if (who->held[p] != NOTHING && sli_model_is_passed(group_of(it), p, who->computed_tokens)) {
            bool is_blank = who->held[p] < 0;
            blank_pages -= is_blank ? group_of(it)->block_pages : 0;
            if (!is_blank) {
                it->blocks[who->held[p]].holders--;
            }
            who->held[p] = NOTHING;
        }
    }
    assert_int_equal(blank_pages, 0);
    publish(it, who); /* for the second time, as a rule */
}

/* The step never happens: nobody may find what it would have filled. False when somebody has. */
static bool retract(world *it, tenant *who) {
    int64_t block_tokens = group_of(it)->block_tokens;
    for (int64_t p = 0; p < TOKENS; p++) {
        bool is_undone = (p + 1) * block_tokens > who->computed_tokens;
        if (is_undone && who->held[p] >= 0 && it->blocks[who->held[p]].shares > 0) {
            return false;
        }
    }
    const sli_window_site site = site_of(it, who);
    sli_window_retract(&who->window, &site, who->computed_tokens);
    for (int64_t p = 0; p < TOKENS; p++) {
        bool is_undone = (p + 1) * block_tokens > who->computed_tokens;
        if (is_undone && who->held[p] >= SAVED) {
            it->census.retractions++;
            if (who->held[p] >= 0) {
                it->blocks[who->held[p]].exists = false;
            }
            who->held[p] = UNSAVED;
        }
    }
    return true;
}

static void leave(world *it, tenant *who, bool will_be_back) {
    const sli_window_site site = site_of(it, who);
    sli_window_release(&who->window, &site, will_be_back);
    for (int64_t p = 0; p < TOKENS; p++) {
        who->is_parked[p] = will_be_back && who->held[p] == SAVED;
        if (who->held[p] >= 0) {
            it->blocks[who->held[p]].holders--;
        }
        who->held[p] = NOTHING;
    }
    who->is_in = false;
    who->is_planned = false;
    if (!will_be_back) {
        move_out(it, who);
    }
}

/* Everything that is free is handed out once. */
static void evict_all(world *it) {
    int64_t free_pages = it->pool.free_blocks;
    sli_pool_take(&it->pool, free_pages);
    sli_pool_give_blank(&it->pool, free_pages);
    for (int i = 0; i < it->block_count; i++) {
        it->blocks[i].exists = it->blocks[i].exists && it->blocks[i].holders > 0;
    }
    for (int t = 0; t < TENANTS; t++) {
        memset(it->tenants[t].is_parked, 0, sizeof it->tenants[t].is_parked);
    }
}

static void act_at_random(world *it) {
    tenant *who = &it->tenants[draw(it, 0, TENANTS - 1)];
    if (draw(it, 0, 79) == 0) {
        evict_all(it);
    } else if (!who->is_in) {
        come_in(it, who);
    } else if (who->is_planned && draw(it, 0, 2) == 0 && retract(it, who)) {
        leave(it, who, true);
    } else if (who->is_planned) {
        complete(it, who);
    } else if (!who->is_planned && who->computed_tokens < TOKENS && draw(it, 0, 2) > 0) {
        plan(it, who);
    } else {
        leave(it, who, who->computed_tokens < TOKENS && draw(it, 0, 2) > 0);
    }
}

/* ---- Worlds ---- */

static sli_group draw_group(world *it) {
    static const sli_group_kind kinds[] = {SLI_GROUP_SLIDING, SLI_GROUP_CHUNKED, SLI_GROUP_STATE,
                                           SLI_GROUP_SLIDING, SLI_GROUP_STATE,   SLI_GROUP_FIXED};
    sli_group group = {
        .kind = kinds[draw(it, 0, 5)],
        .block_tokens = draw(it, 1, 4),
        .block_pages = draw(it, 1, 3),
    };
    if (group.kind == SLI_GROUP_SLIDING) {
        group.span_tokens = draw(it, 1, 14);
    } else if (group.kind == SLI_GROUP_CHUNKED) {
        group.span_tokens = group.block_tokens * draw(it, 1, 4);
    } else if (group.kind == SLI_GROUP_FIXED) {
        group.fixed_blocks = draw(it, 1, 5);
    }
    return group;
}

static void world_init(world *it, uint64_t number) {
    memset(it, 0, sizeof *it);
    sli_rng_init(&it->rng, 1, "test-window", 0, number);
    sli_group group = draw_group(it);
    it->layout = (sli_layout){
        .align_tokens = group.block_tokens * draw(it, 1, 2),
        .is_shareable = group.kind != SLI_GROUP_FIXED,
        .group_count = 2,
        .groups = {{.kind = SLI_GROUP_GROWING, .block_tokens = 4, .block_pages = 1}, group},
    };
    it->caches_generated = draw(it, 0, 3) > 0;
    const sli_pool_config config = {
        .block_count = PAGES,
        .block_tokens = 4,
        .has_index = it->layout.is_shareable && draw(it, 0, 5) > 0,
        .caches_generated = it->caches_generated,
        .layout = &it->layout,
    };
    assert_int_equal(sli_pool_init(&it->pool, &config), SL_OK);
    for (int t = 0; t < TENANTS; t++) {
        it->tenants[t].context.windows = &it->tenants[t].window;
        move_in(it, &it->tenants[t]);
    }
}

static void count_up(census *sum, const census *one) {
    sum->shares += one->shares;
    sum->unparked += one->unparked;
    sum->retractions += one->retractions;
    sum->duplicates += one->duplicates;
    sum->shorter_fits += one->shorter_fits;
}

static void agrees_with_sets_of_positions(void **state) {
    (void)state;
    static world it;
    census sum = {0};
    for (uint64_t number = 0; number < WORLDS; number++) {
        world_init(&it, number);
        for (int action = 0; action < ACTIONS; action++) {
            act_at_random(&it);
            assert_agrees(&it);
        }
        for (int t = 0; t < TENANTS; t++) {
            leave(&it, &it.tenants[t], false);
        }
        assert_int_equal(it.pool.free_blocks, PAGES);
        count_up(&sum, &it.census);
        sli_pool_fini(&it.pool);
    }
    /* The worlds were full of what is to be tested. */
    assert_true(sum.shares > 10000 && sum.unparked > 3000 && sum.retractions > 5000);
    assert_true(sum.duplicates > 1000 && sum.shorter_fits > 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_sets_of_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
